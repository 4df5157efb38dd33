/* The payload of an events member, out of its lanes. */
#include "record/event_columns.h"

#include "heapscope/varint.h"

/* Times. A program that allocates all the time does so many times a microsecond, and how many each time is
 * noise, which nothing packs: exact times would be two thirds of jq's file. So such members get a coarser
 * unit, and counts of events in it that are rounded to a half of what is usual there, or less. Members with
 * few different times stay exact; the first one of a file may have more of them, so that short runs do. */
enum { EXACT_TIMES = 1024, EXACT_TIMES_FIRST = 4096, COARSE_UNIT_US = 16, GRAINS_A_UNIT = 2 };

/* Columns of so many bytes are deflated apart: what they have in common is no more than a code that fits
 * none.
 */
enum { PIECE_LEAST = 1024 };

/* Sizes. Where they vary all the time, copies are short, and many: then all sizes apart may take less. Which
 * way takes less is seen by trying: the other way is kept if it takes 7/8 or less, else tried again after
 * twice as many payloads. Not where all is little.
 */
enum { PATIENCE_LEAST = 8, PATIENCE_MOST = 64, WORTH_BYTES = 256 /* of 1024 events */ };
/* Smaller payloads have other weights. */
enum { WEIGHED_EVENTS = HS_EVENTS_A_MEMBER / 2 };

/* Where nearly no event is a copy, far blocks stand with the near ones: columns of their own take more time.
 * Where they stand there, copies may not be seen, so that the other way is tried now and then.
 */
enum { PLAIN_EIGHTHS = 7, FAR_PAYLOADS = 16 };

/* A lane is busy with so many events of a member. */
enum { BUSY_EVENTS = HS_EVENTS_A_MEMBER / 16 };

void hs_event_columns_init(struct hs_event_columns *columns)
{
	*columns = (struct hs_event_columns){0};
	columns->ring = HS_LANE_RING_MOST;
	columns->payloads_left = columns->patience = PATIENCE_LEAST;
	columns->steps = hs_allocate(HS_EVENTS_A_MEMBER * sizeof *columns->steps);
}

void hs_event_columns_free(struct hs_event_columns *columns)
{
	free(columns->steps);
	hs_bytes_free(&columns->threads);
	hs_bytes_free(&columns->times);
	hs_bytes_free(&columns->plain);
	hs_bytes_free(&columns->sizes_part);
	hs_bytes_free(&columns->kinds);
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
	struct hs_bytes *out = &columns->times;
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

/* ---- the payload --------------------------------------------------------------------------------------- */

/* 127 itself stands for far. */
static bool all_near(const struct hs_event_columns *columns)
{
	return columns->far_codes == 1;
}

static size_t count_bytes(const struct hs_event_columns *columns, enum hs_column column)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < HS_LANES; i++)
		bytes += columns->lanes[i] ? columns->lanes[i]->parts[column].count : 0;
	return bytes;
}

static void choose_far(struct hs_event_columns *columns)
{
	size_t plain = count_bytes(columns, HS_COLUMN_KIND);
	bool copies = plain * 8 <= (size_t)columns->count * PLAIN_EIGHTHS;
	columns->far_codes = copies || columns->members % FAR_PAYLOADS == 0 ? HS_FAR_END - HS_ENDED_FAR : 1;
}

void hs_event_columns_add(struct hs_event_columns *columns, unsigned place, struct hs_event_lane *lane)
{
	hs_event_lane_init(lane);
	hs_event_lane_start(lane, columns->ring, columns->sizes, all_near(columns));
	columns->lanes[place] = lane;
}

bool hs_event_columns_extend(struct hs_event_columns *columns, struct hs_event_lane *lane)
{
	if (columns->room == 0)
		return false;
	columns->room -= HS_LANE_STRIDE;
	hs_event_lane_pack(lane);
	return true;
}

/* The lanes share what one would have alone: for the next payload, after the busy lanes of this one. */
static uint32_t choose_ring(const struct hs_event_columns *columns)
{
	unsigned busy = 0;
	for (unsigned i = 0; i < HS_LANES; i++)
		busy += columns->lanes[i] && columns->lanes[i]->count >= BUSY_EVENTS;
	uint32_t ring = HS_LANE_RING_MOST;
	while (ring > HS_LANE_RING_LEAST && ring * busy > HS_LANE_RING_MOST)
		ring /= 2;
	return ring;
}

