/* Unpacks the columns of an events member into arrays and checks their structure. What a code means depends
 * on the events before it and is the replay's business; this part can run for many members at once. */
#include "events.h"

#include "heapscope/varint.h"

#include <string.h>

const char hs_events_stopped[] = "";

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

/* The same without a branch on whether it takes one byte or two, where nobody can foresee that: the branch
 * costs less where one can, for what follows need not wait for the length. */
static inline int take_either(struct column *column, uint64_t *value)
{
	uint16_t bytes;
	if (column->end - column->at < (ptrdiff_t)sizeof bytes)
		return take_next(column, value);
	memcpy(&bytes, column->at, sizeof bytes);
	unsigned more = bytes & 0x80; /* the first byte is not the last one */
	if (bytes & more << 8)
		return take_next(column, value);
	*value = (bytes & 0x7fU) | (bytes >> 1 & ((more << 7) - more)); /* bits 7 to 13 */
	column->at += 1 + (more >> 7);
	return 0;
}

/* ---- times ----------------------------------------------------------------------------------------------
 */

typedef uint64_t two __attribute__((vector_size(16)));

/* Writes the times of a unit's events. */
static void spread(uint64_t *times_us, const struct hs_time_unit *unit)
{
	uint32_t i = 0;
	uint64_t step = hs_time_step(unit);
	two at = {0, step};
	for (; i + 2 <= unit->events; i += 2, at += 2 * step) {
		two times = unit->start_us + (at >> 32);
		memcpy(times_us + i, &times, sizeof times);
	}
	if (i < unit->events)
		times_us[i] = unit->start_us + (at[0] >> 32);
}

/* `count` events in `width_us` from start_us on. */
static void add_unit(struct hs_events *events, uint32_t count, uint64_t start_us, uint64_t width_us)
{
	if (count)
		events->units[events->unit_count++] =
			(struct hs_time_unit){start_us, (uint32_t)width_us, count};
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
		add_unit(events, (uint32_t)count, now_us, unit_us);
		at += (uint32_t)count;
		now_us += units * unit_us;
	}
	if (events->last_us - now_us >= unit_us)
		return -1;
	add_unit(events, events->count - at, now_us, events->last_us - now_us + 1);
	return 0;
}

