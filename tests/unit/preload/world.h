/* A target and its collector in one program: the shim's own code, with a region, but without hooks. The
 * collector's view looks at the very mapping that the shim writes, so that the thread sanitizer sees both
 * sides. */
#ifndef PRELOAD_WORLD_H
#define PRELOAD_WORLD_H

#include "event.h"
#include "record/drain.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* Makes the region and begins as process.c does. Once a program. */
void world_begin(struct hs_view *view, uint32_t backlog_chunks);
/* Likewise, but nobody will read what is written. */
void world_begin_alone(struct hs_view *view, uint32_t backlog_chunks);

/* A thread that plays the collector, until world_collector_end, which has it read the rest. late: it begins
 * when a thread already waits for a chunk. */
struct collector {
	pthread_t thread;
	struct hs_drain *drain;
	struct hs_stamp_clock clock;
	bool late, stop;
};
void world_collector_begin(struct collector *collector, struct hs_view *view, hs_sink *sink, void *context,
			   bool late);
void world_collector_end(struct collector *collector);

/* xorshift64 */
static inline uint64_t world_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
