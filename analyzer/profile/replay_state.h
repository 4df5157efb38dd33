/* What the second half of the replay keeps while it runs. Private to replay.c and replay_finish.c. */
#ifndef HS_REPLAY_STATE_H
#define HS_REPLAY_STATE_H

#include "node_counts.h"
#include "timeline.h"
#include "tracker.h"

/* A group's counts (struct hs_counts) in the order in which events need them. */
struct hs_group_state {
	uint64_t temporary_bytes, temporary, moved_bytes, moved, reallocations, unused;
	/* What nearly every event needs: one line of the cache in a large array, which glibc begins 16 bytes
	 * into a page. */
	uint64_t peak_number;                                      /* that its at-peak values belong to */
	uint64_t allocated_bytes, allocations, ended_bytes, ended; /* what is live is the difference */
	uint64_t peak_bytes, peak_blocks;
	uint64_t lifetime_us; /* of those that ended; of the others less by the time when they began */

	uint64_t max_bytes, max_blocks; /* where they are wanted */
};
_Static_assert(sizeof(struct hs_group_state) == sizeof(struct hs_counts), "one is written over the other");

/* How large the heap is and was; and its selected part. */
struct hs_heap {
	uint64_t bytes, blocks;                    /* live */
	uint64_t peak_bytes, peak_blocks, peak_us; /* with --at: of that moment */
	uint64_t peak_number;                      /* groups with another one save their values first */
	uint64_t most_bytes;                       /* since the timeline's latest point began */
	uint64_t selected_bytes, selected_blocks;  /* live, of what the filter selects */
	uint64_t selected_max_bytes, selected_max_blocks, selected_max_us;
};

struct hs_replay_state {
	struct hs_tracker tracker;     /* which other threads may be at work on; what it was told stays */
	struct hs_node_table *nodes;   /* in the pass by nodes; else NULL */
	struct hs_group_state *groups; /* the caller's, then parts */
	size_t group_capacity;
	struct hs_group_state rest; /* of blocks that are not selected, but for their peak */
	struct hs_heap heap;
	struct hs_timeline timeline;
	uint64_t now_us; /* of the latest event */
	uint64_t frees, events;
	uint64_t selected_events, selected_frees;
	bool reached;           /* filter.at_us is behind */
	struct hs_ahead *ahead; /* the events */
	struct hs_replay *out;
};

/* Before what is live of a group changes. */
static inline void hs_replay_save_peak(const struct hs_heap *heap, struct hs_group_state *counts)
{
	if (counts->peak_number == heap->peak_number)
		return;
	counts->peak_number = heap->peak_number;
	counts->peak_bytes = counts->allocated_bytes - counts->ended_bytes;
	counts->peak_blocks = counts->allocations - counts->ended;
}

/* Counts the events of one member that could be tracked, in the pass by nodes. */
void hs_replay_count_nodes(struct hs_replay_state *state, const struct hs_events *events);
/* The moment of --at is over: what is live now was live then. */
void hs_replay_reach_moment(struct hs_heap *heap, uint64_t at_us);
/* After the last event: sets the clock to the end of the program. */
void hs_replay_end_time(struct hs_replay_state *state, struct hs_profile *profile);
/* Then, when all lives have ended: writes what the caller gets; takes the groups. */
void hs_replay_finish(struct hs_replay_state *state);

#endif
