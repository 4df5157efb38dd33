/* The payloads of events members: worked out by hand from FORMAT.md. */
#include "encoding.h"

/* Events at one time, and blocks that end in the order in which they began, and the other way round. */
static void test_runs(void)
{
	begin();
	for (uint64_t i = 0; i < 6; i++)
		item(HS_ITEM_ALLOC, 0, 3, 0x10 + i * 16, 8, 1);
	item(HS_ITEM_FREE, 0, 3, 0x10, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x20, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x30, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x60, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x50, 0, 0);
	write_out();
	check_node_1();
	/* Ended blocks: 0 as before the payload; 1 and 2, one onwards each; 5, none is younger; 4, one is. */
	check_member(
		HS_MEMBER_EVENTS, 11,
		(uint8_t[]){
			0, 4,  0,    1,    1, 0, /* from 0 to 4 us */
			0, 0,  0,    0,          /* no copies */
			3, 0,  0x50, 0x15,       /* six allocations, five frees */
			2, 21, 1,                /* eleven events of thread 1 */
			3, 1,  2,    14, /* none at 0; 2 more than 1 us on there are seven; 1 us on is the
					    rest */
			6, 3,  1,    0,    0, 0, 0, /* node 1 from 0; from 1 to itself, then as remembered */
			6, 9,  0,    0,    0, 0, 0, /* 8 bytes each */
			5, 1,  5,    5,    0, 2, 0, 0, 0, 0, 0, /* no far blocks, no other lanes */
		},
		46);
	end();
}

/* Runs of threads: the thread of the run before the last one needs no number. */
static void test_thread_runs(void)
{
	static const unsigned order[] = {0, 1, 0, 2, 0, 1};
	begin();
	for (uint64_t i = 0; i < 6; i++)
		item(HS_ITEM_ALLOC, order[i], 1, 0x10 + i * 16, 8, 1);
	write_out();
	check_node_1();
	check_member(
		HS_MEMBER_EVENTS, 6,
		(uint8_t[]){
			0,  1, 0, 1, 1, 0,             /* from 0 to 1 us */
			0,  0, 0, 0,                   /* no copies */
			2,  0, 0,                      /* allocations */
			10, 1, 1, 1, 2, 0, 1, 3, 0, 1, /* 1, 2, back to 1, 3, back to 1, */
			2,                             /* 2 */
			1,  0,                         /* none at 0 us */
			6,  3, 1, 0, 3, 1, 3, /* each lane's: from 0 to 1, from 1 to itself, as remembered */
			6,  9, 0, 0, 9, 0, 9, /* 8 bytes each */
			0,  0, 0, 0, 0, 0,    /* no far blocks, no other lanes */
		},
		46);
	end();
}

/* What repeats earlier events is a copy of them. */
static void test_copies(void)
{
	begin();
	for (int i = 0; i < 6; i++) {
		item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
		item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	}
	write_out();
	check_node_1();
	/* The node codes of the first two allocations are 3 and 1, then 0; the size of the first is told:
	 * from the third allocation on the two events repeat; and the free before it is one of them. */
	check_member(HS_MEMBER_EVENTS, 12,
		     (uint8_t[]){
			     0, 1,    0, 1, 1, 0, /* from 0 to 1 us */
			     1, 5,    1, 7,       /* five events, then seven */
			     1, 2,    1, 0,       /* that are those two earlier */
			     2, 0x44, 0,          /* allocations and frees in turn */
			     2, 23,   1,          /* twelve events of thread 1 */
			     1, 0,                /* none at 0 us */
			     3, 3,    1, 0,       /* nodes */
			     3, 9,    0, 0,       /* sizes */
			     2, 0,    0,          /* each the latest */
			     0, 0,    0, 0, 0,    /* no far blocks, no other lanes */
		     },
		     38);
	end();
}

static void allocate_row(uint64_t first_bytes, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		static uint64_t address = 1 << 20;
		item(HS_ITEM_ALLOC, 0, 1, address += 16, first_bytes + i, 1);
	}
}

static uint8_t *put_row(uint8_t *at, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		*at++ = (uint8_t)(first + i);
	return at;
}

