/* .debug_aranges: DWARF 5, section 6.1.2. */
#include "aranges.h"

#include "base/memory.h"

#include <string.h>

/* A set is one unit's: 32-bit DWARF without segments. */
struct set_header {
	uint32_t length; /* of what follows it */
	uint16_t version;
	uint32_t unit;
	uint8_t address_bytes, segment_bytes;
} __attribute__((packed));

enum { VERSION = 2, PAIR_BYTES = 16 };

struct arange_list {
	struct hs_arange *ranges;
	size_t count, capacity;
};

/* The pairs of address and length begin at a multiple of their size from the set's beginning; two zeros end
 * them. */
static void read_set(struct arange_list *list, const uint8_t *set, size_t bytes, uint64_t unit)
{
	for (size_t at = PAIR_BYTES; bytes - at >= PAIR_BYTES; at += PAIR_BYTES) {
		uint64_t pair[2];
		memcpy(pair, set + at, sizeof pair);
		if (pair[0] == 0 && pair[1] == 0)
			break;
		uint64_t high;
		if (__builtin_add_overflow(pair[0], pair[1], &high) || pair[1] == 0)
			continue;
		list->ranges = hs_grow(list->ranges, list->count, &list->capacity, sizeof *list->ranges);
		list->ranges[list->count++] = (struct hs_arange){pair[0], high, unit};
	}
}

size_t hs_aranges_read(const uint8_t *section, size_t bytes, struct hs_arange **ranges)
{
	struct arange_list list = {0};
	for (size_t at = 0; bytes - at >= sizeof(struct set_header);) {
		struct set_header header;
		memcpy(&header, section + at, sizeof header);
		size_t set_bytes = sizeof header.length + (size_t)header.length;
		if (set_bytes > bytes - at || set_bytes < sizeof header)
			break;
		if (header.version == VERSION && header.address_bytes == sizeof(uint64_t) &&
		    header.segment_bytes == 0 && set_bytes >= PAIR_BYTES)
			read_set(&list, section + at, set_bytes, header.unit);
		at += set_bytes;
	}
	*ranges = list.ranges;
	return list.count;
}
