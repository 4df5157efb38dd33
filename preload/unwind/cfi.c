/* Reads .eh_frame in place: binary search in .eh_frame_hdr, then the frame's call frame instructions up to
 * the address. Follows only the CFA, the frame pointer and the return address (measured: nothing else decides
 * a caller in compiled code). DWARF 5, section 6.4; Linux Standard Base, "Exception Frames". */
#include "cfi.h"

#include "../shim.h"

#include <string.h>

enum {
	DW_EH_PE_ABSPTR = 0x00,
	DW_EH_PE_UDATA2 = 0x02,
	DW_EH_PE_UDATA4 = 0x03,
	DW_EH_PE_UDATA8 = 0x04,
	DW_EH_PE_SDATA2 = 0x0a,
	DW_EH_PE_SDATA4 = 0x0b,
	DW_EH_PE_SDATA8 = 0x0c,
	DW_EH_PE_PCREL = 0x10,
	DW_EH_PE_DATAREL_SDATA4 = 0x3b,
};

enum {
	DW_OP_DEREF = 0x06,
	DW_OP_AND = 0x1a,
	DW_OP_PLUS = 0x22,
	DW_OP_SHL = 0x24,
	DW_OP_GE = 0x2a,
	DW_OP_LIT0 = 0x30,
	DW_OP_BREG_FP = 0x70 + ARCH_DWARF_FP,
	DW_OP_BREG_SP = 0x70 + ARCH_DWARF_SP,
	DW_OP_BREG_PC = 0x70 + ARCH_DWARF_RETURN,
};

/* ---- primitive reads --------------------------------------------------------------------------------- */

struct reader {
	const uint8_t *at, *end;
};

static uint64_t read_bytes(struct reader *reader, unsigned bytes)
{
	uint64_t value = 0;
	if ((uint64_t)(reader->end - reader->at) < bytes) {
		reader->at = reader->end;
		return 0;
	}
	memcpy(&value, reader->at, bytes);
	reader->at += bytes;
	return value;
}

static uint64_t read_uleb(struct reader *reader)
{
	uint64_t value = 0;
	for (unsigned shift = 0; reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static int64_t read_sleb(struct reader *reader)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte = 0;
	while (reader->at < reader->end) {
		byte = *reader->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	if (shift < 64 && (byte & 0x40))
		value |= ~0ULL << shift;
	return (int64_t)value;
}

/* A pointer in one of the encodings that occur; absolute or relative to its own place. */
static uint64_t read_encoded(struct reader *reader, uint8_t encoding)
{
	uint64_t place = (uint64_t)reader->at, value;
	switch (encoding & 0x0f) {
	case DW_EH_PE_ABSPTR:
	case DW_EH_PE_UDATA8:
	case DW_EH_PE_SDATA8:
		value = read_bytes(reader, 8);
		break;
	case DW_EH_PE_UDATA4:
		value = read_bytes(reader, 4);
		break;
	case DW_EH_PE_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)read_bytes(reader, 4);
		break;
	case DW_EH_PE_UDATA2:
		value = read_bytes(reader, 2);
		break;
	case DW_EH_PE_SDATA2:
		value = (uint64_t)(int64_t)(int16_t)read_bytes(reader, 2);
		break;
	default:
		reader->at = reader->end;
		return 0;
	}
	return (encoding & 0x70) == DW_EH_PE_PCREL ? place + value : value;
}

/* A record's body: from its length word on. false: terminator, or DWARF-64 nonsense. */
static bool open_record(const uint8_t *start, struct reader *reader)
{
	struct reader head = {start, start + 12};
	uint64_t length = read_bytes(&head, 4);
	if (length == 0xffffffff)
		length = read_bytes(&head, 8);
	if (length == 0)
		return false;
	*reader = (struct reader){head.at, head.at + length};
	return true;
}

/* ---- CIE and FDE ------------------------------------------------------------------------------------- */

struct cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation, signal_frame;
	struct reader program;
};

static bool read_cie(const uint8_t *start, struct cie *cie)
{
	struct reader reader;
	*cie = (struct cie){0};
	if (!open_record(start, &reader) || read_bytes(&reader, 4) != 0)
		return false;
	uint64_t version = read_bytes(&reader, 1);
	const char *augmentation = (const char *)reader.at;
	size_t length = strnlen(augmentation, (size_t)(reader.end - reader.at));
	reader.at += length + 1;
	if (version == 4)
		reader.at += 2; /* address and segment size */
	cie->code_factor = read_uleb(&reader);
	cie->data_factor = read_sleb(&reader);
	cie->return_register = version == 1 ? read_bytes(&reader, 1) : read_uleb(&reader);
	if (augmentation[0] == 'z') {
		cie->has_augmentation = true;
		uint64_t bytes = read_uleb(&reader);
		const uint8_t *program = reader.at + bytes;
		for (const char *letter = augmentation + 1; *letter; letter++) {
			if (*letter == 'R')
				cie->pointer_encoding = (uint8_t)read_bytes(&reader, 1);
			else if (*letter == 'L')
				read_bytes(&reader, 1);
			else if (*letter == 'P')
				read_encoded(&reader, (uint8_t)read_bytes(&reader, 1));
			else if (*letter == 'S')
				cie->signal_frame = true;
			else if (*letter != 'B')
				break;
		}
		reader.at = program;
	} else if (augmentation[0]) {
		return false;
	}
	cie->program = reader;
	return reader.at <= reader.end;
}