/* Of two places that begin alike, the one that goes on alike is copied, not the latest. */
static void test_copies_from_afar(void)
{
	uint8_t expected[256] = {0}, *at = expected;
	begin();
	for (unsigned i = 0; i < 10; i++)
		allocate_row(8, 1);
	for (unsigned i = 0; i < 2; i++) { /* the same twice */
		allocate_row(20, 6);
		allocate_row(30, 26);
	}
	allocate_row(60, 1);
	allocate_row(20, 6); /* as it began, but */
	allocate_row(70, 26);
	allocate_row(61, 1);
	allocate_row(20, 6); /* as it was at first */
	allocate_row(30, 26);
	write_out();
	check_node_1();
	/* from 0 to 1 us; then what is copied: of the ten the last seven, each of the one before; the second
	 * row of 32; the beginning of the third; and after its other 26 and one more the first row, all of
	 * it */
	at = memcpy(at, (uint8_t[]){0,  1, 0,  1, 1, 0,  4,  3,  32, 1, 27, 4, 7,
				    32, 6, 32, 4, 1, 32, 33, 98, 4,  0, 0,  0, 0},
		    26);
	at += 26;
	*at = (3 + 32 + 1 + 27 + 1) / 4; /* kinds: allocations */
	at += 1 + 16;
	/* 140 events of thread 1; none at 0 us; nodes: 1 from 0, then from 1, then as before */
	memcpy(at, (uint8_t[]){3, 0x97, 2, 1, 1, 0, 63, 3, 1}, 9);
	at += 7 + 63;
	*at++ = 63; /* sizes, and 1 */
	*at++ = 9;
	at += 2; /* as before */
	at = put_row(at, 21, 6);
	at = put_row(at, 31, 26);
	at = put_row(at, 61, 1);
	at = put_row(at, 71, 26);
	at = put_row(at, 62, 1);
	at += 6; /* no block ended, near or far */
	check_member(HS_MEMBER_EVENTS, 140, expected, (size_t)(at - expected));
	end();
}

/* A copy waits for a longer one that begins a little later. */
static void test_later_copy(void)
{
	uint8_t expected[128] = {0, 1,  0, 1,  1, 0, /* from 0 to 1 us */
				 1, 21, 1, 12,       /* all but the last twelve, */
				 1, 13, 1, 0,        /* which are the first twelve of... */
				 6},                 /* 21 allocations */
		*at = expected + 15 + 6;
	begin();
	allocate_row(100, 2);
	allocate_row(20, 6);
	allocate_row(21, 12); /* ...these */
	allocate_row(20, 13); /* begins like the six, but goes on like the twelve */
	write_out();
	check_node_1();
	/* 33 events of thread 1; none at 0 us; nodes: 1 from 0, then from 1, then as before */
	at = (uint8_t *)memcpy(at, (uint8_t[]){2, 65, 1, 1, 0, 21, 3, 1}, 8) + 8 + 19;
	*at++ = 21; /* sizes, and 1 */
	at = put_row(at, 101, 2);
	at = put_row(at, 21, 6);
	at = put_row(at, 22, 12);
	at = put_row(at, 21, 1);
	at += 6; /* no block ended, near or far */
	check_member(HS_MEMBER_EVENTS, 33, expected, (size_t)(at - expected));
	end();
}

/* Two threads end each other's blocks. */
static void test_lanes(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
	item(HS_ITEM_ALLOC, 1, 1, 0xb0, 16, 2);
	item(HS_ITEM_ALLOC, 0, 1, 0xc0, 8, 1);
	item(HS_ITEM_FREE, 1, 1, 0xa0, 0, 0);
	item(HS_ITEM_DETACH, 0, 1, 0xb0, 24, 2);
	item(HS_ITEM_ATTACH, 0, 1, 0xd0, 24, 2);
	item(HS_ITEM_FREE, 1, 1, 0xc0, 0, 0);
	item(HS_ITEM_RESIZE, 1, 1, 0xd0, 32, 2);
	item(HS_ITEM_FREE, 0, 1, 0xd0, 0, 0);
	write_out();
	check_member(HS_MEMBER_NODES, 2, (uint8_t[]){1, 1, 0, 0x80, 0x40, 1, 0, 16}, 8);
	/* Lanes are 1 where thread 1 ends a block of thread 2, and 7 the other way round.
	 * Blocks of thread 1 are 0xa0, 0xc0 and 0xd0, of thread 2 0xb0 and the same 0xd0 later. */
	check_member(HS_MEMBER_EVENTS, 8,
		     (uint8_t[]){
			     0,
			     1,
			     0,
			     1,
			     1,
			     0, /* from 0 to 1 us */
			     0,
			     0,
			     0,
			     0, /* no copies */
			     /* thread 1: alloc, alloc, move, free; thread 2: alloc, free, free, resize */
			     2,
			     0x60,
			     0xd4,
			     9,
			     1,
			     1,
			     1,
			     2,
			     0,
			     0,
			     0,
			     2,
			     0, /* in turn, but two of thread 2 before the last */
			     1,
			     0, /* none at 0 us */
			     5,
			     3,
			     1,
			     3,
			     5,
			     1, /* 0 to 1, 1, 2; 0 to 2, 2 */
			     5,
			     9,
			     0,
			     25,
			     17,
			     33, /* 8, again, 24; 16, 32 */
			     /* thread 2's latest; its latest; thread 1's 0 as before the payload, 1: one is
			      * younger, the latest */
			     5,
			     0,
			     0,
			     1,
			     2,
			     0,
			     0,
			     0,
			     0,
			     0, /* no far blocks */
			     8,
			     0,
			     0,
			     1,
			     1,
			     0,
			     7,
			     7,
			     7,
		     },
		     56);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(encoder.now.frees, 3);
	CHECK_NUMBER(encoder.now.temporary, 1); /* the last */
	end();
}

