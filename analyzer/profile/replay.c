/* The replay: one pass over the events that keeps the live blocks and adds up each group's counts. The peak
 * is found in the same pass: every time the heap reaches its maximum the peak gets a new number; a group
 * whose live bytes are about to change first saves them as its at-peak value if it has not done so for that
 * number. */
#include "base/memory.h"
#include "blocks.h"
#include "events.h"
#include "internal.h"
#include "pairs.h"
#include "timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No block is larger than the address space (57 bits), no clock runs for 2000 years, and sums stay within 63
 * bits. */
#define SIZE_MOST (1ULL << 57)
#define TIME_MOST (1ULL << 56)
#define SUM_MOST ((uint64_t)INT64_MAX - SIZE_MOST)

struct node_state {
	uint32_t successor; /* the node that followed it last */
	uint32_t group;
	uint64_t size : 63; /* last size seen with it */
	uint64_t used : 1;  /* has allocations */
};

struct thread_state {
	uint64_t latest; /* number + 1 of its latest allocation; 0 none */
	uint32_t node;   /* of that allocation */
};

struct state {
	struct hs_replay *out;
	struct hs_counts *groups;
	uint64_t *stamps; /* of groups: the peak number that their at-peak values belong to */
	struct node_state *nodes;
	uint32_t node_count;
	struct thread_state *threads;
	size_t thread_capacity;
	struct hs_pairs thread_ids;
	struct hs_blocks blocks;
	uint64_t heap_bytes, heap_blocks, allocated_bytes, now_us;
	uint64_t peak_number, peak_bytes, peak_blocks, peak_us;
	uint64_t frees, events;
	struct hs_timeline timeline;
	const struct hs_watch *watch; /* or NULL */
	bool by_thread;
	uint32_t node_groups;  /* groups that the caller gave: those of the first thread */
	struct hs_pairs parts; /* by thread: group, thread number; index + node_groups is the part */
	size_t group_capacity, stamp_capacity;
};

/* The group that the blocks of another thread than the first go to. */
static uint32_t part_of(struct state *state, uint32_t group, uint32_t thread)
{
	bool added;
	uint32_t part = state->node_groups + hs_pairs_add(&state->parts, group, thread, &added);
	if (added) {
		state->groups = hs_grow(state->groups, part, &state->group_capacity, sizeof *state->groups);
		state->stamps = hs_grow(state->stamps, part, &state->stamp_capacity, sizeof *state->stamps);
		state->groups[part] = (struct hs_counts){0};
		state->stamps[part] = 0;
	}
	return part;
}

