/* The units of a module's DWARF: which one covers an address, and for each one that is asked for an index of
 * its functions and inlined calls, and of the namespaces and classes that qualify names. */
#ifndef HS_UNITS_H
#define HS_UNITS_H

#include "range_map.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_NO_INDEX UINT32_MAX

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

struct hs_units {
	Dwarf *dwarf;
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

/* `module` is the file that was loaded, for its segments; `dwarf` may come from another one. */
void hs_units_init(struct hs_units *units, Dwarf *dwarf, Elf *module);
void hs_units_free(struct hs_units *units);

/* The unit with the code at an address, or NULL. */
struct hs_unit *hs_units_at(struct hs_units *units, uint64_t address);

/* The unit of a DIE that one of `near` refers to: the same, another, or one of the alternate (dwz) file. NULL
 * if it makes no sense. Its index may not have been built. */
struct hs_unit *hs_units_of_die(struct hs_units *units, Dwarf_Die *die, struct hs_unit *near);

/* Builds the index of a unit unless it is there. */
void hs_unit_index(struct hs_units *units, struct hs_unit *unit);

/* The innermost function or inlined call at an address: an index in unit->functions, or HS_NO_INDEX. */
uint32_t hs_unit_function_at(const struct hs_unit *unit, uint64_t address);

/* The scope around a DIE: an index in unit->scopes, or HS_NO_INDEX. */
uint32_t hs_unit_scope_around(const struct hs_unit *unit, uint64_t die_offset);

#endif