/* Events of two threads in turn: each lane repeats itself, whatever the other does. */
static void test_copies_in_lanes(void)
{
	begin();
	for (uint64_t i = 0; i < 24; i++)
		item(i / 2 % 2 ? HS_ITEM_FREE : HS_ITEM_ALLOC, i % 2, 1, i % 2 ? 0xa0 : 0xb0, 8, 1);
	item(HS_ITEM_ALLOC, 0, 1, 0xb0, 100, 1);
	write_out();
	check_node_1();
	/* Each lane as in test_copies; between their copies stand the first lane's last event, and the second
	 * one's first five. */
	check_member(HS_MEMBER_EVENTS, 25,
		     (uint8_t[]){
			     0, 1,    0,    1, 1,   0,          /* from 0 to 1 us */
			     2, 5,    6,    2, 7,   7,          /* five events, seven copies; six, seven */
			     2, 2,    2,    2, 0,   0,          /* of those two earlier */
			     3, 0x44, 0x40, 4, 27,  1, 1, 1, 2, /* threads 1 and 2 in turn */
			     0, 0,    0,    0, 0,   0, 0, 0, 0, 0, 0, 0, 0,
			     0, 0,    0,    0, 0,   0, 0, 0, 0, 0, 1, 0, /* none at 0 us */
			     7, 3,    1,    0, 0,   3, 1, 0,             /* nodes */
			     7, 9,    0,    0, 101, 9, 0, 0,             /* sizes */
			     4, 0,    0,    0, 0,                        /* each the latest of its lane */
			     0, 0,    0,    0, 0,                        /* no far blocks, no other lanes */
		     },
		     78);
	end();
}

/* Two threads, each in work that repeats, take turns at random: all columns but threads (and times, all 1 us)
 * have next to nothing. */
static void test_equal_work(void)
{
	enum { EVENTS = 60000, SITES = 5 };
	uint64_t steps[2] = {0}, random = 88172645463325252u, bytes = 0;
	begin();
	for (uint64_t i = 0; i < EVENTS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		unsigned thread = random >> 40 & 1;
		uint64_t step = steps[thread]++ % (2 * SITES);
		item(step < SITES ? HS_ITEM_ALLOC : HS_ITEM_FREE, thread, 1,
		     0x10000 * (1 + thread) + step % SITES * 16, 8 + step, (uint32_t)step % 2 + 1);
	}
	for (unsigned lane = 1; lane <= 2; lane++)
		for (unsigned i = 0; i < HS_LANE_PARTS; i++)
			bytes += encoder.lanes[lane]->events.parts[i].count;
	CHECK(bytes < 200);
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	CHECK_NUMBER(encoder.written.events, EVENTS);
	CHECK(encoder.writer.offset < EVENTS / 5); /* a bit for each turn is an eighth */
	end();
}