static unsigned bucket(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Before a group's live blocks change. */
static inline void save_peak(struct state *state, uint32_t group)
{
	if (state->stamps[group] == state->peak_number)
		return;
	struct hs_counts *counts = &state->groups[group];
	state->stamps[group] = state->peak_number;
	counts->peak_bytes = counts->live_bytes;
	counts->peak_blocks = counts->live_blocks;
}

/* After blocks began: has the group, has the heap reached its maximum? */
static inline void check_maxima(struct state *state, struct hs_counts *counts)
{
	if (counts->live_bytes >= counts->max_bytes) {
		counts->max_bytes = counts->live_bytes;
		counts->max_blocks = counts->live_blocks;
	}
	if (state->heap_bytes >= state->peak_bytes) {
		state->peak_bytes = state->heap_bytes;
		state->peak_blocks = state->heap_blocks;
		state->peak_us = state->now_us;
		state->peak_number++;
	}
	uint64_t *most = &state->timeline.most_bytes[state->timeline.count - 1];
	if (state->heap_bytes > *most)
		*most = state->heap_bytes;
}

static inline void end_life(struct state *state, const struct hs_block *block)
{
	uint64_t lived_us = state->now_us - block->born_us;
	state->groups[block->group].lifetime_us += lived_us;
	state->out->lifetime_blocks[bucket(lived_us)]++;
	state->out->lifetime_bytes_blocks[bucket(state->allocated_bytes - block->born_bytes)]++;
	if (state->watch)
		state->watch->lived(state->watch->context, block->group, lived_us);
}

static inline void remove_live(struct state *state, const struct hs_block *block)
{
	struct hs_counts *counts = &state->groups[block->group];
	save_peak(state, block->group);
	counts->live_bytes -= block->size;
	counts->live_blocks--;
	state->heap_bytes -= block->size;
	state->heap_blocks--;
	if (state->watch)
		state->watch->end(state->watch->context, block->group, block->size, state->now_us);
}

/* Returns the counts that the block went to. */
static inline struct hs_counts *begin_block(struct state *state, uint32_t thread, uint32_t node,
					    uint64_t size)
{
	struct node_state *place = &state->nodes[node];
	uint32_t group = place->group;
	if (state->by_thread && thread)
		group = part_of(state, group, thread);
	struct hs_counts *counts = &state->groups[group];
	place->size = size;
	place->used = 1;
	save_peak(state, group);
	counts->allocated_bytes += size;
	counts->allocations++;
	counts->live_bytes += size;
	counts->live_blocks++;
	state->heap_bytes += size;
	state->heap_blocks++;
	state->allocated_bytes += size;
	state->out->size_blocks[bucket(size)]++;
	state->out->size_bytes[bucket(size)] += size;
	check_maxima(state, counts);
	state->threads[thread].latest = state->blocks.count + 1;
	*hs_blocks_begin(&state->blocks) =
		(struct hs_block){size, group, thread, state->now_us, state->allocated_bytes};
	if (state->watch)
		state->watch->begin(state->watch->context, group, size, state->now_us);
	return counts;
}

/* ---- one event ------------------------------------------------------------------------------------------
 */

struct cursor {
	const struct hs_events *events;
	const uint32_t *node; /* the next codes */
	const uint64_t *size, *distance;
};

/* Decodes the block that the event ends. Returns NULL if there is no such live block. */
static inline struct hs_block *ended_block(struct state *state, struct cursor *cursor, uint64_t *number)
{
	uint64_t distance = *cursor->distance++;
	if (distance >= state->blocks.count)
		return NULL;
	*number = state->blocks.count - 1 - distance;
	return hs_blocks_find(&state->blocks, *number);
}

/* Decodes node and size of the block that the event begins. Returns NULL, or what is wrong. */
static inline const char *begun_block(struct state *state, struct cursor *cursor, struct thread_state *thread,
				      uint32_t *node, uint64_t *size)
{
	uint32_t node_code = *cursor->node++;
	uint64_t size_code = *cursor->size++;
	struct node_state *previous = &state->nodes[thread->node];
	if (node_code == 0) {
		*node = previous->successor;
	} else {
		/* zigzag */
		int64_t step = (int64_t)((node_code - 1) >> 1) ^ -(int64_t)((node_code - 1) & 1);
		int64_t id = (int64_t)thread->node + step;
		if (id < 0 || id >= (int64_t)state->node_count)
			return "an allocation has a stack that is not in the file";
		*node = (uint32_t)id;
	}
	*size = size_code ? size_code - 1 : state->nodes[*node].size;
	if (*size > SIZE_MOST || state->allocated_bytes > SUM_MOST)
		return "an allocation has an impossible size";
	previous->successor = *node;
	thread->node = *node;
	return NULL;
}

static const char *const no_such_block = "an event ends a block that is not live";

static inline const char *replay_free(struct state *state, struct cursor *cursor)
{
	uint64_t number;
	struct hs_block *block = ended_block(state, cursor, &number);
	if (!block)
		return no_such_block;
	end_life(state, block);
	remove_live(state, block);
	if (state->threads[block->thread].latest == number + 1) {
		state->groups[block->group].temporary++;
		state->groups[block->group].temporary_bytes += block->size;
	}
	hs_blocks_end(&state->blocks, number, block);
	state->frees++;
	return NULL;
}

/* The old block ends and the new one begins in one step: maxima see only the outcome. */
static inline const char *replay_realloc(struct state *state, struct cursor *cursor, uint32_t thread,
					 bool moved)
{
	uint64_t number, size;
	uint32_t node;
	struct hs_block *block = ended_block(state, cursor, &number);
	if (!block)
		return no_such_block;
	const char *wrong = begun_block(state, cursor, &state->threads[thread], &node, &size);
	if (wrong)
		return wrong;
	uint64_t old_size = block->size;
	end_life(state, block);
	remove_live(state, block);
	hs_blocks_end(&state->blocks, number, block);
	struct hs_counts *counts = begin_block(state, thread, node, size);
	counts->reallocations++;
	if (moved) {
		counts->moved++;
		counts->moved_bytes += old_size < size ? old_size : size;
	}
	return NULL;
}

static inline const char *replay_allocation(struct state *state, struct cursor *cursor, uint32_t thread)
{
	uint64_t size;
	uint32_t node;
	const char *wrong = begun_block(state, cursor, &state->threads[thread], &node, &size);
	if (!wrong)
		begin_block(state, thread, node, size);
	return wrong;
}

/* ---- all events -----------------------------------------------------------------------------------------
 */

/* Threads get dense numbers in the order of their first event, whatever their ids are. */
static uint32_t thread_number(struct state *state, uint32_t id)
{
	bool added;
	uint32_t number = hs_pairs_add(&state->thread_ids, id, 0, &added);
	if (added) {
		state->threads =
			hs_grow(state->threads, number, &state->thread_capacity, sizeof *state->threads);
		state->threads[number] = (struct thread_state){0};
	}
	return number;
}

/* Replays one member. Returns NULL, or what is wrong with the event after the last one that counted. */
static const char *replay_member(struct state *state, const struct hs_events *events)
{
	struct cursor cursor = {events, events->nodes, events->sizes, events->distances};
	uint32_t at = 0;
	if (events->allocations_before != state->blocks.count || events->previous_us != state->now_us)
		return "events before it are missing";
	for (uint32_t run = 0; run < events->run_count; run++) {
		uint32_t thread = thread_number(state, events->run_threads[run]);
		for (uint32_t end = at + events->run_lengths[run]; at < end; at++) {
			uint64_t now = events->times_us[at];
			if (now >= state->timeline.end_us) {
				if (now > TIME_MOST)
					return "its time is impossible";
				hs_timeline_advance(&state->timeline, now, state->heap_bytes);
			}
			state->now_us = now;
			const char *wrong;
			switch (events->kinds[at]) {
			case HS_EVENT_ALLOC:
				wrong = replay_allocation(state, &cursor, thread);
				break;
			case HS_EVENT_FREE:
				wrong = replay_free(state, &cursor);
				break;
			default:
				wrong = replay_realloc(state, &cursor, thread,
						       events->kinds[at] == HS_EVENT_MOVE);
			}
			if (wrong)
				return wrong;
			state->events++;
		}
	}
	return NULL;
}

/* Returns whether all events were read; else the profile has a warning. */
static bool replay_events(struct hs_profile *profile, struct state *state)
{
	struct hs_ahead *ahead = hs_ahead_start(profile->recording);
	const struct hs_events *events;
	struct hs_error error;
	const char *wrong = NULL;
	while (!wrong && (events = hs_ahead_next(ahead, &error)))
		wrong = replay_member(state, events);
	if (!wrong && error.text[0])
		wrong = error.text;
	if (wrong)
		hs_profile_warn(profile,
				"the recording is damaged after %" PRIu64 " of %" PRIu64
				" events (%s); only what came before counts",
				state->events, profile->recording->events, wrong);
	hs_ahead_stop(ahead);
	return !wrong;
}

static void end_life_of_survivor(const struct hs_block *block, void *context)
{
	end_life(context, block);
}

static void finish(struct state *state, struct hs_profile *profile)
{
	struct hs_replay *out = state->out;
	struct hs_totals *totals = &out->totals;
	if (profile->facts.duration_us < state->now_us)
		profile->facts.duration_us = state->now_us;
	if (profile->facts.duration_us <= TIME_MOST)
		state->now_us = profile->facts.duration_us;
	hs_timeline_advance(&state->timeline, state->now_us, state->heap_bytes);
	hs_blocks_each(&state->blocks, end_life_of_survivor, state);
	out->groups = state->groups;
	out->group_count = state->node_groups + state->parts.count;
	for (uint32_t g = 0; g < out->group_count; g++) {
		struct hs_counts *counts = &state->groups[g];
		save_peak(state, g);
		totals->counts.allocated_bytes += counts->allocated_bytes;
		totals->counts.allocations += counts->allocations;
		totals->counts.temporary_bytes += counts->temporary_bytes;
		totals->counts.temporary += counts->temporary;
		totals->counts.moved_bytes += counts->moved_bytes;
		totals->counts.moved += counts->moved;
		totals->counts.reallocations += counts->reallocations;
		totals->counts.lifetime_us += counts->lifetime_us;
	}
	totals->counts.live_bytes = state->heap_bytes;
	totals->counts.live_blocks = state->heap_blocks;
	totals->counts.peak_bytes = totals->counts.max_bytes = state->peak_bytes;
	totals->counts.peak_blocks = totals->counts.max_blocks = state->peak_blocks;
	totals->peak_us = state->peak_us;
	totals->events = state->events;
	totals->frees = state->frees;
	out->timeline = hs_timeline_points(&state->timeline);
	out->point_count = state->timeline.count;
	out->node_used = hs_allocate_zero(state->node_count, sizeof *out->node_used);
	for (uint32_t i = 0; i < state->node_count; i++)
		out->node_used[i] = state->nodes[i].used;
}

void hs_profile_compare_totals(struct hs_profile *profile, const struct hs_totals *totals)
{
	const struct hs_expected *expected = &profile->recording->expected;
	const struct {
		const char *name;
		uint64_t here, there;
	} checks[] = {
		{"events", totals->events, expected->events},
		{"allocations", totals->counts.allocations, expected->allocations},
		{"frees", totals->frees, expected->frees},
		{"allocated bytes", totals->counts.allocated_bytes, expected->allocated_bytes},
		{"peak bytes", totals->counts.peak_bytes, expected->peak_bytes},
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

/* Whose part each group is, and the threads' ids. */
static void write_parts(struct state *state)
{
	struct hs_replay *out = state->out;
	out->parts = hs_allocate_zero(out->group_count, sizeof *out->parts);
	for (uint32_t g = 0; g < state->node_groups; g++)
		out->parts[g] = (struct hs_part){g, 0};
	for (uint32_t i = 0; i < state->parts.count; i++)
		out->parts[state->node_groups + i] = (struct hs_part){(uint32_t)state->parts.items[i].first,
								      (uint32_t)state->parts.items[i].second};
	out->thread_count = state->thread_ids.count;
	out->threads = hs_allocate_zero(out->thread_count, sizeof *out->threads);
	for (uint32_t i = 0; i < out->thread_count; i++)
		out->threads[i] = (uint32_t)state->thread_ids.items[i].first;
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
	*replay = (struct hs_replay){.group_count = group_count, .unknown = profile->facts.unknown};
	for (uint32_t i = 0; i < profile->node_count; i++)
		if (group_of_node[i] >= group_count)
			return hs_fail(error, "node %u has no group", i);
	if (profile->counted) {
		hs_counts_replay(profile, group_of_node, how, replay);
		return 0;
	}
	struct state *state = hs_allocate_zero(1, sizeof *state);
	state->out = replay;
	state->groups = hs_allocate_zero(group_count, sizeof *state->groups);
	state->stamps = hs_allocate_zero(group_count, sizeof *state->stamps);
	state->node_groups = group_count;
	state->group_capacity = state->stamp_capacity = group_count;
	state->watch = how->watch;
	state->by_thread = how->by_thread;
	state->node_count = profile->node_count;
	state->nodes = hs_allocate_zero(profile->node_count, sizeof *state->nodes);
	for (uint32_t i = 0; i < profile->node_count; i++)
		state->nodes[i].group = group_of_node[i];
	hs_timeline_start(&state->timeline);

	bool complete = replay_events(profile, state);
	finish(state, profile);
	if (complete)
		hs_profile_compare_totals(profile, &replay->totals);

	if (how->by_thread)
		write_parts(state);
	hs_blocks_free(&state->blocks);
	hs_pairs_free(&state->thread_ids);
	hs_pairs_free(&state->parts);
	free(state->stamps);
	free(state->nodes);
	free(state->threads);
	free(state);
	return 0;
}

void hs_replay_free(struct hs_replay *replay)
{
	free(replay->groups);
	free(replay->timeline);
	free(replay->node_used);
	free(replay->parts);
	free(replay->threads);
	*replay = (struct hs_replay){0};
}
