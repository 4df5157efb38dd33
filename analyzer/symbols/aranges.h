/* .debug_aranges: which unit covers an address. Read without libdw, which looks into .debug_info for it. */
#ifndef HS_ARANGES_H
#define HS_ARANGES_H

#include <stddef.h>
#include <stdint.h>

struct hs_arange {
	uint64_t low;
	uint64_t high; /* exclusive */
	uint64_t unit; /* offset of its header in .debug_info */
};

/* Reads a section in this machine's byte order, with 8-byte addresses. Returns how many there are, in
 * *ranges, malloc'ed; what does not make sense is left out. Ranges of one unit stand together. */
size_t hs_aranges_read(const uint8_t *section, size_t bytes, struct hs_arange **ranges);

#endif
