/* The second half of the replay by nodes (node_counts.h). */
#include "replay_state.h"

static __attribute__((noinline)) void note_peak(struct hs_node_table *nodes, struct hs_heap *heap,
						uint64_t now_us)
{
	heap->peak_bytes = heap->bytes;
	heap->peak_blocks = heap->blocks;
	heap->peak_us = now_us;
	if (++heap->peak_number > UINT32_MAX) { /* as far as the nodes' own numbers go */
		hs_node_table_forget_peak(nodes);
		heap->peak_number = 1;
	}
}

/* Returns the counts that the block went to. */
HS_IN_LOOP struct hs_node_counts *begin_block(struct hs_node_table *nodes, struct hs_heap *heap,
					      const struct hs_event *event, uint64_t now_us)
{
	if (__builtin_expect(event->kind & HS_EVENT_FIRST, 0))
		hs_node_table_add(nodes);
	struct hs_node_counts *counts = &nodes->counts[event->node];
	hs_node_save_peak(counts, (uint32_t)heap->peak_number);
	counts->allocated_bytes += event->bytes;
	counts->allocations++;
	counts->lifetime_us -= now_us;
	heap->bytes += event->bytes;
	heap->blocks++;
	if (heap->bytes >= heap->most_bytes) {
		heap->most_bytes = heap->bytes;
		if (heap->bytes >= heap->peak_bytes)
			note_peak(nodes, heap, now_us);
	}
	return counts;
}

/* Returns the counts that the block came from. */
HS_IN_LOOP struct hs_node_counts *end_block(struct hs_node_table *nodes, struct hs_heap *heap, uint32_t node,
					    uint64_t bytes, uint64_t now_us)
{
	struct hs_node_counts *counts = &nodes->counts[node];
	hs_node_save_peak(counts, (uint32_t)heap->peak_number);
	counts->ended_bytes += bytes;
	counts->ended++;
	counts->lifetime_us += now_us;
	heap->bytes -= bytes;
	heap->blocks--;
	return counts;
}

HS_IN_LOOP void count_free(struct hs_node_table *nodes, struct hs_heap *heap, const struct hs_event *event,
			   uint64_t now_us)
{
	struct hs_node_counts *counts = end_block(nodes, heap, event->node, event->bytes, now_us);
	if (event->kind & HS_EVENT_TEMPORARY) {
		struct hs_node_more *more = hs_node_more(nodes, counts);
		more->temporary++;
		more->temporary_bytes += event->bytes;
	}
}

/* The old block ends and the new one begins in one step: the peak sees only the outcome. */
static void count_realloc(struct hs_node_table *nodes, struct hs_heap *heap, const struct hs_event *event,
			  const struct hs_ended *old, uint64_t now_us)
{
	end_block(nodes, heap, old->group, old->size, now_us);
	struct hs_node_more *more = hs_node_more(nodes, begin_block(nodes, heap, event, now_us));
	more->reallocations++;
	if (event->kind % HS_EVENT_KINDS == HS_EVENT_MOVE) {
		more->moved++;
		more->moved_bytes += old->size < event->bytes ? old->size : event->bytes;
	}
}

/* Some events of a run and of a unit of time; at: step * the events of the unit before them. */
HS_IN_LOOP void count_some(struct hs_replay_state *state, struct hs_heap *heap, const struct hs_event *event,
			   uint32_t count, const struct hs_time_unit *unit, uint64_t at, bool one_point,
			   const struct hs_ended **ended)
{
	struct hs_node_table *nodes = state->nodes;
	uint64_t start_us = unit->start_us, step = unit->step;
	for (const struct hs_event *end = event + count; event < end; event++, at += step) {
		uint64_t now_us = start_us + (at >> 32);
		if (!one_point && now_us >= state->timeline.end_us)
			heap->most_bytes =
				hs_timeline_advance(&state->timeline, now_us, heap->most_bytes, heap->bytes);
		if (event->kind % HS_EVENT_KINDS == HS_EVENT_FREE)
			count_free(nodes, heap, event, now_us);
		else if (event->kind % HS_EVENT_KINDS == HS_EVENT_ALLOC)
			begin_block(nodes, heap, event, now_us);
		else
			count_realloc(nodes, heap, event, (*ended)++, now_us);
	}
}

void hs_replay_count_nodes(struct hs_replay_state *state, const struct hs_events *events)
{
	struct hs_heap heap = state->heap; /* in registers, as far as they go */
	struct hs_events_walk walk = hs_events_walk(events);
	const struct hs_ended *ended = events->ended;
	const struct hs_time_unit *unit = events->units;
	uint32_t done = 0; /* events of the unit */
	while (hs_events_walk_run(&walk)) {
		for (uint32_t count; walk.count; walk.event += count, walk.count -= count) {
			if (done == unit->events) {
				unit++;
				done = 0;
			}
			count = unit->events - done < walk.count ? unit->events - done : walk.count;
			uint64_t at = done * unit->step;
			done += count;
			/* mostly all are in the timeline's latest point */
			if (hs_time_in_unit(unit, done - 1) < state->timeline.end_us)
				count_some(state, &heap, walk.event, count, unit, at, true, &ended);
			else
				count_some(state, &heap, walk.event, count, unit, at, false, &ended);
		}
	}
	state->heap = heap;
	if (done)
		state->now_us = hs_time_in_unit(unit, done - 1);
}
