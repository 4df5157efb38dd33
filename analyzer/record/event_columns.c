/* The payload of an events member. */
#include "record/event_columns.h"

#include "heapscope/varint.h"

/* Times. A program that allocates all the time does so many times a microsecond, and how many each time is
 * noise, which nothing packs: exact times would be two thirds of jq's file. So such members get a coarser
 * unit, and counts of events in it that are rounded to a half of what is usual there, or less. Members with
 * few different times stay exact; the first one of a file may have more of them, so that short runs do. */
enum { EXACT_TIMES = 1024, EXACT_TIMES_FIRST = 4096, COARSE_UNIT_US = 16, GRAINS_A_UNIT = 2 };

/* Copies. Positions are looked up by the LOOK events that follow; shorter copies save nothing. */
enum { LOOK = 4, SEEN_BITS = 14, PATIENCE_BITS = 5 };

/* Events are packed so many at a time; those that a copy is taken of are still kept when the next ones come.
 */
enum { STRIDE = 1024, DISTANCE_MOST = HS_CODED_EVENTS - 2 * STRIDE };
_Static_assert(HS_CODED_EVENTS % STRIDE == 0 && HS_EVENTS_A_MEMBER % STRIDE == 0,
	       "a limit is where either ends");

void hs_event_columns_init(struct hs_event_columns *columns)
{
	*columns = (struct hs_event_columns){0};
	columns->events = hs_allocate(HS_CODED_EVENTS * sizeof *columns->events);
	columns->steps = hs_allocate(HS_EVENTS_A_MEMBER * sizeof *columns->steps);
	columns->seen = hs_allocate(sizeof *columns->seen << SEEN_BITS);
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		hs_bytes_room(&columns->parts[i], HS_EVENTS_A_MEMBER); /* enough for most */
}

void hs_event_columns_free(struct hs_event_columns *columns)
{
	free(columns->events);
	free(columns->steps);
	free(columns->seen);
	free(columns->large);
	hs_bytes_free(&columns->threads);
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		hs_bytes_free(&columns->parts[i]);
	*columns = (struct hs_event_columns){0};
}

/* ---- times --------------------------------------------------------------------------------------------- */

struct scale {
	uint64_t unit_us;
	uint32_t grain; /* events */
};

/* How many times a new unit begins. */
static uint32_t count_units(const struct hs_event_columns *columns, uint64_t unit_us)
{
	uint64_t now_us = 0, begun = 0;
	uint32_t units = 0;
	for (uint32_t i = 0; i < columns->step_count; i++) {
		now_us += columns->steps[i].us;
		units += now_us / unit_us != begun;
		begun = now_us / unit_us;
	}
	return units;
}

static struct scale choose_scale(const struct hs_event_columns *columns)
{
	struct scale scale = {1, 1};
	if (columns->step_count <= (columns->members ? EXACT_TIMES : EXACT_TIMES_FIRST))
		return scale;
	scale.unit_us = COARSE_UNIT_US;
	uint32_t most = columns->count / (GRAINS_A_UNIT * (count_units(columns, scale.unit_us) + 1));
	while (scale.grain * 2 <= most)
		scale.grain *= 2;
	return scale;
}

/* What rounding leaves counts as of the next unit, but no event as of one further on. */
static void put_times(struct hs_event_columns *columns, const struct scale *scale)
{
	struct hs_bytes *out = &columns->parts[HS_COLUMN_TIME];
	uint64_t now_us = 0, unit = 0;
	uint32_t told = 0, begun = 0; /* events; before the unit */
	for (uint32_t i = 0; i < columns->step_count; i++) {
		now_us += columns->steps[i].us;
		uint64_t gap = now_us / scale->unit_us - unit;
		if (!gap)
			continue;
		uint32_t event = columns->steps[i].event - columns->first;
		uint32_t grains = (event - told) / scale->grain;
		if (gap == 1 && told + grains * scale->grain >= begun) {
			hs_bytes_varint(out, (uint64_t)grains << 1);
			told += grains * scale->grain;
		} else {
			hs_bytes_varint(out, (uint64_t)(event - told) << 1 | 1);
			hs_bytes_varint(out, gap - 1);
			told = event;
		}
		unit += gap;
		begun = event;
	}
}