void hs_event_columns_start(struct hs_event_columns *columns, uint64_t time_us, uint64_t events,
			    uint64_t allocations)
{
	columns->ring = choose_ring(columns);
	choose_far(columns);
	for (unsigned i = 0; i < HS_LANES; i++)
		if (columns->lanes[i])
			hs_event_lane_start(columns->lanes[i], columns->ring, columns->sizes,
					    all_near(columns));
	columns->size_end = columns->sizes == HS_SIZES_APART ? 0 : HS_CODED_LARGE;
	columns->room = HS_EVENTS_A_MEMBER;
	columns->count = columns->step_count = 0;
	columns->first = (uint32_t)events;
	columns->previous_us = time_us;
	columns->allocations = allocations;
	columns->threads.count = columns->times.count = 0;
}

/* One after the other; what is plain behind a lane's last copy stands before the next lane's first. */
static void join_plain(struct hs_event_columns *columns)
{
	struct hs_bytes *out = &columns->plain;
	uint32_t plain = 0;
	out->count = 0;
	for (unsigned i = 0; i < HS_LANES; i++) {
		const struct hs_event_lane *lane = columns->lanes[i];
		if (!lane)
			continue;
		if (lane->copied) {
			hs_bytes_varint(out, plain + lane->plain_first);
			hs_bytes_add(out, lane->parts[HS_COLUMN_PLAIN].data,
				     lane->parts[HS_COLUMN_PLAIN].count);
			plain = 0;
		}
		plain += lane->count - lane->copied;
	}
}

/* A column of that many bytes comes. */
static void begin_column(struct hs_event_columns *columns, uint8_t column, struct hs_bytes *payload,
			 size_t bytes)
{
	struct hs_writer_cuts *cuts = &columns->cuts;
	size_t piece = payload->count - (cuts->count ? cuts->at[cuts->count - 1] : 0);
	if (bytes >= PIECE_LEAST && piece >= PIECE_LEAST) {
		cuts->at[cuts->count++] = payload->count;
		cuts->about[cuts->count] = column;
	}
	hs_bytes_varint(payload, bytes);
}

static void put_column(struct hs_event_columns *columns, uint8_t column, const struct hs_bytes *data,
		       struct hs_bytes *payload)
{
	begin_column(columns, column, payload, data->count);
	hs_bytes_add(payload, data->data, data->count);
}

/* Of all lanes, one after the other. */
static void add_parts(const struct hs_event_columns *columns, enum hs_column column, struct hs_bytes *bytes)
{
	for (unsigned i = 0; i < HS_LANES; i++)
		if (columns->lanes[i])
			hs_bytes_add(bytes, columns->lanes[i]->parts[column].data,
				     columns->lanes[i]->parts[column].count);
}

static void put_lanes(struct hs_event_columns *columns, enum hs_column column, struct hs_bytes *payload)
{
	begin_column(columns, (uint8_t)column, payload, count_bytes(columns, column));
	add_parts(columns, column, payload);
}

/* Whether all of a column's bytes are. */
static bool is_zero(const struct hs_event_columns *columns, enum hs_column column)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		const struct hs_bytes *part = columns->lanes[i] ? &columns->lanes[i]->parts[column] : NULL;
		if (part && part->count &&
		    (part->data[0] || memcmp(part->data, part->data + 1, part->count - 1) != 0))
			return false;
	}
	return true;
}

/* The lowest two bits of each byte. Returns whether any has others, which are lanes. */
static bool put_kinds(struct hs_event_columns *columns, struct hs_bytes *payload)
{
	struct hs_bytes *kinds = &columns->kinds;
	size_t bytes = (kinds->count + HS_KINDS_A_BYTE - 1) / HS_KINDS_A_BYTE;
	memset(hs_bytes_room(kinds, HS_KINDS_A_BYTE), 0, HS_KINDS_A_BYTE);
	begin_column(columns, HS_COLUMN_KIND, payload, bytes);
	uint8_t *out = hs_bytes_room(payload, bytes);
	uint32_t four, all = 0;
	for (size_t i = 0; i < bytes; i++) {
		memcpy(&four, kinds->data + i * HS_KINDS_A_BYTE, sizeof four);
		all |= four;
		four &= 0x03030303;
		out[i] = (uint8_t)(four | four >> 6 | four >> 12 | four >> 18);
	}
	payload->count += bytes;
	return all & ~0x03030303U;
}

