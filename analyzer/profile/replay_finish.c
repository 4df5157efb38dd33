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

void hs_replay_reach_moment(struct hs_replay_state *state)
{
	state->selection.reached = true;
	state->peak_bytes = state->heap_bytes;
	state->peak_blocks = state->heap_blocks;
	state->peak_us = state->selection.filter->at_us;
	state->peak_number++;
}

void hs_replay_end_time(struct hs_replay_state *state, struct hs_profile *profile)
{
	const struct hs_filter *filter = state->selection.filter;
	if (profile->facts.duration_us < state->now_us)
		profile->facts.duration_us = state->now_us;
	if (profile->facts.duration_us <= HS_TIME_MOST)
		state->now_us = profile->facts.duration_us;
	if (filter && filter->at_us != HS_TIME_NONE && !state->selection.reached)
		hs_replay_reach_moment(state);
	hs_timeline_advance(&state->timeline, state->now_us,
			    filter ? state->selection.bytes : state->heap_bytes);
}

static struct hs_counts counts_of(const struct hs_group_state *group)
{
	return (struct hs_counts){
		.allocated_bytes = group->allocated_bytes,
		.allocations = group->allocations,
		.peak_bytes = group->peak_bytes,
		.peak_blocks = group->peak_blocks,
		.live_bytes = group->live_bytes,
		.live_blocks = group->live_blocks,
		.max_bytes = group->max_bytes,
		.max_blocks = group->max_blocks,
		.temporary_bytes = group->temporary_bytes,
		.temporary = group->temporary,
		.moved_bytes = group->moved_bytes,
		.moved = group->moved,
		.reallocations = group->reallocations,
		.lifetime_us = group->lifetime_us,
	};
}

/* Writes each group's counts over its state, and the totals of the groups that together have every selected
 * block once. */
static void sum_up(struct hs_replay_state *state, struct hs_totals *totals)
{
	uint32_t count = state->how.by_lifetime ? state->node_groups : state->out->group_count;
	for (uint32_t g = 0; g < state->out->group_count; g++) {
		if (!state->begun[g])
			continue;
		hs_replay_save_peak(state, g);
		struct hs_counts counts = counts_of(&state->groups[g]);
		memcpy(&state->groups[g], &counts, sizeof counts);
		if (g < count)
			hs_counts_add(&totals->counts, &counts);
	}
	totals->counts.max_bytes = state->peak_bytes;
	totals->counts.max_blocks = state->peak_blocks;
	totals->peak_us = totals->max_us = state->peak_us;
	totals->events = state->events;
	totals->frees = state->frees;
}

/* Tells the selection and the rest from the whole. */
static void divide_totals(struct hs_replay_state *state)
{
	struct hs_selection *selection = &state->selection;
	struct hs_replay *out = state->out;
	struct hs_counts rest = counts_of(&selection->rest);
	out->all = out->totals;
	out->left_out = (struct hs_totals){.peak_us = state->peak_us};
	if (!selection->filter)
		return;
	rest.peak_bytes = state->peak_bytes - out->totals.counts.peak_bytes;
	rest.peak_blocks = state->peak_blocks - out->totals.counts.peak_blocks;
	hs_counts_add(&out->all.counts, &rest);
	rest.max_bytes = rest.max_blocks = 0; /* of no use: maxima do not add up */
	out->left_out.counts = rest;
	out->left_out.events = state->events - selection->events;
	out->left_out.frees = state->frees - selection->frees;
	out->totals.counts.max_bytes = selection->max_bytes;
	out->totals.counts.max_blocks = selection->max_blocks;
	out->totals.max_us = selection->max_us;
	out->totals.events = selection->events;
	out->totals.frees = selection->frees;
}

/* Whose part each group is, and the threads' ids. */
static void write_parts(struct hs_replay_state *state)
{
	struct hs_replay *out = state->out;
	out->parts = hs_allocate_zero(out->group_count, sizeof *out->parts);
	for (uint32_t g = 0; g < state->node_groups; g++)
		out->parts[g] = (struct hs_part){.group = g};
	for (uint32_t i = 0; i < state->parts.count; i++)
		out->parts[state->node_groups + i] =
			(struct hs_part){.group = (uint32_t)state->parts.items[i].first,
					 .bucket = (uint32_t)state->parts.items[i].second};
	if (!state->how.by_thread)
		return;
	out->thread_count = state->thread_count;
	out->threads = hs_allocate_zero(out->thread_count, sizeof *out->threads);
	for (uint32_t i = 0; i < out->thread_count; i++)
		out->threads[i] = state->threads[i].id;
}

void hs_replay_finish(struct hs_replay_state *state)
{
	struct hs_replay *out = state->out;
	out->groups = (struct hs_counts *)state->groups;
	out->group_count = state->node_groups + state->parts.count;
	sum_up(state, &out->totals);
	divide_totals(state);
	if (state->how.by_thread || state->how.by_size || state->how.by_lifetime || state->how.slices)
		write_parts(state);
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