/* ---- copies -------------------------------------------------------------------------------------------- */

static inline const struct hs_coded_event *event_at(const struct hs_event_columns *columns, uint32_t i)
{
	return &columns->events[i % HS_CODED_EVENTS];
}

static inline uint32_t look_up(const struct hs_event_columns *columns, uint32_t at)
{
	uint64_t sum = 0;
	for (uint32_t i = at; i < at + LOOK; i++) {
		const struct hs_coded_event *event = event_at(columns, i);
		uint64_t both = (uint64_t)event->size << 32 | event->node;
		sum = (sum ^ both ^ event->ended << 13) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 29;
	}
	return (uint32_t)(sum * 0x9e3779b97f4a7c15u >> (64 - SEEN_BITS));
}

/* Whether event i is a copy of the one `distance` before it. */
static inline bool same(const struct hs_event_columns *columns, uint32_t i, uint32_t distance)
{
	const struct hs_coded_event *event = event_at(columns, i);
	const struct hs_coded_event *earlier = event_at(columns, i - distance);
	return ((event->ended ^ earlier->ended) | (event->node ^ earlier->node) |
		(event->size ^ earlier->size)) == 0 &&
	       event->size != HS_CODED_LARGE;
}

/* One or two bytes without a branch that nobody can foresee; may write a byte more than it uses. */
static inline uint8_t *put_value(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value >= 1 << 14, 0))
		return hs_varint_put(at, value);
	unsigned two = value > 0x7f;
	uint16_t bytes = (uint16_t)(value + (value & ~UINT64_C(0x7f)) + (two << 7));
	memcpy(at, &bytes, sizeof bytes);
	return at + 1 + two;
}

/* `count` events in a row, the next after those in the parts, that are no copies. */
static void put_row(struct hs_event_columns *columns, uint32_t count)
{
	struct hs_bytes *parts = columns->parts;
	uint8_t *kind = hs_bytes_room(&parts[HS_COLUMN_KIND], count);
	uint8_t *node = hs_bytes_room(&parts[HS_COLUMN_NODE], (size_t)count * HS_VARINT_MOST);
	uint8_t *size = hs_bytes_room(&parts[HS_COLUMN_SIZE], (size_t)count * HS_VARINT_MOST);
	uint8_t *ended = hs_bytes_room(&parts[HS_COLUMN_ENDED], (size_t)count * HS_VARINT_MOST);
	const struct hs_coded_event *event = event_at(columns, columns->put), *end = event + count;
	for (; event < end; event++) {
		unsigned is = event->ended & 3;
		*kind++ = (uint8_t)is;
		if (is != HS_EVENT_ALLOC) {
			ended = put_value(ended, event->ended >> 2);
			if (is == HS_EVENT_FREE)
				continue;
		}
		node = put_value(node, event->node);
		if (__builtin_expect(event->size != HS_CODED_LARGE, 1))
			size = put_value(size, event->size);
		else
			size = hs_varint_put(size, columns->large[columns->large_put++]);
	}
	parts[HS_COLUMN_KIND].count += count;
	parts[HS_COLUMN_NODE].count = (size_t)(node - parts[HS_COLUMN_NODE].data);
	parts[HS_COLUMN_SIZE].count = (size_t)(size - parts[HS_COLUMN_SIZE].data);
	parts[HS_COLUMN_ENDED].count = (size_t)(ended - parts[HS_COLUMN_ENDED].data);
	columns->put += count;
}

/* Events that are no copies: those that are not in the parts yet, up to `end`. */
static void put_plain(struct hs_event_columns *columns, uint32_t end)
{
	while (columns->put < end) {
		uint32_t count = end - columns->put, row = HS_CODED_EVENTS - columns->put % HS_CODED_EVENTS;
		put_row(columns, count < row ? count : row);
	}
}

