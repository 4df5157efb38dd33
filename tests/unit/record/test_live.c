/* The table of live blocks. */
#include "record/live.h"

#include "check.h"

static struct hs_live live;

/* A block that its size tells apart. */
static void begin_block(uint64_t address, uint64_t size)
{
	hs_live_reserve(&live, 1);
	hs_live_begin(&live, hs_live_cell(&live, address, true), address)->size = size;
}

/* 0: none. */
static uint64_t size_at(uint64_t address)
{
	const struct hs_block *block = hs_live_find(&live, hs_live_cell(&live, address, false), address);
	return block ? block->size : 0;
}

static void end_block(uint64_t address)
{
	uint32_t *cell = hs_live_cell(&live, address, false);
	hs_live_end(&live, cell, hs_live_find(&live, cell, address));
}

/* Blocks at each byte: 16 in a cell. Each goes and comes back without its neighbours. */
static void test_neighbours(void)
{
	enum { BLOCKS = 3000 };
	hs_live_init(&live);
	for (uint64_t i = 0; i < BLOCKS; i++)
		begin_block(0x7000 + i, 1 + i);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		end_block(0x7000 + i);
		CHECK_NUMBER(size_at(0x7000 + i), 0);
		CHECK_NUMBER(size_at(0x7000 + i + 1), i + 1 < BLOCKS ? i + 2 : 0);
		CHECK_NUMBER(size_at(0x7000 + i - 1), i ? i : 0);
		begin_block(0x7000 + i, 1 + i);
	}
	CHECK_NUMBER(live.count, BLOCKS);
	CHECK_NUMBER(size_at(0x6fff), 0);
	hs_live_free(&live);
}

/* Three segments of blocks; keys of pools at the same addresses. */
static void test_many(void)
{
	enum { BLOCKS = 70000 };
	const uint64_t pool = 1ull << 62;
	hs_live_init(&live);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		begin_block(0x10000 + i * 48, 1 + i);
		begin_block((0x10000 + i * 48) | pool, 1 + BLOCKS + i);
	}
	CHECK_NUMBER(live.count, 2 * BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i += 2)
		end_block(0x10000 + i * 48);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		CHECK_NUMBER(size_at(0x10000 + i * 48), i % 2 ? 1 + i : 0);
		CHECK_NUMBER(size_at((0x10000 + i * 48) | pool), 1 + BLOCKS + i);
	}
	CHECK_NUMBER(live.count, BLOCKS + BLOCKS / 2);
	hs_live_free(&live);
}

/* Blocks a page apart, of which 1,000 live at a time, all over the address space: neither the table nor the
 * memory of its windows grows with those that were there. */
static void test_moving_on(void)
{
	enum { BLOCKS = 300000, LIVE = 1000 };
	hs_live_init(&live);
	uint64_t places = live.window_mask + 1;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (i >= LIVE)
			end_block((i - LIVE) * 4096);
		begin_block(i * 4096, 1 + i);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		CHECK_NUMBER(size_at(i * 4096), i < BLOCKS - LIVE ? 0 : 1 + i);
	CHECK_NUMBER(live.window_mask + 1, places);
	CHECK_NUMBER(live.segments_of_cells, 2); /* the small one and one of 8,192 */
	CHECK_NUMBER(live.fresh, 1 + LIVE);
	hs_live_free(&live);
}

int main(void)
{
	test_neighbours();
	test_many();
	test_moving_on();
	return check_failures != 0;
}
