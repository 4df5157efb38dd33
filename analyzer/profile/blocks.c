#include "blocks.h"

#include "base/memory.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

/* A page is packed when one of so many of its blocks is live. */
enum { SPARSE_SHARE = 16 };

static struct hs_page **page_at(struct hs_blocks *blocks, uint64_t number)
{
	struct hs_shelf *shelf = blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
	return shelf ? &shelf->pages[number / HS_PAGE_BLOCKS % HS_SHELF_PAGES] : NULL;
}

/* ---- memory ---------------------------------------------------------------------------------------------
 */

static size_t page_bytes(const struct hs_blocks *blocks, unsigned capacity, bool wide)
{
	size_t small_bytes = sizeof(struct hs_event) + (blocks->births ? sizeof(struct hs_birth) : 0);
	size_t bytes =
		offsetof(struct hs_page, blocks) + capacity * (wide ? sizeof(struct hs_block) : small_bytes);
	return bytes > sizeof(struct hs_page) ? bytes : sizeof(struct hs_page);
}

static struct hs_page *make_page(const struct hs_blocks *blocks, unsigned capacity, bool wide)
{
	struct hs_page *page = hs_allocate(page_bytes(blocks, capacity, wide));
	page->form = wide ? HS_PAGE_WIDE : 0;
	return page;
}

/* Memory for pages. They are many where blocks grow old, and to get it from the system piece by piece would
 * take as long as to fill it. */
struct hs_chunk {
	struct hs_chunk *before;
	unsigned used, count; /* pages */
	uint64_t room[];
};

static void add_chunk(struct hs_blocks *blocks, size_t bytes_a_page)
{
	enum { PAGES_LEAST = 8, PAGES_MOST = 256 };
	struct hs_chunk *before = blocks->chunk;
	unsigned count = !before ? PAGES_LEAST : before->count < PAGES_MOST ? before->count * 2 : PAGES_MOST;
	blocks->chunk = hs_allocate_filled(sizeof *before + count * bytes_a_page);
	*blocks->chunk = (struct hs_chunk){before, 0, count};
}

/* A page of small blocks that is not packed. */
static struct hs_page *take_page(struct hs_blocks *blocks)
{
	struct hs_page *page = blocks->spare;
	if (page) {
		blocks->spare = page->next;
	} else {
		size_t bytes = page_bytes(blocks, HS_PAGE_BLOCKS, false);
		if (!blocks->chunk || blocks->chunk->used == blocks->chunk->count)
			add_chunk(blocks, bytes);
		page = (struct hs_page *)((char *)blocks->chunk->room + blocks->chunk->used++ * bytes);
	}
	page->form = 0;
	return page;
}

static void give_back(struct hs_blocks *blocks, struct hs_page *page)
{
	if (page->form) {
		free(page);
		return;
	}
	page->next = blocks->spare;
	blocks->spare = page;
}

/* ---- blocks of a page -----------------------------------------------------------------------------------
 */

static void start_page(struct hs_page *page, unsigned capacity, const struct hs_block *first)
{
	page->capacity = (uint16_t)capacity;
	page->sparse = (uint16_t)(capacity / SPARSE_SHARE);
	page->rest = (int16_t)(capacity - page->sparse);
	page->thread = page->form & HS_PAGE_WIDE ? HS_NO_THREAD : first->thread;
	page->first_us = first->born_us;
	page->first_bytes = first->born_bytes;
}

static struct hs_event small_block(const struct hs_block *block)
{
	return hs_event(HS_EVENT_FREE, (uint32_t)block->size, block->group);
}

/* Dead ones have HS_BLOCK_DEAD for their group. */
static struct hs_block read_block(const struct hs_blocks *blocks, struct hs_page *page, unsigned index)
{
	if (page->form & HS_PAGE_WIDE)
		return page->blocks[index];
	struct hs_birth birth = {0};
	if (blocks->births)
		birth = hs_page_births(page)[index];
	struct hs_event small = page->small[index];
	return (struct hs_block){hs_event_value(small), hs_event_node(small), page->thread,
				 page->first_us + birth.us, page->first_bytes + birth.bytes};
}

/* Small blocks have to fit. */
static void write_block(const struct hs_blocks *blocks, struct hs_page *page, unsigned index,
			const struct hs_block *block)
{
	if (page->form & HS_PAGE_WIDE) {
		page->blocks[index] = *block;
		return;
	}
	page->small[index] = small_block(block);
	if (blocks->births)
		hs_page_births(page)[index] =
			(struct hs_birth){(uint32_t)(block->born_us - page->first_us),
					  (uint32_t)(block->born_bytes - page->first_bytes)};
}

/* Whether the block can stand in a page of small blocks that begins with `first`. */
static bool fits(const struct hs_block *block, uint32_t thread, uint64_t first_us, uint64_t first_bytes)
{
	return block->thread == thread && block->size < HS_VALUE_LARGE &&
	       ((block->born_us - first_us) | (block->born_bytes - first_bytes)) <= UINT32_MAX;
}

