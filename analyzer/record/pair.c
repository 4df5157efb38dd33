/* Merged items -> events of the file. */
#include "record/pair.h"

#include "base/memory.h"

#include <stdlib.h>

/* Nearly all items are allocations and frees: theirs are without calls, all else is out of the way. */
#define HOT static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline))

enum {
	FIRST_THREAD_SLOTS = 64,
	SLICE_ITEMS = 64,     /* are looked up together, so that their cache misses overlap */
	WINDOWS_AN_ITEM = 4,  /* that one may begin, at most: a pool's block does so with its slab's */
	CACHED_BLOCKS = 4096, /* so many need no prefetching */
};

void hs_pairing_init(struct hs_pairing *pairs, struct hs_encoder *encoder, struct hs_nodes *nodes)
{
	*pairs = (struct hs_pairing){.encoder = encoder, .nodes = nodes};
	pairs->thread_slots = hs_allocate_zero(FIRST_THREAD_SLOTS, sizeof *pairs->thread_slots);
	pairs->thread_mask = FIRST_THREAD_SLOTS - 1;
	hs_live_init(&pairs->live);
}

void hs_pairing_free(struct hs_pairing *pairs)
{
	hs_live_free(&pairs->live);
	hs_pools_free(&pairs->pools);
	hs_notes_free(&pairs->notes);
	free(pairs->thread_slots);
	pairs->thread_slots = NULL;
}

/* ---- items -> events ----------------------------------------------------------------------------------- */

HOT uint64_t item_time(const struct hs_pairing *pairs, const struct hs_item *item)
{
	uint64_t stamp = item->stamp < pairs->now_stamp ? item->stamp : pairs->now_stamp;
	return stamp > pairs->start_stamp ? hs_clock_us(&pairs->clock, stamp - pairs->start_stamp) : 0;
}

static uint32_t *thread_slot(const struct hs_pairing *pairs, uint32_t serial)
{
	uint32_t i = serial * 2654435761u & pairs->thread_mask;
	while (pairs->thread_slots[i] && pairs->encoder->threads[pairs->thread_slots[i]].serial != serial)
		i = (i + 1) & pairs->thread_mask;
	return &pairs->thread_slots[i];
}

/* The file's id of a thread, which it gets now if this is its first event. */
static uint32_t find_thread(struct hs_pairing *pairs, uint32_t serial, uint32_t tid)
{
	uint32_t *slot = thread_slot(pairs, serial);
	if (*slot)
		return *slot;
	uint32_t id = *slot = hs_encoder_thread(pairs->encoder, serial, tid);
	if (id > pairs->thread_mask / 2) {
		free(pairs->thread_slots);
		pairs->thread_mask = pairs->thread_mask * 2 + 1;
		pairs->thread_slots = hs_allocate_zero(pairs->thread_mask + 1, sizeof *pairs->thread_slots);
		for (uint32_t i = 1; i <= id; i++)
			*thread_slot(pairs, pairs->encoder->threads[i].serial) = i;
	}
	return id;
}

RARE uint32_t find_item_thread(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_stream *stream = item->stream;
	uint32_t thread = find_thread(pairs, stream->thread, stream->tid);
	if (stream->mode == HS_STREAM_PLAIN)
		stream->file_thread = thread;
	return thread;
}

HOT uint32_t item_thread(struct hs_pairing *pairs, const struct hs_item *item)
{
	uint32_t thread = item->stream->file_thread;
	return __builtin_expect(!thread, 0) ? find_item_thread(pairs, item) : thread;
}

/* A block begins, old (or NULL) ends, in a stream that has no thread yet: because its events are not booked
 * as usual? Returns the thread, or 0: nothing is to be booked, but for the end of old, which the caller has
 * taken out of the table. */
RARE uint32_t begin_unusually(struct hs_pairing *pairs, const struct hs_item *item,
			      const struct hs_block *old)
{
	switch (item->stream->mode) {
	case HS_STREAM_SLABS:
		hs_pools_add_slab(pairs, item);
		return 0;
	case HS_STREAM_PAUSED:
		if (old)
			return find_item_thread(pairs, item);
		pairs->skipped_allocations++;
		pairs->skipped_bytes += item->size;
		return 0;
	default:
		return find_item_thread(pairs, item);
	}
}

