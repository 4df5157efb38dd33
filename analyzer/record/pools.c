/* Pools: blocks that the program carves out of slabs and reports itself. They are booked like blocks of
 * malloc; a slab is not, so that no byte counts twice. A slab knows its blocks, because its end is theirs. */
#include "record/pair.h"

#include "base/memory.h"
#include "record/encode.h"

#include <stdlib.h>

void hs_pools_free(struct hs_pools *pools)
{
	for (uint32_t i = 0; i < pools->slab_count; i++)
		free(pools->slabs[i].blocks);
	free(pools->slabs);
	pools->slabs = NULL;
	pools->slab_count = 0;
}

/* ---- slabs --------------------------------------------------------------------------------------------- */

static bool is_live(struct hs_pairing *pairs, uint64_t block)
{
	return hs_pairing_find(pairs, block | HS_KEY_POOL) != NULL;
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Forgets blocks that have ended. */
static void tidy(struct hs_pairing *pairs, struct hs_slab *slab)
{
	size_t kept = 0;
	if (slab->count)
		qsort(slab->blocks, slab->count, sizeof *slab->blocks, by_address);
	for (size_t i = 0; i < slab->count; i++)
		if ((!kept || slab->blocks[i] != slab->blocks[kept - 1]) && is_live(pairs, slab->blocks[i]))
			slab->blocks[kept++] = slab->blocks[i];
	slab->count = kept;
}

static void forget_slab(struct hs_pairing *pairs, struct hs_slab *slab)
{
	hs_pairing_take_out(pairs, hs_pairing_find(pairs, slab->address | HS_KEY_SLAB));
	free(slab->blocks);
	*slab = (struct hs_slab){.next_free = pairs->pools.free_slabs};
	pairs->pools.free_slabs = (uint32_t)(slab - pairs->pools.slabs) + 1;
}

/* A free place in the list. Nobody tells when memory goes that is not of malloc: slabs of such without blocks
 * are forgotten before the list grows. */
static uint32_t free_place(struct hs_pairing *pairs)
{
	struct hs_pools *pools = &pairs->pools;
	if (!pools->free_slabs && pools->slab_count == pools->slab_capacity) {
		uint32_t freed = 0;
		for (uint32_t i = 0; i < pools->slab_count; i++) {
			struct hs_slab *slab = &pools->slabs[i];
			if (slab->of_malloc)
				continue;
			tidy(pairs, slab);
			if (!slab->count)
				forget_slab(pairs, slab), freed++;
		}
		if (freed <= pools->slab_count / 4) /* else it would be searched again soon */
			pools->slabs = hs_grow(pools->slabs, pools->slab_count, &pools->slab_capacity,
					       sizeof *pools->slabs);
	}
	if (!pools->free_slabs)
		return pools->slab_count++;
	uint32_t place = pools->free_slabs - 1;
	pools->free_slabs = pools->slabs[place].next_free;
	return place;
}

static struct hs_slab *slab_at(struct hs_pairing *pairs, uint64_t address)
{
	const struct hs_block *entry = hs_pairing_find(pairs, address | HS_KEY_SLAB);
	return entry ? &pairs->pools.slabs[entry->allocation] : NULL;
}

static struct hs_slab *add_slab(struct hs_pairing *pairs, uint64_t address)
{
	uint32_t place = free_place(pairs);
	struct hs_block *entry = hs_pairing_put(pairs, address | HS_KEY_SLAB);
	entry->allocation = place;
	entry->size = 0;
	pairs->pools.slabs[place] = (struct hs_slab){.address = address};
	return &pairs->pools.slabs[place];
}

/* It has so many bytes from now on. */
static void size_slab(struct hs_pairing *pairs, struct hs_slab *slab, uint64_t bytes)
{
	struct hs_pools *pools = &pairs->pools;
	struct hs_block *entry = hs_pairing_find(pairs, slab->address | HS_KEY_SLAB);
	slab->of_malloc = true;
	pools->slab_bytes += bytes - entry->size;
	entry->size = bytes;
	if (pools->slab_bytes > pools->slab_most_bytes)
		pools->slab_most_bytes = pools->slab_bytes;
}

void hs_pools_add_slab(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_slab *slab = slab_at(pairs, item->address);
	if (!slab)
		slab = add_slab(pairs, item->address);
	struct hs_block *block = hs_pairing_find(pairs, item->address);
	if (block) {
		pairs->repaired_frees++;
		hs_pairing_end(pairs, item, block);
	}
	pairs->pools.allocated_slabs++;
	size_slab(pairs, slab, item->size);
}

static void end_block(struct hs_pairing *pairs, const struct hs_item *item, struct hs_block *block)
{
	pairs->pools.live_bytes -= block->size;
	hs_pairing_end(pairs, item, block);
}

static void end_blocks(struct hs_pairing *pairs, const struct hs_item *item, struct hs_slab *slab)
{
	for (size_t i = 0; i < slab->count; i++) {
		struct hs_block *block = hs_pairing_find(pairs, slab->blocks[i] | HS_KEY_POOL);
		if (block)
			end_block(pairs, item, block);
	}
	slab->count = 0;
}

bool hs_pools_end_slab(struct hs_pairing *pairs, const struct hs_item *item, uint64_t *bytes)
{
	struct hs_slab *slab = slab_at(pairs, item->address);
	if (!slab)
		return false;
	*bytes = hs_pairing_find(pairs, slab->address | HS_KEY_SLAB)->size;
	end_blocks(pairs, item, slab);
	pairs->pools.slab_bytes -= *bytes;
	forget_slab(pairs, slab);
	return true;
}

bool hs_pools_resize_slab(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_slab *slab = slab_at(pairs, item->address);
	if (!slab)
		return false;
	size_slab(pairs, slab, item->size);
	return true;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* The slab that a block is reported from. *replaced: it was a block of malloc until now, which is out of the
 * table. */
static struct hs_slab *slab_of(struct hs_pairing *pairs, uint64_t address, struct hs_block *replaced)
{
	struct hs_slab *slab = slab_at(pairs, address);
	struct hs_block *block = hs_pairing_find(pairs, address);
	replaced->address = 0;
	if (block && (!slab || !slab->of_malloc)) {
		*replaced = *block;
		hs_pairing_take_out(pairs, block);
	}
	if (!slab)
		slab = add_slab(pairs, address);
	if (replaced->address) {
		pairs->pools.allocated_slabs++;
		size_slab(pairs, slab, replaced->size);
	}
	return slab;
}

static void note_block(struct hs_pairing *pairs, struct hs_slab *slab, uint64_t block)
{
	enum { FIRST = 16 };
	if (slab->count == slab->capacity) {
		tidy(pairs, slab);
		if (slab->count >= slab->capacity / 2) { /* else it would be full again soon */
			slab->capacity = slab->capacity ? slab->capacity * 2 : FIRST;
			slab->blocks = hs_reallocate(slab->blocks, slab->capacity, sizeof *slab->blocks);
		}
	}
	slab->blocks[slab->count++] = block;
}

static void begin_block(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news,
			const struct hs_block *old)
{
	struct hs_pools *pools = &pairs->pools;
	struct hs_block replaced = {0};
	struct hs_item own = *item;
	own.address = news->block | HS_KEY_POOL;
	own.size = news->size;
	struct hs_block *at = hs_pairing_find(pairs, own.address);
	if (at)
		pools->live_bytes -= at->size; /* its free is missing */
	if (news->slab) {
		struct hs_slab *slab = slab_of(pairs, news->slab, &replaced);
		note_block(pairs, slab, news->block);
	}
	enum hs_event_kind kind = HS_EVENT_ALLOC;
	if (old)
		kind = old->address == own.address ? HS_EVENT_RESIZE : HS_EVENT_MOVE;
	else if (replaced.address)
		kind = HS_EVENT_RESIZE;
	if (old && replaced.address) /* a block that moves into a slab that was none: two end, one begins */
		hs_pairing_write_end(pairs, item, &replaced);
	hs_pairing_begin(pairs, &own, kind, old ? old : replaced.address ? &replaced : NULL);
	pools->allocations++;
	pools->live_bytes += news->size;
	if (pools->live_bytes > pools->most_bytes)
		pools->most_bytes = pools->live_bytes;
}

static void take_realloc(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news)
{
	struct hs_block *block = hs_pairing_find(pairs, news->old | HS_KEY_POOL);
	if (!news->old || !block) {
		if (item->stream->mode != HS_STREAM_PAUSED) {
			begin_block(pairs, item, news, NULL);
		} else {
			pairs->skipped_allocations++;
			pairs->skipped_bytes += news->size;
		}
		return;
	}
	struct hs_block old = *block;
	pairs->pools.live_bytes -= old.size;
	hs_pairing_take_out(pairs, block);
	begin_block(pairs, item, news, &old);
}

void hs_pools_take(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news)
{
	struct hs_block *block;
	struct hs_slab *slab;
	switch (news->op) {
	case HS_WIDE_POOL_ALLOC:
		if (news->block)
			begin_block(pairs, item, news, NULL);
		break;
	case HS_WIDE_POOL_REALLOC:
		if (news->block)
			take_realloc(pairs, item, news);
		break;
	case HS_WIDE_POOL_FREE:
		block = hs_pairing_find(pairs, news->block | HS_KEY_POOL);
		if (block)
			end_block(pairs, item, block);
		else
			pairs->unknown_frees++;
		break;
	case HS_WIDE_POOL_RESET:
		slab = slab_at(pairs, news->slab);
		if (slab)
			end_blocks(pairs, item, slab);
		break;
	}
}
