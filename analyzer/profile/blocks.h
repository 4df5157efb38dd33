/* The live blocks of a lane, found by allocation number (0, 1, 2... in the order of the file). Memory follows
 * the live blocks, not the allocations: blocks stand in pages of 256 numbers; a page whose blocks are all
 * dead is given back, and one with few live ones is packed: it has no others then. Of nearly all blocks a
 * page has what differs from its first one, which fits in 32 bits. Private to profile/. */
#ifndef HS_BLOCKS_H
#define HS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_block {
	uint64_t size;
	uint32_t group;
	uint32_t thread;
	uint64_t born_us;
	uint64_t born_bytes; /* allocated in all, this block included, when it began */
};

enum { HS_PAGE_BLOCKS = 256, HS_PAGE_WORDS = HS_PAGE_BLOCKS / 64, HS_SHELF_PAGES = 4096 };

/* Of the thread page->thread; born_... count from page->first_... */
struct hs_narrow_block {
	uint32_t size, group, born_us, born_bytes;
};

struct hs_page {
	uint16_t live;   /* blocks; in the open page also those that have not begun */
	uint16_t sparse; /* with no more live ones it is packed, or given back */
	bool wide;       /* not all blocks are narrow ones */
	bool packed;     /* else block i has number i of the page */
	uint32_t thread; /* HS_NO_THREAD: it is wide */
	uint64_t first_us, first_bytes;
	uint64_t alive[HS_PAGE_WORDS];  /* bit i of all words together: block with number i is, or has not
					   begun */
	uint64_t places[HS_PAGE_WORDS]; /* packed: blocks with these numbers are here, in their order */
	union {
		struct hs_block blocks[1];
		struct hs_narrow_block narrow_blocks[1];
		struct hs_page *next; /* of those that nobody needs */
	};
};

#define HS_NO_THREAD UINT32_MAX

/* A million allocations' pages. */
struct hs_shelf {
	uint32_t pages_used;
	struct hs_page *pages[HS_SHELF_PAGES];
};

struct hs_blocks {
	uint64_t count;       /* allocations begun */
	struct hs_page *open; /* the page of the latest numbers */
	struct hs_shelf **shelves;
	size_t shelf_count, shelf_capacity;
	struct hs_chunk *chunk; /* the latest that pages of narrow blocks, not packed, are cut from */
	struct hs_page *spare;  /* those of them that nobody needs */
	bool several_threads;   /* new pages are wide */
};

/* An object of zeros is empty. */
void hs_blocks_free(struct hs_blocks *blocks);

/* For the functions below. */
void hs_blocks_open_page(struct hs_blocks *blocks, const struct hs_block *first);
void hs_blocks_begin_wide(struct hs_blocks *blocks, const struct hs_block *block);
void hs_blocks_tidy(struct hs_blocks *blocks, uint64_t number);
unsigned hs_blocks_packed_index(const struct hs_page *page, unsigned place);

/* Adds the next allocation's block. */
static inline __attribute__((always_inline)) void hs_blocks_begin(struct hs_blocks *blocks, uint64_t size,
								  uint32_t group, uint32_t thread,
								  uint64_t born_us, uint64_t born_bytes)
{
	unsigned place = (unsigned)(blocks->count % HS_PAGE_BLOCKS);
	if (place == 0)
		hs_blocks_open_page(blocks, &(struct hs_block){size, group, thread, born_us, born_bytes});
	struct hs_page *page = blocks->open;
	uint64_t us = born_us - page->first_us, bytes = born_bytes - page->first_bytes;
	if (__builtin_expect(thread == page->thread && (size | us | bytes) <= UINT32_MAX, 1))
		page->narrow_blocks[place] =
			(struct hs_narrow_block){(uint32_t)size, group, (uint32_t)us, (uint32_t)bytes};
	else
		hs_blocks_begin_wide(blocks, &(struct hs_block){size, group, thread, born_us, born_bytes});
	blocks->count++;
}

/* Ends the live block of that number and copies it. Returns false if there is none. */
static inline __attribute__((always_inline)) bool hs_blocks_end(struct hs_blocks *blocks, uint64_t number,
								struct hs_block *block)
{
	if (number >= blocks->count)
		return false;
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	struct hs_page *page = shelf ? shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES] : NULL;
	unsigned place = (unsigned)(number % HS_PAGE_BLOCKS);
	if (!page || !(page->alive[place / 64] >> place % 64 & 1))
		return false;
	page->alive[place / 64] ^= 1ULL << place % 64;
	if (page->packed)
		place = hs_blocks_packed_index(page, place);
	if (__builtin_expect(page->wide, 0)) {
		*block = page->blocks[place];
	} else {
		const struct hs_narrow_block *narrow = &page->narrow_blocks[place];
		*block = (struct hs_block){narrow->size, narrow->group, page->thread,
					   page->first_us + narrow->born_us,
					   page->first_bytes + narrow->born_bytes};
	}
	if (--page->live <= page->sparse && page != blocks->open)
		hs_blocks_tidy(blocks, number);
	return true;
}

/* Calls `visit` for every live block, oldest first. */
void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context);

#endif
