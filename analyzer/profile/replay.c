/* The replay: one pass over the events that keeps the live blocks (tracker.c) and adds up each group's
 * counts. The peak is found in the same pass: every time the heap reaches its maximum the peak gets a new
 * number; a group whose live bytes are about to change first saves them as its at-peak value if it has not
 * done so for that number.
 *
 * Nodes, of which nobody wants maxima or histograms, have a pass of their own (replay_nodes.c). Here it is
 * compiled twice: for all blocks by the caller's groups; and with filter, parts and watch. Blocks that are
 * not selected count there as a rest: the heap, and so the peak, is always the whole program's. */
#include "base/aside.h"
#include "base/memory.h"
#include "internal.h"
#include "recording.h"
#include "replay_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct hs_filter *filter_of(const struct hs_replay_state *state)
{
	return state->tracker.choice.filter;
}

/* ---- blocks ---------------------------------------------------------------------------------------------
 */

/* Zeroes a group before its first block. The caller's are zero already, but a page that is read first costs a
 * second fault when it is written. */
static __attribute__((noinline)) void begin_group(struct hs_replay_state *state, uint32_t group)
{
	state->groups = hs_grow(state->groups, group, &state->group_capacity, sizeof *state->groups);
	state->groups[group] = (struct hs_group_state){0};
}

HS_IN_LOOP struct hs_group_state *counts_of(struct hs_replay_state *state, uint32_t group, enum hs_pass pass)
{
	return pass == HS_PASS_FULL && group == HS_LEFT_OUT ? &state->rest : &state->groups[group];
}

/* After a block began: has the group, has the heap reached its maximum? */
HS_IN_LOOP void check_maxima(struct hs_replay_state *state, struct hs_heap *heap,
			     struct hs_group_state *counts, uint64_t now_us, enum hs_pass pass)
{
	uint64_t live_bytes = counts->allocated_bytes - counts->ended_bytes;
	if (live_bytes >= counts->max_bytes) {
		counts->max_bytes = live_bytes;
		counts->max_blocks = counts->allocations - counts->ended;
	}
	if (heap->bytes >= heap->peak_bytes &&
	    (pass != HS_PASS_FULL || !filter_of(state) || filter_of(state)->at_us == HS_TIME_NONE)) {
		heap->peak_bytes = heap->bytes;
		heap->peak_blocks = heap->blocks;
		heap->peak_us = now_us;
		heap->peak_number++;
	}
	uint64_t bytes = pass == HS_PASS_FULL ? heap->selected_bytes : heap->bytes;
	if (bytes > heap->most_bytes)
		heap->most_bytes = bytes;
}

static void count_selected(struct hs_replay_state *state, struct hs_heap *heap, uint32_t group, uint64_t size,
			   uint64_t now_us)
{
	const struct hs_watch *watch = state->tracker.how.watch;
	heap->selected_bytes += size;
	heap->selected_blocks++;
	if (heap->selected_bytes >= heap->selected_max_bytes) {
		heap->selected_max_bytes = heap->selected_bytes;
		heap->selected_max_blocks = heap->selected_blocks;
		heap->selected_max_us = now_us;
	}
	if (watch)
		watch->begin(watch->context, group, size, now_us);
}

/* Returns the counts that the block went to. */
HS_IN_LOOP struct hs_group_state *begin_block(struct hs_replay_state *state, struct hs_heap *heap,
					      struct hs_event event, uint64_t size, uint64_t now_us,
					      enum hs_pass pass)
{
	uint32_t group = hs_event_node(event);
	bool selected = pass != HS_PASS_FULL || group != HS_LEFT_OUT;
	if (__builtin_expect(event.word & HS_EVENT_FIRST, 0))
		begin_group(state, group);
	struct hs_group_state *counts = counts_of(state, group, pass);
	hs_replay_save_peak(heap, counts);
	counts->allocated_bytes += size;
	counts->allocations++;
	counts->lifetime_us -= now_us;
	heap->bytes += size;
	heap->blocks++;
	if (selected) {
		state->out->size_blocks[hs_bucket(size)]++;
		state->out->size_bytes[hs_bucket(size)] += size;
	}
	if (pass == HS_PASS_FULL && selected)
		count_selected(state, heap, group, size, now_us);
	check_maxima(state, heap, counts, now_us, pass);
	return counts;
}

