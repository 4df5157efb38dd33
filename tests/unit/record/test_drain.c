/* The merge: order, ties, how far it goes, and what happens to chunks. */
#include "check.h"
#include "shim.h"

#include <stdlib.h>

#define MS 1000000ull
#define MARGIN 50000ull /* 50 us, as drain.h promises */

static char merged[4096];
static struct hs_view view;
static struct hs_drain *drain;

/* One letter a kind, address, stamp; news have their particulars in the address's place. */
static void note(void *context, const struct hs_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t used = strlen(merged);
		if (items[i].kind == HS_ITEM_NEWS || items[i].kind == HS_ITEM_NEWS_END) {
			const struct hs_news *news = (const struct hs_news *)(uintptr_t)items[i].address;
			char what[300];
			if (news->op == HS_WIDE_NOTE)
				snprintf(what, sizeof what, "%u '%s'", news->note, news->name);
			else
				snprintf(what, sizeof what,
					 "%" PRIx64 " of %" PRIx64 " %" PRIu64 " was %" PRIx64, news->block,
					 news->slab, news->size, news->old);
			snprintf(merged + used, sizeof merged - used, "%s%c%u %s@%" PRIu64, used ? " " : "",
				 "FDEARTN"[items[i].kind], news -> op, what, items[i].stamp);
			continue;
		}
		snprintf(merged + used, sizeof merged - used, "%s%c%" PRIx64 "@%" PRIu64, used ? " " : "",
			 "FDEARTN"[items[i].kind], items[i].address, items[i].stamp);
	}
}

static void begin(void)
{
	struct hs_error error;
	if (hs_view_create(&view, 16, &error) != 0) {
		printf("%s\n", error.text);
		exit(1);
	}
	shim_begin(&view);
	drain = hs_drain_new(&view, note, NULL);
}

static void end(void)
{
	hs_drain_free(drain);
	hs_view_close(&view);
}

static const char *turn(uint64_t now, bool finish)
{
	merged[0] = 0;
	hs_drain_round(drain, &shim_clock, now, finish);
	return merged;
}

static void test_order(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	shim_free(&a, 300, 0x10);
	shim_alloc(&b, 200, 0x20, 8, 1);
	shim_alloc(&b, 301, 0x10, 8, 1);
	CHECK_TEXT(turn(MS, false), "A10@100 A20@200 F10@300 A10@301");
	CHECK_TEXT(turn(2 * MS, false), "");
	CHECK_NUMBER(hs_drain_late(drain), 0);
	end();
}

/* At equal stamps the free goes first, whichever stream is looked at first. */
static void test_ties(void)
{
	for (unsigned swap = 0; swap < 2; swap++) {
		begin();
		struct shim_chunk a = shim_take(&view, swap, 1, 0), b = shim_take(&view, !swap, 2, 0);
		shim_alloc(&a, 500, 0x10, 8, 1);
		shim_free(&b, 500, 0x10);
		CHECK_TEXT(turn(MS, false), "F10@500 A10@500");
		end();
	}
}

static void test_margin(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	shim_alloc(&a, 100 + 1000, 0x20, 8, 1);
	CHECK_TEXT(turn(100 + MARGIN, false), "");
	CHECK_TEXT(turn(101 + MARGIN, false), "A10@100");
	CHECK_TEXT(turn(1100 + MARGIN, false), "");
	CHECK_TEXT(turn(1101 + MARGIN, false), "A20@1100");
	end();
}

/* A busy stream holds the others back at its last event, but not for more than 200 ms. */
static void test_busy(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	a.header->busy = 1;
	shim_alloc(&b, 90, 0x20, 8, 1);
	shim_alloc(&b, 150, 0x30, 8, 1);
	CHECK_TEXT(turn(MS, false), "A20@90 A10@100");
	CHECK_TEXT(turn(200 * MS, false), "");
	CHECK_TEXT(turn(201 * MS, false), "A30@150");
	CHECK_NUMBER(hs_drain_late(drain), 0);
	shim_free(&a, 120, 0x10);
	a.header->busy = 0;
	CHECK_TEXT(turn(202 * MS, false), "F10@120");
	CHECK_NUMBER(hs_drain_late(drain), 1);
	end();
}

