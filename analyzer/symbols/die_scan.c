/* One pass over the debugging information entries of a unit in file order. */
#include "die_scan.h"

#include "base/memory.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* How to get over an attribute, or over several of a fixed size. */
enum step_kind {
	STEP_FIXED,
	STEP_LEB128,
	STEP_STRING,
	STEP_BLOCK1,
	STEP_BLOCK2,
	STEP_BLOCK4,
	STEP_BLOCK,
	STEP_INDIRECT
};

struct hs_die_step {
	uint8_t kind;
	uint32_t bytes; /* of STEP_FIXED */
};

struct hs_die_abbreviation {
	uint64_t code;
	Dwarf_Abbrev *source;
	uint32_t tag;
	bool has_children;
	bool has_code;
	uint32_t first_step;
	uint32_t step_count;
};

/* What the size of some forms depends on. */
struct unit_sizes {
	uint8_t address;
	uint8_t offset;
	uint16_t version;
};

/* More attributes than any DIE has. */
enum { MOST_ATTRIBUTES = 1000 };

static bool fixed_form(unsigned form, const struct unit_sizes *sizes, struct hs_die_step *step)
{
	step->kind = STEP_FIXED;
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		step->bytes = 0;
		return true;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		step->bytes = 1;
		return true;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		step->bytes = 2;
		return true;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		step->bytes = 3;
		return true;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		step->bytes = 4;
		return true;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		step->bytes = 8;
		return true;
	case DW_FORM_data16:
		step->bytes = 16;
		return true;
	case DW_FORM_addr:
		step->bytes = sizes->address;
		return true;
	case DW_FORM_ref_addr:
		step->bytes = sizes->version <= 2 ? sizes->address : sizes->offset;
		return true;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		step->bytes = sizes->offset;
		return true;
	default:
		return false;
	}
}

/* False for a form that is not known: nothing behind it can be found. */
static bool step_of_form(unsigned form, const struct unit_sizes *sizes, struct hs_die_step *step)
{
	if (fixed_form(form, sizes, step))
		return true;
	step->bytes = 0;
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		step->kind = STEP_LEB128;
		return true;
	case DW_FORM_string:
		step->kind = STEP_STRING;
		return true;
	case DW_FORM_block1:
		step->kind = STEP_BLOCK1;
		return true;
	case DW_FORM_block2:
		step->kind = STEP_BLOCK2;
		return true;
	case DW_FORM_block4:
		step->kind = STEP_BLOCK4;
		return true;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		step->kind = STEP_BLOCK;
		return true;
	case DW_FORM_indirect:
		step->kind = STEP_INDIRECT;
		/* The sizes travel with the step, for the form that is only known at the DIE. */
		step->bytes = (uint32_t)sizes->address | (uint32_t)sizes->offset << 8 |
			      (uint32_t)sizes->version << 16;
		return true;
	default:
		return false;
	}
}

static void add_step(struct hs_die_scan *scan, struct hs_die_abbreviation *abbreviation,
		     struct hs_die_step step)
{
	struct hs_die_step *last = abbreviation->step_count ? &scan->steps[scan->step_count - 1] : NULL;
	if (step.kind == STEP_FIXED && (step.bytes == 0 || (last && last->kind == STEP_FIXED))) {
		if (step.bytes)
			last->bytes += step.bytes;
		return;
	}
	scan->steps = hs_grow(scan->steps, scan->step_count, &scan->step_capacity, sizeof *scan->steps);
	scan->steps[scan->step_count++] = step;
	abbreviation->step_count++;
}

static bool add_abbreviation(struct hs_die_scan *scan, Dwarf_Abbrev *source, const struct unit_sizes *sizes)
{
	struct hs_die_abbreviation abbreviation = {.code = dwarf_getabbrevcode(source),
						   .source = source,
						   .tag = dwarf_getabbrevtag(source),
						   .has_children = dwarf_abbrevhaschildren(source) == 1,
						   .first_step = (uint32_t)scan->step_count};
	/* Not with dwarf_getattrcnt(), which miscounts those with DW_FORM_implicit_const (elfutils 0.188). */
	for (size_t i = 0;; i++) {
		unsigned name = 0, form = 0;
		struct hs_die_step step;
		if (dwarf_getabbrevattr_data(source, i, &name, &form, NULL, NULL) != 0)
			break;
		if (i == MOST_ATTRIBUTES || !step_of_form(form, sizes, &step))
			return false;
		abbreviation.has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
		add_step(scan, &abbreviation, step);
	}
	scan->abbreviations = hs_grow(scan->abbreviations, scan->abbreviation_count,
				      &scan->abbreviation_capacity, sizeof *scan->abbreviations);
	scan->abbreviations[scan->abbreviation_count++] = abbreviation;
	return true;
}