/* The record of the function that may hold the address; NULL: none. */
static const uint8_t *find_fde(const uint8_t *header, uint64_t address)
{
	if (header[0] != 1 || header[3] != DW_EH_PE_DATAREL_SDATA4 || (header[2] & 0x0f) != DW_EH_PE_UDATA4)
		return NULL;
	struct reader reader = {header + 4, header + 32};
	read_encoded(&reader, header[1]);
	uint64_t count = read_bytes(&reader, 4);
	const int32_t *table =
		(const int32_t *)reader.at; /* pairs: function, record; relative to the header */
	int64_t target = (int64_t)(address - (uint64_t)header);
	if (!count || table[0] > target)
		return NULL;
	uint64_t low = 0, high = count;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		if (table[middle * 2] <= target)
			low = middle;
		else
			high = middle;
	}
	return header + table[low * 2 + 1];
}

/* ---- the row machine --------------------------------------------------------------------------------- */

enum { REMEMBERED_MOST = 16 };

struct machine {
	const struct cie *cie;
	uint64_t location, target;
	struct cfi_row row, initial;
	struct cfi_row remembered[REMEMBERED_MOST];
	unsigned depth;
};

static struct cfi_register *watched(struct machine *machine, uint64_t number)
{
	if (number == ARCH_DWARF_FP)
		return &machine->row.fp;
	if (number == machine->cie->return_register)
		return &machine->row.return_address;
	return NULL;
}

static void set_register(struct machine *machine, uint64_t number, enum cfi_where where, int64_t offset)
{
	struct cfi_register *place = watched(machine, number);
	if (place)
		*place = (struct cfi_register){where, offset};
}

static void restore_register(struct machine *machine, uint64_t number)
{
	if (number == ARCH_DWARF_FP)
		machine->row.fp = machine->initial.fp;
	else if (number == machine->cie->return_register)
		machine->row.return_address = machine->initial.return_address;
}

static struct reader read_block(struct reader *reader)
{
	uint64_t bytes = read_uleb(reader);
	struct reader block = {reader->at, reader->at};
	if (bytes <= (uint64_t)(reader->end - reader->at)) {
		block.end += bytes;
		reader->at += bytes;
	} else {
		reader->at = reader->end;
	}
	return block;
}

/* What linkers write for procedure linkage tables: sp + n + ((pc & mask) >= place << shift), which the pc
 * makes a constant: an entry pushes a word half-way. */
static void set_cfa_in_plt(struct machine *machine, struct reader block)
{
	int64_t offset = read_sleb(&block);
	const uint8_t *code = block.at;
	if (block.end - code != 9 || code[0] != DW_OP_BREG_PC || code[1] != 0 || code[3] != DW_OP_AND ||
	    code[5] != DW_OP_GE || code[7] != DW_OP_SHL || code[8] != DW_OP_PLUS)
		return;
	uint64_t literals[3];
	for (int i = 0; i < 3; i++) {
		literals[i] = code[2 + 2 * i] - (uint64_t)DW_OP_LIT0;
		if (literals[i] > 31)
			return;
	}
	bool pushed = (machine->target & literals[0]) >= literals[1];
	machine->row.cfa = CFI_CFA_REGISTER;
	machine->row.cfa_register = ARCH_DWARF_SP;
	machine->row.cfa_offset = offset + ((int64_t)pushed << literals[2]);
}

/* CFA expressions: those of linkers, and the one that gcc writes for realigned stacks, "breg6 n; deref". */
static void set_cfa_expression(struct machine *machine, struct reader block)
{
	machine->row.cfa = CFI_CFA_OTHER;
	uint64_t first = read_bytes(&block, 1);
	if (first == DW_OP_BREG_SP)
		set_cfa_in_plt(machine, block);
	if (first != DW_OP_BREG_FP)
		return;
	int64_t offset = read_sleb(&block);
	if (block.end - block.at == 1 && *block.at == DW_OP_DEREF) {
		machine->row.cfa = CFI_CFA_FP_DEREF;
		machine->row.cfa_offset = offset;
	}
}

static void set_register_expression(struct machine *machine, uint64_t number, struct reader block)
{
	int64_t offset = 0;
	enum cfi_where where = CFI_OTHER;
	if (read_bytes(&block, 1) == DW_OP_BREG_FP) {
		offset = read_sleb(&block);
		if (block.at == block.end)
			where = CFI_AT_FP;
	}
	set_register(machine, number, where, offset);
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row.cfa = CFI_CFA_REGISTER;
	machine->row.cfa_register = number;
	machine->row.cfa_offset = offset;
}

