/* The heap over time in a bounded number of points: when they run out, neighbours merge and the step doubles.
 * Private to profile/. */
#ifndef HS_TIMELINE_H
#define HS_TIMELINE_H

#include "profile.h"

enum { HS_TIMELINE_MOST = 4096 };

struct hs_timeline {
	uint64_t step_us; /* a power of two */
	uint64_t end_us;  /* of the latest point */
	uint32_t count;
	uint64_t most_bytes[HS_TIMELINE_MOST]; /* point i covers [i * step_us, (i + 1) * step_us) */
};

void hs_timeline_start(struct hs_timeline *timeline);
/* Opens the points up to the one that covers `time_us`. In the latest one the heap had most_bytes at most,
 * and heap_bytes from the latest event on. Returns the most that it has had in the point that is the latest
 * now.
 */
uint64_t hs_timeline_advance(struct hs_timeline *timeline, uint64_t time_us, uint64_t most_bytes,
			     uint64_t heap_bytes);
/* Writes out the points; the caller frees them. */
struct hs_point *hs_timeline_points(const struct hs_timeline *timeline);

#endif