/* The processor's instruction for it is not everywhere, and the compiler's function for that case takes
 * longer. */
static inline unsigned count_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555u;
	word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (unsigned)(word * 0x0101010101010101u >> 56);
}

/* Where the block of a number is; HS_PAGE_BLOCKS: it is not there. */
static unsigned index_of(const struct hs_page *page, unsigned place)
{
	unsigned index = 0, word = place / 64;
	if (!(page->form & HS_PAGE_PACKED))
		return place;
	if (!(page->places[word] >> place % 64 & 1))
		return HS_PAGE_BLOCKS;
	for (unsigned i = 0; i < word; i++)
		index += count_bits(page->places[i]);
	return index + count_bits(page->places[word] & ((1ULL << place % 64) - 1));
}

bool hs_blocks_end_apart(struct hs_blocks *blocks, uint64_t number, struct hs_block *block)
{
	struct hs_page *page = hs_blocks_page(blocks, number);
	unsigned index = page ? index_of(page, (unsigned)(number % HS_PAGE_BLOCKS)) : HS_PAGE_BLOCKS;
	if (index == HS_PAGE_BLOCKS)
		return false;
	*block = read_block(blocks, page, index);
	if (block->group == HS_BLOCK_DEAD)
		return false;
	if (page->form & HS_PAGE_WIDE)
		page->blocks[index].group = HS_BLOCK_DEAD;
	else
		page->small[index] = HS_SMALL_DEAD;
	hs_blocks_count_end(blocks, page, number);
	return true;
}

/* ---- opening --------------------------------------------------------------------------------------------
 */

static void add_shelf(struct hs_blocks *blocks)
{
	struct hs_shelf **before = blocks->shelf_count ? &blocks->shelves[blocks->shelf_count - 1] : NULL;
	if (before && *before && (*before)->pages_used == 0) {
		free(*before);
		*before = NULL;
	}
	blocks->shelves = hs_grow(blocks->shelves, blocks->shelf_count, &blocks->shelf_capacity,
				  sizeof *blocks->shelves);
	blocks->shelves[blocks->shelf_count++] = hs_allocate_zero(1, sizeof(struct hs_shelf));
}

/* Called when the open page is full (or there is none). */
static void open_page(struct hs_blocks *blocks, const struct hs_block *first)
{
	struct hs_page *full = blocks->open;
	uint64_t shelf = blocks->count / HS_PAGE_BLOCKS / HS_SHELF_PAGES;
	blocks->open = NULL;
	if (full && full->rest <= 0)
		hs_blocks_tidy(blocks, blocks->count - 1);
	if (shelf == blocks->shelf_count)
		add_shelf(blocks);
	struct hs_page *page =
		blocks->several_threads ? make_page(blocks, HS_PAGE_BLOCKS, true) : take_page(blocks);
	start_page(page, HS_PAGE_BLOCKS, first);
	blocks->open = *page_at(blocks, blocks->count) = page;
	blocks->shelves[shelf]->pages_used++;
}

/* Some blocks of the open page are not small ones. */
static void widen(struct hs_blocks *blocks)
{
	struct hs_page *page = blocks->open, *wide = make_page(blocks, HS_PAGE_BLOCKS, true);
	start_page(wide, HS_PAGE_BLOCKS, &(struct hs_block){0});
	wide->rest = page->rest;
	for (unsigned i = 0; i < blocks->count % HS_PAGE_BLOCKS; i++)
		wide->blocks[i] = read_block(blocks, page, i);
	give_back(blocks, page);
	blocks->open = *page_at(blocks, blocks->count) = wide;
}

void hs_blocks_turn(struct hs_blocks *blocks, uint32_t thread)
{
	struct hs_page *page = blocks->open;
	unsigned place = (unsigned)(blocks->count % HS_PAGE_BLOCKS);
	blocks->next = blocks->end = NULL;
	if (place == 0 || page->form || page->thread != thread)
		return;
	blocks->next = &page->small[place];
	blocks->end = &page->small[HS_PAGE_BLOCKS];
}

/* Where hs_blocks_begin has no room, or the block is not a small one. */
void hs_blocks_begin_apart(struct hs_blocks *blocks, const struct hs_block *block)
{
	unsigned place = (unsigned)(blocks->count % HS_PAGE_BLOCKS);
	if (place == 0)
		open_page(blocks, block);
	struct hs_page *page = blocks->open;
	if (!(page->form & HS_PAGE_WIDE) && !fits(block, page->thread, page->first_us, page->first_bytes)) {
		blocks->several_threads |= block->thread != page->thread;
		widen(blocks);
	}
	write_block(blocks, blocks->open, place, block);
	blocks->count++;
	hs_blocks_turn(blocks, block->thread);
}

/* ---- packing --------------------------------------------------------------------------------------------
 */