/* One instruction of the extended group. false: unknown. */
static bool extended_instruction(struct machine *machine, uint8_t operation, struct reader *reader)
{
	int64_t factor = machine->cie->data_factor;
	uint64_t number;
	switch (operation) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		machine->location = read_encoded(reader, machine->cie->pointer_encoding);
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
		machine->location += read_bytes(reader, 1) * machine->cie->code_factor;
		return true;
	case 0x03:
		machine->location += read_bytes(reader, 2) * machine->cie->code_factor;
		return true;
	case 0x04:
		machine->location += read_bytes(reader, 4) * machine->cie->code_factor;
		return true;
	case 0x05: /* offset_extended */
		number = read_uleb(reader);
		set_register(machine, number, CFI_AT_CFA, (int64_t)read_uleb(reader) * factor);
		return true;
	case 0x06: /* restore_extended */
		restore_register(machine, read_uleb(reader));
		return true;
	case 0x07: /* undefined */
		set_register(machine, read_uleb(reader), CFI_UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		set_register(machine, read_uleb(reader), CFI_SAME, 0);
		return true;
	case 0x09: /* register */
		number = read_uleb(reader);
		read_uleb(reader);
		set_register(machine, number, CFI_OTHER, 0);
		return true;
	case 0x0a: /* remember_state */
		if (machine->depth == REMEMBERED_MOST)
			return false;
		machine->remembered[machine->depth++] = machine->row;
		return true;
	case 0x0b: /* restore_state */
		if (!machine->depth)
			return false;
		machine->row = machine->remembered[--machine->depth];
		return true;
	case 0x0c: /* def_cfa */
		number = read_uleb(reader);
		set_cfa(machine, number, (int64_t)read_uleb(reader));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(machine, read_uleb(reader), machine->row.cfa_offset);
		return true;
	case 0x0e: /* def_cfa_offset */
		machine->row.cfa_offset = (int64_t)read_uleb(reader);
		return true;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expression(machine, read_block(reader));
		return true;
	case 0x10: /* expression */
		number = read_uleb(reader);
		set_register_expression(machine, number, read_block(reader));
		return true;
	case 0x11: /* offset_extended_sf */
		number = read_uleb(reader);
		set_register(machine, number, CFI_AT_CFA, read_sleb(reader) * factor);
		return true;
	case 0x12: /* def_cfa_sf */
		number = read_uleb(reader);
		set_cfa(machine, number, read_sleb(reader) * factor);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		machine->row.cfa_offset = read_sleb(reader) * factor;
		return true;
	case 0x14: /* val_offset */
		number = read_uleb(reader);
		read_uleb(reader);
		set_register(machine, number, CFI_OTHER, 0);
		return true;
	case 0x15: /* val_offset_sf */
		number = read_uleb(reader);
		read_sleb(reader);
		set_register(machine, number, CFI_OTHER, 0);
		return true;
	case 0x16: /* val_expression */
		number = read_uleb(reader);
		read_block(reader);
		set_register(machine, number, CFI_OTHER, 0);
		return true;
	case 0x2e: /* GNU_args_size */
		read_uleb(reader);
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		number = read_uleb(reader);
		set_register(machine, number, CFI_AT_CFA, -(int64_t)read_uleb(reader) * factor);
		return true;
	default:
		return false;
	}
}

/* Runs instructions while the row's location does not lie beyond the target. */
static bool run(struct machine *machine, struct reader program)
{
	while (program.at < program.end && machine->location <= machine->target) {
		uint8_t operation = *program.at++, operand = operation & 0x3f;
		switch (operation >> 6) {
		case 1: /* advance_loc */
			machine->location += operand * machine->cie->code_factor;
			break;
		case 2: /* offset */
			set_register(machine, operand, CFI_AT_CFA,
				     (int64_t)read_uleb(&program) * machine->cie->data_factor);
			break;
		case 3: /* restore */
			restore_register(machine, operand);
			break;
		default:
			if (!extended_instruction(machine, operation, &program))
				return false;
		}
	}
	return true;
}

bool hs_cfi_row(const uint8_t *eh_frame_hdr, uint64_t address, struct cfi_row *row)
{
	const uint8_t *start = find_fde(eh_frame_hdr, address);
	struct reader fde;
	if (!start || !open_record(start, &fde))
		return false;
	const uint8_t *back_from = fde.at;
	uint64_t back = read_bytes(&fde, 4);
	struct cie cie;
	if (!back || !read_cie(back_from - back, &cie))
		return false;
	uint64_t function = read_encoded(&fde, cie.pointer_encoding);
	uint64_t bytes = read_encoded(&fde, cie.pointer_encoding & 0x0f);
	if (address - function >= bytes)
		return false;
	if (cie.has_augmentation)
		read_block(&fde);
	struct machine machine = {.cie = &cie, .target = address};
	machine.row.cfa = CFI_CFA_OTHER;
	if (!run(&machine, cie.program))
		return false;
	machine.initial = machine.row;
	machine.location = function;
	if (!run(&machine, fde))
		return false;
	*row = machine.row;
	row->signal_frame = cie.signal_frame;
	return true;
}