/* An event without a stamp of its own is not late when it comes: it has that of the one before. */
static void test_no_stamp(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	CHECK_TEXT(turn(101 + MARGIN, false), "A10@100");
	shim_alloc(&a, 100, 0x20, 8, 1);
	shim_free(&a, 100, 0x10);
	shim_realloc(&a, 100, 0x20, 100, 0x30, 8, 1);
	shim_alloc(&b, 1000, 0x10, 8, 1);
	CHECK_TEXT(turn(3 * MS, false), "A20@100 F10@100 D20@100 T30@100 A10@1000");
	CHECK_NUMBER(hs_drain_late(drain), 0);
	shim_alloc(&a, 200, 0x40, 8, 1);
	shim_alloc(&a, 300, 0x50, 8, 1);
	CHECK_TEXT(turn(4 * MS, false), "A40@200 A50@300");
	CHECK_NUMBER(hs_drain_late(drain), 2);
	end();
}

/* The old address may go to another thread between the stamps of a realloc that moves. */
static void test_realloc(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_alloc(&a, 50, 0x10, 8, 1);
	shim_realloc(&a, 100, 0x10, 200, 0x40, 64, 1);
	shim_realloc(&a, 300, 0x40, 400, 0x40, 65, 1);
	shim_alloc(&b, 150, 0x10, 8, 1);
	shim_free(&b, 200, 0x10);
	shim_alloc(&b, 350, 0x50, 8, 1);
	CHECK_TEXT(turn(MS, false), "A10@50 D10@100 A10@150 F10@200 T40@200 A50@350 R40@400");
	end();
}

static void test_realloc_across_rounds(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_realloc(&a, 1000, 0x10, 9000, 0x40, 64, 1);
	shim_hand_over(&a);
	shim_alloc(&b, 5000, 0x10, 8, 1);
	CHECK_TEXT(turn(4000 + MARGIN, false), "D10@1000");
	CHECK_TEXT(turn(MS, false), "A10@5000 T40@9000");
	CHECK_NUMBER(hs_drain_late(drain), 0);
	end();
}

/* What streams write at random, in rounds that end anywhere: each item comes in the order of the stamps,
 * which all differ. */
enum { STREAMS_MOST = 4, ITEMS_MOST = 4000 };
static struct expected {
	uint64_t stamp, address, size;
	uint32_t stream, node;
	enum hs_item_kind kind;
} expected[ITEMS_MOST];
static uint32_t expected_count, compared;

static void compare(void *context, const struct hs_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, compared++) {
		const struct expected *due = &expected[compared];
		bool begins = due->kind >= HS_ITEM_ALLOC;
		CHECK(compared < expected_count);
		CHECK(items[i].stamp == due->stamp && items[i].kind == due->kind &&
		      items[i].address == due->address && items[i].stream->id == due->stream);
		CHECK(!begins || (items[i].size == due->size && items[i].node == due->node));
	}
}

static void expect(uint64_t stamp, uint32_t stream, enum hs_item_kind kind, uint64_t address, uint64_t size)
{
	expected[expected_count++] =
		(struct expected){stamp, address, size, stream, (uint32_t)size + 1, kind};
}

