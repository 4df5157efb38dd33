/* The replay: one pass over the events that keeps the live blocks and adds up each group's counts. The peak
 * is found in the same pass: every time the heap reaches its maximum the peak gets a new number; a group
 * whose live bytes are about to change first saves them as its at-peak value if it has not done so for that
 * number.
 *
 * The pass is compiled twice: for all blocks, and with filter, parts and watch. Blocks that are not selected
 * count there as a rest: the heap, and so the peak, is always the whole program's. */
#include "base/memory.h"
#include "events.h"
#include "internal.h"
#include "replay_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Plain: all blocks, by the caller's groups, nobody watches. Constant in each of the two passes. */
enum pass { PASS_PLAIN, PASS_FULL };
#define IN_PASS static inline __attribute__((always_inline))

/* Bits that the value takes, 63 at most: without a branch for 0. */
static unsigned bucket(uint64_t value)
{
	return 63 - (unsigned)__builtin_clzll(value * 2 + 1);
}

/* After blocks began: has the group, has the heap reached its maximum? */
IN_PASS void check_maxima(struct hs_replay_state *state, struct hs_group_state *counts, enum pass pass)
{
	struct hs_selection *selection = &state->selection;
	if (counts->live_bytes >= counts->max_bytes) {
		counts->max_bytes = counts->live_bytes;
		counts->max_blocks = counts->live_blocks;
	}
	if (state->heap_bytes >= state->peak_bytes &&
	    (pass == PASS_PLAIN || !selection->filter || selection->filter->at_us == HS_TIME_NONE)) {
		state->peak_bytes = state->heap_bytes;
		state->peak_blocks = state->heap_blocks;
		state->peak_us = state->now_us;
		state->peak_number++;
	}
	uint64_t *most = &state->timeline.most_bytes[state->timeline.count - 1];
	uint64_t bytes = pass == PASS_PLAIN ? state->heap_bytes : selection->bytes;
	if (bytes > *most)
		*most = bytes;
}

/* The part of a group with that key. */
static uint32_t find_part(struct hs_replay_state *state, uint32_t group, uint32_t key)
{
	bool added;
	uint32_t part = state->node_groups + hs_pairs_add(&state->parts, group, key, &added);
	if (added) {
		state->groups = hs_grow(state->groups, part, &state->group_capacity, sizeof *state->groups);
		state->begun = hs_grow(state->begun, part, &state->begun_capacity, sizeof *state->begun);
		state->groups[part] = (struct hs_group_state){0};
		state->begun[part] = true;
	}
	return part;
}

IN_PASS struct hs_group_state *counts_of(struct hs_replay_state *state, uint32_t group, enum pass pass)
{
	return pass == PASS_FULL && group == HS_LEFT_OUT ? &state->selection.rest : &state->groups[group];
}

static void count_life(struct hs_replay_state *state, const struct hs_block *block, uint64_t lived_us,
		       bool freed)
{
	if (state->how.watch)
		state->how.watch->lived(state->how.watch->context, block->group, lived_us);
	if (!state->how.by_lifetime)
		return;
	uint32_t index = find_part(state, block->group, freed ? bucket(lived_us) : HS_BUCKET_LIVE);
	struct hs_group_state *part = &state->groups[index]; /* which may just have moved */
	part->allocations++;
	part->allocated_bytes += block->size;
	part->lifetime_us += lived_us;
}

IN_PASS void end_life(struct hs_replay_state *state, const struct hs_block *block, enum pass pass, bool freed)
{
	uint64_t lived_us = state->now_us - block->born_us;
	counts_of(state, block->group, pass)->lifetime_us += lived_us;
	if (pass == PASS_FULL && block->group == HS_LEFT_OUT)
		return;
	state->out->lifetime_blocks[bucket(lived_us)]++;
	state->out->lifetime_bytes_blocks[bucket(state->allocated_bytes - block->born_bytes)]++;
	if (pass == PASS_FULL)
		count_life(state, block, lived_us, freed);
}

IN_PASS void remove_live(struct hs_replay_state *state, const struct hs_block *block, enum pass pass)
{
	bool selected = pass == PASS_PLAIN || block->group != HS_LEFT_OUT;
	if (selected)
		hs_replay_save_peak(state, block->group);
	struct hs_group_state *counts = counts_of(state, block->group, pass);
	counts->live_bytes -= block->size;
	counts->live_blocks--;
	state->heap_bytes -= block->size;
	state->heap_blocks--;
	if (pass == PASS_PLAIN || !selected)
		return;
	state->selection.bytes -= block->size;
	state->selection.blocks--;
	if (state->how.watch)
		state->how.watch->end(state->how.watch->context, block->group, block->size, state->now_us);
}

