/* What the replay keeps while it runs. Private to replay.c and replay_finish.c. */
#ifndef HS_REPLAY_STATE_H
#define HS_REPLAY_STATE_H

#include "blocks.h"
#include "filter.h"
#include "heapscope/format.h"
#include "pairs.h"
#include "timeline.h"

/* The group of blocks that the filter does not select. */
#define HS_LEFT_OUT (UINT32_MAX - 1)
/* Of a node that has none yet. */
#define HS_NO_GROUP UINT32_MAX

/* A group's counts (struct hs_counts) in the order in which events need them. */
struct hs_group_state {
	uint64_t peak_bytes, peak_blocks, temporary_bytes, temporary, moved_bytes, moved;
	/* What nearly every event needs: one line of the cache in a large array, which glibc begins 16 bytes
	 * into a page. */
	uint64_t peak_number; /* that its at-peak values belong to */
	uint64_t live_bytes, live_blocks, allocated_bytes, allocations, max_bytes, max_blocks, lifetime_us;

	uint64_t reallocations, unused;
};
_Static_assert(sizeof(struct hs_group_state) == sizeof(struct hs_counts), "one is written over the other");

/* Numbers of a lane's blocks that are live at filter.at_us, ascending. */
struct hs_survivors {
	uint64_t *numbers;
	size_t count, capacity, next;
};

/* The threads with the same id modulo HS_LANES. */
struct hs_lane_state {
	struct hs_blocks blocks;     /* that its threads allocated */
	const struct hs_event *next; /* of the member */
	struct hs_survivors survivors;
};

struct hs_thread_state {
	uint64_t latest; /* number in its lane + 1 of its latest allocation; 0 none */
	uint32_t id;
	bool selected;
};

/* What the filter decides block by block, and how large the selected part of the heap is. */
struct hs_selection {
	const struct hs_filter *filter; /* NULL: all is selected */
	bool *nodes;
	struct hs_span *spans; /* of --phase: those that are not over; NULL: there is no such filter */
	uint32_t span_count, next_span;
	uint64_t bytes, blocks; /* live */
	uint64_t max_bytes, max_blocks, max_us, events, frees;
	bool reached;               /* filter.at_us is behind */
	bool stop;                  /* the pass that finds the survivors: it ends there */
	struct hs_group_state rest; /* of blocks that are not selected, but for their peak */
};

struct hs_replay_state {
	const struct hs_profile *profile;
	struct hs_replay *out;
	struct hs_group_state *groups; /* the caller's, then parts */
	bool *begun;                   /* of groups: it has had a block. Else its page need not be touched */
	size_t group_capacity, begun_capacity;
	uint32_t node_groups;            /* groups that the caller gave, or by_node made */
	struct hs_pairs parts;           /* group, key; part i is groups[node_groups + i] */
	const uint32_t *group_of_node;   /* the caller's, or with by_node out's */
	bool *node_used;                 /* the caller's */
	struct hs_thread_state *threads; /* by number (events.h) */
	uint32_t thread_count;
	size_t thread_capacity;
	struct hs_lane_state lanes[HS_LANES];
	uint64_t heap_bytes, heap_blocks, allocated_bytes, now_us;
	uint64_t peak_number, peak_bytes, peak_blocks, peak_us; /* with --at: of that moment */
	uint64_t frees, events;
	struct hs_selection selection;
	struct hs_replay_how how;
	uint64_t slice_blocks, slice_end; /* allocations of a slice; the number that begins the next */
	size_t slice_capacity;
	struct hs_timeline timeline;
};

/* Before a group's live blocks change. */
static inline void hs_replay_save_peak(struct hs_replay_state *state, uint32_t group)
{
	struct hs_group_state *counts = &state->groups[group];
	if (counts->peak_number == state->peak_number)
		return;
	counts->peak_number = state->peak_number;
	counts->peak_bytes = counts->live_bytes;
	counts->peak_blocks = counts->live_blocks;
}

/* The moment of --at is over: what is live now was live then. */
void hs_replay_reach_moment(struct hs_replay_state *state);
/* After the last event: sets the clock to the end of the program. */
void hs_replay_end_time(struct hs_replay_state *state, struct hs_profile *profile);
/* Then, when all lives have ended: writes what the caller gets; takes the groups. */
void hs_replay_finish(struct hs_replay_state *state);

#endif
