/* Events members, unpacked into arrays. Private to profile/. */
#ifndef HS_EVENTS_H
#define HS_EVENTS_H

#include "event.h"
#include "recording.h"

/* Events that are spread evenly: the n-th of them (from 0) happens at start_us + (n * step >> 32). */
struct hs_time_unit {
	uint64_t start_us;
	uint32_t width_us, events; /* 1 at least */
};

static inline uint64_t hs_time_step(const struct hs_time_unit *unit)
{
	return ((uint64_t)unit->width_us << 32) / unit->events;
}

/* Copies are made so many events at a time, the last ones of which may be too many. */
enum { HS_COPIED_AT_ONCE = 8 };

/* What the columns say of a realloc: an event has no room for it. */
struct hs_realloc_codes {
	uint64_t size, ended;
};

/* The block that a realloc ends; or a free, if somebody wants to know how long it lived. */
struct hs_ended {
	uint64_t size, lived_us;
	uint32_t group;
};

/* A member's events. Structure is checked: kinds and lanes are known, run lengths sum to `count`, copies are
 * of earlier events of the member, every column has as many values as it takes, times do not go back. What
 * tracker adds stands last. */
struct hs_events {
	uint32_t count, run_count;
	uint64_t previous_us, last_us; /* time of the event before; of the last one */
	uint64_t allocations_before;
	uint64_t resolution_us; /* times are wrong by less; 1: exact */
	uint32_t lane_events[HS_LANES];
	struct hs_event events[HS_EVENTS_A_MEMBER + HS_COPIED_AT_ONCE]; /* lane by lane */
	uint32_t large_count, realloc_count;
	uint64_t large[HS_LARGE_MOST];
	struct hs_realloc_codes reallocs[HS_EVENTS_A_MEMBER]; /* copies may have the same */
	/* Sizes apart: the events have none, but `sizes`. Those of a lane, at nodes with the same id modulo
	 * HS_SIZE_PARTS, stand from sizes_begin on (tracker moves it to the end) to sizes_end. */
	bool sizes_apart;
	union {
		uint64_t sizes[HS_EVENTS_A_MEMBER];
		struct { /* while events are unpacked, before sizes are */
			uint32_t far[HS_EVENTS_A_MEMBER];
			uint8_t kinds[HS_EVENTS_A_MEMBER]; /* and HS_EVENT_KINDS times the lanes */
		};
	};
	uint32_t sizes_begin[HS_LANES][HS_SIZE_PARTS], sizes_end[HS_LANES][HS_SIZE_PARTS];
	/* In the order of the file, as the runs. */
	uint32_t unit_count;
	struct hs_time_unit units[HS_EVENTS_A_MEMBER]; /* of all events */
	uint64_t times_us[HS_EVENTS_A_MEMBER];         /* the same one by one, if they are wanted */
	uint32_t run_threads[HS_EVENTS_A_MEMBER], run_lengths[HS_EVENTS_A_MEMBER]; /* ids; events */

	uint32_t tracked;  /* so many events, in the order of the file, could be tracked; all if... */
	const char *wrong; /* ...this is NULL, else it says what is wrong with the next one */
	uint32_t ended_count;
	struct hs_ended ended[HS_EVENTS_A_MEMBER]; /* in the order of the tracked events that end them */
};

/* A number as the value of an event. */
HS_IN_LOOP uint32_t hs_value_of(struct hs_events *events, uint64_t number)
{
	if (__builtin_expect(number < HS_VALUE_LARGE, 1))
		return (uint32_t)number;
	events->large[events->large_count] = number;
	return HS_VALUE_LARGE + events->large_count++;
}

HS_IN_LOOP uint64_t hs_number_of(const struct hs_events *events, struct hs_event event)
{
	uint32_t value = hs_event_value(event);
	return __builtin_expect(value < HS_VALUE_LARGE, 1) ? value : events->large[value - HS_VALUE_LARGE];
}

/* The tracked events in the order of the file, run by run. */
struct hs_events_walk {
	const struct hs_events *events;
	const struct hs_event *lanes[HS_LANES];
	uint32_t run, at; /* that come next */
	/* of the latest run */
	const struct hs_event *event;
	const uint64_t *times_us;
	uint32_t count;
};

static inline struct hs_events_walk hs_events_walk(const struct hs_events *events)
{
	struct hs_events_walk walk = {.events = events};
	const struct hs_event *next = events->events;
	for (unsigned i = 0; i < HS_LANES; i++) {
		walk.lanes[i] = next;
		next += events->lane_events[i];
	}
	return walk;
}

/* Goes to the next run. Returns false if there is none. */
static inline bool hs_events_walk_run(struct hs_events_walk *walk)
{
	const struct hs_events *events = walk->events;
	uint32_t rest = events->tracked - walk->at;
	if (!rest)
		return false;
	const struct hs_event **lane = &walk->lanes[events->run_threads[walk->run] % HS_LANES];
	uint32_t length = events->run_lengths[walk->run++];
	walk->event = *lane;
	walk->times_us = &events->times_us[walk->at];
	walk->count = length < rest ? length : rest;
	*lane += walk->count;
	walk->at += walk->count;
	return true;
}

/* Instead of what is wrong with an event: it does not matter. */
extern const char hs_events_stopped[];

/* Unpacks a payload. times: times_us is wanted. Returns 0, or -1 and an error. */
int hs_events_unpack(const uint8_t *payload, const struct hs_member *member, bool times,
		     struct hs_events *events, struct hs_error *error);

/* Inflates, unpacks and pairs the events members of a recording ahead of the reader, in other threads: the
 * tracker is theirs until hs_ahead_stop. */
struct hs_ahead;
struct hs_tracker;
/* aside: NULL, or something else that is done in one of these threads, at once. */
struct hs_ahead *hs_ahead_start(const struct hs_recording *recording, struct hs_tracker *tracker,
				void (*aside)(void *context), void *context);
/* The next member's events, valid until the next call; NULL at the end (error->text is empty then) or at a
 * damaged member (error says what is wrong). */
const struct hs_events *hs_ahead_next(struct hs_ahead *ahead, struct hs_error *error);
/* No more events are wanted. `aside` may go on. */
void hs_ahead_stop(struct hs_ahead *ahead);
void hs_ahead_free_events(struct hs_ahead *ahead); /* after that: frees the most of it */
void hs_ahead_join(struct hs_ahead *ahead);        /* after hs_ahead_stop: waits until `aside` has ended */
void hs_ahead_free(struct hs_ahead *ahead);        /* after hs_ahead_stop; waits likewise */

#endif