/* Whether the event lies in one of the selected phases. */
static bool in_phase(struct hs_selection *selection, uint64_t event)
{
	while (selection->next_span < selection->span_count &&
	       selection->spans[selection->next_span].end <= event)
		selection->next_span++;
	return selection->next_span < selection->span_count &&
	       selection->spans[selection->next_span].first <= event;
}

/* Where the replay is. */
struct cursor {
	const struct hs_event *event;
	struct hs_lane_state *lane;    /* of the event */
	struct hs_thread_state *owner; /* of the event */
	uint32_t thread, place;        /* its number; the lane's */
};

/* Whether the block that is about to begin is selected. */
static inline bool is_selected(struct hs_replay_state *state, const struct cursor *cursor)
{
	uint32_t node = cursor->event->node;
	uint64_t size = cursor->event->size;
	struct hs_selection *selection = &state->selection;
	const struct hs_filter *filter = selection->filter;
	if (!filter)
		return true;
	struct hs_survivors *survivors = &cursor->lane->survivors;
	bool survives = survivors->next < survivors->count &&
			survivors->numbers[survivors->next] == cursor->lane->blocks.count;
	survivors->next += survives;
	return selection->nodes[node] && cursor->owner->selected && size >= filter->least_bytes &&
	       size <= filter->most_bytes && state->now_us >= filter->from_us &&
	       state->now_us < filter->to_us && (!selection->spans || in_phase(selection, state->events)) &&
	       (survives || filter->at_us == HS_TIME_NONE || selection->stop);
}

/* Allocations so far. */
static uint64_t allocations_begun(const struct hs_replay_state *state)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < HS_LANES; i++)
		count += state->lanes[i].blocks.count;
	return count;
}

/* The slice of the run that the block that is about to begin is in. */
static uint32_t choose_slice(struct hs_replay_state *state)
{
	struct hs_replay *out = state->out;
	/* the file may have more allocations than it says: they are all in the last slice */
	uint64_t count = allocations_begun(state);
	while (count >= state->slice_end && out->slice_count < state->how.slices) {
		out->slice_us = hs_grow(out->slice_us, out->slice_count, &state->slice_capacity,
					sizeof *out->slice_us);
		out->slice_us[out->slice_count++] = state->now_us;
		state->slice_end += state->slice_blocks;
	}
	return out->slice_count - 1;
}

static __attribute__((noinline)) uint32_t add_group(struct hs_replay_state *state, uint32_t node)
{
	uint32_t group = state->node_groups++;
	state->groups = hs_grow(state->groups, group, &state->group_capacity, sizeof *state->groups);
	state->begun = hs_grow(state->begun, group, &state->begun_capacity, sizeof *state->begun);
	state->begun[group] = false;
	return state->out->group_of_node[node] = group;
}

/* The group of a block that is about to begin. The caller's groups stand for the key 0. */
IN_PASS uint32_t choose_group(struct hs_replay_state *state, const struct cursor *cursor, enum pass pass)
{
	if (pass == PASS_FULL && !is_selected(state, cursor))
		return HS_LEFT_OUT;
	uint32_t group = state->group_of_node[cursor->event->node];
	if (__builtin_expect(group == HS_NO_GROUP, 0))
		group = add_group(state, cursor->event->node);
	if (pass == PASS_PLAIN)
		return group;
	uint32_t key = state->how.by_thread ? cursor->thread
		       : state->how.by_size ? bucket(cursor->event->size)
		       : state->how.slices  ? choose_slice(state)
					    : 0;
	return key ? find_part(state, group, key) : group;
}

static inline void add_selected(struct hs_replay_state *state, uint64_t size)
{
	struct hs_selection *selection = &state->selection;
	selection->events++;
	selection->bytes += size;
	selection->blocks++;
	if (selection->bytes < selection->max_bytes)
		return;
	selection->max_bytes = selection->bytes;
	selection->max_blocks = selection->blocks;
	selection->max_us = state->now_us;
}

static __attribute__((noinline)) void begin_group(struct hs_replay_state *state, uint32_t group)
{
	state->begun[group] = true;
	/* it is zero already, but a page that is read first costs a second fault when it is written */
	state->groups[group] = (struct hs_group_state){0};
}

