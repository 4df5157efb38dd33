/* Unpacks the columns of an events member into arrays and checks their structure. What a code means depends
 * on the events before it and is the replay's business; this part can run for many members at once. */
#include "events.h"

#include "heapscope/varint.h"

#include <string.h>

struct column {
	const uint8_t *at, *end;
};

static int take_column(const uint8_t **at, const uint8_t *end, struct column *column)
{
	uint64_t bytes;
	*at = hs_varint_get(*at, end, &bytes);
	if (!*at || bytes > (uint64_t)(end - *at))
		return -1;
	column->at = *at;
	column->end = *at + bytes;
	*at = column->end;
	return 0;
}

/* Most values take one or two bytes. */
static inline const uint8_t *take(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	if (at >= end)
		return NULL;
	if (at[0] < 0x80) {
		*value = at[0];
		return at + 1;
	}
	if (end - at >= 2 && at[1] < 0x80) {
		*value = (at[0] & 0x7fU) | (unsigned)at[1] << 7;
		return at + 2;
	}
	return hs_varint_get(at, end, value);
}

static inline int take_next(struct column *column, uint64_t *value)
{
	const uint8_t *next = take(column->at, column->end, value);
	if (!next)
		return -1;
	column->at = next;
	return 0;
}

/* ---- times ----------------------------------------------------------------------------------------------
 */

/* `count` events in `width_us` from start_us on. */
static void spread(uint64_t *times_us, uint32_t count, uint64_t start_us, uint64_t width_us)
{
	uint64_t step = count ? (width_us << 32) / count : 0, at = 0;
	for (uint32_t i = 0; i < count; i++, at += step)
		times_us[i] = start_us + (at >> 32);
}

static int unpack_times(struct column column, uint64_t unit_us, uint64_t grain, struct hs_events *events)
{
	uint64_t now_us = events->previous_us; /* when the unit began */
	uint32_t at = 0;
	while (column.at < column.end) {
		uint64_t code, count, units = 1;
		if (take_next(&column, &code) != 0)
			return -1;
		count = code >> 1;
		if (code & 1) {
			if (take_next(&column, &units) != 0 || units > HS_TIME_MOST)
				return -1;
			units++;
		} else if (count > HS_EVENTS_A_MEMBER) {
			return -1;
		} else {
			count *= grain;
		}
		if (count > events->count - at || units > (events->last_us - now_us) / unit_us)
			return -1;
		spread(events->times_us + at, (uint32_t)count, now_us, unit_us);
		at += (uint32_t)count;
		now_us += units * unit_us;
	}
	if (events->last_us - now_us >= unit_us)
		return -1;
	spread(events->times_us + at, events->count - at, now_us, events->last_us - now_us + 1);
	return 0;
}

static int unpack_threads(struct column column, struct hs_events *events)
{
	uint64_t covered = 0, thread = 0, last = 0;
	while (column.at < column.end) {
		uint64_t code, earlier = last;
		last = thread;
		if (take_next(&column, &code) != 0)
			return -1;
		thread = earlier;
		if (code & 1 && take_next(&column, &thread) != 0)
			return -1;
		if (thread == 0 || thread > UINT32_MAX || code >> 1 >= events->count - covered)
			return -1;
		covered += (code >> 1) + 1;
		events->lane_events[thread % HS_LANES] += (uint32_t)(code >> 1) + 1;
		events->run_threads[events->run_count] = (uint32_t)thread;
		events->run_lengths[events->run_count++] = (uint32_t)(code >> 1) + 1;
	}
	return covered == events->count ? 0 : -1;
}

/* ---- events ---------------------------------------------------------------------------------------------
 */