/* Bit i: block i of these 64 lives. */
static uint64_t find_living(const struct hs_event *blocks)
{
	const __m128i dead = _mm_set1_epi32((int)HS_BLOCK_DEAD);
	uint64_t alive = 0;
	for (unsigned i = 0; i < 64; i += 4) {
		__m128 low = _mm_loadu_ps((const float *)&blocks[i]),
		       high = _mm_loadu_ps((const float *)&blocks[i + 2]);
		__m128i groups = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
		unsigned ended = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(groups, dead)));
		alive |= (uint64_t)(ended ^ 15) << i;
	}
	return alive;
}

/* The indices of the live blocks of a page, and their numbers as in page->places. Returns how many there are.
 */
static unsigned find_live(const struct hs_page *page, uint8_t *indices, uint64_t *places)
{
	unsigned count = 0, index = 0;
	for (unsigned w = 0; w < HS_PAGE_WORDS; w++) {
		uint64_t rest = page->form & HS_PAGE_PACKED ? page->places[w] : UINT64_MAX;
		places[w] = 0;
		if (page->form == 0) { /* most of them */
			rest = places[w] = find_living(&page->small[w * 64]);
			for (; rest; rest &= rest - 1)
				indices[count++] = (uint8_t)(w * 64 + (unsigned)__builtin_ctzll(rest));
			continue;
		}
		for (; rest; rest &= rest - 1, index++) {
			bool wide = page->form & HS_PAGE_WIDE;
			uint32_t group = wide ? page->blocks[index].group : hs_event_node(page->small[index]);
			bool alive = group != HS_BLOCK_DEAD; /* which cannot be foreseen: no branch */
			indices[count] = (uint8_t)index;
			count += alive;
			places[w] |= (rest & -rest) * alive;
		}
	}
	return count;
}

/* A page of nothing but the live blocks of another one, which has some. */
static struct hs_page *pack(const struct hs_blocks *blocks, struct hs_page *page)
{
	struct hs_block live[HS_PAGE_BLOCKS / SPARSE_SHARE];
	uint8_t indices[HS_PAGE_BLOCKS];
	uint64_t places[HS_PAGE_WORDS];
	unsigned count = find_live(page, indices, places);
	struct hs_block first = read_block(blocks, page, indices[0]);
	bool wide = false;
	for (unsigned i = 0; i < count; i++) {
		live[i] = read_block(blocks, page, indices[i]);
		wide |= !fits(&live[i], first.thread, first.born_us, first.born_bytes);
	}
	struct hs_page *packed = make_page(blocks, count, wide);
	start_page(packed, count, &first);
	packed->form |= HS_PAGE_PACKED;
	memcpy(packed->places, places, sizeof packed->places);
	for (unsigned i = 0; i < count; i++)
		write_block(blocks, packed, i, &live[i]);
	return packed;
}

/* Gives back a dead page, or replaces it by its live blocks. */
void hs_blocks_tidy(struct hs_blocks *blocks, uint64_t number)
{
	struct hs_page **home = page_at(blocks, number), *page = *home;
	if (page->rest + page->sparse == 0) {
		struct hs_shelf **shelf = &blocks->shelves[number / HS_PAGE_BLOCKS / HS_SHELF_PAGES];
		*home = NULL;
		/* The last shelf still gets pages. */
		if (--(*shelf)->pages_used == 0 && shelf != &blocks->shelves[blocks->shelf_count - 1]) {
			free(*shelf);
			*shelf = NULL;
		}
	} else {
		*home = pack(blocks, page);
	}
	give_back(blocks, page);
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

void hs_blocks_each(struct hs_blocks *blocks,
		    void (*visit)(const struct hs_block *block, uint64_t number, void *context),
		    void *context)
{
	for (uint64_t first = 0; first < blocks->count; first += HS_PAGE_BLOCKS) {
		struct hs_page **home = page_at(blocks, first), *page = home ? *home : NULL;
		uint64_t rest = blocks->count - first;
		unsigned begun = rest < HS_PAGE_BLOCKS ? (unsigned)rest : HS_PAGE_BLOCKS;
		for (unsigned place = 0; page && place < begun; place++) {
			unsigned index = index_of(page, place);
			if (index == HS_PAGE_BLOCKS)
				continue;
			struct hs_block block = read_block(blocks, page, index);
			if (block.group != HS_BLOCK_DEAD)
				visit(&block, first + place, context);
		}
	}
}

void hs_blocks_free(struct hs_blocks *blocks)
{
	for (size_t s = 0; s < blocks->shelf_count; s++) {
		struct hs_shelf *shelf = blocks->shelves[s];
		for (unsigned p = 0; shelf && p < HS_SHELF_PAGES; p++)
			if (shelf->pages[p] && shelf->pages[p]->form)
				free(shelf->pages[p]);
		free(shelf);
	}
	for (struct hs_chunk *chunk = blocks->chunk, *before; chunk; chunk = before) {
		before = chunk->before;
		free(chunk);
	}
	free(blocks->shelves);
	*blocks = (struct hs_blocks){0};
}