static int by_code(const void *left, const void *right)
{
	const struct hs_die_abbreviation *a = left, *b = right;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return (a->first_step > b->first_step) - (a->first_step < b->first_step);
}

static const struct hs_die_abbreviation *find_abbreviation(const struct hs_die_scan *scan, uint64_t code)
{
	/* Compilers number them from 1 on. */
	if (code - 1 < scan->abbreviation_count && scan->abbreviations[code - 1].code == code)
		return &scan->abbreviations[code - 1];
	struct hs_die_abbreviation wanted = {.code = code};
	size_t first = 0, last = scan->abbreviation_count;
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (scan->abbreviations[middle].code < wanted.code)
			first = middle + 1;
		else
			last = middle;
	}
	if (first < scan->abbreviation_count && scan->abbreviations[first].code == code)
		return &scan->abbreviations[first];
	return NULL;
}

/* An abbreviation with an unknown form is left out: the scan stops at a DIE that uses it. */
static void read_abbreviations(struct hs_die_scan *scan, Dwarf_Die *unit, const struct unit_sizes *sizes)
{
	Dwarf_Off offset = 0;
	for (;;) {
		size_t length = 0;
		Dwarf_Abbrev *source = dwarf_getabbrev(unit, offset, &length);
		if (!source || source == DWARF_END_ABBREV || length == 0)
			break;
		size_t steps = scan->step_count;
		if (!add_abbreviation(scan, source, sizes))
			scan->step_count = steps;
		offset += length;
	}
	if (scan->abbreviation_count)
		qsort(scan->abbreviations, scan->abbreviation_count, sizeof *scan->abbreviations, by_code);
}

/* The bounds of the section that a place in a unit is in, so that nothing depends on the length that the unit
 * claims. */
static bool section_of(Dwarf_Die *die, const uint8_t *place, const uint8_t **start, size_t *bytes)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(die->cu));
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    (header.sh_flags & SHF_ALLOC))
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		if (data && data->d_buf && place >= (const uint8_t *)data->d_buf &&
		    (size_t)(place - (const uint8_t *)data->d_buf) < data->d_size) {
			*start = data->d_buf;
			*bytes = data->d_size;
			return true;
		}
	}
	return false;
}

/* libdw hands out a string that stands in the DIE itself without a look at its end. */
static bool string_ends(Dwarf_Die *die, const Dwarf_Attribute *attribute)
{
	const uint8_t *start, *text = attribute->valp;
	size_t bytes;
	return attribute->form != DW_FORM_string ||
	       (section_of(die, text, &start, &bytes) && memchr(text, 0, bytes - (size_t)(text - start)));
}

const char *hs_die_string(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	if (!dwarf_attr(die, attribute, &found) || !string_ends(die, &found))
		return NULL;
	const char *text = dwarf_formstring(&found);
	return text && *text ? text : NULL;
}

bool hs_die_strings_end(Dwarf_Die *unit)
{
	static const unsigned attributes[] = {DW_AT_name, DW_AT_comp_dir, DW_AT_dwo_name, DW_AT_GNU_dwo_name};
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		Dwarf_Attribute found;
		if (dwarf_attr(unit, attributes[i], &found) && !string_ends(unit, &found))
			return false;
	}
	return true;
}

bool hs_die_section_offset(Dwarf_Die *die, unsigned attribute, uint32_t *offset)
{
	Dwarf_Attribute found;
	const uint8_t *start;
	size_t bytes;
	if (!dwarf_attr(die, attribute, &found) ||
	    (found.form != DW_FORM_sec_offset && found.form != DW_FORM_data4) ||
	    !section_of(die, found.valp, &start, &bytes) ||
	    bytes - (size_t)(found.valp - start) < sizeof *offset)
		return false;
	memcpy(offset, found.valp, sizeof *offset);
	return true;
}