/* The copy that ends before `at`, and what stands before it. */
static void put_copy(struct hs_event_columns *columns)
{
	struct hs_bytes *out = &columns->parts[HS_COLUMN_COPIES];
	hs_bytes_varint(out, columns->copy - columns->copied);
	hs_bytes_varint(out, columns->at - columns->copy);
	hs_bytes_varint(out, columns->distance);
	columns->put = columns->copied = columns->at;
	columns->distance = columns->misses = 0;
}

/* Follows the copy that `at` is in. Returns false if all events so far belong to it. */
static bool end_copy(struct hs_event_columns *columns)
{
	uint32_t at = columns->at;
	while (at < columns->count && same(columns, at, columns->distance))
		at++;
	columns->at = at;
	if (at == columns->count)
		return false;
	put_copy(columns);
	return true;
}

/* Whether the events at `at` are those of a time before: then a copy begins, perhaps with some that stand
 * before them. */
static bool begin_copy(struct hs_event_columns *columns)
{
	uint32_t at = columns->at, *seen = &columns->seen[look_up(columns, at)], distance = at + 1 - *seen;
	bool known = *seen && distance <= DISTANCE_MOST;
	*seen = at + 1;
	for (unsigned i = 0; known && i < LOOK; i++)
		known = same(columns, at + i, distance);
	if (!known)
		return false;
	while (at > columns->put && at > distance && same(columns, at - 1, distance))
		at--;
	put_plain(columns, at);
	columns->distance = distance;
	columns->copy = at;
	columns->at += LOOK;
	return true;
}

void hs_event_columns_pack(struct hs_event_columns *columns)
{
	columns->count += (uint32_t)(columns->next - columns->packed);
	if (columns->next == columns->events + HS_CODED_EVENTS)
		columns->next = columns->events;
	columns->packed = columns->next;
	columns->limit = columns->next + STRIDE;
	while (!columns->distance || end_copy(columns)) {
		if (columns->at + LOOK > columns->count)
			break;
		/* where nothing repeats, look less and less often */
		if (!begin_copy(columns))
			columns->at += 1 + (columns->misses++ >> PATIENCE_BITS);
	}
	if (!columns->distance && columns->at > columns->put)
		put_plain(columns, columns->at < columns->count ? columns->at : columns->count);
}

void hs_event_columns_keep_large(struct hs_event_columns *columns, uint64_t code)
{
	columns->large = hs_grow(columns->large, columns->large_count, &columns->large_capacity,
				 sizeof *columns->large);
	columns->large[columns->large_count++] = code;
}

void hs_event_columns_start(struct hs_event_columns *columns, uint64_t time_us, uint64_t events,
			    uint64_t allocations)
{
	columns->next = columns->packed = columns->events;
	columns->limit = columns->next + STRIDE;
	columns->count = columns->step_count = 0;
	columns->first = (uint32_t)events;
	columns->previous_us = time_us;
	columns->allocations = allocations;
	columns->put = columns->at = columns->misses = columns->copied = columns->distance = 0;
	columns->large_count = columns->large_put = 0;
	columns->threads.count = 0;
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		columns->parts[i].count = 0;
	memset(columns->seen, 0, sizeof *columns->seen << SEEN_BITS);
}

void hs_event_columns_put(struct hs_event_columns *columns, struct hs_bytes *payload, uint64_t last_us)
{
	hs_event_columns_pack(columns);
	struct scale scale = choose_scale(columns);
	if (columns->distance)
		put_copy(columns);
	else
		put_plain(columns, columns->count);
	put_times(columns, &scale);
	hs_bytes_varint(payload, columns->previous_us);
	hs_bytes_varint(payload, last_us - columns->previous_us);
	hs_bytes_varint(payload, columns->allocations);
	hs_bytes_varint(payload, scale.unit_us);
	hs_bytes_varint(payload, scale.grain);
	for (unsigned i = 0; i < HS_COLUMNS; i++) {
		const struct hs_bytes *part = i == HS_COLUMN_THREAD ? &columns->threads : &columns->parts[i];
		hs_bytes_string(payload, part->data, part->count);
	}
	columns->members++;
}
