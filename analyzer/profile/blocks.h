/* The live blocks of a lane, found by allocation number (0, 1, 2... in the order of the file). Memory follows
 * the live blocks, not the allocations: blocks stand in pages of 256 numbers; a page whose blocks are all
 * dead is given back, and one with few live ones is packed: it has no others then. Nearly all blocks are
 * small ones: their numbers, less those of the page's first block, fit in 32 bits. Private to profile/. */
#ifndef HS_BLOCKS_H
#define HS_BLOCKS_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_block {
	uint64_t size;
	uint32_t group; /* HS_BLOCK_DEAD: it has ended */
	uint32_t thread;
	/* with births: */
	uint64_t born_us;
	uint64_t born_bytes; /* allocated in all, this block included, when it began */
};

#define HS_BLOCK_DEAD UINT32_MAX

enum { HS_PAGE_BLOCKS = 256, HS_PAGE_WORDS = HS_PAGE_BLOCKS / 64, HS_SHELF_PAGES = 4096 };

/* Small blocks are the frees that would end them, of the thread page->thread; or this. */
#define HS_SMALL_DEAD ((struct hs_event){UINT64_MAX})

/* From page->first_... on. */
struct hs_birth {
	uint32_t us, bytes;
};

/* 0: small blocks, of which block i has number i of the page. */
enum hs_page_form {
	HS_PAGE_WIDE = 1,   /* not all blocks are small ones */
	HS_PAGE_PACKED = 2, /* it has only those that were live at that time */
};

struct hs_page {
	uint16_t sparse; /* with no more live blocks it is packed, or given back */
	int16_t rest; /* live blocks, less that; in the open page also those that have not begun, less it */
	uint16_t capacity;
	uint8_t form;    /* bits of enum hs_page_form */
	uint32_t thread; /* HS_NO_THREAD: it is wide */
	uint64_t first_us, first_bytes;
	/* Packed: blocks with these numbers (bit i of all words together) are here, in their order. */
	uint64_t places[HS_PAGE_WORDS];
	union {
		struct hs_block blocks[1]; /* `capacity` of them, */
		struct hs_event small[1];  /* or of these, and as many births behind them */
		struct hs_page *next;      /* of those that nobody needs */
	};
};

#define HS_NO_THREAD UINT32_MAX

/* A million allocations' pages. */
struct hs_shelf {
	uint32_t pages_used;
	struct hs_page *pages[HS_SHELF_PAGES];
};

struct hs_blocks {
	uint64_t count;              /* allocations begun */
	struct hs_event *next, *end; /* room in the open page for small blocks of the latest thread */
	struct hs_page *open;        /* the page of the latest numbers */
	struct hs_shelf **shelves;
	size_t shelf_count, shelf_capacity;
	struct hs_chunk *chunk; /* the latest that pages of small blocks, not packed, are cut from */
	struct hs_page *spare;  /* those of them that nobody needs */
	bool births;            /* somebody wants to know born_...; constant */
	bool several_threads;   /* new pages are wide */
};

/* An object of zeros is empty, and has no births. */
void hs_blocks_free(struct hs_blocks *blocks);

/* Blocks that begin from now on are of that thread. */
void hs_blocks_turn(struct hs_blocks *blocks, uint32_t thread);

/* For the functions below. */
void hs_blocks_begin_apart(struct hs_blocks *blocks, const struct hs_block *block);
void hs_blocks_tidy(struct hs_blocks *blocks, uint64_t number);

HS_IN_LOOP struct hs_birth *hs_page_births(struct hs_page *page)
{
	return (struct hs_birth *)&page->small[page->capacity];
}

/* Adds the next allocation's block. births: blocks->births. ending: the free that would end it. */
HS_IN_LOOP void hs_blocks_begin(struct hs_blocks *blocks, bool births, struct hs_event ending, uint64_t size,
				uint32_t thread, uint64_t born_us, uint64_t born_bytes)
{
	struct hs_event *next = blocks->next;
	struct hs_birth birth;
	bool is_small = next != blocks->end && hs_event_value(ending) < HS_VALUE_LARGE;
	if (births && is_small) {
		uint64_t us = born_us - blocks->open->first_us,
			 bytes = born_bytes - blocks->open->first_bytes;
		is_small = (us | bytes) <= UINT32_MAX;
		birth = (struct hs_birth){(uint32_t)us, (uint32_t)bytes};
	}
	if (__builtin_expect(!is_small, 0)) {
		struct hs_block block = {size, hs_event_node(ending), thread, born_us, born_bytes};
		hs_blocks_begin_apart(blocks, &block);
		return;
	}
	*next = ending;
	if (births)
		hs_page_births(blocks->open)[next - blocks->open->small] = birth;
	blocks->next = next + 1;
	blocks->count++;
}

/* The page of a number; NULL: it has no live blocks. */
HS_IN_LOOP struct hs_page *hs_blocks_page(const struct hs_blocks *blocks, uint64_t number)
{
	if (number >= blocks->count)
		return NULL;
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	return shelf ? shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES] : NULL;
}

/* After one of its blocks has ended, that of the number. */
HS_IN_LOOP void hs_blocks_count_end(struct hs_blocks *blocks, struct hs_page *page, uint64_t number)
{
	if (--page->rest == 0 && page != blocks->open)
		hs_blocks_tidy(blocks, number);
}

/* Ends the live block of that number if it is a small one: copies it, and returns the free that ends it. Else
 * of word 0: it may be another one. births: blocks->births. */
HS_IN_LOOP struct hs_event hs_blocks_end_small(struct hs_blocks *blocks, bool births, uint64_t number,
					       struct hs_block *block)
{
	struct hs_page *page = hs_blocks_page(blocks, number);
	unsigned place = (unsigned)(number % HS_PAGE_BLOCKS);
	if (!page || page->form)
		return (struct hs_event){0};
	struct hs_event ending = page->small[place];
	if (ending.word == HS_SMALL_DEAD.word)
		return (struct hs_event){0};
	page->small[place] = HS_SMALL_DEAD;
	*block = (struct hs_block){
		.size = hs_event_value(ending), .group = hs_event_node(ending), .thread = page->thread};
	if (births) {
		block->born_us = page->first_us + hs_page_births(page)[place].us;
		block->born_bytes = page->first_bytes + hs_page_births(page)[place].bytes;
	}
	hs_blocks_count_end(blocks, page, number);
	return ending;
}

/* Ends the live block of that number, which is no small one, and copies it. Returns false if there is none.
 */
bool hs_blocks_end_apart(struct hs_blocks *blocks, uint64_t number, struct hs_block *block);

/* Calls `visit` for every live block, oldest first. */
void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context);

#endif
