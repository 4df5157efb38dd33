#include "blocks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct hs_page **page_at(struct hs_blocks *blocks, uint64_t number)
{
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	return &shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES];
}

/* Packed pages are at most 1/8 of a whole one: a short search. */
struct hs_block *hs_page_find_packed(struct hs_page *page, unsigned place)
{
	for (unsigned i = 0; i < page->capacity && page->places[i] <= place; i++)
		if (page->places[i] == place)
			return page->blocks[i].group == HS_BLOCK_DEAD ? NULL : &page->blocks[i];
	return NULL;
}

static struct hs_page *make_page(unsigned capacity, bool packed)
{
	size_t bytes = sizeof(struct hs_page) + capacity * sizeof(struct hs_block);
	struct hs_page *page = hs_allocate(bytes + (packed ? capacity : 0));
	page->live = 0;
	page->capacity = (uint16_t)capacity;
	page->places = packed ? (uint8_t *)page + bytes : NULL;
	return page;
}

/* Gives back a dead page, or replaces a thin one by its live blocks. */
void hs_blocks_tidy(struct hs_blocks *blocks, uint64_t number)
{
	struct hs_page **home = page_at(blocks, number), *page = *home;
	if (page->live == 0) {
		struct hs_shelf **shelf = &blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
		*home = NULL;
		/* The last shelf still gets pages. */
		if (--(*shelf)->pages_used == 0 && shelf != &blocks->shelves[blocks->shelf_count - 1]) {
			free(*shelf);
			*shelf = NULL;
		}
	} else {
		struct hs_page *packed = make_page(page->live, true);
		for (unsigned i = 0; i < page->capacity; i++) {
			if (page->blocks[i].group == HS_BLOCK_DEAD)
				continue;
			packed->places[packed->live] = page->places ? page->places[i] : (uint8_t)i;
			packed->blocks[packed->live++] = page->blocks[i];
		}
		*home = packed;
	}
	if (page->capacity == HS_PAGE_BLOCKS && !blocks->spare)
		blocks->spare = page;
	else
		free(page);
}

/* Called when the open page is full (or there is none). */
void hs_blocks_open_page(struct hs_blocks *blocks)
{
	struct hs_page *full = blocks->open;
	if (full && full->live <= full->capacity / 8)
		hs_blocks_tidy(blocks, blocks->count - 1);
	uint64_t shelf = blocks->count / HS_PAGE_BLOCKS / HS_SHELF_PAGES;
	if (shelf == blocks->shelf_count) {
		blocks->shelves = hs_grow(blocks->shelves, blocks->shelf_count, &blocks->shelf_capacity,
					  sizeof *blocks->shelves);
		blocks->shelves[blocks->shelf_count++] = hs_allocate_zero(1, sizeof(struct hs_shelf));
		struct hs_shelf **before = shelf ? &blocks->shelves[shelf - 1] : NULL;
		if (before && *before && (*before)->pages_used == 0) {
			free(*before);
			*before = NULL;
		}
	}
	struct hs_page *page = blocks->spare ? blocks->spare : make_page(HS_PAGE_BLOCKS, false);
	blocks->spare = NULL;
	page->live = 0;
	blocks->open = *page_at(blocks, blocks->count) = page;
	blocks->shelves[shelf]->pages_used++;
}

void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context)
{
	unsigned open_used = (unsigned)((blocks->count + HS_PAGE_BLOCKS - 1) % HS_PAGE_BLOCKS) + 1;
	for (size_t s = 0; s < blocks->shelf_count; s++) {
		for (unsigned p = 0; blocks->shelves[s] && p < HS_SHELF_PAGES; p++) {
			struct hs_page *page = blocks->shelves[s]->pages[p];
			unsigned used = !page ? 0 : page == blocks->open ? open_used : page->capacity;
			uint64_t first = (s * HS_SHELF_PAGES + p) * HS_PAGE_BLOCKS;
			for (unsigned i = 0; i < used; i++)
				if (page->blocks[i].group != HS_BLOCK_DEAD)
					visit(&page->blocks[i], first + (page->places ? page->places[i] : i),
					      context);
		}
	}
}

void hs_blocks_free(struct hs_blocks *blocks)
{
	for (size_t s = 0; s < blocks->shelf_count; s++) {
		for (unsigned p = 0; blocks->shelves[s] && p < HS_SHELF_PAGES; p++)
			free(blocks->shelves[s]->pages[p]);
		free(blocks->shelves[s]);
	}
	free(blocks->shelves);
	free(blocks->spare);
	*blocks = (struct hs_blocks){0};
}
