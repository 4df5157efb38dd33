/* The units of a module's DWARF: which one covers an address, and for each one that is asked for an index of
 * its functions and inlined calls, and of the namespaces and classes that qualify names. */
#ifndef HS_UNITS_H
#define HS_UNITS_H

#include "elf_file.h"
#include "range_map.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_NO_INDEX UINT32_MAX

/* In a damaged file every entry may point to the same huge list of ranges. */
enum { HS_RANGES_OF_UNIT_MOST = 4 << 20 };

/* A function with code, or a call that was inlined into one. */
struct hs_function {
	uint64_t die_offset;
	uint32_t caller; /* index of the function it is inlined into, HS_NO_INDEX if it is not inlined */
	bool inlined;
	bool named; /* `name` is known */
	bool has_linkage_name;
	uint32_t name; /* index in the texts of hs_names */
};

/* A DIE that names what is inside: namespace, class; function, for the classes and lambda functions in it. */
struct hs_scope {
	uint64_t die_offset;
	uint64_t end;
	uint32_t parent; /* index or HS_NO_INDEX */
	uint32_t depth;
};

struct hs_unit {
	Dwarf_Die die;      /* of the unit in the file itself: lines, compilation directory */
	Dwarf_Die code_die; /* the DIE above the functions: the same, or that of the .dwo file */
	bool listed;        /* in its place in hs_units.units */
	bool checked, good; /* libdw can look for its lines without running out of a section */
	bool indexed;
	struct hs_function *functions;
	size_t function_count;
	size_t function_capacity;
	struct hs_range_map function_map;
	struct hs_scope *scopes; /* by offset */
	size_t scope_count;
	size_t scope_capacity;
};

struct hs_address_range {
	uint64_t low;
	uint64_t high;
};

/* A unit that may not have been looked at. */
struct hs_early_unit {
	uint64_t offset;
	struct hs_unit *unit; /* or NULL */
};

struct hs_units {
	Dwarf *dwarf;
	struct hs_inflated *inflated; /* may not have all of .debug_info yet */
	struct hs_early_unit
		*early; /* what .debug_aranges knows of; by that, units are found until `indexed` */
	size_t early_count;
	struct hs_range_map early_map;
	struct hs_unit **units; /* those with code first, by offset */
	size_t count;
	size_t capacity;
	void *by_cu; /* tree for tsearch() */
	bool indexed;
	struct hs_range_map map;
	struct hs_address_range
		code[8]; /* executable segments: what lies elsewhere was dropped by the linker */
	uint32_t code_count;
};

/* `module` is the file that was loaded, for its segments; `dwarf` may come from another one, which is `file`.
 */
void hs_units_init(struct hs_units *units, Dwarf *dwarf, struct hs_elf_file *file, Elf *module);
/* Reads all of .debug_info, unless that is done: there may be more units than libdw has seen. False: it was.
 */
bool hs_units_read_all(struct hs_units *units);
void hs_units_free(struct hs_units *units);

/* The unit with the code at an address, or NULL. */
struct hs_unit *hs_units_at(struct hs_units *units, uint64_t address);

/* The unit of a DIE that one of `near` refers to: the same, another, or one of the alternate (dwz) file. NULL
 * if it makes no sense. Its index may not have been built. */
struct hs_unit *hs_units_of_die(struct hs_units *units, Dwarf_Die *die, struct hs_unit *near);

/* Adds the ranges of code of a DIE to a map; returns how many there were. *budget bounds them. */
size_t hs_units_add_ranges(const struct hs_units *units, struct hs_range_map *map, Dwarf_Die *die,
			   uint32_t value, size_t *budget);

/* Builds the index of a unit unless it is there. */
void hs_unit_index(struct hs_units *units, struct hs_unit *unit);

/* The DIE at an offset in the unit's code_die's section, which has to be one of this unit. */
Dwarf_Die hs_unit_die(const struct hs_unit *unit, uint64_t offset);

/* The innermost function or inlined call at an address: an index in unit->functions, or HS_NO_INDEX. */
uint32_t hs_unit_function_at(const struct hs_unit *unit, uint64_t address);

/* The scope around a DIE: an index in unit->scopes, or HS_NO_INDEX. */
uint32_t hs_unit_scope_around(const struct hs_unit *unit, uint64_t die_offset);

#endif