HOT void write_free(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_block *block)
{
	struct hs_encoder *encoder = pairs->encoder;
	hs_encoder_start_event(encoder, HS_EVENT_FREE, item_thread(pairs, item), item_time(pairs, item));
	hs_encoder_end_block(encoder, block->thread, block->allocation, block->size);
	encoder->now.frees++;
	encoder->now.temporary += encoder->threads[block->thread].last_allocation == block->allocation;
}

RARE void repair_free(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_block *block)
{
	pairs->repaired_frees++;
	write_free(pairs, item, block);
}

/* block: the one that begins, with its address; may be old. */
HOT void write_begin(struct hs_pairing *pairs, const struct hs_item *item, uint32_t thread,
		     enum hs_event_kind kind, const struct hs_block *old, struct hs_block *block)
{
	struct hs_encoder *encoder = pairs->encoder;
	uint32_t node = hs_nodes_file_id(pairs->nodes, item->node);
	hs_encoder_start_event(encoder, kind, thread, item_time(pairs, item));
	if (kind != HS_EVENT_ALLOC)
		hs_encoder_end_block(encoder, old->thread, old->allocation, old->size);
	block->allocation = hs_encoder_begin_block(encoder, thread, item->size, node);
	block->size = item->size;
	block->thread = thread;
}

/* A new block in the cell of its address; old: the block that it takes the place of, or NULL. */
HOT void place_as(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell, uint32_t thread,
		  enum hs_event_kind kind, const struct hs_block *old)
{
	/* Is one there, of which we have missed the end? */
	struct hs_block *block = hs_live_find(&pairs->live, cell, item->address);
	if (__builtin_expect(block != NULL, 0))
		repair_free(pairs, item, block);
	else
		block = hs_live_begin(&pairs->live, cell, item->address);
	write_begin(pairs, item, thread, kind, old, block);
}

HOT void place(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell,
	       const struct hs_block *old)
{
	uint32_t thread = item->stream->file_thread;
	if (__builtin_expect(!thread, 0)) {
		thread = begin_unusually(pairs, item, old);
		if (!thread) {
			if (old)
				write_free(pairs, item, old);
			return;
		}
	}
	place_as(pairs, item, cell, thread, old ? HS_EVENT_MOVE : HS_EVENT_ALLOC, old);
}

HOT void take_free(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	struct hs_block *block = hs_live_find(&pairs->live, cell, item->address);
	if (__builtin_expect(!block, 0)) {
		uint64_t bytes;
		pairs->unknown_frees += !hs_pools_end_slab(pairs, item, &bytes);
		return;
	}
	write_free(pairs, item, block);
	hs_live_end(&pairs->live, cell, block);
}

RARE void take_resize(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	struct hs_block *block = hs_live_find(&pairs->live, cell, item->address);
	if (!block) {
		if (!hs_pools_resize_slab(pairs, item))
			place(pairs, item, cell, NULL);
		return;
	}
	uint32_t thread = item->stream->file_thread;
	if (!thread && item->stream->mode == HS_STREAM_SLABS) {
		write_free(pairs, item, block);
		hs_live_end(&pairs->live, cell, block);
		hs_pools_add_slab(pairs, item);
		return;
	}
	if (!thread)
		thread = find_item_thread(pairs, item);
	write_begin(pairs, item, thread, HS_EVENT_RESIZE, block, block);
}

RARE void take_detach(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	struct hs_block *block = hs_live_find(&pairs->live, cell, item->address);
	struct hs_block *detached = &item->stream->detached;
	*detached = block ? *block : (struct hs_block){0};
	if (block)
		hs_live_end(&pairs->live, cell, block);
	else if (hs_pools_end_slab(pairs, item, &detached->size))
		detached->address = HS_KEY_SLAB;
}

RARE void take_attach(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	struct hs_block old = item->stream->detached;
	item->stream->detached.address = 0;
	if (old.address & HS_KEY_SLAB)
		hs_pools_add_slab(pairs, item); /* it is one still */
	else
		place(pairs, item, cell, old.address ? &old : NULL);
}

