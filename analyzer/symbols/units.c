/* The units of a module's DWARF: which one covers an address. */
#include "units.h"

#include "aranges.h"
#include "base/memory.h"
#include "die_scan.h"

#include <dwarf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 4 << 20 };

static void read_segments(struct hs_units *units, Elf *module)
{
	size_t count = 0;
	if (elf_getphdrnum(module, &count) != 0)
		return;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Phdr segment;
		if (units->code_count == sizeof units->code / sizeof *units->code)
			break;
		if (!gelf_getphdr(module, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X))
			continue;
		struct hs_address_range *code = &units->code[units->code_count++];
		code->low = segment.p_vaddr;
		if (__builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &code->high))
			code->high = UINT64_MAX;
	}
}

bool hs_units_read_all(struct hs_units *units)
{
	return units->inflated && hs_inflate_rest(units->inflated, HS_GROWING_INFO);
}

static void free_unit(struct hs_unit *unit)
{
	free(unit->functions);
	free(unit->scopes);
	hs_range_map_free(&unit->function_map);
	free(unit);
}

static void keep_nothing(void *node)
{
	(void)node;
}

void hs_units_free(struct hs_units *units)
{
	tdestroy(units->by_cu, keep_nothing);
	for (size_t i = 0; i < units->count; i++)
		free_unit(units->units[i]);
	free(units->units);
	free(units->early);
	hs_range_map_free(&units->early_map);
	hs_range_map_free(&units->map);
	*units = (struct hs_units){0};
}

static int by_cu(const void *left, const void *right)
{
	const struct hs_unit *a = left, *b = right;
	uintptr_t a_cu = (uintptr_t)a->die.cu, b_cu = (uintptr_t)b->die.cu;
	return (a_cu > b_cu) - (a_cu < b_cu);
}

static void append_unit(struct hs_units *units, struct hs_unit *unit)
{
	units->units = hs_grow(units->units, units->count, &units->capacity, sizeof *units->units);
	units->units[units->count++] = unit;
}

/* NULL: it is not known yet. */
static struct hs_unit *find_unit(struct hs_units *units, const Dwarf_Die *die)
{
	struct hs_unit wanted = {.die = *die};
	struct hs_unit **found = tfind(&wanted, &units->by_cu, by_cu);
	return found ? *found : NULL;
}

/* Not yet in the list of units. */
static struct hs_unit *new_unit(struct hs_units *units, const Dwarf_Die *die)
{
	struct hs_unit *unit = hs_allocate_zero(1, sizeof *unit);
	unit->die = unit->code_die = *die;
	tsearch(unit, &units->by_cu, by_cu);
	return unit;
}

static struct hs_unit *add_unit(struct hs_units *units, const Dwarf_Die *die)
{
	struct hs_unit *unit = find_unit(units, die);
	if (!unit) {
		unit = new_unit(units, die);
		append_unit(units, unit);
	}
	return unit;
}

/* A linker that drops a function leaves its debug information, with 0 or another impossible address. */
static void add_code_range(const struct hs_units *units, struct hs_range_map *map, uint64_t low,
			   uint64_t high, uint32_t value)
{
	if (low == 0)
		return;
	for (uint32_t i = 0; i < units->code_count; i++) {
		const struct hs_address_range *code = &units->code[i];
		if (low >= code->low && low < code->high)
			hs_range_map_add(map, low, high < code->high ? high : code->high, value);
	}
}

size_t hs_units_add_ranges(const struct hs_units *units, struct hs_range_map *map, Dwarf_Die *die,
			   uint32_t value, size_t *budget)
{
	Dwarf_Addr base, low, high;
	size_t count = 0;
	for (ptrdiff_t next = 0; *budget > 0 && (next = dwarf_ranges(die, next, &base, &low, &high)) > 0;
	     count++) {
		add_code_range(units, map, low, high, value);
		--*budget;
	}
	return count;
}

/* For units whose own DIE does not say what they cover. */
static void add_aranges(struct hs_units *units, const bool *has_ranges, size_t count)
{
	Dwarf_Aranges *aranges = NULL;
	size_t arange_count = 0;
	if (count == 0 || dwarf_getaranges(units->dwarf, &aranges, &arange_count) != 0)
		return;
	for (size_t i = 0; i < arange_count; i++) {
		Dwarf_Addr start;
		Dwarf_Word length;
		Dwarf_Off offset;
		Dwarf_Die die;
		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) != 0 ||
		    !dwarf_offdie(units->dwarf, offset, &die))
			continue;
		/* The units stand in the order of their offsets. */
		size_t first = 0, last = count;
		while (last - first > 1) {
			size_t middle = first + (last - first) / 2;
			if ((uintptr_t)units->units[middle]->die.addr <= (uintptr_t)die.addr)
				first = middle;
			else
				last = middle;
		}
		if (units->units[first]->die.cu == die.cu && !has_ranges[first] && start + length > start)
			add_code_range(units, &units->map, start, start + length, (uint32_t)first);
	}
}

