/* The blocks that are live in one process, by address.
 *
 * Allocators hand out neighbours one after the other, and programs free them so: everything here keeps
 * neighbours together. The address space is cut into windows of 1 KiB, found by hash; a window has a cell for
 * each 16 bytes; a cell has the first block there and, rarely, a chain of further ones (allocators that align
 * to less than 16 bytes). Blocks lie in the order of their allocation, but for places that are used again. */
#ifndef HS_RECORD_LIVE_H
#define HS_RECORD_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A block that is live. */
struct hs_block {
	uint64_t address;
	uint64_t allocation; /* its number in the thread's lane */
	uint64_t size;
	uint32_t thread; /* of the file */
	uint32_t next;   /* in its cell; 0: none */
};

enum {
	HS_WINDOW_BITS = 10,
	HS_CELL_BITS = 4,
	HS_WINDOW_CELLS = 1 << (HS_WINDOW_BITS - HS_CELL_BITS),
	HS_SEGMENT_BITS = 16,
	HS_SEGMENT_BLOCKS = 1 << HS_SEGMENT_BITS, /* 2 MiB, a large page */
	HS_WINDOWS_A_SEGMENT = 8192,              /* likewise */
};

struct hs_window {
	uint64_t key;    /* address / 1 KiB, with bit 63; 0: free */
	uint32_t *cells; /* blocks; 0: none */
};

struct hs_live {
	struct hs_window *windows; /* open addressing, linear probing */
	uint64_t window_mask;
	uint64_t window_count, window_most; /* windows stay until the table is full, and empty ones go then */
	unsigned shift;
	uint64_t seed;

	uint64_t count;            /* of live blocks */
	struct hs_block **blocks;  /* segments; block 0 is none */
	uint32_t fresh, fresh_end; /* blocks that never were used */
	uint32_t *free_blocks;     /* those that have ended, the last one last */
	uint32_t free_count;

	uint32_t **cells; /* segments */
	uint32_t segments_of_cells;
	uint32_t *fresh_cells, *fresh_cells_end;
	uint32_t *free_cells; /* all zero but for a pointer to the next such */
	uint32_t no_cell;     /* always 0: the cell of an address without a window */
};

void hs_live_init(struct hs_live *live);
void hs_live_free(struct hs_live *live);
/* Makes sure that so many windows can begin; cells stay where they are until the next call. */
void hs_live_reserve(struct hs_live *live, uint64_t windows);
uint32_t *hs_live_add_window(struct hs_live *live, struct hs_window *window, uint64_t key);
void hs_live_add_blocks(struct hs_live *live);

static inline struct hs_window *hs_live_window(const struct hs_live *live, uint64_t key)
{
	/* by the golden ratio: neighbours are spread evenly, whatever the seed */
	uint64_t i = (key ^ live->seed) * 0x9e3779b97f4a7c15u >> live->shift;
	while (__builtin_expect(live->windows[i].key != key, 0) && live->windows[i].key)
		i = (i + 1) & live->window_mask;
	return &live->windows[i];
}

/* The cell of an address. make: one where a block may begin. */
static inline uint32_t *hs_live_cell(struct hs_live *live, uint64_t address, bool make)
{
	uint64_t key = address >> HS_WINDOW_BITS | 1ULL << 63;
	struct hs_window *window = hs_live_window(live, key);
	uint32_t *cells = window->cells;
	if (__builtin_expect(!cells, 0)) {
		if (!make)
			return &live->no_cell;
		cells = hs_live_add_window(live, window, key);
	}
	return &cells[address >> HS_CELL_BITS & (HS_WINDOW_CELLS - 1)];
}

static inline struct hs_block *hs_live_at(const struct hs_live *live, uint32_t block)
{
	return &live->blocks[block >> HS_SEGMENT_BITS][block & (HS_SEGMENT_BLOCKS - 1)];
}

/* NULL: it is not there. */
static inline struct hs_block *hs_live_find(const struct hs_live *live, const uint32_t *cell,
					    uint64_t address)
{
	for (uint32_t i = *cell; i; i = hs_live_at(live, i)->next)
		if (__builtin_expect(hs_live_at(live, i)->address == address, 1))
			return hs_live_at(live, i);
	return NULL;
}

/* A block at an address where there is none; what it is else is for the caller to say. */
static inline struct hs_block *hs_live_begin(struct hs_live *live, uint32_t *cell, uint64_t address)
{
	if (!live->free_count && __builtin_expect(live->fresh == live->fresh_end, 0))
		hs_live_add_blocks(live);
	uint32_t place = live->free_count ? live->free_blocks[--live->free_count] : live->fresh++;
	struct hs_block *block = hs_live_at(live, place);
	block->address = address;
	block->next = *cell;
	*cell = place;
	live->count++;
	return block;
}

static inline void hs_live_end(struct hs_live *live, uint32_t *cell, struct hs_block *block)
{
	while (__builtin_expect(hs_live_at(live, *cell) != block, 0))
		cell = &hs_live_at(live, *cell)->next;
	uint32_t place = *cell;
	*cell = block->next;
	live->free_blocks[live->free_count++] = place;
	live->count--;
}

#endif