static void spread_times(struct hs_events *events)
{
	uint64_t *times_us = events->times_us;
	for (uint32_t i = 0; i < events->unit_count; i++) {
		spread(times_us, &events->units[i]);
		times_us += events->units[i].events;
	}
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

/* Far blocks, in the order of the events, copies or not, that end them. */
struct far {
	const uint32_t *next, *end; /* the code, and lanes further on << HS_FAR_BITS */
	/* a bit for each event so far, whether it ends one; and a word more, so that two can be looked at */
	uint64_t events[HS_EVENTS_A_MEMBER / 64 + 1];
};

typedef uint8_t sixteen __attribute__((vector_size(16)));

/* Bytes or pairs of them in turn, from `i` on. */
#define BYTES_IN_TURN(a, b, i)                                                                               \
	__builtin_shufflevector(a, b, i, 16 + i, i + 1, 17 + i, i + 2, 18 + i, i + 3, 19 + i, i + 4, 20 + i, \
				i + 5, 21 + i, i + 6, 22 + i, i + 7, 23 + i)
#define PAIRS_IN_TURN(a, b, i)                                                                               \
	__builtin_shufflevector(a, b, i, i + 1, 16 + i, 17 + i, i + 2, i + 3, 18 + i, 19 + i, i + 4, i + 5,  \
				20 + i, 21 + i, i + 6, i + 7, 22 + i, 23 + i)

/* Of the next sixteen far blocks; their lanes are added to `lanes`. */
static inline void join_sixteen(const uint8_t *const *columns, size_t at, uint32_t *joined, sixteen *lanes)
{
	sixteen bytes[4], low[2], high[2], whole[4];
	for (unsigned i = 0; i < 4; i++)
		memcpy(&bytes[i], columns[i] + at, sizeof bytes[i]);
	*lanes |= bytes[3];
	low[0] = BYTES_IN_TURN(bytes[0], bytes[1], 0);
	low[1] = BYTES_IN_TURN(bytes[0], bytes[1], 8);
	high[0] = BYTES_IN_TURN(bytes[2], bytes[3], 0);
	high[1] = BYTES_IN_TURN(bytes[2], bytes[3], 8);
	whole[0] = PAIRS_IN_TURN(low[0], high[0], 0);
	whole[1] = PAIRS_IN_TURN(low[0], high[0], 8);
	whole[2] = PAIRS_IN_TURN(low[1], high[1], 0);
	whole[3] = PAIRS_IN_TURN(low[1], high[1], 8);
	memcpy(joined + at, whole, sizeof whole);
}

/* columns: the first of the far ones. joined: for HS_EVENTS_A_MEMBER. */
static int join_far(const struct column *columns, uint32_t *joined, struct far *far)
{
	static uint8_t zeros[HS_EVENTS_A_MEMBER]; /* which nobody writes */
	size_t count = (size_t)(columns[0].end - columns[0].at), at = 0;
	sixteen lanes = {0};
	const uint8_t *bytes[4];
	if (count > HS_EVENTS_A_MEMBER)
		return -1;
	for (unsigned i = 0; i < 4; i++) {
		bool is_zero = columns[i].at == columns[i].end;
		if (!is_zero && (size_t)(columns[i].end - columns[i].at) != count)
			return -1;
		bytes[i] = is_zero ? zeros : columns[i].at;
	}
	for (; at + sizeof lanes <= count; at += sizeof lanes)
		join_sixteen(bytes, at, joined, &lanes);
	for (; at < count; at++) {
		lanes[0] |= bytes[3][at];
		joined[at] = bytes[0][at] | (uint32_t)bytes[1][at] << 8 | (uint32_t)bytes[2][at] << 16 |
			     (uint32_t)bytes[3][at] << HS_FAR_BITS;
	}
	for (unsigned i = 0; i < sizeof lanes; i++)
		if (lanes[i] >= HS_LANES)
			return -1;
	far->next = joined;
	far->end = joined + count;
	return 0;
}

static inline uint32_t add_realloc(struct hs_events *all, uint64_t size, uint64_t ended)
{
	all->reallocs[all->realloc_count] = (struct hs_realloc_codes){size, ended};
	return all->realloc_count++;
}

/* The event, which may be a copy, ends the next far block. */
static inline int take_far(struct far *far, struct hs_events *all, uint32_t at, bool is_copy)
{
	struct hs_event event = all->events[at];
	if (far->next == far->end)
		return -1;
	uint32_t code = *far->next % HS_FAR_END, value = hs_event_value(event), node = hs_event_node(event);
	unsigned kind = hs_event_kind(event), lanes = *far->next++ >> HS_FAR_BITS;
	bool rare = lanes || kind != HS_EVENT_FREE;
	if (kind == HS_EVENT_FREE)
		node = code;
	else if (is_copy)
		value = add_realloc(all, all->reallocs[value].size, code);
	else
		all->reallocs[value].ended = code;
	all->events[at] = hs_event(kind + lanes * HS_EVENT_KINDS + rare * HS_EVENT_RARE, value, node);
	return 0;
}

/* A free with lanes, or a large code. */
static __attribute__((noinline)) struct hs_event make_rare_free(struct hs_events *all, unsigned kind,
								uint64_t code)
{
	if (code < HS_CODE_LARGE)
		return hs_event(kind + HS_EVENT_RARE, 0, (uint32_t)code);
	all->large[all->large_count] = code;
	return hs_event(kind + HS_EVENT_RARE, 0, HS_CODE_LARGE + all->large_count++);
}

/* Events that are no copies. */
static inline __attribute__((always_inline)) int unpack_events_of(struct column *columns, struct far *far,
								  struct hs_events *all, uint32_t at,
								  uint32_t count, bool sizes_apart)
{
	/* in registers meanwhile */
	struct column kinds = columns[HS_COLUMN_KIND], nodes = columns[HS_COLUMN_NODE],
		      sizes = columns[HS_COLUMN_SIZE], ended = columns[HS_COLUMN_ENDED];
	if (count > (uint64_t)(kinds.end - kinds.at))
		return -1;
	for (uint32_t end_at = at + count; at < end_at; at++) {
		unsigned code = *kinds.at++, kind = code % HS_EVENT_KINDS;
		uint64_t node = 0, size = 0, end = 0;
		if (kind != HS_EVENT_FREE &&
		    (take_either(&nodes, &node) != 0 || (!sizes_apart && take_either(&sizes, &size) != 0)))
			return -1;
		if (kind != HS_EVENT_ALLOC && take_next(&ended, &end) != 0)
			return -1;
		if (code >= (kind == HS_EVENT_ALLOC ? 1 : HS_EVENT_KINDS * HS_LANES))
			return -1;
		if (node > UINT32_MAX)
			node = UINT32_MAX;
		struct hs_event event;
		if (kind == HS_EVENT_FREE) {
			event = hs_event(HS_EVENT_FREE, 0, (uint32_t)end);
			if (__builtin_expect(code != kind || end >= HS_CODE_LARGE, 0))
				event = make_rare_free(all, code, end);
		} else if (kind == HS_EVENT_ALLOC) {
			event = hs_event(HS_EVENT_ALLOC, (uint32_t)size, (uint32_t)node);
			if (__builtin_expect(size >= HS_VALUE_LARGE, 0))
				event = hs_event(HS_EVENT_ALLOC + HS_EVENT_RARE, hs_value_of(all, size),
						 (uint32_t)node);
		} else {
			if (sizes_apart && kind == HS_EVENT_RESIZE)
				return -1;
			event = hs_event(code + HS_EVENT_RARE, add_realloc(all, size, end), (uint32_t)node);
		}
		all->events[at] = event;
		if (end == HS_ENDED_FAR) {
			far->events[at / 64] |= UINT64_C(1) << at % 64;
			if (code != kind || take_far(far, all, at, false) != 0)
				return -1;
		}
	}
	columns[HS_COLUMN_KIND] = kinds;
	columns[HS_COLUMN_NODE] = nodes;
	columns[HS_COLUMN_SIZE] = sizes;
	columns[HS_COLUMN_ENDED] = ended;
	return 0;
}

static int unpack_events(struct column *columns, struct far *far, struct hs_events *all, uint32_t at,
			 uint32_t count)
{
	return all->sizes_apart ? unpack_events_of(columns, far, all, at, count, true)
				: unpack_events_of(columns, far, all, at, count, false);
}

/* Events of which a copy's far blocks are looked for at once. */
enum { COPY_PIECE = 64 };

/* A bit for each of `count` events, COPY_PIECE at most, from `at` on. */
static inline uint64_t which_are_far(const struct far *far, uint32_t at, uint32_t count)
{
	const uint64_t *word = &far->events[at / 64];
	uint64_t bits = word[0] >> at % 64 | word[1] << 1 << (63 - at % 64);
	return bits << (64 - count) >> (64 - count);
}

/* Events from `at` on that end the next far blocks. */
static inline int take_far_of(struct far *far, struct hs_events *all, uint32_t at, uint64_t which)
{
	far->events[at / 64] |= which << at % 64;
	far->events[at / 64 + 1] |= which >> 1 >> (63 - at % 64);
	for (; which; which &= which - 1)
		if (take_far(far, all, at + (uint32_t)__builtin_ctzll(which), true) != 0)
			return -1;
	return 0;
}

/* `count` events from `at` on that are those `distance` before them, which they may overlap. */
static int copy_events(struct hs_events *all, uint32_t at, uint32_t count, uint32_t distance, struct far *far)
{
	while (count) {
		uint32_t most = distance < COPY_PIECE ? distance : COPY_PIECE;
		uint32_t piece = count < most ? count : most;
		const struct hs_event *from = &all->events[at - distance];
		struct hs_event *to = &all->events[at], *end = to + piece;
		for (; to < end; to += HS_COPIED_AT_ONCE, from += HS_COPIED_AT_ONCE)
#pragma GCC unroll 4
			for (unsigned i = 0; i < HS_COPIED_AT_ONCE; i += 2) {
				two events;
				memcpy(&events, from + i, sizeof events);
				memcpy(to + i, &events, sizeof events);
			}
		uint64_t which = which_are_far(far, at - distance, piece);
		if (which && take_far_of(far, all, at, which) != 0)
			return -1;
		at += piece;
		count -= piece;
		if (piece == distance) /* what repeats stands there twice now */
			distance *= 2;
	}
	return 0;
}

/* Kinds and lanes of plain events, which then are a column of one byte an event. Where that ends is not known
 * yet if there are no lanes: up to three zeros are too many. */
static int join_kinds(struct column *kinds, const struct column *lanes, struct hs_events *all)
{
	size_t bytes = (size_t)(kinds->end - kinds->at), count = bytes * HS_KINDS_A_BYTE;
	size_t lane_count = (size_t)(lanes->end - lanes->at);
	if (count > sizeof all->kinds ||
	    (lane_count && (lane_count + HS_KINDS_A_BYTE - 1) / HS_KINDS_A_BYTE != bytes))
		return -1;
	for (size_t i = 0; i < bytes; i++) {
		uint32_t four = kinds->at[i];
		four = (four | four << 12) & 0x000f000f;
		four = (four | four << 6) & 0x03030303;
		memcpy(&all->kinds[i * HS_KINDS_A_BYTE], &four, sizeof four);
	}
	for (size_t i = 0; i < lane_count; i++) {
		if (lanes->at[i] >= HS_LANES)
			return -1;
		all->kinds[i] += (uint8_t)(lanes->at[i] * HS_EVENT_KINDS);
	}
	*kinds = (struct column){all->kinds, all->kinds + count};
	return 0;
}

static int unpack_all(struct column *columns, struct hs_events *all)
{
	uint32_t at = 0, count = all->count;
	struct column before = columns[HS_COLUMN_PLAIN], length = columns[HS_COLUMN_COPIED],
		      low = columns[HS_COLUMN_BACK_LOW], high = columns[HS_COLUMN_BACK_HIGH];
	struct far far;
	memset(far.events, 0, sizeof far.events);
	if (join_far(&columns[HS_COLUMN_FAR_LOW], all->far, &far) != 0 ||
	    join_kinds(&columns[HS_COLUMN_KIND], &columns[HS_COLUMN_LANE], all) != 0 ||
	    high.end - high.at != low.end - low.at)
		return -1;
	while (low.at < low.end) {
		uint64_t plain, copied;
		uint32_t distance = *low.at++ | (uint32_t)*high.at++ << 8;
		if (take_next(&before, &plain) != 0 || take_next(&length, &copied) != 0 ||
		    plain > count - at || unpack_events(columns, &far, all, at, (uint32_t)plain) != 0)
			return -1;
		at += (uint32_t)plain;
		if (copied > count - at || distance == 0 || distance > at ||
		    copy_events(all, at, (uint32_t)copied, distance, &far) != 0)
			return -1;
		at += (uint32_t)copied;
	}
	if (before.at != before.end || length.at != length.end ||
	    unpack_events(columns, &far, all, at, count - at) != 0 || far.next != far.end)
		return -1;
	const struct column *kinds = &columns[HS_COLUMN_KIND], *lanes = &columns[HS_COLUMN_LANE];
	if (kinds->end - kinds->at >= HS_KINDS_A_BYTE ||
	    (lanes->at < lanes->end && kinds->at - all->kinds != lanes->end - lanes->at))
		return -1;
	for (const uint8_t *rest = kinds->at; rest < kinds->end; rest++)
		if (*rest)
			return -1;
	static const enum hs_column plain[] = {HS_COLUMN_NODE, HS_COLUMN_SIZE, HS_COLUMN_ENDED};
	for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
		if (columns[plain[i]].at != columns[plain[i]].end)
			return -1;
	return 0;
}

/* Sizes apart from events: each lane has as many as blocks that begin. */
static int unpack_sizes(struct column *parts, struct hs_events *events)
{
	uint32_t count = 0, lane_sizes[HS_LANES] = {0};
	const struct hs_event *event = events->events;
	for (unsigned p = 0; p < HS_SIZE_PARTS; p++) {
		for (unsigned i = 0; i < HS_LANES; i++) {
			struct column part = {0};
			if (events->lane_events[i] && take_column(&parts[p].at, parts[p].end, &part) != 0)
				return -1;
			events->sizes_begin[i][p] = count;
			while (part.at < part.end)
				if (count == events->count || take_next(&part, &events->sizes[count++]) != 0)
					return -1;
			events->sizes_end[i][p] = count;
			lane_sizes[i] += count - events->sizes_begin[i][p];
		}
		if (parts[p].at != parts[p].end)
			return -1;
	}
	for (unsigned i = 0; i < HS_LANES; i++) {
		for (uint32_t k = 0; k < events->lane_events[i]; k++, event++)
			lane_sizes[i] -= hs_event_kind(*event) != HS_EVENT_FREE;
		if (lane_sizes[i])
			return -1;
	}
	return 0;
}

int hs_events_unpack(const uint8_t *payload, const struct hs_member *member, bool times,
		     struct hs_events *events, struct hs_error *error)
{
	const uint8_t *at = payload, *end = payload + member->raw_bytes;
	struct column columns[HS_COLUMNS] = {0}, sizes[HS_SIZE_PARTS];
	uint64_t head[6]; /* previous time, from there to the last, allocations, unit, grain, sizes */
	events->count = member->items;
	events->run_count = events->large_count = events->realloc_count = events->unit_count = 0;
	memset(events->lane_events, 0, sizeof events->lane_events);
	if (events->count > HS_EVENTS_A_MEMBER)
		return hs_fail(error, "it claims %u events", events->count);
	for (unsigned i = 0; i < 6; i++) {
		at = hs_varint_get(at, end, &head[i]);
		if (!at)
			return hs_fail(error, "it ends too early");
	}
	if (head[5] > HS_SIZES_APART)
		return hs_fail(error, "its sizes stand where this program does not know");
	events->sizes_apart = head[5] == HS_SIZES_APART;
	for (unsigned i = 0; i < HS_COLUMNS; i++) {
		bool several = i == HS_COLUMN_SIZE && events->sizes_apart;
		struct column *to = several ? sizes : &columns[i];
		for (unsigned k = 0; k < (several ? HS_SIZE_PARTS : 1); k++)
			if (take_column(&at, end, &to[k]) != 0)
				return hs_fail(error, "it ends too early");
	}
	if (at != end)
		return hs_fail(error, "%zu bytes follow its columns", (size_t)(end - at));
	if (head[0] > HS_TIME_MOST || head[1] > HS_TIME_MOST - head[0])
		return hs_fail(error, "its time is impossible");
	if (head[3] == 0 || head[3] > HS_TIME_UNIT_MOST || head[4] == 0 || head[4] > HS_EVENTS_A_MEMBER)
		return hs_fail(error, "its unit of time is impossible");
	events->previous_us = head[0];
	events->last_us = head[0] + head[1];
	events->allocations_before = head[2];
	events->resolution_us = head[4] > 1 ? 2 * head[3] : head[3];
	if (unpack_threads(columns[HS_COLUMN_THREAD], events) != 0 ||
	    unpack_times(columns[HS_COLUMN_TIME], head[3], head[4], events) != 0 ||
	    unpack_all(columns, events) != 0 || (events->sizes_apart && unpack_sizes(sizes, events) != 0))
		return hs_fail(error, "its columns do not fit together");
	if (times)
		spread_times(events);
	return 0;
}
