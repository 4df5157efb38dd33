/* The live blocks of a lane, found by allocation number (0, 1, 2... in the order of the file). Memory follows
 * the live blocks, not the allocations: blocks stand in pages of 256 numbers; a page whose blocks are all
 * dead is given back; one with few live ones, or an old one, is packed: it has the live ones only, and of
 * them what differs from the page's first, which fits in 32 bits nearly always and in 16 mostly. Private to
 * profile/. */
#ifndef HS_BLOCKS_H
#define HS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_block {
	uint64_t size;
	uint32_t group; /* HS_BLOCK_DEAD: no longer live */
	uint32_t thread;
	uint64_t born_us;
	uint64_t born_bytes; /* allocated in all, this block included, when it began */
};

#define HS_BLOCK_DEAD UINT32_MAX

enum { HS_PAGE_BLOCKS = 256, HS_SHELF_PAGES = 4096 };

/* Blocks of packed pages; born_... count from the page's first_... */
struct hs_narrow_block {
	uint32_t size, group, thread, born_us, born_bytes;
};

/* Of a page whose blocks are all of one thread. */
struct hs_tiny_block {
	uint32_t group;
	uint16_t size, born_us, born_bytes;
} __attribute__((packed, aligned(2)));

enum hs_page_form {
	HS_PAGE_WHOLE, /* block i has number i of the page; the others are packed */
	HS_PAGE_WIDE,
	HS_PAGE_NARROW,
	HS_PAGE_TINY,
};

struct hs_page {
	uint16_t live, capacity;
	uint8_t form;    /* enum hs_page_form */
	uint32_t thread; /* of tiny blocks */
	uint64_t first_us, first_bytes;
	/* Bit i of all words together: there is a block with number i of the page, which in a whole page is
	 * alive or has not begun. In a packed one they stand in the order of their numbers, and may be dead;
	 * before: those of the words before. */
	uint64_t places[HS_PAGE_BLOCKS / 64];
	uint8_t before[HS_PAGE_BLOCKS / 64];
	union {
		struct hs_block blocks[1]; /* capacity of them */
		struct hs_narrow_block narrow_blocks[1];
		struct hs_tiny_block tiny_blocks[1];
	};
};

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
	struct hs_page *spare;  /* one page, for the next opening */
	struct hs_block packed; /* what hs_blocks_find found last in a packed page, and its index there */
	unsigned packed_index;
};

/* An object of zeros is empty. */
void hs_blocks_free(struct hs_blocks *blocks);

/* For the functions below. */
void hs_blocks_open_page(struct hs_blocks *blocks);
void hs_blocks_tidy(struct hs_blocks *blocks, uint64_t number);
struct hs_block *hs_blocks_find_packed(struct hs_blocks *blocks, const struct hs_page *page, unsigned place);
void hs_blocks_end_packed(struct hs_blocks *blocks, struct hs_page *page);

/* The next allocation's block, to be filled in by the caller. */
static inline struct hs_block *hs_blocks_begin(struct hs_blocks *blocks)
{
	unsigned place = (unsigned)(blocks->count % HS_PAGE_BLOCKS);
	if (place == 0)
		hs_blocks_open_page(blocks);
	blocks->open->live++;
	blocks->count++;
	return &blocks->open->blocks[place];
}

/* The live block of that number, valid until the next call; NULL if there is none. */
static inline struct hs_block *hs_blocks_find(struct hs_blocks *blocks, uint64_t number)
{
	if (number >= blocks->count)
		return NULL;
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	struct hs_page *page = shelf ? shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES] : NULL;
	if (!page)
		return NULL;
	if (page->form != HS_PAGE_WHOLE)
		return hs_blocks_find_packed(blocks, page, (unsigned)(number % HS_PAGE_BLOCKS));
	struct hs_block *block = &page->blocks[number % HS_PAGE_BLOCKS];
	return block->group == HS_BLOCK_DEAD ? NULL : block;
}

/* Ends the block that hs_blocks_find returned last, which is invalid after that. */
static inline void hs_blocks_end(struct hs_blocks *blocks, uint64_t number, struct hs_block *block)
{
	block->group = HS_BLOCK_DEAD;
	struct hs_page *page = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES]
				       ->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES];
	if (block == &blocks->packed)
		hs_blocks_end_packed(blocks, page);
	else
		page->places[number % HS_PAGE_BLOCKS / 64] &= ~(1ULL << number % 64);
	if (--page->live <= page->capacity / 8 && page != blocks->open)
		hs_blocks_tidy(blocks, number);
}

/* Calls `visit` for every live block, oldest first. */
void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context);

#endif
