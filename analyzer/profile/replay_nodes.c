/* The second half of the replay by nodes (node_counts.h). Times matter to nothing that is counted of a node,
 * so events are counted in stretches within which the timeline has one point. */
#include "replay_state.h"

/* ---- times ----------------------------------------------------------------------------------------------
 */

/* The units of a member's events, one after the other. */
struct clock {
	const struct hs_time_unit *unit, *end;
	uint32_t before; /* events before the unit */
};

static struct clock start_clock(const struct hs_events *events)
{
	return (struct clock){events->units, events->units + events->unit_count, 0};
}

/* Of an event of the unit. */
static uint64_t time_of(const struct clock *clock, uint32_t event)
{
	return clock->unit->start_us + ((event - clock->before) * hs_time_step(clock->unit) >> 32);
}

/* Goes to the unit of an event, which is not behind. */
static void go_to(struct clock *clock, uint32_t event)
{
	while (event - clock->before >= clock->unit->events)
		clock->before += clock->unit++->events;
}

/* Goes to the unit of the first event at that time or later, none of which is behind, and returns the event;
 * UINT32_MAX: there is none. */
static uint32_t find_from(struct clock *clock, uint64_t time_us)
{
	for (; clock->unit < clock->end; clock->before += clock->unit++->events) {
		const struct hs_time_unit *unit = clock->unit;
		if (unit->start_us >= time_us)
			return clock->before;
		if (unit->start_us + unit->width_us <= time_us)
			continue;
		uint64_t step = hs_time_step(unit);
		uint64_t n = (((time_us - unit->start_us) << 32) + step - 1) / step;
		if (n < unit->events)
			return clock->before + (uint32_t)n;
	}
	return UINT32_MAX;
}

/* ---- counts ---------------------------------------------------------------------------------------------
 */

/* What is live in all. In registers while events are counted. */
struct live {
	hs_volume_vector volume;
	uint64_t most_bytes;               /* since the timeline's latest point began */
	const struct hs_event *peak_event; /* NULL, or the latest of some events that began a peak */
};

/* What events are counted with. */
struct counting {
	struct hs_node_table *nodes;
	struct hs_heap *heap;
	const struct hs_events *events;
	const struct hs_ended *ended; /* that come next */
};

static __attribute__((noinline)) void note_peak(struct hs_node_table *nodes, struct hs_heap *heap,
						hs_volume_vector live)
{
	heap->peak_bytes = live[0];
	heap->peak_blocks = live[1];
	if (++heap->peak_number > UINT32_MAX) { /* as far as the nodes' own numbers go */
		hs_node_table_forget_peak(nodes);
		heap->peak_number = 1;
	}
}

/* A block begins or ends with the event. Mostly nobody can foresee which, so there is no branch on that. */
HS_IN_LOOP struct hs_node_counts *count_block(const struct counting *counting, struct live *live,
					      uint32_t node, uint64_t ends, uint64_t bytes,
					      const struct hs_event *event)
{
	struct hs_node_counts *counts = &counting->nodes->counts[node];
	uint64_t minus = 0 - ends; /* all bits, or none */
	hs_volume_vector change = {bytes, 1};
	hs_node_save_peak(counts, (uint32_t)counting->heap->peak_number);
	hs_volume_add(&counts->volumes[ends], change);
	live->volume += (change ^ minus) - minus;
	if (live->volume[0] >= (live->most_bytes | minus)) {
		live->most_bytes = live->volume[0];
		if (live->most_bytes >= counting->heap->peak_bytes) {
			live->peak_event = event;
			note_peak(counting->nodes, counting->heap, live->volume);
		}
	}
	return counts;
}

/* The old block ends and the new one begins in one step: the peak sees only the outcome. */
static void count_realloc(struct counting *counting, struct live *live, const struct hs_event *event)
{
	const struct hs_ended *old = counting->ended++;
	uint64_t bytes = hs_number_of(counting->events, *event);
	count_block(counting, live, old->group, 1, old->size, event);
	struct hs_node_counts *counts = count_block(counting, live, hs_event_node(*event), 0, bytes, event);
	struct hs_node_more *more = hs_node_more(counting->nodes, counts);
	more->reallocations++;
	if (hs_event_kind(*event) == HS_EVENT_MOVE) {
		more->moved++;
		more->moved_bytes += old->size < bytes ? old->size : bytes;
	}
}

/* An HS_EVENT_RARE one. The heap goes to and fro in registers. */
static __attribute__((noinline)) struct live count_rare(struct counting *counting, struct live live,
							const struct hs_event *event)
{
	enum hs_event_kind kind = hs_event_kind(*event);
	if (event->word & HS_EVENT_FIRST)
		hs_node_table_add(counting->nodes);
	if (kind != HS_EVENT_ALLOC && kind != HS_EVENT_FREE) {
		count_realloc(counting, &live, event);
	} else {
		struct hs_node_counts *counts = count_block(counting, &live, hs_event_node(*event), kind,
							    hs_number_of(counting->events, *event), event);
		counts->temporary += event->word / HS_EVENT_TEMPORARY & 1;
	}
	return live;
}

static void count_some(struct counting *counting, struct live *live, const struct hs_event *event,
		       uint32_t count)
{
	const struct counting same = *counting; /* in registers: what is rare does not change them */
	for (const struct hs_event *end = event + count; event < end; event++) {
		if (__builtin_expect(event->word & HS_EVENT_RARE, 0)) {
			*live = count_rare(counting, *live, event);
			continue;
		}
		struct hs_node_counts *counts =
			count_block(&same, live, hs_event_node(*event), event->word & HS_EVENT_FREE,
				    hs_event_value(*event), event);
		counts->temporary += event->word / HS_EVENT_TEMPORARY & 1;
	}
}

void hs_replay_count_nodes(struct hs_replay_state *state, const struct hs_events *events)
{
	struct hs_timeline *timeline = &state->timeline;
	struct live live = {{state->heap.bytes, state->heap.blocks}, state->heap.most_bytes, NULL};
	struct counting counting = {state->nodes, &state->heap, events, events->ended};
	struct hs_events_walk walk = hs_events_walk(events);
	struct clock clock = start_clock(events), peak_clock = clock;
	uint32_t at = 0, next_point = find_from(&clock, timeline->end_us), peak_event = UINT32_MAX;
	while (hs_events_walk_run(&walk)) {
		for (uint32_t count; walk.count; walk.event += count, walk.count -= count, at += count) {
			if (at == next_point) {
				live.most_bytes = hs_timeline_advance(timeline, time_of(&clock, at),
								      live.most_bytes, live.volume[0]);
				next_point = find_from(&clock, timeline->end_us);
			}
			count = next_point - at < walk.count ? next_point - at : walk.count;
			count_some(&counting, &live, walk.event, count);
			if (live.peak_event)
				peak_event = at + (uint32_t)(live.peak_event - walk.event);
			live.peak_event = NULL;
		}
	}
	state->heap.bytes = live.volume[0];
	state->heap.blocks = live.volume[1];
	state->heap.most_bytes = live.most_bytes;
	if (peak_event != UINT32_MAX) {
		go_to(&peak_clock, peak_event);
		state->heap.peak_us = time_of(&peak_clock, peak_event);
	}
	if (at) {
		go_to(&peak_clock, at - 1);
		state->now_us = time_of(&peak_clock, at - 1);
	}
}
