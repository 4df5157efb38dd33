/* The payload of an events member (FORMAT.md): lanes put together, times that lose what is finer than a unit.
 */
#ifndef HS_RECORD_EVENT_COLUMNS_H
#define HS_RECORD_EVENT_COLUMNS_H

#include "record/event_lane.h"
#include "record/writer.h"

/* An event is `us` (1 or more) later than the one before it. */
struct hs_time_step {
	uint64_t us;
	uint32_t event; /* its number in the file, modulo 2^32 */
};

/* The events of a payload in the making. */
struct hs_event_columns {
	struct hs_event_lane *lanes[HS_LANES]; /* NULL: it never had events */
	struct hs_time_step *steps; /* HS_EVENTS_A_MEMBER; pages that none reaches are never touched */
	uint32_t step_count;
	uint64_t far_codes;         /* so many from HS_ENDED_FAR on are put into the far columns */
	uint64_t size_end;          /* sizes whose code is that or more are hs_event_lane_keep_size's */
	uint32_t first;             /* number of the first event, modulo 2^32 */
	uint32_t count;             /* events, when the payload is put */
	struct hs_bytes threads;    /* the column as it goes to the file */
	struct hs_writer_cuts cuts; /* of the payload, when it is put */

	/* event_columns.c's own */
	uint32_t room; /* events that no lane has room for yet */
	uint32_t ring; /* of each lane */
	enum hs_sizes sizes;
	bool trying;                       /* the other way, in one payload */
	uint32_t payloads_left, patience;  /* until the other way is tried; from then to the next time */
	uint64_t usual;                    /* bytes of 1024 events, when it was not; */
	bool usual_is_hurried;             /* they are not to be compared with others */
	uint64_t previous_us, allocations; /* before the first event */
	uint64_t members;                  /* made so far */
	struct hs_bytes times, plain, sizes_part, kinds; /* columns, likewise */
};

void hs_event_columns_init(struct hs_event_columns *columns);
void hs_event_columns_free(struct hs_event_columns *columns); /* but for the lanes */
/* A new lane, which stays where it is. */
void hs_event_columns_add(struct hs_event_columns *columns, unsigned place, struct hs_event_lane *lane);
/* Begins a payload. Time, number of events and of allocations before its first event. */
void hs_event_columns_start(struct hs_event_columns *columns, uint64_t time_us, uint64_t events,
			    uint64_t allocations);
/* Gives a lane that is at its limit room for more events; false: the payload is full. */
bool hs_event_columns_extend(struct hs_event_columns *columns, struct hs_event_lane *lane);
/* Appends the payload, whose last event was at last_us, to an empty buffer. */
void hs_event_columns_put(struct hs_event_columns *columns, struct hs_bytes *payload, uint64_t last_us);
/* How many bytes its member took; hurried: as the packer was, which makes them more. */
void hs_event_columns_weigh(struct hs_event_columns *columns, uint64_t bytes, bool hurried);

#endif