RARE void take_news(struct hs_pairing *pairs, const struct hs_item *item)
{
	const struct hs_news *news = (const struct hs_news *)(uintptr_t)item->address;
	if (news->op == HS_WIDE_NOTE)
		hs_notes_take(pairs, item, news);
	else
		hs_pools_take(pairs, item, news);
}

RARE void take_rare(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	switch (item->kind) {
	case HS_ITEM_RESIZE:
		take_resize(pairs, item, cell);
		break;
	case HS_ITEM_DETACH:
		take_detach(pairs, item, cell);
		break;
	case HS_ITEM_ATTACH:
		take_attach(pairs, item, cell);
		break;
	case HS_ITEM_NEWS:
	case HS_ITEM_NEWS_END:
		take_news(pairs, item);
		break;
	}
}

HOT void take(struct hs_pairing *pairs, const struct hs_item *item, uint32_t *cell)
{
	if (item->kind == HS_ITEM_FREE)
		take_free(pairs, item, cell);
	else if (__builtin_expect(item->kind == HS_ITEM_ALLOC, 1))
		place(pairs, item, cell, NULL);
	else
		take_rare(pairs, item, cell);
}

static void take_slice(struct hs_pairing *pairs, const struct hs_item *items, uint32_t count)
{
	uint32_t *cells[SLICE_ITEMS];
	struct hs_live *live = &pairs->live;
	hs_live_reserve(live, (uint64_t)count * WINDOWS_AN_ITEM);
	for (uint32_t i = 0; i < count; i++) {
		/* of news it means nothing, and is not looked at */
		bool begins = (unsigned)items[i].kind - HS_ITEM_ALLOC <= HS_ITEM_ATTACH - HS_ITEM_ALLOC;
		cells[i] = hs_live_cell(live, items[i].address, begins);
		__builtin_prefetch(cells[i], 1);
	}
	if (live->count > CACHED_BLOCKS)
		for (uint32_t i = 0; i < count; i++)
			if (*cells[i])
				__builtin_prefetch(hs_live_at(live, *cells[i]), 1);
	for (uint32_t i = 0; i < count; i++)
		if (items[i].address)
			take(pairs, &items[i], cells[i]);
}

void hs_pairing_take(void *context, const struct hs_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i += SLICE_ITEMS)
		take_slice(context, items + i, count - i < SLICE_ITEMS ? count - i : SLICE_ITEMS);
}

/* ---- for pools and notes ------------------------------------------------------------------------------- */

static uint32_t *cell_of(struct hs_pairing *pairs, uint64_t key)
{
	return hs_live_cell(&pairs->live, key, false);
}

struct hs_block *hs_pairing_find(struct hs_pairing *pairs, uint64_t key)
{
	return hs_live_find(&pairs->live, cell_of(pairs, key), key);
}

uint32_t hs_pairing_thread(struct hs_pairing *pairs, const struct hs_item *item)
{
	return item_thread(pairs, item);
}

uint64_t hs_pairing_time(const struct hs_pairing *pairs, const struct hs_item *item)
{
	return item_time(pairs, item);
}

void hs_pairing_end(struct hs_pairing *pairs, const struct hs_item *item, struct hs_block *block)
{
	write_free(pairs, item, block);
	hs_pairing_take_out(pairs, block);
}

void hs_pairing_write_end(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_block *block)
{
	write_free(pairs, item, block);
}

void hs_pairing_take_out(struct hs_pairing *pairs, struct hs_block *block)
{
	hs_live_end(&pairs->live, cell_of(pairs, block->address), block);
}

void hs_pairing_begin(struct hs_pairing *pairs, const struct hs_item *item, enum hs_event_kind kind,
		      const struct hs_block *old)
{
	uint32_t *cell = hs_live_cell(&pairs->live, item->address, true);
	place_as(pairs, item, cell, item_thread(pairs, item), kind, old);
}

struct hs_block *hs_pairing_put(struct hs_pairing *pairs, uint64_t key)
{
	uint32_t *cell = hs_live_cell(&pairs->live, key, true);
	struct hs_block *block = hs_live_find(&pairs->live, cell, key);
	return block ? block : hs_live_begin(&pairs->live, cell, key);
}