bool hs_die_scan_begin(struct hs_die_scan *scan, Dwarf_Die *unit)
{
	*scan = (struct hs_die_scan){0};
	struct unit_sizes sizes = {0};
	uint8_t unit_type = 0;
	size_t section_bytes = 0;
	if (dwarf_cu_info(unit->cu, &sizes.version, &unit_type, NULL, NULL, NULL, &sizes.address,
			  &sizes.offset) != 0 ||
	    !section_of(unit, unit->addr, &scan->section, &section_bytes))
		return false;

	Dwarf_Off die_offset = dwarf_dieoffset(unit), next = 0;
	Dwarf_Off header_offset = die_offset - dwarf_cuoffset(unit);
	if (die_offset != (Dwarf_Off)((const uint8_t *)unit->addr - scan->section))
		return false;
	if (dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), header_offset, &next, NULL, NULL, NULL, NULL, NULL,
			    NULL, NULL) != 0)
		return false;
	if (next > section_bytes)
		next = section_bytes;
	if (next < die_offset)
		return false;
	scan->position = unit->addr;
	scan->end = scan->section + next;
	read_abbreviations(scan, unit, &sizes);
	return true;
}

static bool read_leb128(const uint8_t **position, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; *position < end; shift += 7) {
		uint8_t byte = *(*position)++;
		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Little or big endian: the byte order of the file is that of this machine, or the program would not have run
 * here; for another one the blocks have the wrong length and the scan ends early. */
static bool read_fixed(const uint8_t **position, const uint8_t *end, unsigned bytes, uint64_t *value)
{
	if ((size_t)(end - *position) < bytes)
		return false;
	*value = 0;
	for (unsigned i = 0; i < bytes; i++)
		*value |= (uint64_t)(*position)[i]
			  << 8 * (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : bytes - 1 - i);
	*position += bytes;
	return true;
}

static bool take_step(struct hs_die_scan *scan, struct hs_die_step step)
{
	const uint8_t *position = scan->position, *end = scan->end;
	uint64_t bytes = 0;
	switch (step.kind) {
	case STEP_FIXED:
		bytes = step.bytes;
		break;
	case STEP_LEB128:
		if (!read_leb128(&position, end, &bytes))
			return false;
		bytes = 0;
		break;
	case STEP_STRING:
		while (position < end && *position)
			position++;
		bytes = 1;
		break;
	case STEP_BLOCK1:
	case STEP_BLOCK2:
	case STEP_BLOCK4:
		if (!read_fixed(&position, end, 1u << (step.kind - STEP_BLOCK1), &bytes))
			return false;
		break;
	case STEP_BLOCK:
		if (!read_leb128(&position, end, &bytes))
			return false;
		break;
	default: { /* STEP_INDIRECT */
		struct unit_sizes sizes = {step.bytes & 0xff, step.bytes >> 8 & 0xff,
					   (uint16_t)(step.bytes >> 16)};
		struct hs_die_step real;
		uint64_t form;
		if (!read_leb128(&position, end, &form) || form == DW_FORM_indirect || form > 0xffff ||
		    !step_of_form((unsigned)form, &sizes, &real))
			return false;
		scan->position = position;
		return take_step(scan, real);
	}
	}
	if (bytes > (size_t)(end - position))
		return false;
	scan->position = position + bytes;
	return true;
}

bool hs_die_scan_next(struct hs_die_scan *scan, struct hs_die *die)
{
	uint64_t offset, code;
	if (scan->begun && scan->depth == 0)
		return false;
	scan->begun = true;
	do {
		offset = (uint64_t)(scan->position - scan->section);
		if (!read_leb128(&scan->position, scan->end, &code))
			return false;
		if (code == 0 && scan->depth-- <= 1)
			return false;
	} while (code == 0);

	const struct hs_die_abbreviation *abbreviation = find_abbreviation(scan, code);
	if (!abbreviation)
		return false;
	for (uint32_t i = 0; i < abbreviation->step_count; i++)
		if (!take_step(scan, scan->steps[abbreviation->first_step + i]))
			return false;
	*die = (struct hs_die){offset,
			       scan->depth,
			       abbreviation->tag,
			       abbreviation->has_children,
			       abbreviation->source,
			       abbreviation->has_code};
	if (abbreviation->has_children && ++scan->depth == UINT32_MAX)
		return false;
	return true;
}

void hs_die_scan_free(struct hs_die_scan *scan)
{
	free(scan->abbreviations);
	free(scan->steps);
	*scan = (struct hs_die_scan){0};
}
