/* A compressed section that is a row of units (.debug_info, .debug_line), inflated as far as it is needed: a
 * few addresses of a large library are in a few of its units. For libdw it ends behind the last unit that was
 * asked for; its bytes stay where they are when it grows. */
#ifndef HS_GROWING_SECTION_H
#define HS_GROWING_SECTION_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_growing_section;

/* packed: a zlib stream of `whole` bytes, which has to stay. Shows the first unit. NULL: it cannot be done.
 */
struct hs_growing_section *hs_growing_section_new(Elf *elf, const uint8_t *packed, size_t packed_bytes,
						  size_t whole);
/* Makes a section of an ELF file consist of it. */
void hs_growing_section_place(struct hs_growing_section *growing, Elf_Scn *section);
bool hs_growing_section_is_whole(const struct hs_growing_section *growing);
/* Shows at least the unit whose header is at an offset. False if there is no whole one. */
bool hs_growing_section_unit(struct hs_growing_section *growing, uint64_t offset);
/* Shows all, or as much as is not damaged. */
void hs_growing_section_rest(struct hs_growing_section *growing);
void hs_growing_section_free(struct hs_growing_section *growing);

#endif
