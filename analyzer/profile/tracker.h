/* The first half of the replay: which block each event begins or ends, and which group counts it. Both depend
 * on all events before (FORMAT.md tells how they are coded), so members come one after another; but all that
 * is kept here is kept for the second half, which counts (replay.c), and may be at work on an earlier member.
 * Private to profile/. */
#ifndef HS_TRACKER_H
#define HS_TRACKER_H

#include "blocks.h"
#include "events.h"
#include "filter.h"
#include "pairs.h"
#include "profile.h"

/* The group of blocks that the filter does not select. */
#define HS_LEFT_OUT (UINT32_MAX - 1)

/* What a lane remembers of a node that it has met. */
struct hs_remembered {
	/* The free that would end its latest block, if that is a small one and all blocks of a node are of
	 * one group. Of another kind if that is not all: ALLOC, its group is not looked up yet, MOVE, it is,
	 * but the size stands in large_sizes; the value is HS_VALUE_LARGE then. */
	struct hs_event ending;
	uint32_t successor; /* place of the node that followed it last */
	uint32_t node;
};

/* Numbers of a lane's blocks that are live at filter.at_us, ascending. */
struct hs_survivors {
	uint64_t *numbers;
	size_t count, capacity, next;
};

/* The threads with the same id modulo HS_LANES. */
struct hs_tracker_lane {
	struct hs_blocks blocks; /* that its threads allocated */
	/* Nodes have places in the order in which they are met, for most nodes are never: only others are
	 * called from them. [0] is node 0. */
	struct hs_remembered *remembered;
	uint32_t place_count;
	size_t remembered_capacity;
	struct hs_pairs large_places; /* place and 0; of the n-th the latest size is large_sizes[n] */
	uint64_t *large_sizes;
	size_t large_capacity;
	uint32_t *place_of_node;           /* 0: not met yet. NULL: the lane has had no event */
	struct hs_event *next;             /* of the member */
	uint32_t latest_id, latest_thread; /* of the thread of the latest run: id, number, */
	uint32_t latest_place;             /* and the place of the node of its latest allocation */
	/* by how many lanes on the ended block's is: the number of the one that an event of this lane ended
	 * last */
	uint64_t last_ended[HS_LANES];
	struct hs_survivors survivors;
};

/* Threads get dense numbers in the order of their first event, whatever their ids are. */
struct hs_tracker_thread {
	uint32_t id;
	uint32_t latest_place; /* of the node of its latest allocation, but for lanes' latest threads */
	bool selected;
};

/* What the filter decides block by block. */
struct hs_choice {
	const struct hs_filter *filter; /* NULL: all is selected */
	bool *nodes;
	struct hs_span *spans; /* of --phase: those that are not over; NULL: there is no such filter */
	uint32_t span_count, next_span;
	bool stop; /* the pass that finds the survivors: it ends at filter.at_us */
};

/* What a replay is asked for. The loops of both halves are compiled for each, in which it is constant. */
enum hs_pass {
	HS_PASS_NODES, /* all blocks by nodes: nobody asks for maxima, histograms, or how long blocks lived */
	HS_PASS_GROUPS, /* all blocks by the caller's groups */
	HS_PASS_FULL,   /* there is a filter, there are parts, or somebody watches */
};

struct hs_tracker {
	const struct hs_profile *profile;
	struct hs_replay_how how;
	enum hs_pass pass;
	bool stopped; /* an event was wrong, or the rest does not matter */
	struct hs_tracker_lane lanes[HS_LANES];
	uint32_t lanes_begun;       /* bit i: lane i has its nodes */
	struct hs_pairs thread_ids; /* of the n-th thread */
	struct hs_tracker_thread *threads;
	uint64_t *latest; /* of each thread: number in its lane of its latest allocation; UINT64_MAX none */
	uint32_t thread_count;
	size_t thread_capacity, latest_capacity;
	uint64_t allocated_bytes, now_us, events;
	uint32_t node_groups;          /* groups that the caller gave, or by_node made */
	const uint32_t *group_of_node; /* the caller's */
	bool *begun;                   /* of the caller's groups: it has had a block; else NULL */
	struct hs_pairs parts; /* group, key; part i is group node_groups + i. By lifetime they are the second
				* half's */
	struct hs_choice choice;
	uint64_t slice_blocks, slice_end; /* allocations of a slice; the number that begins the next */
	size_t slice_capacity;
	struct hs_replay *out; /* of which this half writes node_used, slices and lifetimes */
};

/* Allocations so far, of all lanes. */
uint64_t hs_tracker_begun(const struct hs_tracker *tracker);

/* The group of a block that is about to begin. */
struct hs_chosen {
	uint32_t group;
	bool first; /* it is its first block */
};

/* That of a node, which is remembered. */
struct hs_chosen hs_tracker_use_node(struct hs_tracker *tracker, const struct hs_tracker_lane *lane,
				     struct hs_remembered *own);
/* In the full pass, of a node's block of that size. */
struct hs_chosen hs_tracker_choose(struct hs_tracker *tracker, struct hs_tracker_lane *lane,
				   struct hs_remembered *own, uint64_t size);
/* The part of a group with that key; *added (may be NULL) tells whether it is new. */
uint32_t hs_tracker_part(struct hs_tracker *tracker, uint32_t group, uint32_t key, bool *added);

/* Bits that the value takes, 63 at most: without a branch for 0. */
static inline unsigned hs_bucket(uint64_t value)
{
	return 63U ^ (unsigned)__builtin_clzll(value * 2 + 1);
}

/* Of a block that ended when so many bytes had been allocated in all, into the histograms of out. */
static inline void hs_tracker_note_life(struct hs_replay *out, const struct hs_block *block,
					uint64_t lived_us, uint64_t allocated_bytes)
{
	out->lifetime_blocks[hs_bucket(lived_us)]++;
	out->lifetime_bytes_blocks[hs_bucket(allocated_bytes - block->born_bytes)]++;
}

/* Replaces the codes of the next member by what they mean (struct hs_event); sets events->tracked, wrong and
 * ended. */
void hs_tracker_track(struct hs_tracker *tracker, struct hs_events *events);
/* Frees the lanes, which have the most of it. */
void hs_tracker_free_lanes(struct hs_tracker *tracker);
/* Frees the rest but what is out's or the caller's. */
void hs_tracker_free(struct hs_tracker *tracker);

#endif
