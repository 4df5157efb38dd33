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

/* For loops over the blocks of a page, whose form is constant in them. */
#define IN_LOOP static inline __attribute__((always_inline))

IN_LOOP uint32_t group_at(const struct hs_page *page, enum hs_page_form form, unsigned index)
{
	return form == HS_PAGE_TINY     ? page->tiny_blocks[index].group
	       : form == HS_PAGE_NARROW ? page->narrow_blocks[index].group
					: page->blocks[index].group;
}

/* A block as it stands in the page; its group may be HS_BLOCK_DEAD. */
IN_LOOP struct hs_block block_at(const struct hs_page *page, enum hs_page_form form, unsigned index)
{
	if (form == HS_PAGE_TINY) {
		const struct hs_tiny_block *block = &page->tiny_blocks[index];
		return (struct hs_block){block->size, block->group, page->thread,
					 page->first_us + block->born_us,
					 page->first_bytes + block->born_bytes};
	}
	if (form == HS_PAGE_NARROW) {
		const struct hs_narrow_block *block = &page->narrow_blocks[index];
		return (struct hs_block){block->size, block->group, block->thread,
					 page->first_us + block->born_us,
					 page->first_bytes + block->born_bytes};
	}
	return page->blocks[index];
}

/* The processor's instruction for it is not everywhere, and the compiler's function for that case takes
 * longer.
 */
static inline unsigned count_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555u;
	word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (unsigned)(word * 0x0101010101010101u >> 56);
}

struct hs_block *hs_blocks_find_packed(struct hs_blocks *blocks, const struct hs_page *page, unsigned place)
{
	uint64_t word = page->places[place / 64], bit = 1ULL << place % 64;
	if (!(word & bit))
		return NULL;
	blocks->packed_index = page->before[place / 64] + count_bits(word & (bit - 1));
	blocks->packed = block_at(page, page->form, blocks->packed_index);
	return blocks->packed.group == HS_BLOCK_DEAD ? NULL : &blocks->packed;
}

void hs_blocks_end_packed(struct hs_blocks *blocks, struct hs_page *page)
{
	unsigned i = blocks->packed_index;
	if (page->form == HS_PAGE_TINY)
		page->tiny_blocks[i].group = HS_BLOCK_DEAD;
	else if (page->form == HS_PAGE_NARROW)
		page->narrow_blocks[i].group = HS_BLOCK_DEAD;
	else
		page->blocks[i].group = HS_BLOCK_DEAD;
}

static struct hs_page *make_page(unsigned capacity, enum hs_page_form form)
{
	size_t block_bytes = form == HS_PAGE_TINY     ? sizeof(struct hs_tiny_block)
			     : form == HS_PAGE_NARROW ? sizeof(struct hs_narrow_block)
						      : sizeof(struct hs_block);
	struct hs_page *page = hs_allocate(offsetof(struct hs_page, blocks) + capacity * block_bytes);
	page->live = 0;
	page->capacity = (uint16_t)capacity;
	page->form = (uint8_t)form;
	return page;
}

/* The live blocks of a page. */
struct survey {
	unsigned count;
	uint8_t indices[HS_PAGE_BLOCKS], numbers[HS_PAGE_BLOCKS]; /* where they stand; their numbers */
	uint64_t places[HS_PAGE_BLOCKS / 64];                     /* of these numbers, as in a page */
	uint8_t before[HS_PAGE_BLOCKS / 64];
};

/* Of a whole page: block i has number i, and the dead ones have no place any more. */
static void look_through_whole(const struct hs_page *page, unsigned end, struct survey *live)
{
	unsigned count = 0;
	for (unsigned w = 0; w < HS_PAGE_BLOCKS / 64; w++) {
		unsigned first = w * 64, begun = end > first ? end - first : 0;
		uint64_t rest = page->places[w] & (begun >= 64 ? UINT64_MAX : (1ULL << begun) - 1);
		live->before[w] = (uint8_t)count;
		live->places[w] = rest;
		if (rest == UINT64_MAX) { /* mostly, where blocks grow old */
			for (unsigned i = 0; i < 64; i++)
				live->numbers[count + i] = (uint8_t)(first + i);
			count += 64;
			continue;
		}
		for (; rest; rest &= rest - 1)
			live->numbers[count++] = (uint8_t)(first + (unsigned)__builtin_ctzll(rest));
	}
	memcpy(live->indices, live->numbers, count);
	live->count = count;
}