/* What else is counted of a selected block that ended, or lived to the end. */
static void count_life(struct hs_replay_state *state, uint32_t group, uint64_t size, uint64_t lived_us,
		       bool freed)
{
	struct hs_tracker *tracker = &state->tracker;
	const struct hs_watch *watch = tracker->how.watch;
	bool added = false;
	if (watch)
		watch->lived(watch->context, group, lived_us);
	if (!tracker->how.by_lifetime)
		return;
	uint32_t part = hs_tracker_part(tracker, group, freed ? hs_bucket(lived_us) : HS_BUCKET_LIVE, &added);
	if (added)
		begin_group(state, part);
	struct hs_group_state *counts = &state->groups[part];
	counts->allocations++;
	counts->allocated_bytes += size;
	counts->ended++;
	counts->ended_bytes += size;
	counts->lifetime_us += lived_us;
}

static void end_selected(struct hs_replay_state *state, struct hs_heap *heap, struct hs_ended block,
			 uint64_t now_us)
{
	const struct hs_watch *watch = state->tracker.how.watch;
	count_life(state, block.group, block.size, block.lived_us, true);
	heap->selected_bytes -= block.size;
	heap->selected_blocks--;
	if (watch)
		watch->end(watch->context, block.group, block.size, now_us);
}

/* Returns the counts that the block came from. */
HS_IN_LOOP struct hs_group_state *end_block(struct hs_replay_state *state, struct hs_heap *heap,
					    struct hs_ended block, uint64_t now_us, enum hs_pass pass)
{
	if (pass == HS_PASS_FULL && block.group != HS_LEFT_OUT)
		end_selected(state, heap, block, now_us);
	struct hs_group_state *counts = counts_of(state, block.group, pass);
	hs_replay_save_peak(heap, counts);
	counts->ended_bytes += block.size;
	counts->ended++;
	counts->lifetime_us += now_us;
	heap->bytes -= block.size;
	heap->blocks--;
	return counts;
}

/* ---- events ---------------------------------------------------------------------------------------------
 */

HS_IN_LOOP void count_free(struct hs_replay_state *state, struct hs_heap *heap, struct hs_event event,
			   uint64_t size, uint64_t lived_us, uint64_t now_us, enum hs_pass pass)
{
	struct hs_ended block = {size, lived_us, hs_event_node(event)};
	struct hs_group_state *counts = end_block(state, heap, block, now_us, pass);
	if (event.word & HS_EVENT_TEMPORARY) {
		counts->temporary++;
		counts->temporary_bytes += block.size;
	}
	if (pass == HS_PASS_FULL && block.group != HS_LEFT_OUT) {
		state->selected_events++;
		state->selected_frees++;
	}
	state->frees++;
}

/* The old block ends and the new one begins in one step: maxima see only the outcome. */
HS_IN_LOOP void count_realloc(struct hs_replay_state *state, struct hs_heap *heap, struct hs_event event,
			      uint64_t size, const struct hs_ended *old, uint64_t now_us, enum hs_pass pass)
{
	end_block(state, heap, *old, now_us, pass);
	struct hs_group_state *counts = begin_block(state, heap, event, size, now_us, pass);
	if (pass == HS_PASS_FULL && (old->group != HS_LEFT_OUT || hs_event_node(event) != HS_LEFT_OUT))
		state->selected_events++;
	counts->reallocations++;
	if (hs_event_kind(event) == HS_EVENT_MOVE) {
		counts->moved++;
		counts->moved_bytes += old->size < size ? old->size : size;
	}
}