static void test_random_streams(uint32_t streams, uint64_t seed)
{
	struct shim_chunk chunks[STREAMS_MOST];
	uint64_t before[STREAMS_MOST] = {0}, now = 0; /* 0: the stream is not within a realloc */
	begin();
	hs_drain_free(drain);
	drain = hs_drain_new(&view, compare, NULL);
	for (uint32_t i = 0; i < streams; i++)
		chunks[i] = shim_take(&view, i, i + 1, 0);
	expected_count = compared = 0;
	for (uint64_t i = 0; expected_count < 900 * streams; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t s = (uint32_t)(seed >> 33) % streams, op = (uint32_t)(seed >> 45) % 8;
		uint64_t old = 0x1000 + i * 16, size = i + 5, *begun = &before[s];
		now += 1 + (seed >> 50) % 40;
		if (*begun) {
			shim_realloc(&chunks[s], *begun, old, now, old + 8, size, (uint32_t)size + 1);
			for (uint32_t k = 0; k < expected_count; k++)
				if (expected[k].stamp == *begun)
					expected[k].address = old;
			expect(now, s + 1, HS_ITEM_ATTACH, old + 8, size);
			*begun = 0;
		} else if (op == 0) {
			*begun = now;
			expect(now, s + 1, HS_ITEM_DETACH, 0, 0);
		} else if (op == 1) {
			shim_realloc(&chunks[s], now, old, now + 3, old, size, (uint32_t)size + 1);
			now += 3;
			expect(now, s + 1, HS_ITEM_RESIZE, old, size);
		} else if (op == 2) {
			shim_wide(&chunks[s], HS_WIDE_FREE, (uint64_t[]){old + 1, now}, 2, now);
			expect(now, s + 1, HS_ITEM_FREE, old + 1, 0);
		} else if (op <= 4) {
			shim_free(&chunks[s], now, old);
			expect(now, s + 1, HS_ITEM_FREE, old, 0);
		} else {
			shim_alloc(&chunks[s], now, old, size, (uint32_t)size + 1);
			expect(now, s + 1, HS_ITEM_ALLOC, old, size);
		}
	}
	for (uint32_t s = 0; s < streams; s++)
		if (before[s]) {
			now++;
			shim_realloc(&chunks[s], before[s], 0, now, 8, 1, 2);
			expect(now, s + 1, HS_ITEM_ATTACH, 8, 1);
		}
	for (uint64_t end = 0; end < now; end += 1 + (seed = seed * 25214903917u + 11) % 300)
		hs_drain_round(drain, &shim_clock, end + MARGIN, false);
	hs_drain_round(drain, &shim_clock, now + 2 * MARGIN, false);
	CHECK_NUMBER(compared, expected_count);
	CHECK_NUMBER(hs_drain_late(drain), 0);
	CHECK_NUMBER(hs_drain_damaged(drain), 0);
	end();
}

static void test_wide(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0);
	shim_wide(&a, HS_WIDE_STAMP, (uint64_t[]){7000000}, 1, 7000000);
	shim_free(&a, 7000003, 0x10);
	shim_wide(&a, HS_WIDE_ALLOC, (uint64_t[]){0x123456789abcdef1, 8000000, 1ull << 40, 3}, 4, 8000000);
	shim_wide(&a, HS_WIDE_REALLOC, (uint64_t[]){0x11, 8000001, 0x22, 8000002, 5, 3}, 6, 8000002);
	shim_wide(&a, HS_WIDE_FREE, (uint64_t[]){0x33, 8000003}, 2, 8000003);
	shim_free(&a, 8000004, 0x48);
	CHECK_TEXT(turn(20 * MS, false),
		   "F10@7000003 A123456789abcdef1@8000000 D11@8000001 T22@8000002 F33@8000003 "
		   "F48@8000004");
	CHECK_NUMBER(hs_drain_damaged(drain), 0);
	end();
}