/* Codes of sizes beyond 32 bits are never taken for equal. */
static void test_large_sizes(void)
{
	begin();
	for (int i = 0; i < 6; i++) {
		item(HS_ITEM_ALLOC, 0, 1, 0xa0, i % 2 ? 8 : (5ull << 30) + (uint64_t)i, 1);
		item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	}
	write_out();
	check_node_1();
	check_member(HS_MEMBER_EVENTS, 12,
		     (uint8_t[]){
			     0,    1,    0,    1,    1,    0,     /* from 0 to 1 us */
			     0,    0,    0,    0,                 /* no copies */
			     3,    0x44, 0x44, 0x44, 2,    23, 1, /* thread 1 */
			     1,    0,                             /* none at 0 us */
			     6,    3,    1,    0,    0,    0,  0, /* nodes */
			     18,                                  /* 1 + 5 * 2^30, 1 + 8, 3 + 5 * 2^30... */
			     0x81, 0x80, 0x80, 0x80, 0x14, 9,  0x83, 0x80, 0x80, 0x80, 0x14, 9, 0x85,
			     0x80, 0x80, 0x80, 0x14, 9,    6,  0,    0,    0,    0,    0,    0, /* each the
												   latest */
			     0,    0,    0,    0,    0, /* no far blocks, no other lanes */
		     },
		     57);
	end();
}

/* Thousands of times: events are counted in units of 16 us, rounded down to grains; what that leaves goes to
 * the next unit, and no further. */
static void test_coarse_times(void)
{
	enum { DENSE = 4800, SPARSE = 100, EVENTS = DENSE + SPARSE };
	static uint8_t payload[600] = {0, 0x80, 0x32, 0, 16, 4,
				       0, /* from 0 to 6400 us, no allocations before */
				       /* three events, then 4897 like the one before */
				       1, 3, 2, 0xa1, 0x26, 1, 1, 1, 0, 1, 0, /* allocations */
				       3, 0xc7, 0x4c, 1};                     /* 2 * 4899 + 1, thread 1 */
	size_t at = 22;
	begin();
	for (uint64_t i = 0; i < EVENTS; i++)
		item(HS_ITEM_ALLOC, 0, i < DENSE ? 1 + i : DENSE + (i - DENSE + 1) * 16, 0x10000 + i * 16, 8,
		     1);
	write_out();
	check_node_1();
	payload[at++] = 0xc1; /* bytes of the column: 1 + 299 + 1 + 50 + 2 * 49 = 449 */
	payload[at++] = 3;
	/* 4900 events in 401 units: half of the usual 12.2 is 6.1, of which the power of two is 4. The first
	 * unit has 15 events: 3 grains, and 3 left. The next 299 have 16: 4 grains, and again 3 left, which
	 * with the event at 4800 us are one. */
	payload[at++] = 3 << 1;
	for (int i = 0; i < 299; i++)
		payload[at++] = 4 << 1;
	payload[at++] = 1 << 1;
	/* Then one a unit: it may go to the next one, but with that one's own event it must be told. */
	for (int i = 0; i < SPARSE - 1; i++) {
		payload[at++] = i % 2 ? 2 << 1 | 1 : 0;
		if (i % 2)
			payload[at++] = 0;
	}
	memcpy(payload + at, ((uint8_t[]){3, 3, 1, 0, 3, 9, 0, 0}), 8); /* nodes, sizes; no ended blocks */
	check_member(HS_MEMBER_EVENTS, EVENTS, payload, at + 8 + 6);
	end();
}

/* Thread 2 frees thread 1's blocks, 200 of them, in an order without a pattern. Block n has 199 - n younger
 * ones; the smaller of twice that, and of twice the zigzag of the way from the one before, 0 at first, and 1:
 * 100: 198 (2 * 200 + 1);  20: 358, 2 * 159 + 1 = 319;  120: 158 (401);  60: 278, 239;  10: 378, 199;
 * 90: 218 (321);  40: 318, 199;  2: 394, 151;  1: 3, which is near. */
static void test_far(void)
{
	static const unsigned order[] = {100, 20, 120, 60, 10, 90, 40, 2, 1};
	begin();
	for (uint64_t i = 0; i < 200; i++)
		item(HS_ITEM_ALLOC, 0, 1, 0x1000 + i * 16, 8, 1);
	for (unsigned i = 0; i < 9; i++)
		item(HS_ITEM_FREE, 1, 1, 0x1000 + order[i] * 16, 0, 0);
	write_out();
	check_node_1();
	check_member(HS_MEMBER_EVENTS, 209,
		     (uint8_t[]){
			     0,
			     1,
			     0,
			     1,
			     1,
			     0, /* from 0 to 1 us */
			     /* three events, 197 like the one before; one, of thread 2, and seven like that:
			      * ends of far blocks are alike */
			     2,
			     3,
			     1,
			     3,
			     0xc5,
			     1,
			     7,
			     2,
			     1,
			     1,
			     2,
			     0,
			     0,
			     /* allocations, a far block that ends, one seven lanes on */
			     2,
			     0x40,
			     1,
			     5,
			     0x8f,
			     3,
			     1,
			     17,
			     2, /* 200 events, then nine */
			     1,
			     0, /* none at 0 us */
			     3,
			     3,
			     1,
			     0,
			     3,
			     9,
			     0,
			     0, /* nodes, sizes */
			     2,
			     127,
			     3, /* far, near */
			     8,
			     198,
			     319 - 256,
			     158,
			     239,
			     199,
			     218,
			     199,
			     151, /* lowest bytes, */
			     8,
			     0,
			     1,
			     0,
			     0,
			     0,
			     0,
			     0,
			     0, /* middle, */
			     0, /* highest: all are 0; */
			     8,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7, /* lanes; of the near one: */
			     5,
			     0,
			     0,
			     0,
			     0,
			     7,
		     },
		     75);
	end();
}

