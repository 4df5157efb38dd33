/* Unpacks the columns of an events member into arrays and checks their structure. What a code means depends
 * on the events before it and is the replay's business; this part can run for many members at once. */
#include "events.h"

#include "heapscope/varint.h"

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

static int unpack_values(struct column column, uint64_t *values, uint32_t count)
{
	const uint8_t *at = column.at;
	for (uint32_t i = 0; i < count; i++) {
		at = take(at, column.end, &values[i]);
		if (!at)
			return -1;
	}
	return at == column.end ? 0 : -1;
}

static int unpack_nodes(struct column column, uint32_t *nodes, uint32_t count)
{
	const uint8_t *at = column.at;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value;
		at = take(at, column.end, &value);
		if (!at)
			return -1;
		nodes[i] = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
	}
	return at == column.end ? 0 : -1;
}

static int unpack_times(struct column column, struct hs_events *events)
{
	const uint8_t *at = column.at;
	uint64_t now = events->previous_us;
	uint32_t i = 0;
	while (at < column.end) {
		uint64_t same, delta;
		at = take(at, column.end, &same);
		at = at ? take(at, column.end, &delta) : NULL;
		if (!at || same >= events->count - i || delta == 0 || delta > UINT64_MAX - now)
			return -1;
		for (uint32_t end = i + (uint32_t)same; i < end; i++)
			events->times_us[i] = now;
		now += delta;
		events->times_us[i++] = now;
	}
	for (; i < events->count; i++)
		events->times_us[i] = now;
	return 0;
}

static int unpack_threads(struct column column, struct hs_events *events)
{
	const uint8_t *at = column.at;
	uint64_t covered = 0;
	while (at < column.end) {
		uint64_t thread, length;
		at = take(at, column.end, &thread);
		at = at ? take(at, column.end, &length) : NULL;
		if (!at || thread == 0 || thread > UINT32_MAX || length == 0 ||
		    length > events->count - covered)
			return -1;
		covered += length;
		events->run_threads[events->run_count] = (uint32_t)thread;
		events->run_lengths[events->run_count++] = (uint32_t)length;
	}
	return covered == events->count ? 0 : -1;
}

/* Copies the kinds and counts the blocks that begin and those that end. */
static int unpack_kinds(struct column column, struct hs_events *events, uint32_t *begins, uint32_t *ends)
{
	if ((uint64_t)(column.end - column.at) != events->count)
		return -1;
	uint32_t frees = 0, allocations = 0;
	uint8_t most = 0;
	for (uint32_t i = 0; i < events->count; i++) {
		uint8_t kind = column.at[i];
		events->kinds[i] = kind;
		most = kind > most ? kind : most;
		frees += kind == HS_EVENT_FREE;
		allocations += kind == HS_EVENT_ALLOC;
	}
	*begins = events->count - frees;
	*ends = events->count - allocations;
	return most < HS_EVENT_KINDS ? 0 : -1;
}

int hs_events_unpack(const uint8_t *payload, const struct hs_member *member, struct hs_events *events,
		     struct hs_error *error)
{
	const uint8_t *at = payload, *end = payload + member->raw_bytes;
	struct column columns[HS_COLUMNS];
	uint32_t begins, ends;
	events->count = member->items;
	events->run_count = 0;
	if (events->count > HS_EVENTS_A_MEMBER)
		return hs_fail(error, "it claims %u events", events->count);
	at = hs_varint_get(at, end, &events->previous_us);
	at = at ? hs_varint_get(at, end, &events->allocations_before) : NULL;
	if (!at)
		return hs_fail(error, "it ends too early");
	for (unsigned i = 0; i < HS_COLUMNS; i++)
		if (take_column(&at, end, &columns[i]) != 0)
			return hs_fail(error, "it ends too early");
	if (at != end)
		return hs_fail(error, "%zu bytes follow its columns", (size_t)(end - at));
	if (unpack_kinds(columns[HS_COLUMN_KIND], events, &begins, &ends) != 0 ||
	    unpack_threads(columns[HS_COLUMN_THREAD], events) != 0 ||
	    unpack_times(columns[HS_COLUMN_TIME], events) != 0 ||
	    unpack_nodes(columns[HS_COLUMN_NODE], events->nodes, begins) != 0 ||
	    unpack_values(columns[HS_COLUMN_SIZE], events->sizes, begins) != 0 ||
	    unpack_values(columns[HS_COLUMN_ENDED], events->ended, ends) != 0)
		return hs_fail(error, "its columns do not fit together");
	return 0;
}