/* A chunk that is read goes back with an all-zero header, and whoever waits for one is told. */
static void test_release(void)
{
	static const struct hs_chunk_header zero;
	begin();
	struct shim_chunk a = shim_take(&view, 3, 1, 0), empty = shim_take(&view, 4, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	shim_hand_over(&a);
	shim_hand_over(&empty);
	CHECK_TEXT(turn(MS, false), "A10@100");
	CHECK_NUMBER(view.header->chunk_state[3], HS_CHUNK_FREE);
	CHECK_NUMBER(view.header->chunk_state[4], HS_CHUNK_FREE);
	CHECK(memcmp(a.header, &zero, sizeof zero) == 0);
	CHECK(memcmp(empty.header, &zero, sizeof zero) == 0);
	CHECK_NUMBER(view.header->drained, 1);
	end();
}

/* The chunks of a stream are read by their number, wherever they lie; a missing one is waited for once. */
static void test_sequence(void)
{
	begin();
	struct shim_chunk late = shim_take(&view, 9, 1, 1), early = shim_take(&view, 20, 1, 0);
	shim_alloc(&early, 100, 0x10, 8, 1);
	shim_hand_over(&early);
	shim_alloc(&late, 200, 0x20, 8, 1);
	CHECK_TEXT(turn(MS, false), "A10@100 A20@200");
	end();

	begin();
	struct shim_chunk second = shim_take(&view, 9, 1, 1);
	shim_alloc(&second, 200, 0x20, 8, 1);
	CHECK_TEXT(turn(MS, false), "");
	struct shim_chunk first = shim_take(&view, 20, 1, 0);
	shim_alloc(&first, 100, 0x10, 8, 1);
	shim_hand_over(&first);
	CHECK_TEXT(turn(2 * MS, false), "A10@100 A20@200");
	end();

	begin();
	struct shim_chunk lonely = shim_take(&view, 9, 1, 1);
	shim_alloc(&lonely, 200, 0x20, 8, 1);
	CHECK_TEXT(turn(MS, false), "");
	CHECK_TEXT(turn(2 * MS, false), "A20@200");
	end();
}

/* A stream that handed its last chunk over may be at work in a new one that this look has missed. */
static void test_handed_over(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 5, 1, 0), b = shim_take(&view, 6, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	shim_hand_over(&a);
	shim_alloc(&b, 300, 0x30, 8, 1);
	CHECK_TEXT(turn(MS, false), "A10@100");
	struct shim_chunk next = shim_take(&view, 2, 1, 1);
	shim_alloc(&next, 200, 0x20, 8, 1);
	CHECK_TEXT(turn(2 * MS, false), "A20@200 A30@300");
	CHECK_NUMBER(hs_drain_late(drain), 0);
	end();
}

static void test_finish(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0),
			  c = shim_take(&view, 2, 2, 1);
	shim_alloc(&a, 100, 0x10, 8, 1);
	a.header->busy = 1;
	shim_alloc(&b, 200, 0x20, 8, 1);
	shim_hand_over(&b);
	shim_alloc(&c, 100000, 0x30, 8, 1);
	shim_free(&a, 150000, 0x10);
	CHECK_TEXT(turn(10, true), "A10@100 A20@200 A30@100000 F10@150000");
	end();
}

static bool lives(void *context, uint32_t tid)
{
	return tid != 1001;
}

static void test_dead_thread(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	shim_alloc(&a, 100, 0x10, 8, 1);
	shim_alloc(&b, 200, 0x20, 8, 1);
	hs_drain_bury_threads(drain, lives, NULL);
	CHECK_TEXT(turn(MS, false), "A10@100 A20@200");
	hs_drain_bury_threads(drain, lives, NULL);
	CHECK_NUMBER(view.header->chunk_state[0], HS_CHUNK_OWNED);
	hs_drain_bury_threads(drain, lives, NULL);
	turn(2 * MS, false);
	CHECK_NUMBER(view.header->chunk_state[0], HS_CHUNK_FREE);
	CHECK_NUMBER(view.header->chunk_state[1], HS_CHUNK_OWNED);
	end();
}

/* What programs report; two news at a time of which a free goes first. */
static void test_news(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 2, 0);
	uint64_t name[] = {HS_NOTE_PHASE_BEGIN | 11 << 8, 1000, 0, 0};
	memcpy(&name[2], "garbage", 8);
	memcpy(&name[2], "hello world", 11);
	shim_wide(&a, HS_WIDE_NOTE, name, 4, 1000);
	shim_wide(&a, HS_WIDE_NOTE, (uint64_t[]){HS_NOTE_PAUSE, 1001}, 2, 1001);
	shim_wide(&a, HS_WIDE_POOL_ALLOC, (uint64_t[]){0x108, 1002, 0x100, 24, 7}, 5, 1002);
	shim_wide(&a, HS_WIDE_POOL_REALLOC, (uint64_t[]){0x120, 1003, 0x100, 48, 7, 0x108}, 6, 1003);
	shim_free(&a, 1004, 0x10);
	shim_wide(&a, HS_WIDE_POOL_ALLOC, (uint64_t[]){0x200, 1005, 0, 1, 7}, 5, 1005);
	shim_wide(&b, HS_WIDE_POOL_FREE, (uint64_t[]){0x200, 1005}, 2, 1005);
	shim_wide(&b, HS_WIDE_POOL_RESET, (uint64_t[]){0x100, 1006}, 2, 1006);
	CHECK_TEXT(turn(MS, false),
		   "N9 1 'hello world'@1000 N9 5 ''@1001 N5 108 of 100 24 was 0@1002 N7 120 of 100 48 was "
		   "108@1003 "
		   "F10@1004 E6 200 of 200 0 was 0@1005 N5 200 of 0 1 was 0@1005 E8 100 of 100 0 was 0@1006");
	CHECK_NUMBER(hs_drain_damaged(drain), 0);
	end();
}

