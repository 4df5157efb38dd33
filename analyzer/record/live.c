/* The windows of the table of live blocks, and the memory of both. */
#include "record/live.h"

#include "base/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
	FIRST_WINDOWS = 4096, /* places, half of which may be used */
	FIRST_CELLS = 64,     /* windows of the first, small segment */
	LARGE_PAGE_BYTES = 2 << 20,
	CELL_BYTES = HS_WINDOW_CELLS * sizeof(uint32_t),
};
_Static_assert(HS_SEGMENT_BLOCKS * sizeof(struct hs_block) == LARGE_PAGE_BYTES, "a segment is a page");
_Static_assert(HS_WINDOWS_A_SEGMENT *CELL_BYTES == LARGE_PAGE_BYTES, "a segment is a page");

/* Look-ups may go all over: with small pages each would miss the TLB as well. Contents undefined. */
static void *large_page(void)
{
	void *page = aligned_alloc(LARGE_PAGE_BYTES, LARGE_PAGE_BYTES);
	if (!page)
		hs_allocate_zero(SIZE_MAX, 1); /* ends the program as any lack of memory does */
	madvise(page, LARGE_PAGE_BYTES, MADV_HUGEPAGE);
	return page;
}

static void make_table(struct hs_live *live, uint64_t places)
{
	live->windows = hs_allocate_zero(places, sizeof *live->windows);
	live->window_mask = places - 1;
	live->window_most = places / 2;
	live->window_count = 0;
	live->shift = (unsigned)__builtin_clzll(live->window_mask);
}

void hs_live_init(struct hs_live *live)
{
	*live = (struct hs_live){0};
	make_table(live, FIRST_WINDOWS);
	/* Addresses are the target's choice: without a secret it could make every look-up long. */
	if (getrandom(&live->seed, sizeof live->seed, GRND_NONBLOCK) < 0)
		live->seed = (uintptr_t)live->windows;
}

void hs_live_free(struct hs_live *live)
{
	for (uint32_t i = 0; i < live->fresh_end >> HS_SEGMENT_BITS; i++)
		free(live->blocks[i]);
	for (uint32_t i = 0; i < live->segments_of_cells; i++)
		free(live->cells[i]);
	free(live->blocks);
	free(live->free_blocks);
	free(live->cells);
	free(live->windows);
	*live = (struct hs_live){0};
}

/* The first segment of blocks is touched as it is used: most processes have few. */
void hs_live_add_blocks(struct hs_live *live)
{
	uint32_t segments = live->fresh_end >> HS_SEGMENT_BITS;
	live->blocks = hs_reallocate(live->blocks, segments + 1, sizeof *live->blocks);
	live->blocks[segments] = segments ? large_page() : hs_allocate(LARGE_PAGE_BYTES);
	live->fresh = segments ? live->fresh_end : 1;
	live->fresh_end += HS_SEGMENT_BLOCKS;
	live->free_blocks = hs_reallocate(live->free_blocks, live->fresh_end, sizeof *live->free_blocks);
}

static uint32_t *take_cells(struct hs_live *live)
{
	uint32_t *cells = live->free_cells;
	if (cells) {
		memcpy(&live->free_cells, cells, sizeof live->free_cells);
	} else {
		if (live->fresh_cells == live->fresh_cells_end) {
			uint32_t segments = live->segments_of_cells++;
			size_t windows = segments ? HS_WINDOWS_A_SEGMENT : FIRST_CELLS;
			live->cells = hs_reallocate(live->cells, segments + 1, sizeof *live->cells);
			live->cells[segments] = segments ? large_page() : hs_allocate(windows * CELL_BYTES);
			live->fresh_cells = live->cells[segments];
			live->fresh_cells_end = live->fresh_cells + windows * HS_WINDOW_CELLS;
		}
		cells = live->fresh_cells;
		live->fresh_cells += HS_WINDOW_CELLS;
	}
	memset(cells, 0, CELL_BYTES);
	return cells;
}

uint32_t *hs_live_add_window(struct hs_live *live, struct hs_window *window, uint64_t key)
{
	live->window_count++;
	*window = (struct hs_window){key, take_cells(live)};
	return window->cells;
}

static bool is_empty(const uint32_t *cells)
{
	uint32_t any = 0;
	for (unsigned i = 0; i < HS_WINDOW_CELLS; i++)
		any |= cells[i];
	return !any;
}

void hs_live_reserve(struct hs_live *live, uint64_t windows)
{
	if (__builtin_expect(live->window_count + windows <= live->window_most, 1))
		return;
	struct hs_window *old = live->windows;
	uint64_t old_places = live->window_mask + 1, kept = 0;
	for (uint64_t i = 0; i < old_places; i++) {
		if (!old[i].key)
			continue;
		if (!is_empty(old[i].cells)) {
			kept++;
			continue;
		}
		memcpy(old[i].cells, &live->free_cells, sizeof live->free_cells);
		live->free_cells = old[i].cells;
		old[i].key = 0;
	}
	/* a quarter is free again, or it would be full again soon */
	uint64_t places = FIRST_WINDOWS;
	while (kept + windows > places / 4)
		places *= 2;
	make_table(live, places);
	live->window_count = kept;
	for (uint64_t i = 0; i < old_places; i++)
		if (old[i].key)
			*hs_live_window(live, old[i].key) = old[i];
	free(old);
}
