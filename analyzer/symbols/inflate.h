/* Compressed debug sections, inflated faster than libdw does. */
#ifndef HS_INFLATE_H
#define HS_INFLATE_H

#include <gelf.h>
#include <stddef.h>

/* Memory that sections of an Elf now consist of: to be freed after elf_end. */
struct hs_inflated {
	void **blocks;
	size_t count, capacity;
};

/* Gives the sections named .debug_* their inflated bytes, and takes away those that nobody here reads. What
 * is damaged or compressed in another way is left to libdw. */
void hs_inflate_debug(struct hs_inflated *inflated, Elf *elf);
void hs_inflated_free(struct hs_inflated *inflated);

#endif
