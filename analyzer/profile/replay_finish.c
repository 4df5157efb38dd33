/* The end of a replay: totals, of what is selected and of the rest; whose part each group is; and whether the
 * recorder counted the same. */
#include "base/memory.h"
#include "internal.h"
#include "metrics.h"
#include "recording.h"
#include "replay_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void hs_replay_reach_moment(struct hs_heap *heap, uint64_t at_us)
{
	heap->peak_bytes = heap->bytes;
	heap->peak_blocks = heap->blocks;
	heap->peak_us = at_us;
	heap->peak_number++;
}

void hs_replay_end_time(struct hs_replay_state *state, struct hs_profile *profile)
{
	const struct hs_filter *filter = state->tracker.choice.filter;
	struct hs_timeline *timeline = &state->timeline;
	if (profile->facts.duration_us < state->now_us)
		profile->facts.duration_us = state->now_us;
	if (profile->facts.duration_us <= HS_TIME_MOST)
		state->now_us = profile->facts.duration_us;
	if (filter && filter->at_us != HS_TIME_NONE && !state->reached)
		hs_replay_reach_moment(&state->heap, filter->at_us);
	hs_timeline_advance(timeline, state->now_us, state->heap.most_bytes,
			    filter ? state->heap.selected_bytes : state->heap.bytes);
}

static struct hs_counts counts_of(const struct hs_group_state *group, uint64_t now_us)
{
	uint64_t live_blocks = group->allocations - group->ended;
	return (struct hs_counts){
		.allocated_bytes = group->allocated_bytes,
		.allocations = group->allocations,
		.peak_bytes = group->peak_bytes,
		.peak_blocks = group->peak_blocks,
		.live_bytes = group->allocated_bytes - group->ended_bytes,
		.live_blocks = live_blocks,
		.max_bytes = group->max_bytes,
		.max_blocks = group->max_blocks,
		.temporary_bytes = group->temporary_bytes,
		.temporary = group->temporary,
		.moved_bytes = group->moved_bytes,
		.moved = group->moved,
		.reallocations = group->reallocations,
		.lifetime_us = group->lifetime_us + live_blocks * now_us,
	};
}

/* Writes each group's counts over its state, and adds up the groups that together have every selected block
 * once. */
static void sum_up_groups(struct hs_replay_state *state)
{
	const struct hs_tracker *tracker = &state->tracker;
	struct hs_replay *out = state->out;
	uint32_t count = tracker->how.by_lifetime ? tracker->node_groups : out->group_count;
	for (uint32_t g = 0; g < out->group_count; g++) {
		if (g < tracker->node_groups && !tracker->begun[g])
			continue;
		hs_replay_save_peak(&state->heap, &state->groups[g]);
		struct hs_counts counts = counts_of(&state->groups[g], state->now_us);
		memcpy(&state->groups[g], &counts, sizeof counts);
		if (g < count)
			hs_counts_add(&out->totals.counts, &counts);
	}
	out->groups = (struct hs_counts *)state->groups;
}

/* Of groups that are nodes, but that the full pass has counted. */
static struct hs_node_table *make_nodes(struct hs_replay_state *state)
{
	uint32_t count = state->tracker.node_groups;
	struct hs_node_table *nodes = hs_node_table_new(count);
	for (uint32_t g = 0; g < count; g++) {
		struct hs_group_state *group = &state->groups[g];
		struct hs_node_counts *counts = hs_node_table_add(nodes);
		hs_replay_save_peak(&state->heap, group);
		*counts = (struct hs_node_counts){
			.volumes[HS_NODE_BEGUN] = {group->allocated_bytes, group->allocations},
			.volumes[HS_NODE_ENDED] = {group->ended_bytes, group->ended},
			.peak = {group->peak_bytes, group->peak_blocks},
			.temporary = group->temporary,
			.peak_number = (uint32_t)state->heap.peak_number,
		};
		if (group->reallocations)
			*hs_node_more(nodes, counts) = (struct hs_node_more){
				.moved_bytes = group->moved_bytes,
				.moved = group->moved,
				.reallocations = group->reallocations,
			};
	}
	free(state->groups);
	return nodes;
}

static void sum_up_nodes(struct hs_replay_state *state)
{
	const struct hs_met *met = state->tracker.how.by_node;
	struct hs_replay *out = state->out;
	struct hs_group_sums sums = {0};
	hs_ahead_join(state->ahead);
	if (met->find_sums)
		sums = met->find_sums(met->context);
	out->nodes = state->nodes ? state->nodes : make_nodes(state);
	hs_node_table_finish(out->nodes, (uint32_t)state->heap.peak_number, &sums, &out->totals.counts);
	out->group_count = out->nodes->count;
	if (state->nodes) /* that pass does not count them: what begins no block is a free */
		state->frees = state->events - out->totals.counts.allocations;
}

