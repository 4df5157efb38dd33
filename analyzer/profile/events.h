/* Events members, unpacked into arrays. Private to profile/. */
#ifndef HS_EVENTS_H
#define HS_EVENTS_H

#include "recording.h"

/* What the columns say of an event, coded against the state that runs through the file (FORMAT.md), until
 * hs_decoder_decode puts in its place what that means; 0 where its kind has nothing. */
struct hs_event {
	uint64_t size, ended; /* decoded: bytes; the block's number in its lane, if there is such a block */
	uint32_t node;        /* code UINT32_MAX: out of range */
	uint8_t kind; /* enum hs_event_kind, and HS_EVENT_KINDS times the lanes from here on to the block's
			 that it ends */
	bool is_far;  /* unpacked: that block's code stood in the far columns */
};

/* A member's events. Structure is checked: kinds and lanes are known, run lengths sum to `count`, copies are
 * of earlier events of the member, every column has as many values as it takes, times do not go back. What
 * decoding adds stands last. */
struct hs_events {
	uint32_t count, run_count;
	uint64_t previous_us, last_us; /* time of the event before; of the last one */
	uint64_t allocations_before;
	uint64_t resolution_us; /* times are wrong by less; 1: exact */
	uint32_t lane_events[HS_LANES];
	struct hs_event events[HS_EVENTS_A_MEMBER]; /* lane by lane */
	/* Sizes apart: the events have none, but `sizes`. Those of a lane, at nodes with the same id modulo
	 * HS_SIZE_PARTS, stand from sizes_begin on (decoding moves it to the end) to sizes_end. */
	bool sizes_apart;
	union {
		uint64_t sizes[HS_EVENTS_A_MEMBER];
		uint32_t far[HS_EVENTS_A_MEMBER]; /* while events are unpacked, before sizes are */
	};
	uint32_t sizes_begin[HS_LANES][HS_SIZE_PARTS], sizes_end[HS_LANES][HS_SIZE_PARTS];
	uint64_t times_us[HS_EVENTS_A_MEMBER]; /* absolute; in the order of the file, as the runs */
	/* a thread's id; decoded, its number: they count from 0 in the order of their first events */
	uint32_t run_threads[HS_EVENTS_A_MEMBER], run_lengths[HS_EVENTS_A_MEMBER];

	uint32_t decoded;  /* so many events, in the order of the file, could be decoded; all if... */
	const char *wrong; /* ...this is NULL, else it says what is wrong with the next one */
	uint32_t new_threads[HS_EVENTS_A_MEMBER]; /* ids of those whose first events are here, in their order
						   */
};

/* Unpacks a payload. Returns 0, or -1 and an error. */
int hs_events_unpack(const uint8_t *payload, const struct hs_member *member, struct hs_events *events,
		     struct hs_error *error);

/* Inflates, unpacks and decodes the events members of a recording ahead of the reader, in other threads. */
struct hs_ahead;
struct hs_ahead *hs_ahead_start(const struct hs_recording *recording, uint32_t node_count);
/* The next member's events, valid until the next call; NULL at the end (error->text is empty then) or at a
 * damaged member (error says what is wrong). */
const struct hs_events *hs_ahead_next(struct hs_ahead *ahead, struct hs_error *error);
void hs_ahead_stop(struct hs_ahead *ahead);

#endif