/* Before the group of a selected block is touched. */
IN_PASS void note_use(struct hs_replay_state *state, uint32_t node, uint32_t group, enum pass pass)
{
	if (pass == PASS_PLAIN && __builtin_expect(state->node_used[node], 1))
		return;
	state->node_used[node] = true;
	if (!state->begun[group])
		begin_group(state, group);
}

/* Returns the counts that the block went to. */
IN_PASS struct hs_group_state *begin_block(struct hs_replay_state *state, const struct cursor *cursor,
					   enum pass pass)
{
	struct hs_lane_state *lane = cursor->lane;
	uint64_t size = cursor->event->size;
	uint32_t group = choose_group(state, cursor, pass);
	bool selected = pass == PASS_PLAIN || group != HS_LEFT_OUT;
	struct hs_group_state *counts = counts_of(state, group, pass);
	if (selected) {
		note_use(state, cursor->event->node, group, pass);
		hs_replay_save_peak(state, group);
		state->out->size_blocks[bucket(size)]++;
		state->out->size_bytes[bucket(size)] += size;
	}
	counts->allocated_bytes += size;
	counts->allocations++;
	counts->live_bytes += size;
	counts->live_blocks++;
	state->heap_bytes += size;
	state->heap_blocks++;
	state->allocated_bytes += size;
	if (pass == PASS_FULL && selected)
		add_selected(state, size);
	check_maxima(state, counts, pass);
	cursor->owner->latest = lane->blocks.count + 1;
	*hs_blocks_begin(&lane->blocks) =
		(struct hs_block){size, group, cursor->thread, state->now_us, state->allocated_bytes};
	if (pass == PASS_FULL && selected && state->how.watch)
		state->how.watch->begin(state->how.watch->context, group, size, state->now_us);
	return counts;
}

/* ---- one event ------------------------------------------------------------------------------------------
 */

/* Where the block is that the event ends. */
IN_PASS struct hs_blocks *ended_home(struct hs_replay_state *state, const struct cursor *cursor)
{
	unsigned further = cursor->event->kind / HS_EVENT_KINDS;
	return __builtin_expect(further == 0, 1) ? &cursor->lane->blocks
						 : &state->lanes[(cursor->place + further) % HS_LANES].blocks;
}

static const char *const no_such_block = "an event ends a block that is not live";

IN_PASS const char *replay_free(struct hs_replay_state *state, const struct cursor *cursor, enum pass pass)
{
	uint64_t number = cursor->event->ended;
	struct hs_blocks *home = ended_home(state, cursor);
	struct hs_block *block = hs_blocks_find(home, number);
	if (!block)
		return no_such_block;
	end_life(state, block, pass, true);
	remove_live(state, block, pass);
	if (state->threads[block->thread].latest == number + 1) {
		struct hs_group_state *counts = counts_of(state, block->group, pass);
		counts->temporary++;
		counts->temporary_bytes += block->size;
	}
	if (pass == PASS_FULL && block->group != HS_LEFT_OUT) {
		state->selection.events++;
		state->selection.frees++;
	}
	hs_blocks_end(home, number, block);
	state->frees++;
	return NULL;
}

/* The old block ends and the new one begins in one step: maxima see only the outcome. */
IN_PASS const char *replay_realloc(struct hs_replay_state *state, const struct cursor *cursor, bool moved,
				   enum pass pass)
{
	uint64_t number = cursor->event->ended, size = cursor->event->size;
	struct hs_blocks *home = ended_home(state, cursor);
	struct hs_block *block = hs_blocks_find(home, number);
	if (!block)
		return no_such_block;
	uint64_t old_size = block->size, events = state->selection.events;
	bool counted = pass == PASS_FULL && block->group != HS_LEFT_OUT;
	end_life(state, block, pass, true);
	remove_live(state, block, pass);
	hs_blocks_end(home, number, block);
	struct hs_group_state *counts = begin_block(state, cursor, pass);
	if (counted) /* once, whether or not the new block is selected too */
		state->selection.events = events + 1;
	counts->reallocations++;
	if (moved) {
		counts->moved++;
		counts->moved_bytes += old_size < size ? old_size : size;
	}
	return NULL;
}

/* ---- all events -----------------------------------------------------------------------------------------
 */