/* Before anything is counted of an event. */
HS_IN_LOOP void see_event(struct hs_replay_state *state, struct hs_heap *heap, uint64_t number,
			  uint64_t now_us, enum hs_pass pass)
{
	const struct hs_filter *filter = filter_of(state);
	const struct hs_watch *watch = state->tracker.how.watch;
	if (pass == HS_PASS_FULL && filter && now_us > filter->at_us && !state->reached) {
		hs_replay_reach_moment(heap, filter->at_us);
		state->reached = true;
	}
	if (now_us >= state->timeline.end_us)
		heap->most_bytes =
			hs_timeline_advance(&state->timeline, now_us, heap->most_bytes,
					    pass == HS_PASS_FULL ? heap->selected_bytes : heap->bytes);
	if (pass == HS_PASS_FULL && watch && watch->event)
		watch->event(watch->context, number);
}

/* Counts the events of one member that could be tracked. */
HS_IN_LOOP void count_member(struct hs_replay_state *state, const struct hs_events *events, enum hs_pass pass)
{
	struct hs_heap heap = state->heap; /* in registers, as far as they go */
	struct hs_events_walk walk = hs_events_walk(events);
	const struct hs_ended *ended = events->ended;
	uint64_t number = state->events;
	while (hs_events_walk_run(&walk)) {
		const struct hs_event *next = walk.event;
		const uint64_t *times_us = walk.times_us;
		for (const struct hs_event *end = next + walk.count; next < end; next++) {
			struct hs_event event = *next;
			uint64_t now_us = *times_us++, size = hs_event_value(event);
			if (__builtin_expect(event.word & HS_EVENT_RARE, 0))
				size = hs_number_of(events, event);
			see_event(state, &heap, number++, now_us, pass);
			if (hs_event_kind(event) == HS_EVENT_FREE) {
				uint64_t lived_us = pass == HS_PASS_FULL ? ended++->lived_us : 0;
				count_free(state, &heap, event, size, lived_us, now_us, pass);
			} else if (hs_event_kind(event) == HS_EVENT_ALLOC) {
				begin_block(state, &heap, event, size, now_us, pass);
				if (pass == HS_PASS_FULL)
					state->selected_events += hs_event_node(event) != HS_LEFT_OUT;
			} else {
				count_realloc(state, &heap, event, size, ended++, now_us, pass);
			}
		}
	}
	state->heap = heap;
	if (events->tracked)
		state->now_us = events->times_us[events->tracked - 1];
}

static void count_groups(struct hs_replay_state *state, const struct hs_events *events)
{
	count_member(state, events, HS_PASS_GROUPS);
}

static void count_full(struct hs_replay_state *state, const struct hs_events *events)
{
	count_member(state, events, HS_PASS_FULL);
}

/* Returns whether all events were read that matter; else the profile has a warning. */
static bool replay_events(struct hs_profile *profile, struct hs_replay_state *state)
{
	struct hs_tracker *tracker = &state->tracker;
	const struct hs_met *met = tracker->how.by_node;
	state->ahead = hs_ahead_start(profile->recording, tracker, met ? met->aside : NULL,
				      met ? met->context : NULL);
	const struct hs_events *events;
	struct hs_error error = {""};
	const char *wrong = NULL;
	while (!wrong && (events = hs_ahead_next(state->ahead, &error))) {
		if (events->resolution_us > profile->facts.time_resolution_us)
			profile->facts.time_resolution_us = events->resolution_us;
		if (tracker->pass == HS_PASS_FULL)
			count_full(state, events);
		else if (tracker->pass == HS_PASS_NODES)
			hs_replay_count_nodes(state, events);
		else
			count_groups(state, events);
		state->events += events->tracked;
		if (!events->wrong)
			state->now_us = events->last_us;
		wrong = events->wrong;
		if (tracker->how.by_node && tracker->how.by_node->met_some)
			tracker->how.by_node->met_some(tracker->how.by_node->context);
		if (profile->progress)
			profile->progress("reading events", state->events, profile->recording->events);
	}
	if (!wrong && error.text[0])
		wrong = error.text;
	if (wrong && wrong != hs_events_stopped)
		hs_profile_warn(profile,
				"the recording is damaged after %" PRIu64 " of %" PRIu64
				" events (%s); only what came before counts",
				state->events, profile->recording->events, wrong);
	hs_ahead_stop(state->ahead);
	return !wrong;
}

