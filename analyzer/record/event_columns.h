/* The payload of an events member (FORMAT.md) out of the events' codes: events that repeat earlier ones
 * become copies, times lose what is finer than a unit. */
#ifndef HS_RECORD_EVENT_COLUMNS_H
#define HS_RECORD_EVENT_COLUMNS_H

#include "heapscope/format.h"
#include "record/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* What the kind, node, size and ended columns have for an event; 0 where its kind has nothing. */
struct hs_coded_event {
	uint64_t ended; /* << 2 | enum hs_event_kind */
	uint32_t node;
	uint32_t size; /* or HS_CODED_LARGE: it is the next one in `large` */
};
#define HS_CODED_LARGE UINT32_MAX

/* An event is `us` (1 or more) later than the one before it. */
struct hs_time_step {
	uint64_t us;
	uint32_t event; /* its number in the file, modulo 2^32 */
};

/* The latest events are kept, for copies: few enough to stay in the cache. */
enum { HS_CODED_EVENTS = 16384 };

/* The events of a payload in the making. */
struct hs_event_columns {
	struct hs_coded_event *next; /* where the next event goes; */
	struct hs_coded_event
		*limit;             /* but there hs_event_columns_pack comes first, or the payload is full */
	struct hs_time_step *steps; /* HS_EVENTS_A_MEMBER; pages that none reaches are never touched */
	uint32_t step_count;
	struct hs_bytes threads; /* the column as it goes to the file */
	uint64_t *large;         /* codes of sizes */
	uint32_t large_count;
	uint32_t count; /* events, as of the last hs_event_columns_pack */

	/* event_columns.c's own */
	struct hs_coded_event *events;     /* HS_CODED_EVENTS; event i is [i % HS_CODED_EVENTS] */
	struct hs_coded_event *packed;     /* where `next` was then */
	uint64_t previous_us, allocations; /* before the first event */
	uint32_t first;                    /* number of the first event, modulo 2^32 */
	uint64_t members;                  /* made so far */
	struct hs_bytes parts[HS_COLUMNS];
	size_t large_capacity;
	uint32_t large_put; /* that are in the parts */
	uint32_t put;       /* events that are in the parts */
	uint32_t at;        /* events that were looked at */
	uint32_t *seen;     /* where a few events were last seen, + 1 */
	uint32_t misses;    /* since the last copy */
	uint32_t copied;    /* where the last copy ended */
	uint32_t distance;  /* of the copy that `at` is in; 0: it is in none */
	uint32_t copy;      /* where that begins */
};

void hs_event_columns_init(struct hs_event_columns *columns);
void hs_event_columns_free(struct hs_event_columns *columns);
/* Begins a payload. Time, number of events and of allocations before its first event. */
void hs_event_columns_start(struct hs_event_columns *columns, uint64_t time_us, uint64_t events,
			    uint64_t allocations);
/* Keeps a code that is HS_CODED_LARGE or more, of the event before `next`. */
void hs_event_columns_keep_large(struct hs_event_columns *columns, uint64_t code);
/* Packs what there is. */
void hs_event_columns_pack(struct hs_event_columns *columns);
/* Appends the payload, whose last event was at last_us. */
void hs_event_columns_put(struct hs_event_columns *columns, struct hs_bytes *payload, uint64_t last_us);

#endif