static void add_thread(struct hs_replay_state *state, uint32_t id)
{
	state->threads =
		hs_grow(state->threads, state->thread_count, &state->thread_capacity, sizeof *state->threads);
	state->threads[state->thread_count++] = (struct hs_thread_state){
		.id = id,
		.selected = !state->selection.filter ||
			    hs_filter_thread(state->selection.filter, state->profile, id),
	};
}

/* No error: the rest of the events does not matter. */
static const char *const stopped = "";

/* Replays one member. Returns NULL, or what is wrong with the event after the last one that counted. */
IN_PASS const char *replay_member(struct hs_replay_state *state, const struct hs_events *events,
				  enum pass pass)
{
	uint32_t at = 0;
	const uint32_t *new_thread = events->new_threads;
	const struct hs_event *next = events->events;
	for (unsigned i = 0; i < HS_LANES; i++) {
		state->lanes[i].next = next;
		next += events->lane_events[i];
	}
	for (uint32_t run = 0; at < events->decoded; run++) {
		uint32_t thread = events->run_threads[run], length = events->run_lengths[run];
		if (thread == state->thread_count)
			add_thread(state, *new_thread++);
		struct hs_thread_state *owner = &state->threads[thread];
		struct hs_lane_state *lane = &state->lanes[owner->id % HS_LANES];
		struct cursor cursor = {lane->next, lane, owner, thread, owner->id % HS_LANES};
		lane->next += length;
		if (length > events->decoded - at)
			length = events->decoded - at;
		for (uint32_t end = at + length; at < end; at++) {
			uint64_t now = events->times_us[at];
			if (pass == PASS_FULL && state->selection.filter &&
			    now > state->selection.filter->at_us && !state->selection.reached) {
				hs_replay_reach_moment(state);
				if (state->selection.stop)
					return stopped;
			}
			if (now >= state->timeline.end_us) {
				if (now > HS_TIME_MOST)
					return "its time is impossible";
				hs_timeline_advance(&state->timeline, now,
						    pass == PASS_PLAIN ? state->heap_bytes
								       : state->selection.bytes);
			}
			state->now_us = now;
			if (pass == PASS_FULL && state->how.watch && state->how.watch->event)
				state->how.watch->event(state->how.watch->context, state->events);
			const char *wrong = NULL;
			switch (cursor.event->kind % HS_EVENT_KINDS) {
			case HS_EVENT_ALLOC:
				begin_block(state, &cursor, pass);
				break;
			case HS_EVENT_FREE:
				wrong = replay_free(state, &cursor, pass);
				break;
			default:
				wrong = replay_realloc(state, &cursor,
						       cursor.event->kind % HS_EVENT_KINDS == HS_EVENT_MOVE,
						       pass);
			}
			if (wrong)
				return wrong;
			state->events++;
			cursor.event++;
		}
	}
	if (!events->wrong)
		state->now_us = events->last_us;
	return events->wrong;
}

static const char *replay_plain(struct hs_replay_state *state, const struct hs_events *events)
{
	return replay_member(state, events, PASS_PLAIN);
}

static const char *replay_full(struct hs_replay_state *state, const struct hs_events *events)
{
	return replay_member(state, events, PASS_FULL);
}

/* Returns whether all events were read that matter; else the profile has a warning. */
static bool replay_events(struct hs_profile *profile, struct hs_replay_state *state)
{
	struct hs_ahead *ahead = hs_ahead_start(profile->recording, profile->node_count);
	const struct hs_events *events;
	struct hs_error error = {""};
	const char *wrong = NULL;
	const struct hs_replay_how *how = &state->how;
	bool full = state->selection.filter || how->watch || how->by_thread || how->by_size ||
		    how->by_lifetime || how->slices;
	while (!wrong && (events = hs_ahead_next(ahead, &error))) {
		if (events->resolution_us > profile->facts.time_resolution_us)
			profile->facts.time_resolution_us = events->resolution_us;
		wrong = full ? replay_full(state, events) : replay_plain(state, events);
		if (profile->progress)
			profile->progress("reading events", state->events, profile->recording->events);
	}
	if (!wrong && error.text[0])
		wrong = error.text;
	if (wrong && wrong != stopped)
		hs_profile_warn(profile,
				"the recording is damaged after %" PRIu64 " of %" PRIu64
				" events (%s); only what came before counts",
				state->events, profile->recording->events, wrong);
	hs_ahead_stop(ahead);
	return !wrong;
}

