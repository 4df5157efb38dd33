/* Work whose instructions are counted by valgrind's callgrind (tests/e2e/test_cost.py): they repeat exactly,
 * however noisy the machine. The shim's own code, with a region, in a program that plays the hooks' part.
 *
 *     cost same PAIRS       an allocation and a free again and again from one stack of 21 frames
 *     cost churn PAIRS      six of the frames change each time, as in tests/bench/churn.c
 *     cost deep PAIRS       likewise below 100 frames
 *
 * What is to be counted happens in functions named counted_...: callgrind is told so. */
#include "cost.h"

#include "world.h"

#include <string.h>

static uintptr_t address = 0x10000;

/* As hooks.c does it. */
#define BOOK(call)                                                                                           \
	do {                                                                                                 \
		struct thread *thread = event_begin();                                                       \
		CHECK(thread);                                                                               \
		call;                                                                                        \
		event_end(thread);                                                                           \
	} while (0)

void counted_malloc(uint64_t size)
{
	BOOK({
		uint32_t node = hs_walk(thread, (uint64_t)__builtin_return_address(0),
					(uint64_t)__builtin_frame_address(0) + 16,
					*(uint64_t *)__builtin_frame_address(0));
		uint64_t stamp = event_stamp(thread, address);
		event_alloc(thread, address, stamp, size, node);
	});
}

void counted_free(void)
{
	BOOK(event_free(thread, address, event_stamp(thread, address)));
}

/* All fits into the first chunks: nobody has to empty them, and valgrind does not know the mremap that would
 * map more. */
static void walk(int depth, long pairs)
{
	enum { MOST = HS_CHUNKS_FIRST / HS_CHUNK_BYTES - 1 };
	struct hs_view view;
	CHECK(pairs > 0 && pairs * 24 <= MOST * (HS_CHUNK_PAYLOAD_BYTES - HS_MOST_RECORD_BYTES));
	world_begin_alone(&view, MOST + 1);
	cost_tower(depth, pairs);
	CHECK(hs_process.header->lost_events == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	long count = argc == 3 ? atol(argv[2]) : 0;
	cost_changes = strcmp(what, "same") != 0;
	if (strcmp(what, "same") == 0 || strcmp(what, "churn") == 0) {
		walk(10, count);
	} else if (strcmp(what, "deep") == 0) {
		walk(90, count);
	} else {
		fprintf(stderr, "usage: cost same|churn|deep PAIRS\n");
		return 2;
	}
	return 0;
}