static void write_totals(const struct hs_replay_state *state, struct hs_totals *totals)
{
	totals->counts.max_bytes = state->heap.peak_bytes;
	totals->counts.max_blocks = state->heap.peak_blocks;
	totals->peak_us = totals->max_us = state->heap.peak_us;
	totals->events = state->events;
	totals->frees = state->frees;
}

/* Tells the selection and the rest from the whole. */
static void divide_totals(struct hs_replay_state *state)
{
	const struct hs_heap *heap = &state->heap;
	struct hs_replay *out = state->out;
	struct hs_counts rest = counts_of(&state->rest, state->now_us);
	out->all = out->totals;
	out->left_out = (struct hs_totals){.peak_us = heap->peak_us};
	if (!state->tracker.choice.filter)
		return;
	rest.peak_bytes = heap->peak_bytes - out->totals.counts.peak_bytes;
	rest.peak_blocks = heap->peak_blocks - out->totals.counts.peak_blocks;
	hs_counts_add(&out->all.counts, &rest);
	rest.max_bytes = rest.max_blocks = 0; /* of no use: maxima do not add up */
	out->left_out.counts = rest;
	out->left_out.events = state->events - state->selected_events;
	out->left_out.frees = state->frees - state->selected_frees;
	out->totals.counts.max_bytes = heap->selected_max_bytes;
	out->totals.counts.max_blocks = heap->selected_max_blocks;
	out->totals.max_us = heap->selected_max_us;
	out->totals.events = state->selected_events;
	out->totals.frees = state->selected_frees;
}

/* Whose part each group is, and the threads' ids. */
static void write_parts(const struct hs_tracker *tracker, struct hs_replay *out)
{
	out->parts = hs_allocate_zero(out->group_count, sizeof *out->parts);
	for (uint32_t g = 0; g < tracker->node_groups; g++)
		out->parts[g] = (struct hs_part){.group = g};
	for (uint32_t i = 0; i < tracker->parts.count; i++)
		out->parts[tracker->node_groups + i] =
			(struct hs_part){.group = (uint32_t)tracker->parts.items[i].first,
					 .bucket = (uint32_t)tracker->parts.items[i].second};
	if (!tracker->how.by_thread)
		return;
	out->thread_count = tracker->thread_count;
	out->threads = hs_allocate_zero(out->thread_count, sizeof *out->threads);
	for (uint32_t i = 0; i < out->thread_count; i++)
		out->threads[i] = tracker->threads[i].id;
}

void hs_replay_finish(struct hs_replay_state *state)
{
	const struct hs_tracker *tracker = &state->tracker;
	struct hs_replay *out = state->out;
	out->group_count = tracker->node_groups + tracker->parts.count;
	if (tracker->how.by_node)
		sum_up_nodes(state);
	else
		sum_up_groups(state);
	write_totals(state, &out->totals);
	divide_totals(state);
	if (tracker->how.by_thread || tracker->how.by_size || tracker->how.by_lifetime || tracker->how.slices)
		write_parts(tracker, out);
	out->timeline = hs_timeline_points(&state->timeline);
	out->point_count = state->timeline.count;
}

void hs_profile_compare_totals(struct hs_profile *profile, const struct hs_totals *totals)
{
	const struct hs_expected *expected = &profile->recording->expected;
	bool moment = profile->filter && profile->filter->at_us != HS_TIME_NONE; /* not the peak */
	uint64_t peak_bytes = moment ? expected->peak_bytes : totals->counts.peak_bytes;
	const struct {
		const char *name;
		uint64_t here, there;
	} checks[] = {
		{"events", totals->events, expected->events},
		{"allocations", totals->counts.allocations, expected->allocations},
		{"frees", totals->frees, expected->frees},
		{"allocated bytes", totals->counts.allocated_bytes, expected->allocated_bytes},
		{"peak bytes", peak_bytes, expected->peak_bytes},
		{"live bytes", totals->counts.live_bytes, expected->live_bytes},
		{"live blocks", totals->counts.live_blocks, expected->live_blocks},
		{"temporary allocations", totals->counts.temporary, expected->temporary},
	};
	for (size_t i = 0; expected->known && i < sizeof checks / sizeof *checks; i++) {
		if (checks[i].here == checks[i].there)
			continue;
		hs_profile_warn(profile,
				"the events give %" PRIu64 " %s where the recorder counted %" PRIu64
				": the file is damaged, or this is a bug of heapscope",
				checks[i].here, checks[i].name, checks[i].there);
		return;
	}
}
