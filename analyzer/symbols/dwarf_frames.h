/* Function, file and line of an address, with the calls that were inlined there; from DWARF. */
#ifndef HS_DWARF_FRAMES_H
#define HS_DWARF_FRAMES_H

#include "names.h"
#include "units.h"

/* More frames than a compiler inlines at one place. */
enum { HS_MOST_INLINED = 256 };

/* All strings are indexes in the texts of hs_names; 0 is unknown. */
struct hs_dwarf_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
	bool has_linkage_name; /* `function` is the symbol's own name, demangled */
};

/* Innermost first; the last one is the function itself. Returns how many, 0 if no unit covers the address. */
uint32_t hs_dwarf_frames(struct hs_units *units, struct hs_names *names, uint64_t address,
			 struct hs_dwarf_frame frames[static HS_MOST_INLINED]);

#endif
