#include "blocks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Pages so far behind the open one are packed: most blocks die young, and are spared that. */
enum { OLD_PAGES = 64 };

static struct hs_page **page_at(struct hs_blocks *blocks, uint64_t number)
{
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	return shelf ? &shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES] : NULL;
}

/* A block as it stands in the page; its group may be HS_BLOCK_DEAD. */
static struct hs_block block_at(const struct hs_page *page, unsigned index)
{
	if (!page->narrow)
		return page->blocks[index];
	const struct hs_narrow_block *block = &page->narrow_blocks[index];
	return (struct hs_block){block->size, block->group, block->thread, page->first_us + block->born_us,
				 page->first_bytes + block->born_bytes};
}

struct hs_block *hs_blocks_find_packed(struct hs_blocks *blocks, const struct hs_page *page, unsigned place)
{
	unsigned end = page->capacity, i = place * end / HS_PAGE_BLOCKS; /* if they are evenly spread */
	while (i > 0 && page->places[i] > place)
		i--;
	while (i < end && page->places[i] < place)
		i++;
	if (i == end || page->places[i] != place)
		return NULL;
	blocks->packed = block_at(page, i);
	blocks->packed_index = i;
	return blocks->packed.group == HS_BLOCK_DEAD ? NULL : &blocks->packed;
}

void hs_blocks_end_packed(struct hs_blocks *blocks, struct hs_page *page)
{
	unsigned i = blocks->packed_index;
	*(page->narrow ? &page->narrow_blocks[i].group : &page->blocks[i].group) = HS_BLOCK_DEAD;
}

static struct hs_page *make_page(unsigned capacity, bool narrow, bool packed)
{
	size_t block_bytes = narrow ? sizeof(struct hs_narrow_block) : sizeof(struct hs_block);
	size_t bytes = offsetof(struct hs_page, blocks) + capacity * block_bytes;
	struct hs_page *page = hs_allocate(bytes + (packed ? capacity : 0));
	page->live = 0;
	page->capacity = (uint16_t)capacity;
	page->narrow = narrow;
	page->places = packed ? (uint8_t *)page + bytes : NULL;
	return page;
}

/* The live blocks of a page, which has some. */
static struct hs_page *pack(const struct hs_page *page)
{
	unsigned from = 0, end = page->capacity;
	while (block_at(page, from).group == HS_BLOCK_DEAD)
		from++;
	while (block_at(page, end - 1).group == HS_BLOCK_DEAD)
		end--;
	struct hs_block first = block_at(page, from), last = block_at(page, end - 1);
	/* the sizes of all but the first are in born_bytes of the last */
	bool narrow = (first.size | (last.born_us - first.born_us) | (last.born_bytes - first.born_bytes)) <=
		      UINT32_MAX;
	struct hs_page *packed = make_page(page->live, narrow, true);
	packed->first_us = first.born_us;
	packed->first_bytes = first.born_bytes;
	for (unsigned i = from; i < end; i++) {
		struct hs_block block = block_at(page, i);
		if (block.group == HS_BLOCK_DEAD)
			continue;
		packed->places[packed->live] = page->places ? page->places[i] : (uint8_t)i;
		if (narrow)
			packed->narrow_blocks[packed->live++] =
				(struct hs_narrow_block){(uint32_t)block.size, block.group, block.thread,
							 (uint32_t)(block.born_us - first.born_us),
							 (uint32_t)(block.born_bytes - first.born_bytes)};
		else
			packed->blocks[packed->live++] = block;
	}
	return packed;
}

/* Gives back a dead page, or replaces it by its live blocks. */
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
		*home = pack(page);
	}
	if (!page->places && !blocks->spare)
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
	uint64_t old = blocks->count - (uint64_t)OLD_PAGES * HS_PAGE_BLOCKS;
	struct hs_page **old_page = old < blocks->count ? page_at(blocks, old) : NULL;
	if (old_page && *old_page && !(*old_page)->places)
		hs_blocks_tidy(blocks, old);
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
	struct hs_page *page = blocks->spare ? blocks->spare : make_page(HS_PAGE_BLOCKS, false, false);
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
			for (unsigned i = 0; i < used; i++) {
				struct hs_block block = block_at(page, i);
				if (block.group != HS_BLOCK_DEAD)
					visit(&block, first + (page->places ? page->places[i] : i), context);
			}
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
