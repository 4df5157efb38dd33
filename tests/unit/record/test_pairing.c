/* Which block each item ends, and what is counted of them. */
#include "encoding.h"

static void test_repairs(void)
{
	begin();
	item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0); /* nobody knows it */
	CHECK_NUMBER(pairing.unknown_frees, 1);
	CHECK_NUMBER(encoder.now.events, 0);
	item(HS_ITEM_ALLOC, 0, 2, 0xa0, 100, 1);
	item(HS_ITEM_ALLOC, 1, 3, 0xa0, 7, 1); /* its free is missing */
	CHECK_NUMBER(pairing.repaired_frees, 1);
	CHECK_NUMBER(encoder.now.events, 3);
	CHECK_NUMBER(encoder.now.frees, 1);
	CHECK_NUMBER(encoder.now.live_bytes, 7);
	/* realloc of unknown blocks, moved and in place: allocations */
	item(HS_ITEM_DETACH, 0, 4, 0xb0, 30, 1);
	item(HS_ITEM_ATTACH, 0, 5, 0xc0, 30, 1);
	item(HS_ITEM_RESIZE, 0, 6, 0xd0, 40, 1);
	CHECK_NUMBER(encoder.now.allocations, 4);
	CHECK_NUMBER(encoder.now.live_bytes, 7 + 30 + 40);
	/* a block that moves to a live address */
	item(HS_ITEM_DETACH, 0, 7, 0xd0, 50, 1);
	item(HS_ITEM_ATTACH, 0, 8, 0xc0, 50, 1);
	CHECK_NUMBER(pairing.repaired_frees, 2);
	CHECK_NUMBER(encoder.now.live_bytes, 7 + 50);
	CHECK_NUMBER(encoder.now.live_blocks, 2);
	CHECK_NUMBER(pairing.unknown_frees, 1);
	end();
}

/* Thread 1 moves a block; thread 0 gets its old address before the move is complete, and keeps it. */
static void test_realloc_race(void)
{
	begin();
	item(HS_ITEM_ALLOC, 1, 1, 0xa0, 10, 1);
	item(HS_ITEM_DETACH, 1, 2, 0xa0, 20, 2);
	item(HS_ITEM_ALLOC, 0, 3, 0xa0, 100, 1);
	CHECK_NUMBER(encoder.now.live_bytes, 110); /* the old block lives until it has moved */
	item(HS_ITEM_ATTACH, 1, 4, 0xb0, 20, 2);
	CHECK_NUMBER(encoder.now.live_bytes, 120);
	CHECK_NUMBER(pairing.repaired_frees, 0);
	item(HS_ITEM_FREE, 0, 5, 0xb0, 0, 0);
	item(HS_ITEM_FREE, 0, 6, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.live_bytes, 0);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(pairing.unknown_frees, 0);
	CHECK_NUMBER(encoder.now.peak_bytes, 120);
	end();
}

/* Freed before its own thread allocates again, whoever frees it. */
static void test_temporary(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 1, 1);
	item(HS_ITEM_ALLOC, 1, 2, 0xb0, 1, 1);
	item(HS_ITEM_FREE, 1, 3, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 1);
	item(HS_ITEM_ALLOC, 1, 4, 0xc0, 1, 1);
	item(HS_ITEM_FREE, 1, 5, 0xb0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 1);
	item(HS_ITEM_FREE, 1, 6, 0xc0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 2);
	end();
}

/* The last of equal peaks; time never goes back. */
static void test_peak(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 5, 0xa0, 9, 1);
	item(HS_ITEM_FREE, 0, 6, 0xa0, 0, 0);
	item(HS_ITEM_ALLOC, 0, 8, 0xa0, 9, 1);
	item(HS_ITEM_FREE, 0, 7, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.peak_bytes, 9);
	CHECK_NUMBER(encoder.now.peak_us, 8);
	CHECK_NUMBER(encoder.time_us, 8);
	end();
}

/* More blocks than the first table holds, taken out in another order than they came in. */
static void test_table(void)
{
	enum { BLOCKS = 50000 };
	begin();
	for (uint64_t i = 0; i < BLOCKS; i++)
		item(HS_ITEM_ALLOC, 0, i, 0x10000 + i * 16, 1 + i % 7, 1);
	CHECK_NUMBER(encoder.now.live_blocks, BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i++)
		item(HS_ITEM_FREE, 0, BLOCKS + i, 0x10000 + i * 7919 % BLOCKS * 16, 0, 0);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(encoder.now.live_bytes, 0);
	CHECK_NUMBER(pairing.unknown_frees, 0);
	CHECK_NUMBER(pairing.live.count, 0);
	/* 65,536 events fill a member: the rest is still in the columns. */
	CHECK_NUMBER(encoder.written.events, 65536);
	CHECK_NUMBER(encoder.now.events, 2 * BLOCKS);
	end();
}

int main(void)
{
	test_repairs();
	test_realloc_race();
	test_temporary();
	test_peak();
	test_table();
	return check_failures != 0;
}
