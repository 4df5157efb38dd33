/* The index of one unit: its functions and inlined calls by address, the scopes around its DIEs. */
#include "base/memory.h"
#include "die_scan.h"
#include "units.h"

#include <dwarf.h>
#include <stdlib.h>

static bool is_scope(uint32_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

Dwarf_Die hs_unit_die(const struct hs_unit *unit, uint64_t offset)
{
	/* As dwarf_offdie() does, which looks for the unit among all units. */
	Dwarf_Off own = dwarf_dieoffset((Dwarf_Die *)&unit->code_die);
	return (Dwarf_Die){.addr = (char *)unit->code_die.addr + (offset - own), .cu = unit->code_die.cu};
}

static uint32_t add_function(struct hs_units *units, struct hs_unit *unit, const struct hs_die *die,
			     uint32_t caller, size_t *budget)
{
	uint32_t index = (uint32_t)unit->function_count;
	Dwarf_Die code = hs_unit_die(unit, die->offset);
	code.abbrev = die->abbreviation;
	if (hs_units_add_ranges(units, &unit->function_map, &code, index, budget) == 0)
		return HS_NO_INDEX;
	unit->functions = hs_grow(unit->functions, index, &unit->function_capacity, sizeof *unit->functions);
	bool inlined = die->tag == DW_TAG_inlined_subroutine;
	unit->functions[unit->function_count++] = (struct hs_function){
		.die_offset = die->offset, .caller = inlined ? caller : HS_NO_INDEX, .inlined = inlined};
	return index;
}

/* The state of a pass over a unit's DIEs. */
struct unit_pass {
	struct hs_units *units;
	struct hs_unit *unit;
	size_t range_budget;
	uint32_t scope;      /* the innermost that is open, or HS_NO_INDEX */
	uint32_t *functions; /* by depth: the function around the DIEs there, or HS_NO_INDEX */
	size_t capacity;
};

/* Closes the scopes that end before a DIE at this depth. */
static void close_scopes(struct unit_pass *pass, const struct hs_die *die)
{
	struct hs_scope *scopes = pass->unit->scopes;
	while (pass->scope != HS_NO_INDEX && scopes[pass->scope].depth >= die->depth) {
		scopes[pass->scope].end = die->offset;
		pass->scope = scopes[pass->scope].parent;
	}
}

static void open_scope(struct unit_pass *pass, const struct hs_die *die)
{
	struct hs_unit *unit = pass->unit;
	unit->scopes = hs_grow(unit->scopes, unit->scope_count, &unit->scope_capacity, sizeof *unit->scopes);
	unit->scopes[unit->scope_count] = (struct hs_scope){
		.die_offset = die->offset, .end = UINT64_MAX, .parent = pass->scope, .depth = die->depth};
	pass->scope = (uint32_t)unit->scope_count++;
}

static void index_die(struct unit_pass *pass, const struct hs_die *die)
{
	pass->functions =
		hs_grow(pass->functions, (size_t)die->depth + 1, &pass->capacity, sizeof *pass->functions);
	if (die->depth == 0)
		pass->functions[0] = HS_NO_INDEX;
	close_scopes(pass, die);
	uint32_t function = pass->functions[die->depth], own = HS_NO_INDEX;
	if (die->tag == DW_TAG_subprogram || die->tag == DW_TAG_inlined_subroutine) {
		if (die->has_code && pass->unit->function_count < HS_NO_INDEX)
			own = add_function(pass->units, pass->unit, die, function, &pass->range_budget);
		if (own != HS_NO_INDEX || die->tag == DW_TAG_subprogram)
			function = own;
	}
	if (is_scope(die->tag) && die->has_children && pass->unit->scope_count < HS_NO_INDEX)
		open_scope(pass, die);
	pass->functions[die->depth + 1] = function;
}

void hs_unit_index(struct hs_units *units, struct hs_unit *unit)
{
	if (unit->indexed)
		return;
	unit->indexed = true;
	Dwarf_Die split;
	if (dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr &&
	    dwarf_tag(&split) == DW_TAG_compile_unit &&
	    hs_elf_debug_strings_end(dwarf_getelf(dwarf_cu_getdwarf(split.cu))))
		unit->code_die = split;

	struct unit_pass pass = {
		.units = units, .unit = unit, .range_budget = HS_RANGES_OF_UNIT_MOST, .scope = HS_NO_INDEX};
	struct hs_die_scan scan;
	struct hs_die die;
	if (hs_die_scan_begin(&scan, &unit->code_die))
		while (hs_die_scan_next(&scan, &die))
			index_die(&pass, &die);
	hs_die_scan_free(&scan);
	free(pass.functions);
	hs_range_map_build(&unit->function_map);
}

uint32_t hs_unit_function_at(const struct hs_unit *unit, uint64_t address)
{
	uint32_t index;
	return hs_range_map_find(&unit->function_map, address, &index) ? index : HS_NO_INDEX;
}

uint32_t hs_unit_scope_around(const struct hs_unit *unit, uint64_t die_offset)
{
	size_t first = 0, last = unit->scope_count;
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (unit->scopes[middle].die_offset < die_offset)
			first = middle + 1;
		else
			last = middle;
	}
	uint32_t scope = first ? (uint32_t)(first - 1) : HS_NO_INDEX;
	while (scope != HS_NO_INDEX && unit->scopes[scope].end <= die_offset)
		scope = unit->scopes[scope].parent;
	return scope;
}
