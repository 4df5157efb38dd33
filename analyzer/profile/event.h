/* An event as the replay has it: one word, for there are many and each stage reads and writes it. Private to
 * profile/. */
#ifndef HS_EVENT_H
#define HS_EVENT_H

#include "heapscope/format.h"

#include <stdint.h>

/* Of functions for loops over events, and what is constant in them: the pass, where sizes stand, births. */
#define HS_IN_LOOP static inline __attribute__((always_inline))

/* Bits 0 to 7: enum hs_event_kind, and something added to it; 8 to 31: a value; 32 to 63: a node. Values that
 * are numbers (hs_number_of) are from HS_VALUE_LARGE on that and where in events->large they stand.
 *
 * At first these are what the columns say, coded against the state that runs through the file (FORMAT.md). To
 * the kind HS_EVENT_KINDS times the lanes are added from here on to the block's that it ends. The value is an
 * ALLOC's code of the size, a number; or where a realloc's codes stand in events->reallocs. The node is
 * coded, too, UINT32_MAX if it is out of range; a FREE has the code of the ended block there, or
 * HS_CODE_LARGE + where in events->large that stands.
 *
 * hs_tracker_track puts in its place what that means. To the kind HS_EVENT_FIRST and so on are added, the
 * value is the size of the block that begins or, with a free, ends, a number; the node is the block's group.
 * In the place of a small live block stands the free that would end it. */
struct hs_event {
	uint64_t word;
};

enum {
	/* of tracked events: */
	HS_EVENT_FIRST = HS_EVENT_KINDS,         /* begins the first block of its group */
	HS_EVENT_TEMPORARY = HS_EVENT_KINDS * 2, /* frees the latest block that its thread allocated */
	/* of both: it is a realloc, or has lanes, something large, or the first block; one look tells that it
	 * has none of this */
	HS_EVENT_RARE = HS_EVENT_KINDS * HS_LANES,
};

/* Of an event two numbers may be large: a code and what it means, or what a realloc ends and begins. */
enum { HS_LARGE_MOST = 2 * HS_EVENTS_A_MEMBER, HS_VALUE_LARGE = (1 << 24) - HS_LARGE_MOST };
#define HS_CODE_LARGE (UINT32_MAX - HS_LARGE_MOST)

HS_IN_LOOP struct hs_event hs_event(unsigned kind, uint32_t value, uint32_t node)
{
	return (struct hs_event){kind | (uint64_t)value << 8 | (uint64_t)node << 32};
}

HS_IN_LOOP enum hs_event_kind hs_event_kind(struct hs_event event)
{
	return event.word % HS_EVENT_KINDS;
}

HS_IN_LOOP unsigned hs_event_lanes(struct hs_event event)
{
	return event.word / HS_EVENT_KINDS % HS_LANES;
}

HS_IN_LOOP uint32_t hs_event_value(struct hs_event event)
{
	return (uint32_t)event.word >> 8;
}

HS_IN_LOOP uint32_t hs_event_node(struct hs_event event)
{
	return (uint32_t)(event.word >> 32);
}

#endif