/* Events that are no copies. */
static int unpack_events(struct column *columns, struct hs_event *events, uint32_t count)
{
	/* in registers meanwhile */
	struct column kinds = columns[HS_COLUMN_KIND], nodes = columns[HS_COLUMN_NODE],
		      sizes = columns[HS_COLUMN_SIZE], ended = columns[HS_COLUMN_ENDED];
	if (count > (uint64_t)(kinds.end - kinds.at))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct hs_event event = {.kind = *kinds.at++};
		unsigned kind = event.kind % HS_EVENT_KINDS;
		uint64_t node = 0;
		if ((event.kind >= HS_EVENT_KINDS &&
		     (kind == HS_EVENT_ALLOC || event.kind >= HS_EVENT_KINDS * HS_LANES)) ||
		    (kind != HS_EVENT_FREE &&
		     (take_next(&nodes, &node) != 0 || take_next(&sizes, &event.size) != 0)) ||
		    (kind != HS_EVENT_ALLOC && take_next(&ended, &event.ended) != 0))
			return -1;
		event.node = node < UINT32_MAX ? (uint32_t)node : UINT32_MAX;
		events[i] = event;
	}
	columns[HS_COLUMN_KIND] = kinds;
	columns[HS_COLUMN_NODE] = nodes;
	columns[HS_COLUMN_SIZE] = sizes;
	columns[HS_COLUMN_ENDED] = ended;
	return 0;
}

static int unpack_copies(struct column *columns, struct hs_event *events, uint32_t count)
{
	struct column copies = columns[HS_COLUMN_COPIES];
	uint32_t at = 0;
	while (copies.at < copies.end) {
		uint64_t plain, copied, distance;
		if (take_next(&copies, &plain) != 0 || take_next(&copies, &copied) != 0 ||
		    take_next(&copies, &distance) != 0 || plain > count - at ||
		    unpack_events(columns, events + at, (uint32_t)plain) != 0)
			return -1;
		at += (uint32_t)plain;
		if (copied > count - at || distance == 0 || distance > at)
			return -1;
		for (uint32_t end = at + (uint32_t)copied; at < end; at++) /* they may overlap */
			events[at] = events[at - distance];
	}
	if (unpack_events(columns, events + at, count - at) != 0)
		return -1;
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		if (i != HS_COLUMN_COPIES && i != HS_COLUMN_THREAD && i != HS_COLUMN_TIME &&
		    columns[i].at != columns[i].end)
			return -1;
	return 0;
}

int hs_events_unpack(const uint8_t *payload, const struct hs_member *member, struct hs_events *events,
		     struct hs_error *error)
{
	const uint8_t *at = payload, *end = payload + member->raw_bytes;
	struct column columns[HS_COLUMNS];
	uint64_t head[5]; /* previous time, from there to the last, allocations, unit, grain */
	events->count = member->items;
	events->run_count = 0;
	memset(events->lane_events, 0, sizeof events->lane_events);
	if (events->count > HS_EVENTS_A_MEMBER)
		return hs_fail(error, "it claims %u events", events->count);
	for (unsigned i = 0; i < 5; i++) {
		at = hs_varint_get(at, end, &head[i]);
		if (!at)
			return hs_fail(error, "it ends too early");
	}
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		if (take_column(&at, end, &columns[i]) != 0)
			return hs_fail(error, "it ends too early");
	if (at != end)
		return hs_fail(error, "%zu bytes follow its columns", (size_t)(end - at));
	if (head[0] > HS_TIME_MOST || head[1] > HS_TIME_MOST)
		return hs_fail(error, "its time is impossible");
	if (head[3] == 0 || head[3] > HS_TIME_UNIT_MOST || head[4] == 0 || head[4] > HS_EVENTS_A_MEMBER)
		return hs_fail(error, "its unit of time is impossible");
	events->previous_us = head[0];
	events->last_us = head[0] + head[1];
	events->allocations_before = head[2];
	events->resolution_us = head[4] > 1 ? 2 * head[3] : head[3];
	if (unpack_threads(columns[HS_COLUMN_THREAD], events) != 0 ||
	    unpack_times(columns[HS_COLUMN_TIME], head[3], head[4], events) != 0 ||
	    unpack_copies(columns, events->events, events->count) != 0)
		return hs_fail(error, "its columns do not fit together");
	return 0;
}