/* Looks at the blocks with numbers below `end`. */
IN_LOOP void look_through(const struct hs_page *page, enum hs_page_form form, unsigned end,
			  struct survey *live)
{
	unsigned count = 0, index = 0;
	if (form == HS_PAGE_WHOLE) {
		look_through_whole(page, end, live);
		return;
	}
	for (unsigned w = 0; w < HS_PAGE_BLOCKS / 64; w++) {
		uint64_t places = 0;
		live->before[w] = (uint8_t)count;
		for (uint64_t rest = page->places[w]; rest; rest &= rest - 1) {
			unsigned number = w * 64 + (unsigned)__builtin_ctzll(rest);
			uint64_t alive = number < end && group_at(page, form, index) != HS_BLOCK_DEAD;
			live->indices[count] = (uint8_t)index++;
			live->numbers[count] = (uint8_t)number;
			places |= alive << number % 64;
			count += (unsigned)alive;
		}
		live->places[w] = places;
	}
	live->count = count;
}

IN_LOOP enum hs_page_form choose_form(const struct hs_page *page, enum hs_page_form form,
				      const struct survey *live)
{
	/* the sizes of all but the first are in born_bytes of the last */
	struct hs_block first = block_at(page, form, live->indices[0]),
			last = block_at(page, form, live->indices[live->count - 1]);
	uint64_t most = first.size | (last.born_us - first.born_us) | (last.born_bytes - first.born_bytes);
	uint32_t differences = 0;
	for (unsigned i = 1; i < live->count; i++)
		differences |= block_at(page, form, live->indices[i]).thread ^ first.thread;
	return most <= UINT16_MAX && !differences ? HS_PAGE_TINY
	       : most <= UINT32_MAX               ? HS_PAGE_NARROW
						  : HS_PAGE_WIDE;
}

IN_LOOP struct hs_page *pack_from(const struct hs_page *page, enum hs_page_form form)
{
	struct survey live;
	look_through(page, form, HS_PAGE_BLOCKS, &live);
	enum hs_page_form to = choose_form(page, form, &live);
	struct hs_page *packed = make_page(live.count, to);
	struct hs_block first = block_at(page, form, live.indices[0]);
	packed->live = (uint16_t)live.count;
	packed->thread = first.thread;
	packed->first_us = first.born_us;
	packed->first_bytes = first.born_bytes;
	memcpy(packed->places, live.places, sizeof packed->places);
	memcpy(packed->before, live.before, sizeof packed->before);
	for (unsigned i = 0; i < live.count; i++) {
		struct hs_block block = block_at(page, form, live.indices[i]);
		uint64_t born_us = block.born_us - first.born_us,
			 born_bytes = block.born_bytes - first.born_bytes;
		if (to == HS_PAGE_TINY)
			packed->tiny_blocks[i] = (struct hs_tiny_block){
				block.group, (uint16_t)block.size, (uint16_t)born_us, (uint16_t)born_bytes};
		else if (to == HS_PAGE_NARROW)
			packed->narrow_blocks[i] =
				(struct hs_narrow_block){(uint32_t)block.size, block.group, block.thread,
							 (uint32_t)born_us, (uint32_t)born_bytes};
		else
			packed->blocks[i] = block;
	}
	return packed;
}

/* The live blocks of a page, which has some. */
static struct hs_page *pack(const struct hs_page *page)
{
	return page->form == HS_PAGE_WHOLE ? pack_from(page, HS_PAGE_WHOLE) : pack_from(page, page->form);
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
	if (page->form == HS_PAGE_WHOLE && !blocks->spare)
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
	if (old_page && *old_page && (*old_page)->form == HS_PAGE_WHOLE)
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
	struct hs_page *page = blocks->spare ? blocks->spare : make_page(HS_PAGE_BLOCKS, HS_PAGE_WHOLE);
	blocks->spare = NULL;
	page->live = 0;
	memset(page->places, 0xff, sizeof page->places);
	blocks->open = *page_at(blocks, blocks->count) = page;
	blocks->shelves[shelf]->pages_used++;
}

void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context)
{
	struct survey live;
	unsigned open_used = (unsigned)((blocks->count + HS_PAGE_BLOCKS - 1) % HS_PAGE_BLOCKS) + 1;
	for (size_t s = 0; s < blocks->shelf_count; s++) {
		for (unsigned p = 0; blocks->shelves[s] && p < HS_SHELF_PAGES; p++) {
			struct hs_page *page = blocks->shelves[s]->pages[p];
			unsigned end = page == blocks->open ? open_used : HS_PAGE_BLOCKS;
			uint64_t first = (s * HS_SHELF_PAGES + p) * HS_PAGE_BLOCKS;
			if (!page)
				continue;
			look_through(page, page->form, end, &live);
			for (unsigned i = 0; i < live.count; i++) {
				struct hs_block block = block_at(page, page->form, live.indices[i]);
				visit(&block, first + live.numbers[i], context);
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
