/* A set of distinct pairs of integers, numbered in the order of their coming: the hash table behind stacks,
 * places and texts. Private to profile/ and export/. */
#ifndef HS_PAIRS_H
#define HS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_pair {
	uint64_t first, second;
};

struct hs_pairs {
	struct hs_pair *items;
	uint32_t count;
	size_t capacity;
	uint32_t *slots;   /* index + 1; 0 free */
	size_t slot_count; /* a power of two, or 0 */
};

#define HS_PAIR_NONE UINT32_MAX /* no such pair */

/* An object of zeros is an empty set. */
void hs_pairs_free(struct hs_pairs *pairs);
static inline uint32_t hs_pairs_find(const struct hs_pairs *pairs, uint64_t first, uint64_t second);
/* Finds or adds; *added (may be NULL) tells which. */
uint32_t hs_pairs_add(struct hs_pairs *pairs, uint64_t first, uint64_t second, bool *added);

/* ---- inline, for what is looked up for each of a million nodes ---- */

/* Both halves of a product (as in wyhash). */
static inline size_t hs_pairs_slot(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	unsigned __int128 product =
		(unsigned __int128)(first ^ 0x9e3779b97f4a7c15ULL) * (second ^ 0xc4ceb9fe1a85ec53ULL);
	return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & (pairs->slot_count - 1);
}

/* The slot that holds the pair, or the free one where it belongs. */
static inline size_t hs_pairs_search(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	size_t slot = hs_pairs_slot(pairs, first, second);
	for (; pairs->slots[slot]; slot = (slot + 1) & (pairs->slot_count - 1)) {
		const struct hs_pair *item = &pairs->items[pairs->slots[slot] - 1];
		if (item->first == first && item->second == second)
			break;
	}
	return slot;
}

static inline uint32_t hs_pairs_find(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	if (pairs->count == 0)
		return HS_PAIR_NONE;
	uint32_t found = pairs->slots[hs_pairs_search(pairs, first, second)];
	return found ? found - 1 : HS_PAIR_NONE;
}

#endif
