/* The string that a function returns. The file is not trusted: every place in it is looked up in the program
 * headers, and libelf hands out bytes within its size. */
#include "symbols/returned_string.h"

#include "base/memory.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { INSTRUCTIONS_MOST = 64, CODE_MOST = 256, HEADERS_MOST = 1024, RELOCATION_SECTIONS_MOST = 64 };

/* ---- bytes by address -----------------------------------------------------------------------------------
 */

/* The bytes from an address on, at most `most`, within its segment; NULL if they are not in the file, or if
 * the program can write there (once it is relocated). They live as long as the file is open. */
static const uint8_t *bytes_at(Elf *elf, uint64_t address, size_t most, size_t *count)
{
	size_t headers;
	uint64_t offset = 0;
	bool found = false, writable = false, relro = false;
	if (elf_getphdrnum(elf, &headers) != 0)
		return NULL;
	for (size_t i = 0; i < headers && i < HEADERS_MOST; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || address < header.p_vaddr)
			continue;
		uint64_t place = address - header.p_vaddr;
		if (header.p_type == PT_GNU_RELRO && place < header.p_memsz)
			relro = true;
		if (header.p_type != PT_LOAD || found || place >= header.p_filesz ||
		    header.p_offset > INT64_MAX - place)
			continue;
		found = true;
		offset = header.p_offset + place;
		*count = header.p_filesz - place < most ? (size_t)(header.p_filesz - place) : most;
		writable = header.p_flags & PF_W;
	}
	if (!found || (writable && !relro))
		return NULL;
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, *count, ELF_T_BYTE);
	return data && data->d_size == *count ? data->d_buf : NULL;
}

/* What the loader will write at an address: *value, if a relocation says so. 1: it does, 0: none does, -1: it
 * depends on other files. */
static int relocated_value(Elf *elf, uint64_t address, uint64_t *value)
{
	Elf_Scn *section = NULL;
	for (unsigned n = 0; n < RELOCATION_SECTIONS_MOST && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header, symbols;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !header.sh_entsize)
			continue;
		n++;
		Elf_Data *data = elf_getdata(section, NULL);
		size_t count = data ? data->d_size / header.sh_entsize : 0;
		for (size_t i = 0; i < count && i < INT32_MAX; i++) {
			GElf_Rela rela;
			GElf_Sym symbol;
			if (!gelf_getrela(data, (int)i, &rela) || rela.r_offset != address)
				continue;
			*value = (uint64_t)rela.r_addend;
			if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				return 1;
			Elf_Scn *table = elf_getscn(elf, header.sh_link);
			Elf_Data *entries =
				table && gelf_getshdr(table, &symbols) ? elf_getdata(table, NULL) : NULL;
			uint64_t type = GELF_R_TYPE(rela.r_info);
			if (!entries || (type != R_X86_64_64 && type != R_X86_64_GLOB_DAT) ||
			    !gelf_getsym(entries, (int)GELF_R_SYM(rela.r_info), &symbol) ||
			    symbol.st_shndx == SHN_UNDEF)
				return -1;
			*value += symbol.st_value;
			return 1;
		}
	}
	return 0;
}

static bool load_pointer(Elf *elf, uint64_t address, uint64_t *value)
{
	size_t count;
	const uint8_t *bytes = bytes_at(elf, address, sizeof(*value), &count);
	if (!bytes || count < sizeof(*value))
		return false;
	int relocated = relocated_value(elf, address, value);
	if (relocated == 0)
		memcpy(value, bytes, sizeof(*value));
	return relocated >= 0;
}

/* ---- code -----------------------------------------------------------------------------------------------
 */

struct code {
	const uint8_t *bytes;
	size_t count;
	uint64_t address; /* of bytes */
};

/* One of the instructions that mean nothing here: their length, or 0. */
static size_t skip_instruction(const struct code *code)
{
	static const struct {
		uint8_t length, bytes[5], compared;
	} kinds[] = {
		{4, {0xf3, 0x0f, 0x1e, 0xfa}, 4}, /* endbr64 */
		{1, {0x55}, 1},                   /* push rbp */
		{1, {0x5d}, 1},                   /* pop rbp */
		{1, {0xc9}, 1},                   /* leave */
		{3, {0x48, 0x89, 0xe5}, 3},       /* mov rbp, rsp */
		{4, {0x48, 0x83, 0xec}, 3},       /* sub rsp, n */
		{4, {0x48, 0x83, 0xc4}, 3},       /* add rsp, n */
		{1, {0x90}, 1},                   /* nop */
		{2, {0x66, 0x90}, 2},             /* nop */
		{3, {0x0f, 0x1f, 0x00}, 3},       /* nop */
		{4, {0x0f, 0x1f, 0x40}, 3},       /* nop */
		{5, {0x0f, 0x1f, 0x44, 0x00}, 4}, /* nop, which also stands where -pg patches */
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (code->count >= kinds[i].length &&
		    memcmp(code->bytes, kinds[i].bytes, kinds[i].compared) == 0)
			return kinds[i].length;
	}
	return 0;
}