/* Names that are longer than the record or than names may be, addresses that no program has. */
static void test_damaged_news(void)
{
	static const uint64_t bad[][7] = {
		{HS_WIDE_NOTE, HS_NOTE_MARK | 17 << 8, 1000, 0, 0},
		{HS_WIDE_NOTE, HS_NOTE_MARK | (HS_NOTE_NAME_MOST + 1) << 8, 1000, 0, 0},
		{HS_WIDE_NOTE, UINT64_MAX, 1000, 0, 0},
		{HS_WIDE_POOL_ALLOC, 1ull << 63, 1000, 0, 1},
		{HS_WIDE_POOL_ALLOC, 8, 1000, 0, 1ull << 49},
		{HS_WIDE_POOL_ALLOC, 8, 1000, 1ull << 63, 1},
		{HS_WIDE_POOL_FREE, 1ull << 63, 1000, 0, 0},
		{HS_WIDE_FREE, 1ull << 63, 1000, 0, 0},
		{HS_WIDE_ALLOC, 1ull << 63, 1000, 1, 1},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		begin();
		struct shim_chunk a = shim_take(&view, 0, 1, 0);
		/* nothing lies behind the name */
		shim_wide(&a, bad[i][0], &bad[i][1], bad[i][0] == HS_WIDE_NOTE ? 4 : 6, 1000);
		CHECK_TEXT(turn(MS, false), "");
		CHECK_NUMBER(hs_drain_damaged(drain), 1);
		end();
	}
}

/* Half a record, or one of a kind that nobody knows, costs the rest of its chunk and no more. */
static void test_damage(void)
{
	begin();
	struct shim_chunk a = shim_take(&view, 0, 1, 0), b = shim_take(&view, 1, 1, 1);
	shim_alloc(&a, 100, 0x10, 8, 1);
	*a.at++ = HS_WORD(HS_RECORD_ALLOC, 0x20, 1);
	shim_publish(&a, 101);
	shim_hand_over(&a);
	shim_wide(&b, 99, NULL, 0, 102);
	shim_free(&b, 103, 0x10);
	shim_hand_over(&b);
	CHECK_TEXT(turn(MS, false), "A10@100");
	CHECK_NUMBER(hs_drain_damaged(drain), 2);
	CHECK_NUMBER(view.header->chunk_state[0], HS_CHUNK_FREE);
	CHECK_NUMBER(view.header->chunk_state[1], HS_CHUNK_FREE);
	end();
}

/* More than a batch, from three threads that take turns. */
static void test_many(void)
{
	begin();
	struct shim_chunk chunks[3];
	for (uint32_t i = 0; i < 3; i++)
		chunks[i] = shim_take(&view, i, i + 1, 0);
	for (uint64_t i = 0; i < 3000; i++)
		shim_free(&chunks[i * 7 % 3], 1000 + i, 0x10);
	uint64_t count = hs_drain_round(drain, &shim_clock, 10 * MS, false);
	CHECK_NUMBER(count, 3000);
	CHECK_NUMBER(hs_drain_late(drain), 0);
	end();
}

int main(void)
{
	test_order();
	test_ties();
	test_margin();
	test_busy();
	test_no_stamp();
	test_realloc();
	test_realloc_across_rounds();
	for (uint32_t streams = 1; streams <= STREAMS_MOST; streams++)
		for (uint64_t seed = 1; seed <= 20; seed++)
			test_random_streams(streams, seed * streams);
	test_wide();
	test_news();
	test_damaged_news();
	test_release();
	test_sequence();
	test_handed_over();
	test_finish();
	test_dead_thread();
	test_damage();
	test_many();
	return check_failures != 0;
}
