/* What the codes of events mean (FORMAT.md): it depends on all events before them, so members are decoded one
 * after another, but needs nothing that the replay keeps. Private to profile/. */
#ifndef HS_DECODER_H
#define HS_DECODER_H

#include "events.h"
#include "pairs.h"

/* What a lane remembers of a node: 12 bytes, for there may be a million of them. */
struct hs_remembered {
	uint32_t successor; /* the node that followed it last */
	uint64_t size;      /* last size seen with it */
} __attribute__((packed, aligned(4)));

/* The threads with the same id modulo HS_LANES. */
struct hs_decoder_lane {
	struct hs_remembered *nodes;       /* NULL: it has had no event */
	uint64_t blocks;                   /* that its threads allocated */
	struct hs_event *next;             /* of the member */
	uint32_t latest_id, latest_thread; /* of the thread of the latest run: id, number, */
	uint32_t latest_node;              /* and the node of its latest allocation */
	/* by how many lanes on the ended block's is: the number of the one that an event of this lane ended
	 * last */
	uint64_t last_ended[HS_LANES];
};

struct hs_decoder {
	uint32_t node_count;
	struct hs_decoder_lane lanes[HS_LANES];
	bool lanes_begun;           /* one has its nodes */
	struct hs_pairs thread_ids; /* of the n-th thread */
	uint32_t *thread_nodes;     /* the node of its latest allocation, but for lanes' latest ones */
	size_t thread_capacity;
	uint64_t allocated_bytes, now_us;
};

/* An object of zeros but for node_count is at the beginning of the file. */
void hs_decoder_free(struct hs_decoder *decoder);
/* Replaces the codes of the next member by what they mean; sets events->decoded, wrong and new_threads. */
void hs_decoder_decode(struct hs_decoder *decoder, struct hs_events *events);

#endif
