/* One pass over the debugging information entries (DIEs) of a unit in file order. libdw can walk them too,
 * but reads every attribute of every entry on the way, and subtrees again and again; this only steps over
 * them. */
#ifndef HS_DIE_SCAN_H
#define HS_DIE_SCAN_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_die_abbreviation;
struct hs_die_step;

struct hs_die_scan {
	const uint8_t *position;
	const uint8_t *end;
	const uint8_t *section; /* the byte at offset 0 */
	uint32_t depth;
	bool begun;
	struct hs_die_abbreviation *abbreviations; /* by code */
	size_t abbreviation_count;
	size_t abbreviation_capacity;
	struct hs_die_step *steps;
	size_t step_count;
	size_t step_capacity;
};

struct hs_die {
	uint64_t offset;
	uint32_t depth; /* of the unit's own DIE: 0 */
	uint32_t tag;
	bool has_children;
	Dwarf_Abbrev *abbreviation;
	bool has_code; /* an attribute with an address: DW_AT_low_pc or DW_AT_ranges */
};

/* Begins at the unit's own DIE. False if the unit makes no sense; free it in any case. */
bool hs_die_scan_begin(struct hs_die_scan *scan, Dwarf_Die *unit);

/* The next DIE; false at the end of the unit, or where it stops to make sense. */
bool hs_die_scan_next(struct hs_die_scan *scan, struct hs_die *die);

void hs_die_scan_free(struct hs_die_scan *scan);

/* The text of an attribute; NULL if there is none, if it is empty, or if nothing ends it within its section.
 */
const char *hs_die_string(Dwarf_Die *die, unsigned attribute);

/* An offset in another section, in 32-bit DWARF of this machine's byte order; also one behind its end, which
 * dwarf_formudata() does not give. False: there is none. */
bool hs_die_section_offset(Dwarf_Die *die, unsigned attribute, uint32_t *offset);

/* False if one of the strings that libdw itself uses (where the files are) has no end. */
bool hs_die_strings_end(Dwarf_Die *unit);

#endif
