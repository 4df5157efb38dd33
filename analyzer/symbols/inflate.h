/* Compressed debug sections, inflated faster than libdw does, and no more of them than is needed. */
#ifndef HS_INFLATE_H
#define HS_INFLATE_H

#include "growing_section.h"

enum hs_growing { HS_GROWING_INFO, HS_GROWING_LINE, HS_GROWING_SECTIONS };

/* What sections of an Elf now consist of: to be freed after elf_end. */
struct hs_inflated {
	void **blocks;
	size_t count, capacity;
	struct hs_growing_section *growing[HS_GROWING_SECTIONS]; /* or NULL: it is as long as it ever was */
};

/* Gives the sections named .debug_* their inflated bytes, and takes away those that nobody here reads. What
 * is damaged or compressed in another way is left to libdw. partly: .debug_info and .debug_line may end
 * behind their first unit until one of the next functions is called. */
void hs_inflate_debug(struct hs_inflated *inflated, Elf *elf, bool partly);
/* Whether the unit at an offset is there. */
bool hs_inflate_unit(struct hs_inflated *inflated, enum hs_growing which, uint64_t offset);
/* False: all was there already. */
bool hs_inflate_rest(struct hs_inflated *inflated, enum hs_growing which);
void hs_inflated_free(struct hs_inflated *inflated);

#endif