static void end_life_of_survivor(const struct hs_block *block, uint64_t number, void *context)
{
	struct hs_replay_state *state = context;
	uint64_t lived_us = state->now_us - block->born_us;
	if (block->group == HS_LEFT_OUT)
		return;
	hs_tracker_note_life(state->out, block, lived_us, state->tracker.allocated_bytes);
	count_life(state, block->group, block->size, lived_us, false);
}

/* ---- from outside ---------------------------------------------------------------------------------------
 */

static enum hs_pass choose_pass(const struct hs_tracker *tracker)
{
	const struct hs_replay_how *how = &tracker->how;
	if (tracker->choice.filter || how->watch || how->by_thread || how->by_size || how->by_lifetime ||
	    how->slices)
		return HS_PASS_FULL;
	return how->by_node ? HS_PASS_NODES : HS_PASS_GROUPS;
}

static void start_tracker(struct hs_tracker *tracker, const struct hs_profile *profile,
			  const uint32_t *group_of_node, uint32_t group_count, struct hs_replay *out)
{
	tracker->profile = profile;
	tracker->out = out;
	tracker->node_groups = group_count;
	tracker->group_of_node = group_of_node;
	if (tracker->how.by_node)
		return;
	out->node_used = hs_allocate_zero(profile->node_count, sizeof *out->node_used);
	tracker->begun = hs_allocate_zero(group_count, sizeof *tracker->begun);
}

/* Room for so many nodes' counts costs nothing until they come: it is mostly never moved then. */
enum { NODES_AT_ONCE = 1 << 20 };

static void start_state(struct hs_replay_state *state, const struct hs_profile *profile,
			const uint32_t *group_of_node, uint32_t group_count, struct hs_replay *out)
{
	start_tracker(&state->tracker, profile, group_of_node, group_count, out);
	state->tracker.pass = choose_pass(&state->tracker);
	state->out = out;
	if (state->tracker.pass == HS_PASS_NODES) {
		state->nodes = hs_node_table_new(profile->node_count < NODES_AT_ONCE ? profile->node_count
										     : NODES_AT_ONCE);
	} else {
		state->group_capacity = group_count;
		state->groups = hs_allocate_zero(group_count, sizeof *state->groups);
	}
	state->heap.peak_number = 1; /* a group with the number 0 has none */
	hs_timeline_start(&state->timeline);
}

static void free_events_and_blocks(void *context)
{
	struct hs_replay_state *state = context;
	hs_ahead_free_events(state->ahead);
	hs_tracker_free_lanes(&state->tracker);
}

/* The rest but the groups. */
static void free_state(struct hs_replay_state *state)
{
	hs_ahead_free(state->ahead);
	hs_tracker_free(&state->tracker);
	free(state);
}

static void note_survivor(const struct hs_block *block, uint64_t number, void *context)
{
	struct hs_survivors *survivors = context;
	if (block->group == HS_LEFT_OUT)
		return;
	survivors->numbers = hs_grow(survivors->numbers, survivors->count, &survivors->capacity,
				     sizeof *survivors->numbers);
	survivors->numbers[survivors->count++] = number;
}

/* A pass of its own up to the moment of --at: finds the selected blocks that are live then. */
static void find_survivors(struct hs_profile *profile, struct hs_tracker *for_tracker)
{
	struct hs_replay replay = {0};
	struct hs_replay_state *state = hs_allocate_zero(1, sizeof *state);
	uint32_t *one_group = hs_allocate_zero(profile->node_count, sizeof *one_group);
	state->tracker.choice = for_tracker->choice;
	state->tracker.choice.stop = true;
	start_state(state, profile, one_group, 1, &replay);
	replay_events(profile, state);
	for (unsigned i = 0; i < HS_LANES; i++)
		hs_blocks_each(&state->tracker.lanes[i].blocks, note_survivor,
			       &for_tracker->lanes[i].survivors);
	state->tracker.choice.nodes = NULL; /* still needed */
	state->tracker.choice.spans = NULL;
	free(state->groups);
	free_events_and_blocks(state);
	free_state(state);
	free(one_group);
	hs_replay_free(&replay);
}

