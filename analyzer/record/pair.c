/* The table of live blocks. */
#include "record/pair.h"

#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
	HUGE_BYTES = 4 << 20,
	SPARSE_SLOTS = 16384, /* 512 KiB */
	FIRST_SLOTS = 1024,
	FIRST_THREAD_SLOTS = 64,
	PREFETCH_ITEMS = 10, /* a miss takes about as long as so many events */
};

/* A table that fits the caches anyway may be sparse: its clusters are short and branches foreseeable. */
static uint64_t live_most(uint64_t slots)
{
	return slots <= SPARSE_SLOTS ? slots / 4 : slots / 8 * 5;
}

/* Look-ups go all over a large table: with small pages nearly each would miss the TLB as well. */
static struct hs_block *make_slots(uint64_t count)
{
	size_t bytes = count * sizeof(struct hs_block);
	if (bytes < HUGE_BYTES)
		return hs_allocate_zero(count, sizeof(struct hs_block));
	void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return hs_allocate_zero(SIZE_MAX, 1); /* ends the program as any lack of memory does */
	madvise(slots, bytes, MADV_HUGEPAGE);
	return slots;
}

static void free_slots(struct hs_block *slots, uint64_t count)
{
	if (!slots || count * sizeof *slots < HUGE_BYTES)
		free(slots);
	else
		munmap(slots, count * sizeof *slots);
}

void hs_pairing_init(struct hs_pairing *pairs, struct hs_encoder *encoder, struct hs_nodes *nodes)
{
	*pairs = (struct hs_pairing){.encoder = encoder, .nodes = nodes};
	pairs->thread_slots = hs_allocate_zero(FIRST_THREAD_SLOTS, sizeof *pairs->thread_slots);
	pairs->thread_mask = FIRST_THREAD_SLOTS - 1;
	pairs->slots = make_slots(FIRST_SLOTS);
	pairs->slot_mask = FIRST_SLOTS - 1;
	pairs->live_most = live_most(FIRST_SLOTS);
	pairs->shift = (unsigned)__builtin_clzll(pairs->slot_mask);
	/* Addresses are the target's choice: without a secret it could make every look-up long. */
	if (getrandom(&pairs->seed, sizeof pairs->seed, GRND_NONBLOCK) < 0)
		pairs->seed = (uintptr_t)pairs->slots;
}

void hs_pairing_free(struct hs_pairing *pairs)
{
	free_slots(pairs->slots, pairs->slot_mask + 1);
	hs_pools_free(&pairs->pools);
	hs_notes_free(&pairs->notes);
	free(pairs->thread_slots);
	pairs->slots = NULL;
	pairs->thread_slots = NULL;
}

static inline uint64_t home(const struct hs_pairing *pairs, uint64_t address)
{
	uint64_t mixed = (address ^ pairs->seed) * 0x9e3779b97f4a7c15u;
	mixed ^= mixed >> 32;
	return mixed * 0xd6e8feb86659fd93u >> pairs->shift;
}

/* The block's slot, or the free one where it would go. */
static inline struct hs_block *find(const struct hs_pairing *pairs, uint64_t address)
{
	uint64_t i = home(pairs, address);
	while (pairs->slots[i].address != address && pairs->slots[i].address)
		i = (i + 1) & pairs->slot_mask;
	return &pairs->slots[i];
}

/* Closes the gap, so that no tombstones pile up. */
static inline void take_out(struct hs_pairing *pairs, struct hs_block *block)
{
	uint64_t gap = (uint64_t)(block - pairs->slots), i = gap;
	for (;;) {
		i = (i + 1) & pairs->slot_mask;
		uint64_t address = pairs->slots[i].address;
		if (!address)
			break;
		if (((i - home(pairs, address)) & pairs->slot_mask) < ((i - gap) & pairs->slot_mask))
			continue;
		pairs->slots[gap] = pairs->slots[i];
		gap = i;
	}
	pairs->slots[gap].address = 0;
	pairs->live--;
}

static void enlarge(struct hs_pairing *pairs)
{
	struct hs_block *old = pairs->slots;
	uint64_t old_count = pairs->slot_mask + 1;
	pairs->slots = make_slots(old_count * 2);
	pairs->slot_mask = old_count * 2 - 1;
	pairs->live_most = live_most(old_count * 2);
	pairs->shift--;
	for (uint64_t i = 0; i < old_count; i++)
		if (old[i].address)
			*find(pairs, old[i].address) = old[i];
	free_slots(old, old_count);
}

/* ---- items -> events ----------------------------------------------------------------------------------- */

static inline uint64_t item_time(const struct hs_pairing *pairs, const struct hs_item *item)
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

static uint32_t find_item_thread(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_stream *stream = item->stream;
	uint32_t thread = find_thread(pairs, stream->thread, stream->tid);
	if (stream->mode == HS_STREAM_PLAIN)
		stream->file_thread = thread;
	return thread;
}

static inline uint32_t item_thread(struct hs_pairing *pairs, const struct hs_item *item)
{
	uint32_t thread = item->stream->file_thread;
	return __builtin_expect(!thread, 0) ? find_item_thread(pairs, item) : thread;
}

/* A block begins, old (or NULL) ends, in a stream that has no thread yet: because its events are not booked
 * as usual? Returns the thread, or 0: nothing is to be booked, but for the end of old, which the caller has
 * taken out of the table. */
