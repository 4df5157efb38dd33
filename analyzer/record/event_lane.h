/* The columns' part of one lane (FORMAT.md) out of its events' codes: events that repeat earlier ones become
 * copies. */
#ifndef HS_RECORD_EVENT_LANE_H
#define HS_RECORD_EVENT_LANE_H

#include "heapscope/format.h"
#include "record/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* What the kind, node, size and ended columns have for an event; 0 where its kind has nothing. So events that
 * end far blocks are alike, whichever these are. */
struct hs_coded_event {
	uint64_t ended; /* << HS_CODED_KIND_BITS | the kind's byte */
	uint32_t node;
	uint32_t size; /* or HS_CODED_LARGE: it is the next one in `large` */
};
#define HS_CODED_LARGE UINT32_MAX
enum { HS_CODED_KIND_BITS = 5 };

/* The latest events are kept, for copies: few enough to stay in the cache, that of all lanes together. They
 * are packed a stride at a time; those that a copy is taken of are still kept when the next ones come. */
enum { HS_LANE_STRIDE = 1024, HS_LANE_RING_LEAST = 4096, HS_LANE_RING_MOST = 16384 };

/* Columns that lanes have parts of. HS_COLUMN_LANE stands in the kinds' bytes. */
enum { HS_LANE_PARTS = HS_COLUMN_LANE };

/* A lane's events of a payload in the making. */
struct hs_event_lane {
	struct hs_coded_event *next;  /* where the next event goes; */
	struct hs_coded_event *limit; /* but there hs_event_lane_pack comes first */
	uint32_t *far_next;           /* where the next far block goes */
	uint32_t count;               /* events, as of the last hs_event_lane_pack */

	/* for the payload */
	struct hs_bytes parts[HS_LANE_PARTS]; /* plain: but for the events before the first copy, */
	uint32_t plain_first;                 /* which are here */
	uint32_t copied;                      /* where the last copy ended; 0: there is none */
	struct hs_bytes sizes[HS_SIZE_PARTS]; /* apart from the events: by node */

	/* event_lane.c's own */
	struct hs_coded_event *events; /* event i is [i & ring_mask] */
	struct hs_coded_event *packed; /* where `next` was then */
	uint32_t ring_mask, distance_most;
	unsigned seen_shift;
	enum hs_sizes sizes_are;
	bool all_near;   /* codes of ended blocks mostly take two bytes */
	uint64_t *large; /* codes of sizes */
	size_t large_capacity;
	uint32_t large_count;
	uint32_t large_put; /* that are in the parts */
	uint32_t put;       /* events that are in the parts */
	uint32_t at;        /* events that were looked at */
	uint32_t *seen;     /* where a few events were last seen, + 1 */
	uint32_t *earlier;  /* by the place (& ring_mask): where they were seen before that, likewise */
	uint32_t misses;    /* since the last copy */
	uint32_t distance;  /* of the copy that `at` is in; 0: it is in none */
	uint32_t copy;      /* where that begins */
	/* far blocks since the last hs_event_lane_pack: the code, lanes further on << HS_FAR_BITS */
	uint32_t far[HS_LANE_STRIDE];
};

void hs_event_lane_init(struct hs_event_lane *lane);
void hs_event_lane_free(struct hs_event_lane *lane);
/* Begins a payload. Keeps `ring` events, a power of two. There is no room before hs_event_lane_pack. */
void hs_event_lane_start(struct hs_event_lane *lane, uint32_t ring, enum hs_sizes sizes, bool all_near);
/* For sizes that do not stand in the event: all if they stand apart, else those whose code is HS_CODED_LARGE
 * or more. The event is the lane's latest. */
void hs_event_lane_keep_size(struct hs_event_lane *lane, struct hs_coded_event *event, uint32_t node,
			     uint64_t size, uint64_t code);
/* Packs what there is; then there is room for a stride. */
void hs_event_lane_pack(struct hs_event_lane *lane);
/* Puts all there is into the parts. */
void hs_event_lane_finish(struct hs_event_lane *lane);

#endif