/* What the filter selects. */
static void choose(struct hs_profile *profile, const struct hs_filter *filter, struct hs_tracker *tracker)
{
	struct hs_choice *choice = &tracker->choice;
	choice->filter = filter;
	choice->nodes = hs_filter_nodes(filter, profile);
	if (filter->phase_count)
		choice->spans = hs_filter_spans(filter, profile, &choice->span_count);
	if (filter->at_us != HS_TIME_NONE)
		find_survivors(profile, tracker);
}

int hs_replay_run(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		  struct hs_replay *replay, struct hs_error *error)
{
	return hs_replay_run_as(profile, group_of_node, group_count, &(struct hs_replay_how){0}, replay,
				error);
}

static void start_slices(struct hs_tracker *tracker, const struct hs_recording *recording)
{
	uint64_t most = recording->expected.known ? recording->expected.allocations : recording->events;
	uint32_t slices = tracker->how.slices;
	tracker->slice_blocks = most / slices + (most % slices != 0);
	if (tracker->slice_blocks == 0)
		tracker->slice_blocks = 1;
}

/* The system takes as long to get much memory back as it takes to sum up many groups. */
static void finish(struct hs_replay_state *state)
{
	enum { GROUPS_WORTH_A_THREAD = 16384 };
	struct hs_aside aside;
	if (state->tracker.node_groups < GROUPS_WORTH_A_THREAD) {
		free_events_and_blocks(state);
		hs_replay_finish(state);
		return;
	}
	hs_aside_begin(&aside, free_events_and_blocks, state);
	hs_replay_finish(state);
	hs_aside_end(&aside);
}

int hs_replay_run_as(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		     const struct hs_replay_how *how, struct hs_replay *replay, struct hs_error *error)
{
	const struct hs_filter *filter = hs_filter_selects_all(profile->filter) ? NULL : profile->filter;
	*replay = (struct hs_replay){.group_count = group_count, .unknown = profile->facts.unknown};
	for (uint32_t i = 0; i < profile->node_count && !how->by_node; i++)
		if (group_of_node[i] >= group_count)
			return hs_fail(error, "node %u has no group", i);
	if (filter && filter->threads.count && profile->facts.unknown & HS_TOLD_THREADS)
		return hs_fail(error,
			       "the file does not tell which thread allocated what: it cannot be filtered "
			       "by thread");
	if (profile->counted)
		return hs_counts_replay(profile, group_of_node, how, replay, error);
	struct hs_replay_state *state = hs_allocate_zero(1, sizeof *state);
	state->tracker.how = *how;
	if (filter)
		choose(profile, filter, &state->tracker);
	if (how->slices)
		start_slices(&state->tracker, profile->recording);
	start_state(state, profile, group_of_node, group_count, replay);
	bool complete = replay_events(profile, state);
	hs_replay_end_time(state, profile);
	for (unsigned i = 0; i < HS_LANES; i++)
		if (state->tracker.lanes[i].blocks.births)
			hs_blocks_each(&state->tracker.lanes[i].blocks, end_life_of_survivor, state);
	finish(state);
	if (complete)
		hs_profile_compare_totals(profile, &replay->all);
	free_state(state);
	return 0;
}

void hs_replay_free(struct hs_replay *replay)
{
	free(replay->groups);
	hs_node_table_free(replay->nodes);
	free(replay->timeline);
	free(replay->node_used);
	free(replay->parts);
	free(replay->slice_us);
	free(replay->threads);
	*replay = (struct hs_replay){0};
}
