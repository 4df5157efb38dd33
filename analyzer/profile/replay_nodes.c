/* The second half of the replay by nodes (node_counts.h). */
#include "replay_state.h"

/* What is live in all. In registers while events are counted. */
struct live {
	hs_volume_vector volume;
	uint64_t most_bytes; /* since the timeline's latest point began */
};

static __attribute__((noinline)) void note_peak(struct hs_node_table *nodes, struct hs_heap *heap,
						hs_volume_vector live, uint64_t now_us)
{
	heap->peak_bytes = live[0];
	heap->peak_blocks = live[1];
	heap->peak_us = now_us;
	if (++heap->peak_number > UINT32_MAX) { /* as far as the nodes' own numbers go */
		hs_node_table_forget_peak(nodes);
		heap->peak_number = 1;
	}
}

/* All bits like that one. */
HS_IN_LOOP uint64_t all_bits(uint64_t word, uint64_t bit)
{
	return (uint64_t)((int64_t)(word << __builtin_clzll(bit)) >> 63);
}

/* A block begins or ends. Mostly nobody can foresee which, so there is no branch on that. */
HS_IN_LOOP void count_block(struct hs_node_table *nodes, struct hs_heap *heap, struct live *live,
			    uint32_t node, uint64_t ends, uint64_t bytes, uint64_t temporary, uint64_t now_us)
{
	struct hs_node_counts *counts = &nodes->counts[node];
	uint64_t minus = 0 - ends, plus = ends - 1; /* all bits, or none */
	hs_volume_vector change = {bytes, 1};
	hs_node_save_peak(nodes, node, (uint32_t)heap->peak_number);
	hs_volume_add(&counts->volumes[ends], change);
	hs_volume_add(&counts->volumes[HS_NODE_TEMPORARY], change & temporary);
	counts->lifetime_us += (now_us ^ plus) - plus;
	live->volume += (change ^ minus) - minus;
	if (live->volume[0] >= (live->most_bytes | minus)) {
		live->most_bytes = live->volume[0];
		if (live->most_bytes >= heap->peak_bytes)
			note_peak(nodes, heap, live->volume, now_us);
	}
}

/* Some events of a unit of time, which are many, and what is rare among them. */
struct some {
	struct hs_node_table *nodes;
	struct hs_heap *heap;
	const struct hs_events *events;
	const struct hs_ended *ended; /* that come next */
};

/* The old block ends and the new one begins in one step: the peak sees only the outcome. */
static void count_realloc(struct some *some, struct live *live, struct hs_event event, uint64_t bytes,
			  uint64_t now_us)
{
	const struct hs_ended *old = some->ended++;
	uint32_t node = hs_event_node(event);
	count_block(some->nodes, some->heap, live, old->group, 1, old->size, 0, now_us);
	count_block(some->nodes, some->heap, live, node, 0, bytes, 0, now_us);
	struct hs_node_more *more = hs_node_more(some->nodes, &some->nodes->counts[node]);
	more->reallocations++;
	if (hs_event_kind(event) == HS_EVENT_MOVE) {
		more->moved++;
		more->moved_bytes += old->size < bytes ? old->size : bytes;
	}
}

/* An HS_EVENT_RARE one. The heap goes to and fro in registers. */
static __attribute__((noinline)) struct live count_rare(struct some *some, struct live live,
							struct hs_event event, uint64_t now_us)
{
	enum hs_event_kind kind = hs_event_kind(event);
	uint64_t bytes = hs_number_of(some->events, event);
	if (event.word & HS_EVENT_FIRST)
		hs_node_table_add(some->nodes);
	if (kind == HS_EVENT_ALLOC || kind == HS_EVENT_FREE)
		count_block(some->nodes, some->heap, &live, hs_event_node(event), kind, bytes,
			    all_bits(event.word, HS_EVENT_TEMPORARY), now_us);
	else
		count_realloc(some, &live, event, bytes, now_us);
	return live;
}

/* at: step * the events of the unit before these. timeline: NULL if all are in its latest point. */
HS_IN_LOOP void count_some(struct some *some, struct live *live, struct hs_timeline *timeline,
			   const struct hs_event *next, uint32_t count, uint64_t start_us, uint64_t step,
			   uint64_t at)
{
	struct hs_node_table *nodes = some->nodes;
	struct hs_heap *heap = some->heap;
	for (const struct hs_event *end = next + count; next < end; next++, at += step) {
		struct hs_event event = *next;
		uint64_t now_us = start_us + (at >> 32);
		if (timeline && now_us >= timeline->end_us)
			live->most_bytes =
				hs_timeline_advance(timeline, now_us, live->most_bytes, live->volume[0]);
		if (__builtin_expect(event.word & HS_EVENT_RARE, 0))
			*live = count_rare(some, *live, event, now_us);
		else
			count_block(nodes, heap, live, hs_event_node(event), event.word & HS_EVENT_FREE,
				    hs_event_value(event), all_bits(event.word, HS_EVENT_TEMPORARY), now_us);
	}
}

void hs_replay_count_nodes(struct hs_replay_state *state, const struct hs_events *events)
{
	struct live live = {{state->heap.bytes, state->heap.blocks}, state->heap.most_bytes};
	struct hs_events_walk walk = hs_events_walk(events);
	struct some some = {state->nodes, &state->heap, events, events->ended};
	const struct hs_time_unit *unit = events->units;
	uint32_t done = 0; /* events of the unit */
	uint64_t step = 0;
	while (hs_events_walk_run(&walk)) {
		for (uint32_t count; walk.count; walk.event += count, walk.count -= count) {
			if (done == unit->events) {
				unit++;
				done = 0;
			}
			if (done == 0)
				step = hs_time_step(unit);
			count = unit->events - done < walk.count ? unit->events - done : walk.count;
			uint64_t at = done * step;
			done += count;
			state->now_us = unit->start_us + ((done - 1) * step >> 32);
			if (state->now_us < state->timeline.end_us) /* mostly */
				count_some(&some, &live, NULL, walk.event, count, unit->start_us, step, at);
			else
				count_some(&some, &live, &state->timeline, walk.event, count, unit->start_us,
					   step, at);
		}
	}
	state->heap.bytes = live.volume[0];
	state->heap.blocks = live.volume[1];
	state->heap.most_bytes = live.most_bytes;
}
