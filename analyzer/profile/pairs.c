#include "pairs.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Both halves of a product (as in wyhash). */
static size_t slot_of(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	unsigned __int128 product =
		(unsigned __int128)(first ^ 0x9e3779b97f4a7c15ULL) * (second ^ 0xc4ceb9fe1a85ec53ULL);
	return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & (pairs->slot_count - 1);
}

static void widen(struct hs_pairs *pairs, size_t slot_count)
{
	free(pairs->slots);
	pairs->slot_count = slot_count;
	/* written at once: a page of zeros that is read first costs a second fault when it is written */
	pairs->slots = hs_allocate(slot_count * sizeof *pairs->slots);
	memset(pairs->slots, 0, slot_count * sizeof *pairs->slots);
	for (uint32_t i = 0; i < pairs->count; i++) {
		size_t slot = slot_of(pairs, pairs->items[i].first, pairs->items[i].second);
		while (pairs->slots[slot])
			slot = (slot + 1) & (pairs->slot_count - 1);
		pairs->slots[slot] = i + 1;
	}
}

void hs_pairs_free(struct hs_pairs *pairs)
{
	free(pairs->items);
	free(pairs->slots);
	*pairs = (struct hs_pairs){0};
}

/* The slot that holds the pair, or the free one where it belongs. */
static size_t search(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	size_t slot = slot_of(pairs, first, second);
	for (; pairs->slots[slot]; slot = (slot + 1) & (pairs->slot_count - 1)) {
		const struct hs_pair *item = &pairs->items[pairs->slots[slot] - 1];
		if (item->first == first && item->second == second)
			break;
	}
	return slot;
}

uint32_t hs_pairs_find(const struct hs_pairs *pairs, uint64_t first, uint64_t second)
{
	if (pairs->count == 0)
		return HS_PAIR_NONE;
	uint32_t found = pairs->slots[search(pairs, first, second)];
	return found ? found - 1 : HS_PAIR_NONE;
}

uint32_t hs_pairs_add(struct hs_pairs *pairs, uint64_t first, uint64_t second, bool *added)
{
	if ((size_t)pairs->count * 2 >= pairs->slot_count)
		widen(pairs, pairs->slot_count ? pairs->slot_count * 2 : 64);
	size_t slot = search(pairs, first, second);
	if (added)
		*added = pairs->slots[slot] == 0;
	if (pairs->slots[slot])
		return pairs->slots[slot] - 1;
	pairs->items = hs_grow(pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items);
	pairs->items[pairs->count] = (struct hs_pair){first, second};
	pairs->slots[slot] = ++pairs->count;
	return pairs->count - 1;
}