/* What three bytes do not hold stands among the near ones. */
static void test_very_far(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
	encoder.lanes[1]->allocations += 1 << 24; /* as if there had been so many */
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	off_t first = lseek(file, 0, SEEK_CUR);
	item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	write_out();
	lseek(file, first, SEEK_SET);
	/* 2^24 blocks are younger: 2^25. The last before the payload is 2^24 + 1 further on. */
	check_member(HS_MEMBER_EVENTS, 1, (uint8_t[]){1, 0, 1, 1, 1, 0,    0,    0,    0,    0, 1, 1, 2, 1,
						      1, 0, 0, 0, 4, 0x80, 0x80, 0x80, 0x10, 0, 0, 0, 0, 0},
		     28);
	end();
}

/* All sizes apart from copies, by their nodes' ids. */
static void test_sizes_apart(void)
{
	begin();
	encoder.columns.sizes = HS_SIZES_APART;
	hs_event_columns_start(&encoder.columns, 0, 0, 0);
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 16, 1);
	item(HS_ITEM_ALLOC, 0, 1, 0xb0, 24, 2);
	item(HS_ITEM_DETACH, 0, 1, 0xa0, 64, 2);
	item(HS_ITEM_ATTACH, 0, 1, 0xc0, 64, 2);
	item(HS_ITEM_RESIZE, 0, 1, 0xc0, 32, 2);
	item(HS_ITEM_ALLOC, 1, 1, 0xd0, 8, 1);
	write_out();
	check_member(HS_MEMBER_NODES, 2, (uint8_t[]){1, 1, 0, 0x80, 0x40, 1, 0, 16}, 8);
	check_member(HS_MEMBER_EVENTS, 5,
		     (uint8_t[]){
			     0, 1,    0,  1,    1, 1, /* from 0 to 1 us; sizes apart */
			     0, 0,    0,  0,          /* no copies */
			     2, 0xa0, 0,              /* both reallocs have the same kind */
			     4, 7,    1,  1,    2,    /* four events of thread 1, one of thread 2 */
			     1, 0,                    /* none at 0 us */
			     5, 3,    3,  1,    0, 3, /* nodes 1, 2, 2, 2; 1 */
			     2, 0,    0,              /* of nodes 8, 16... neither lane has any; */
			     4, 1,    16, 1,    8,    /* of nodes 1, 9... each has one; */
			     6, 4,    24, 0x80, 1, 2 * 32 + 1, 0, /* 24; moved, 64; in place, 32; */
			     2, 0,    0,  2,    0, 0,          2, 0, 0, 2,
			     0, 0,    2,  0,    0, 2,          1, 0, /* 0 as before the payload, the latest */
			     0, 0,    0,  0,    0,                   /* no far blocks, no other lanes */
		     },
		     64);
	end();
}