/* The length of the instruction if it is one that sets rax to what is known, else 0. */
static size_t set_rax(Elf *elf, const struct code *code, uint64_t *rax)
{
	const uint8_t *at = code->bytes;
	int32_t number;
	if (code->count >= 2 && at[0] == 0x31 && at[1] == 0xc0) { /* xor eax, eax */
		*rax = 0;
		return 2;
	}
	if (code->count >= 5 && at[0] == 0xb8) { /* mov eax, n */
		memcpy(&number, at + 1, 4);
		*rax = (uint32_t)number;
		return 5;
	}
	if (code->count >= 10 && at[0] == 0x48 && at[1] == 0xb8) { /* movabs rax, n */
		memcpy(rax, at + 2, 8);
		return 10;
	}
	if (code->count < 7 || at[0] != 0x48)
		return 0;
	memcpy(&number, at + 3, 4);
	if (at[1] == 0xc7 && at[2] == 0xc0) { /* mov rax, n */
		*rax = (uint64_t)(int64_t)number;
		return 7;
	}
	if (at[2] != 0x05 || (at[1] != 0x8d && at[1] != 0x8b))
		return 0;
	*rax = code->address + 7 + (uint64_t)(int64_t)number;
	if (at[1] == 0x8d) /* lea rax, [rip + n] */
		return 7;
	return load_pointer(elf, *rax, rax) ? 7 : 0; /* mov rax, [rip + n] */
}

/* A local variable: mov [rbp - n], rax; mov [rbp - n], number; and back. */
static size_t use_variable(const struct code *code, bool known, uint64_t *rax, uint64_t *variable,
			   uint8_t *place)
{
	const uint8_t *at = code->bytes;
	if (code->count < 4 || at[0] != 0x48 || at[2] != 0x45)
		return 0;
	if (at[1] == 0xc7 && code->count >= 8) {
		int32_t number;
		memcpy(&number, at + 4, 4);
		*variable = (uint64_t)(int64_t)number;
		*place = at[3];
		return 8;
	}
	if (at[1] == 0x89 && known) {
		*variable = *rax;
		*place = at[3];
		return 4;
	}
	if (at[1] != 0x8b || *place != at[3])
		return 0;
	*rax = *variable;
	return 4;
}

/* The pointer that the function returns. */
static bool follow(Elf *elf, struct code code, uint64_t *pointer)
{
	uint64_t rax = 0, variable = 0;
	uint8_t place = 0; /* of the variable; 0: none */
	bool known = false;
	for (unsigned i = 0; i < INSTRUCTIONS_MOST && code.count; i++) {
		if (code.bytes[0] == 0xc3 ||
		    (code.count > 1 && code.bytes[0] == 0xf3 && code.bytes[1] == 0xc3)) {
			*pointer = rax;
			return known;
		}
		size_t length = skip_instruction(&code);
		if (!length) {
			length = set_rax(elf, &code, &rax);
			known |= length > 0;
		}
		if (!length) {
			length = use_variable(&code, known, &rax, &variable, &place);
			known |= length > 0 && place != 0;
		}
		if (!length)
			return false;
		code.bytes += length;
		code.address += length;
		code.count -= length;
	}
	return false;
}

enum hs_returned hs_elf_returned_string(Elf *elf, uint64_t address, char **text)
{
	GElf_Ehdr header;
	struct code code = {.address = address};
	uint64_t pointer;
	size_t count;
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return HS_RETURNED_UNKNOWN;
	code.bytes = bytes_at(elf, code.address, CODE_MOST, &code.count);
	if (!code.bytes || !follow(elf, code, &pointer))
		return HS_RETURNED_UNKNOWN;
	if (pointer == 0)
		return HS_RETURNED_NOTHING;
	const uint8_t *bytes = bytes_at(elf, pointer, HS_RETURNED_STRING_MOST, &count);
	if (!bytes || !memchr(bytes, 0, count))
		return HS_RETURNED_UNKNOWN;
	*text = hs_copy_string((const char *)bytes);
	return HS_RETURNED_STRING;
}