/* In the order of their offsets; those that were found before are taken over. */
static void list_units(struct hs_units *units, bool **has_ranges, bool *some_without)
{
	size_t budget = HS_RANGES_OF_UNIT_MOST, has_ranges_capacity = 0;
	Dwarf_CU *cu = NULL;
	uint8_t unit_type;
	Dwarf_Die die;
	while (units->count < MOST_UNITS &&
	       dwarf_get_units(units->dwarf, cu, &cu, NULL, &unit_type, &die, NULL) == 0) {
		if ((unit_type != DW_UT_compile && unit_type != DW_UT_skeleton) || !die.addr)
			continue;
		uint32_t index = (uint32_t)units->count;
		struct hs_unit *unit = find_unit(units, &die);
		append_unit(units, unit ? unit : new_unit(units, &die));
		units->units[index]->listed = true;
		*has_ranges = hs_grow(*has_ranges, index, &has_ranges_capacity, sizeof **has_ranges);
		(*has_ranges)[index] = hs_units_add_ranges(units, &units->map, &die, index, &budget) > 0;
		*some_without |= !(*has_ranges)[index];
	}
}

/* Which unit covers which addresses: from the units' own DIEs, which is little more work than .debug_aranges
 * and, unlike it, always there (clang writes none). */
static void index_units(struct hs_units *units)
{
	struct hs_unit **before = units->units;
	size_t before_count = units->count;
	bool *has_ranges = NULL, some_without = false;
	units->indexed = true;
	units->units = NULL;
	units->count = units->capacity = 0;
	list_units(units, &has_ranges, &some_without);
	if (some_without)
		add_aranges(units, has_ranges, units->count);
	for (size_t i = 0; i < before_count; i++)
		if (!before[i]->listed)
			append_unit(units, before[i]);
	free(before);
	free(has_ranges);
	hs_range_map_build(&units->map);
}

/* ---- before they are indexed --------------------------------------------------------------------------- */

static void read_early_units(struct hs_units *units, Elf *elf)
{
	struct hs_arange *ranges = NULL;
	size_t capacity = 0;
	Elf_Data *section = hs_elf_section_data(elf, ".debug_aranges");
	size_t count = section ? hs_aranges_read(section->d_buf, section->d_size, &ranges) : 0;
	for (size_t i = 0; i < count && units->early_count < MOST_UNITS; i++) {
		if (i == 0 || ranges[i].unit != ranges[i - 1].unit) {
			units->early =
				hs_grow(units->early, units->early_count, &capacity, sizeof *units->early);
			units->early[units->early_count++] = (struct hs_early_unit){.offset = ranges[i].unit};
		}
		add_code_range(units, &units->early_map, ranges[i].low, ranges[i].high,
			       (uint32_t)units->early_count - 1);
	}
	free(ranges);
	hs_range_map_build(&units->early_map);
}

/* NULL if there is no such unit. */
static struct hs_unit *unit_at_offset(struct hs_units *units, uint64_t offset)
{
	Dwarf_Off next;
	size_t header_bytes;
	Dwarf_Die die, unit_die;
	if (!hs_inflate_unit(units->inflated, HS_GROWING_INFO, offset) ||
	    dwarf_next_unit(units->dwarf, offset, &next, &header_bytes, NULL, NULL, NULL, NULL, NULL, NULL) !=
		    0 ||
	    !dwarf_offdie(units->dwarf, offset + header_bytes, &die) ||
	    !dwarf_diecu(&die, &unit_die, NULL, NULL) || unit_die.addr != die.addr)
		return NULL;
	int tag = dwarf_tag(&die);
	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit ? add_unit(units, &die) : NULL;
}

static struct hs_unit *early_unit_at(struct hs_units *units, uint64_t address)
{
	uint32_t index;
	if (!hs_range_map_find(&units->early_map, address, &index))
		return NULL;
	struct hs_early_unit *early = &units->early[index];
	if (!early->unit)
		early->unit = unit_at_offset(units, early->offset);
	return early->unit;
}

void hs_units_init(struct hs_units *units, Dwarf *dwarf, struct hs_elf_file *file, Elf *module)
{
	*units = (struct hs_units){.dwarf = dwarf, .inflated = &file->inflated};
	read_segments(units, module);
	if (units->inflated->growing[HS_GROWING_INFO])
		read_early_units(units, file->elf);
}

static void inflate_lines(struct hs_units *units, struct hs_unit *unit)
{
	uint32_t offset;
	if (units->inflated->growing[HS_GROWING_LINE] &&
	    (!hs_die_section_offset(&unit->die, DW_AT_stmt_list, &offset) ||
	     !hs_inflate_unit(units->inflated, HS_GROWING_LINE, offset)))
		hs_inflate_rest(units->inflated, HS_GROWING_LINE);
}

struct hs_unit *hs_units_at(struct hs_units *units, uint64_t address)
{
	uint32_t index;
	struct hs_unit *unit = units->indexed ? NULL : early_unit_at(units, address);
	if (!unit) {
		if (!units->indexed) {
			hs_units_read_all(units);
			index_units(units);
		}
		unit = hs_range_map_find(&units->map, address, &index) ? units->units[index] : NULL;
	}
	if (unit && !unit->checked) {
		unit->checked = true;
		unit->good = hs_die_strings_end(&unit->die);
		inflate_lines(units, unit);
	}
	return unit && unit->good ? unit : NULL;
}

struct hs_unit *hs_units_of_die(struct hs_units *units, Dwarf_Die *die, struct hs_unit *near)
{
	if (near->code_die.cu == die->cu)
		return near;
	struct hs_unit *known = find_unit(units, die);
	Dwarf_Die unit_die;
	if (known)
		return known;
	if (!dwarf_diecu(die, &unit_die, NULL, NULL))
		return NULL;
	return add_unit(units, &unit_die);
}
