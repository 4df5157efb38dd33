/* cost EVENTS: the collector's pairing and encoding of allocations and frees with 1,024 blocks alive, for
 * valgrind's callgrind to count the instructions of counted_take (tests/e2e/test_cost.py). */
#include "record/encode.h"
#include "record/pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t no_module(void *context, uint32_t module, uint64_t *address)
{
	return 0;
}

static __attribute__((noinline)) void counted_take(struct hs_pairing *pairs, const struct hs_item *items,
						   uint32_t count)
{
	hs_pairing_take(pairs, items, count);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	enum { LIVE = 1024, BATCH = 256 };
	static uint64_t live[LIVE];
	static struct hs_stream stream = {.thread = 1, .tid = 1};
	static struct hs_item items[BATCH];
	long events = argc == 2 ? atol(argv[1]) : 0;
	struct hs_error error;
	struct hs_view view;
	struct hs_encoder encoder;
	struct hs_nodes nodes;
	struct hs_pairing pairs;
	/* no member is full before the end: what deflating one takes depends on the CPU */
	if (events <= 0 || events % BATCH || events >= HS_EVENTS_A_MEMBER ||
	    hs_view_create(&view, 16, &error) != 0) {
		fprintf(stderr, "usage: cost EVENTS   (less than %d, a multiple of %d)\n", HS_EVENTS_A_MEMBER,
			BATCH);
		return 2;
	}
	hs_encoder_init(&encoder, hs_packer_new(), open("/dev/null", O_WRONLY | O_CLOEXEC));
	hs_nodes_init(&nodes, &view, &encoder);
	nodes.module = no_module;
	hs_pairing_init(&pairs, &encoder, &nodes);
	pairs.live.seed = 1; /* the same collisions each time */
	pairs.clock = hs_clock_make(HS_CLOCK_MONOTONIC);
	pairs.now_stamp = UINT64_MAX;
	for (uint64_t i = 0; i < (uint64_t)events; i += BATCH) {
		for (uint32_t k = 0; k < BATCH; k += 2) {
			uint64_t random = next(), *slot = &live[random % LIVE];
			items[k] = (struct hs_item){.stamp = (i + k) * 100,
						    .address = *slot,
						    .stream = &stream,
						    .kind = HS_ITEM_FREE};
			*slot = 0x10000 + (i + k) * 16; /* each another block */
			items[k + 1] = (struct hs_item){.stamp = (i + k) * 100 + 100,
							.address = *slot,
							.size = 16 + random / LIVE % 512,
							.stream = &stream,
							.kind = HS_ITEM_ALLOC};
		}
		counted_take(&pairs, items, BATCH);
	}
	return encoder.now.allocations == (uint64_t)events / 2 ? 0 : 1;
}
