#include "timeline.h"

#include "base/memory.h"

void hs_timeline_start(struct hs_timeline *timeline)
{
	timeline->step_us = 1;
	timeline->end_us = 1;
	timeline->count = 1;
	timeline->most_bytes[0] = 0;
}

static void halve(struct hs_timeline *timeline)
{
	uint64_t *most = timeline->most_bytes;
	for (uint32_t i = 0; i < timeline->count; i += 2) {
		uint64_t left = most[i], right = i + 1 < timeline->count ? most[i + 1] : 0;
		most[i / 2] = left > right ? left : right;
	}
	timeline->count = (timeline->count + 1) / 2;
	timeline->step_us *= 2;
}

uint64_t hs_timeline_advance(struct hs_timeline *timeline, uint64_t time_us, uint64_t most_bytes,
			     uint64_t heap_bytes)
{
	timeline->most_bytes[timeline->count - 1] = most_bytes;
	while (time_us / timeline->step_us >= HS_TIMELINE_MOST)
		halve(timeline);
	while (timeline->count <= time_us / timeline->step_us)
		timeline->most_bytes[timeline->count++] = heap_bytes;
	timeline->end_us = timeline->count * timeline->step_us;
	return timeline->most_bytes[timeline->count - 1];
}

struct hs_point *hs_timeline_points(const struct hs_timeline *timeline)
{
	struct hs_point *points = hs_allocate_zero(timeline->count, sizeof *points);
	for (uint32_t i = 0; i < timeline->count; i++)
		points[i] = (struct hs_point){i * timeline->step_us, timeline->most_bytes[i]};
	return points;
}