/* The other bits. */
static void put_lanes_of_ended(struct hs_event_columns *columns, bool any, struct hs_bytes *payload)
{
	struct hs_bytes *kinds = &columns->kinds;
	if (!any)
		kinds->count = 0;
	for (size_t i = 0; i < kinds->count; i++)
		kinds->data[i] /= HS_EVENT_KINDS;
	put_column(columns, HS_COLUMN_LANE, kinds, payload);
}

_Static_assert(HS_COLUMNS + HS_SIZE_PARTS <= HS_WRITER_ABOUT_MOST, "each column is told apart");

/* By the node, then lane by lane. */
static void put_sizes_apart(struct hs_event_columns *columns, struct hs_bytes *payload)
{
	struct hs_bytes *part = &columns->sizes_part;
	for (unsigned p = 0; p < HS_SIZE_PARTS; p++) {
		part->count = 0;
		for (unsigned i = 0; i < HS_LANES; i++) {
			const struct hs_event_lane *lane = columns->lanes[i];
			if (lane && lane->count)
				hs_bytes_string(part, lane->sizes[p].data, lane->sizes[p].count);
		}
		put_column(columns, (uint8_t)(HS_COLUMNS + p), part, payload);
	}
}

void hs_event_columns_put(struct hs_event_columns *columns, struct hs_bytes *payload, uint64_t last_us)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		if (!columns->lanes[i])
			continue;
		hs_event_lane_finish(columns->lanes[i]);
		columns->count += columns->lanes[i]->count;
	}
	struct scale scale = choose_scale(columns);
	put_times(columns, &scale);
	join_plain(columns);
	columns->kinds.count = 0;
	add_parts(columns, HS_COLUMN_KIND, &columns->kinds);
	columns->cuts.count = 0;
	hs_bytes_varint(payload, columns->previous_us);
	hs_bytes_varint(payload, last_us - columns->previous_us);
	hs_bytes_varint(payload, columns->allocations);
	hs_bytes_varint(payload, scale.unit_us);
	hs_bytes_varint(payload, scale.grain);
	hs_bytes_varint(payload, columns->sizes);
	put_column(columns, HS_COLUMN_PLAIN, &columns->plain, payload);
	for (enum hs_column i = HS_COLUMN_COPIED; i < HS_COLUMN_KIND; i++)
		put_lanes(columns, i, payload);
	bool other_lanes = put_kinds(columns, payload);
	put_column(columns, HS_COLUMN_THREAD, &columns->threads, payload);
	put_column(columns, HS_COLUMN_TIME, &columns->times, payload);
	put_lanes(columns, HS_COLUMN_NODE, payload);
	if (columns->sizes == HS_SIZES_APART)
		put_sizes_apart(columns, payload);
	else
		put_lanes(columns, HS_COLUMN_SIZE, payload);
	put_lanes(columns, HS_COLUMN_ENDED, payload);
	put_lanes(columns, HS_COLUMN_FAR_LOW, payload);
	for (enum hs_column i = HS_COLUMN_FAR_MIDDLE; i <= HS_COLUMN_FAR_LANE; i++) {
		if (is_zero(columns, i))
			begin_column(columns, (uint8_t)i, payload, 0);
		else
			put_lanes(columns, i, payload);
	}
	put_lanes_of_ended(columns, other_lanes, payload);
	columns->members++;
}

static void other_sizes(struct hs_event_columns *columns)
{
	columns->sizes = columns->sizes == HS_SIZES_APART ? HS_SIZES_IN_COPIES : HS_SIZES_APART;
}

void hs_event_columns_weigh(struct hs_event_columns *columns, uint64_t bytes, bool hurried)
{
	uint64_t weight = bytes * 1024 / columns->count;
	if (columns->count < WEIGHED_EVENTS)
		return;
	if (columns->trying) {
		bool comparable = hurried == columns->usual_is_hurried;
		columns->trying = false;
		if (comparable && weight * 8 <= columns->usual * 7) {
			columns->patience = PATIENCE_LEAST;
		} else {
			columns->patience *= comparable && columns->patience < PATIENCE_MOST ? 2 : 1;
			other_sizes(columns);
		}
		columns->payloads_left = columns->patience;
		return;
	}
	columns->usual = weight;
	columns->usual_is_hurried = hurried;
	if (weight >= WORTH_BYTES && --columns->payloads_left == 0) {
		columns->trying = true;
		other_sizes(columns);
	}
}