static void end_life_of_survivor(const struct hs_block *block, uint64_t number, void *context)
{
	(void)number;
	end_life(context, block, PASS_FULL, false);
}

/* ---- from outside ---------------------------------------------------------------------------------------
 */

/* Room for so many groups of nodes costs nothing until they come: it is never moved then. */
enum { GROUPS_AT_ONCE = 1 << 20 };

static void start_state(struct hs_replay_state *state, const struct hs_profile *profile,
			const uint32_t *group_of_node, uint32_t group_count, struct hs_replay *out)
{
	state->profile = profile;
	state->out = out;
	state->node_used = out->node_used = hs_allocate_zero(profile->node_count, sizeof *out->node_used);
	state->node_groups = group_count;
	state->group_capacity = state->begun_capacity = group_count;
	if (state->how.by_node) {
		out->group_of_node = hs_allocate_filled(profile->node_count * sizeof *out->group_of_node);
		state->group_capacity =
			profile->node_count < GROUPS_AT_ONCE ? profile->node_count : GROUPS_AT_ONCE;
		state->groups = hs_allocate_filled(state->group_capacity * sizeof *state->groups);
		memset(out->group_of_node, 0xff, profile->node_count * sizeof *out->group_of_node);
		group_of_node = out->group_of_node;
	} else {
		state->groups = hs_allocate_zero(group_count, sizeof *state->groups);
		state->begun = hs_allocate_zero(group_count, sizeof *state->begun);
	}
	state->group_of_node = group_of_node;
	state->peak_number = 1; /* a group with the number 0 has none */
	hs_timeline_start(&state->timeline);
}

/* All but the groups. */
static void free_state(struct hs_replay_state *state)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		hs_blocks_free(&state->lanes[i].blocks);
		free(state->lanes[i].survivors.numbers);
	}
	hs_pairs_free(&state->parts);
	free(state->selection.nodes);
	free(state->selection.spans);
	free(state->begun);
	free(state->threads);
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
static void find_survivors(struct hs_profile *profile, struct hs_replay_state *for_state)
{
	struct hs_replay replay = {0};
	struct hs_replay_state *state = hs_allocate_zero(1, sizeof *state);
	uint32_t *one_group = hs_allocate_zero(profile->node_count, sizeof *one_group);
	start_state(state, profile, one_group, 1, &replay);
	state->selection = for_state->selection;
	state->selection.stop = true;
	replay_events(profile, state);
	for (unsigned i = 0; i < HS_LANES; i++)
		hs_blocks_each(&state->lanes[i].blocks, note_survivor, &for_state->lanes[i].survivors);
	state->selection.nodes = NULL; /* still needed */
	state->selection.spans = NULL;
	free(state->groups);
	free_state(state);
	free(one_group);
	hs_replay_free(&replay);
}

int hs_replay_run(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		  struct hs_replay *replay, struct hs_error *error)
{
	return hs_replay_run_as(profile, group_of_node, group_count, &(struct hs_replay_how){0}, replay,
				error);
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
	state->how = *how;
	start_state(state, profile, group_of_node, group_count, replay);
	if (how->slices) {
		const struct hs_recording *recording = profile->recording;
		uint64_t most =
			recording->expected.known ? recording->expected.allocations : recording->events;
		state->slice_blocks = most / how->slices + (most % how->slices != 0);
		if (state->slice_blocks == 0)
			state->slice_blocks = 1;
	}
	if (filter) {
		state->selection.filter = filter;
		state->selection.nodes = hs_filter_nodes(filter, profile);
		if (filter->phase_count)
			state->selection.spans =
				hs_filter_spans(filter, profile, &state->selection.span_count);
		if (filter->at_us != HS_TIME_NONE)
			find_survivors(profile, state);
	}
	bool complete = replay_events(profile, state);
	hs_replay_end_time(state, profile);
	for (unsigned i = 0; i < HS_LANES; i++)
		hs_blocks_each(&state->lanes[i].blocks, end_life_of_survivor, state);
	hs_replay_finish(state);
	if (complete)
		hs_profile_compare_totals(profile, &replay->all);
	free_state(state);
	return 0;
}

void hs_replay_free(struct hs_replay *replay)
{
	free(replay->groups);
	free(replay->timeline);
	free(replay->node_used);
	free(replay->group_of_node);
	free(replay->parts);
	free(replay->slice_us);
	free(replay->threads);
	*replay = (struct hs_replay){0};
}