static uint32_t begin_unusually(struct hs_pairing *pairs, const struct hs_item *item,
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

static inline void write_free(struct hs_pairing *pairs, const struct hs_item *item,
			      const struct hs_block *block)
{
	struct hs_encoder *encoder = pairs->encoder;
	hs_encoder_start_event(encoder, HS_EVENT_FREE, item_thread(pairs, item), item_time(pairs, item));
	hs_encoder_end_block(encoder, block->allocation, block->size);
	encoder->now.frees++;
	encoder->now.temporary += encoder->threads[block->thread].last_allocation == block->allocation;
}

static inline void write_begin(struct hs_pairing *pairs, const struct hs_item *item, uint32_t thread,
			       enum hs_event_kind kind, const struct hs_block *old, struct hs_block *slot)
{
	struct hs_encoder *encoder = pairs->encoder;
	uint32_t node = hs_nodes_file_id(pairs->nodes, item->node);
	hs_encoder_start_event(encoder, kind, thread, item_time(pairs, item));
	if (kind != HS_EVENT_ALLOC)
		hs_encoder_end_block(encoder, old->allocation, old->size);
	*slot = (struct hs_block){
		.address = item->address,
		.allocation = hs_encoder_begin_block(encoder, thread, item->size, node),
		.size = item->size,
		.node = node,
		.thread = thread,
	};
}

/* A new block at an address; old: the block that it takes the place of, or NULL. */
static inline void place_as(struct hs_pairing *pairs, const struct hs_item *item, uint32_t thread,
			    enum hs_event_kind kind, const struct hs_block *old)
{
	struct hs_block *slot = find(pairs, item->address);
	if (__builtin_expect(slot->address != 0, 0)) {
		pairs->repaired_frees++;
		write_free(pairs, item, slot);
	} else {
		pairs->live++;
	}
	write_begin(pairs, item, thread, kind, old, slot);
	if (__builtin_expect(pairs->live > pairs->live_most, 0))
		enlarge(pairs);
}

static inline void place(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_block *old)
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
	place_as(pairs, item, thread, old ? HS_EVENT_MOVE : HS_EVENT_ALLOC, old);
}

static inline void take_free(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_block *block = find(pairs, item->address);
	if (__builtin_expect(!block->address, 0)) {
		uint64_t bytes;
		pairs->unknown_frees += !hs_pools_end_slab(pairs, item, &bytes);
		return;
	}
	write_free(pairs, item, block);
	take_out(pairs, block);
}

static void take_resize(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_block *block = find(pairs, item->address), old = *block;
	if (!old.address) {
		if (!hs_pools_resize_slab(pairs, item))
			place(pairs, item, NULL);
		return;
	}
	uint32_t thread = item->stream->file_thread;
	if (!thread && item->stream->mode == HS_STREAM_SLABS) {
		hs_pairing_end(pairs, item, block);
		hs_pools_add_slab(pairs, item);
		return;
	}
	if (!thread)
		thread = find_item_thread(pairs, item);
	write_begin(pairs, item, thread, HS_EVENT_RESIZE, &old, block);
}

static void take_detach(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_block *block = find(pairs, item->address);
	struct hs_block *detached = &item->stream->detached;
	*detached = *block;
	if (block->address)
		take_out(pairs, block);
	else if (hs_pools_end_slab(pairs, item, &detached->size))
		detached->address = HS_KEY_SLAB;
}

static void take_attach(struct hs_pairing *pairs, const struct hs_item *item)
{
	struct hs_block old = item->stream->detached;
	item->stream->detached.address = 0;
	if (old.address & HS_KEY_SLAB)
		hs_pools_add_slab(pairs, item); /* it is one still */
	else
		place(pairs, item, old.address ? &old : NULL);
}

static void take_news(struct hs_pairing *pairs, const struct hs_item *item)
{
	const struct hs_news *news = (const struct hs_news *)(uintptr_t)item->address;
	if (news->op == HS_WIDE_NOTE)
		hs_notes_take(pairs, item, news);
	else
		hs_pools_take(pairs, item, news);
}

void hs_pairing_take(void *context, const struct hs_item *items, uint32_t count)
{
	struct hs_pairing *pairs = context;
	for (uint32_t i = 0; i < PREFETCH_ITEMS && i < count; i++)
		__builtin_prefetch(&pairs->slots[home(pairs, items[i].address)], 1);
	for (uint32_t i = 0; i < count; i++) {
		if (i + PREFETCH_ITEMS < count)
			__builtin_prefetch(&pairs->slots[home(pairs, items[i + PREFETCH_ITEMS].address)], 1);
		const struct hs_item *item = &items[i];
		if (!item->address)
			continue;
		switch (item->kind) {
		case HS_ITEM_FREE:
			take_free(pairs, item);
			break;
		case HS_ITEM_ALLOC:
			place(pairs, item, NULL);
			break;
		case HS_ITEM_RESIZE:
			take_resize(pairs, item);
			break;
		case HS_ITEM_DETACH:
			take_detach(pairs, item);
			break;
		case HS_ITEM_ATTACH:
			take_attach(pairs, item);
			break;
		case HS_ITEM_NEWS:
		case HS_ITEM_NEWS_END:
			take_news(pairs, item);
			break;
		}
	}
}

/* ---- for pools and notes ------------------------------------------------------------------------------- */

struct hs_block *hs_pairing_find(const struct hs_pairing *pairs, uint64_t key)
{
	return find(pairs, key);
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
	take_out(pairs, block);
}

void hs_pairing_take_out(struct hs_pairing *pairs, struct hs_block *block)
{
	take_out(pairs, block);
}

void hs_pairing_begin(struct hs_pairing *pairs, const struct hs_item *item, enum hs_event_kind kind,
		      const struct hs_block *old)
{
	place_as(pairs, item, item_thread(pairs, item), kind, old);
}

void hs_pairing_put(struct hs_pairing *pairs, const struct hs_block *block)
{
	struct hs_block *slot = find(pairs, block->address);
	pairs->live += !slot->address;
	*slot = *block;
	if (pairs->live > pairs->live_most)
		enlarge(pairs);
}