/* Where sizes stand is tried after 8 payloads, and again after 8 more or, if that was not worth it, 16. */
static void test_trials(void)
{
	enum { IN_COPIES = HS_SIZES_IN_COPIES, APART = HS_SIZES_APART, EVENTS = HS_EVENTS_A_MEMBER };
	static const struct {
		unsigned payloads, before, bytes, after;
	} steps[] = {
		{100, IN_COPIES, EVENTS / 4 - 64, IN_COPIES}, /* so little: never */
		{7, IN_COPIES, EVENTS, IN_COPIES},
		{1, IN_COPIES, EVENTS, APART},
		{1, APART, EVENTS / 8 * 7 + 64, IN_COPIES}, /* more than 7/8 */
		{15, IN_COPIES, EVENTS, IN_COPIES},
		{1, IN_COPIES, EVENTS, APART},
		{1, APART, EVENTS / 8 * 7, APART},
		{7, APART, EVENTS / 8 * 7, APART},
		{1, APART, EVENTS / 2, IN_COPIES},
		{1, IN_COPIES, EVENTS / 2, APART},
		{15, APART, EVENTS, APART},
		{1, APART, EVENTS, IN_COPIES},
	};
	struct hs_event_columns columns;
	hs_event_columns_init(&columns);
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		for (unsigned k = 0; k < steps[i].payloads; k++) {
			CHECK_NUMBER(columns.sizes, k ? steps[i].after : steps[i].before);
			columns.count = EVENTS;
			hs_event_columns_weigh(&columns, steps[i].bytes, false);
		}
		CHECK_NUMBER(columns.sizes, steps[i].after);
		columns.count = EVENTS / 2 - 1; /* a small one tells nothing */
		hs_event_columns_weigh(&columns, EVENTS, false);
	}
	hs_event_columns_free(&columns);
}

/* Payloads in a hurry are compared among themselves. An attempt that cannot be compared is made again later.
 */
static void test_trials_in_a_hurry(void)
{
	enum { EVENTS = HS_EVENTS_A_MEMBER, BEFORE = 8 };
	struct hs_event_columns columns;
	hs_event_columns_init(&columns);
	columns.count = EVENTS;
	for (unsigned attempt = 0; attempt < 3; attempt++) {
		for (unsigned k = 0; k < BEFORE; k++) {
			CHECK_NUMBER(columns.sizes, HS_SIZES_IN_COPIES);
			hs_event_columns_weigh(&columns, EVENTS, attempt > 0);
		}
		CHECK_NUMBER(columns.sizes, HS_SIZES_APART);
		hs_event_columns_weigh(&columns, EVENTS / 2, attempt != 1);
	}
	CHECK_NUMBER(columns.sizes, HS_SIZES_APART);
	hs_event_columns_free(&columns);
}

/* After a payload of which more than 7/8 were no copies, only what must be is far, but in each 16th. */
static void test_all_near(void)
{
	enum { ALL = (1 << 24) - 127 };
	struct hs_event_columns columns;
	struct hs_event_lane lane;
	hs_event_columns_init(&columns);
	hs_event_columns_start(&columns, 0, 0, 0);
	CHECK_NUMBER(columns.far_codes, ALL);
	hs_event_columns_add(&columns, 0, &lane);
	for (uint64_t payload = 1; payload <= 17; payload++) {
		columns.count = 1000;
		columns.members = payload;
		lane.parts[HS_COLUMN_KIND].count = payload == 9 ? 875 : 876;
		hs_event_columns_start(&columns, 0, 0, 0);
		CHECK_NUMBER(columns.far_codes, payload == 9 || payload == 16 ? ALL : 1);
	}
	hs_event_lane_free(&lane);
	hs_event_columns_free(&columns);
}

/* Which is code 127. */
static void test_near_codes(void)
{
	begin();
	for (uint64_t i = 0; i < 200; i++)
		item(HS_ITEM_ALLOC, 0, 1, 0x1000 + i * 16, 8, 1);
	encoder.columns.far_codes = 1;
	item(HS_ITEM_FREE, 0, 1, 0x1000 + 135 * 16, 0, 0); /* 2 * 64 = 128; 2 * 270 + 1 */
	item(HS_ITEM_FREE, 0, 1, 0x1000 + 103 * 16, 0, 0); /* 2 * 96; 2 * (2 * 32 - 1) + 1 = 127 */
	CHECK_NUMBER(encoder.lanes[1]->events.far_next - encoder.lanes[1]->events.far, 1);
	CHECK_NUMBER(encoder.lanes[1]->events.far[0], 127);
	CHECK_NUMBER(encoder.next[-2].ended, 128 << HS_CODED_KIND_BITS | HS_EVENT_FREE);
	CHECK_NUMBER(encoder.next[-1].ended, 127 << HS_CODED_KIND_BITS | HS_EVENT_FREE);
	end();
}

int main(void)
{
	test_runs();
	test_thread_runs();
	test_copies();
	test_copies_from_afar();
	test_later_copy();
	test_lanes();
	test_copies_in_lanes();
	test_equal_work();
	test_large_sizes();
	test_coarse_times();
	test_far();
	test_very_far();
	test_sizes_apart();
	test_trials_in_a_hurry();
	test_trials();
	test_all_near();
	test_near_codes();
	return check_failures != 0;
}
