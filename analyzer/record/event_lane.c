/* Codes of one lane's events -> bytes of the columns. */
#include "record/event_lane.h"

#include "heapscope/varint.h"

/* Copies. Places are looked up by the LOOK events that follow; shorter copies save little. Of the last PLACES
 * that begin alike, the one that goes on alike for longest is copied, and one of LONG_ENOUGH at once. Before
 * that, it is looked whether one of the next LATER places begins a copy that ends GAIN events or more later.
 */
enum { LOOK = 6, PLACES = 8, LONG_ENOUGH = 32, LATER = 2, GAIN = 4, PATIENCE_BITS = 4 };

enum { KIND_MASK = (1 << HS_CODED_KIND_BITS) - 1 };

_Static_assert(HS_LANE_RING_LEAST % HS_LANE_STRIDE == 0 && HS_EVENTS_A_MEMBER % HS_LANE_STRIDE == 0 &&
		       HS_LANE_RING_LEAST > 2 * HS_LANE_STRIDE,
	       "a limit is where either ends");

void hs_event_lane_init(struct hs_event_lane *lane)
{
	*lane = (struct hs_event_lane){0};
	lane->events = hs_allocate(HS_LANE_RING_MOST * sizeof *lane->events);
	lane->seen = hs_allocate(HS_LANE_RING_MOST * sizeof *lane->seen);
	lane->earlier = hs_allocate(HS_LANE_RING_MOST * sizeof *lane->earlier);
	for (unsigned i = 0; i < HS_LANE_PARTS; i++)
		hs_bytes_room(&lane->parts[i], HS_EVENTS_A_MEMBER); /* enough for most */
}

void hs_event_lane_free(struct hs_event_lane *lane)
{
	free(lane->events);
	free(lane->seen);
	free(lane->earlier);
	free(lane->large);
	for (unsigned i = 0; i < HS_LANE_PARTS; i++)
		hs_bytes_free(&lane->parts[i]);
	for (unsigned i = 0; i < HS_SIZE_PARTS; i++)
		hs_bytes_free(&lane->sizes[i]);
	*lane = (struct hs_event_lane){0};
}

void hs_event_lane_start(struct hs_event_lane *lane, uint32_t ring, enum hs_sizes sizes, bool all_near)
{
	lane->next = lane->limit = lane->packed = lane->events;
	lane->far_next = lane->far;
	lane->sizes_are = sizes;
	lane->all_near = all_near;
	lane->count = lane->put = lane->at = lane->misses = lane->copied = lane->distance = 0;
	lane->plain_first = lane->large_count = lane->large_put = 0;
	for (unsigned i = 0; i < HS_LANE_PARTS; i++)
		lane->parts[i].count = 0;
	for (unsigned i = 0; i < HS_SIZE_PARTS; i++)
		lane->sizes[i].count = 0;
	lane->ring_mask = ring - 1;
	lane->distance_most = ring - 2 * HS_LANE_STRIDE;
	lane->seen_shift = 64 - (unsigned)__builtin_ctz(ring);
	memset(lane->seen, 0, ring * sizeof *lane->seen);
}

static inline const struct hs_coded_event *event_at(const struct hs_event_lane *lane, uint32_t i)
{
	return &lane->events[i & lane->ring_mask];
}

/* Where the place of the LOOK events at `at` is remembered. */
static inline uint32_t *look_up(const struct hs_event_lane *lane, uint32_t at)
{
	uint64_t sum = LOOK;
	for (uint32_t i = at; i < at + LOOK; i++) {
		const struct hs_coded_event *event = event_at(lane, i);
		uint64_t both = (uint64_t)event->size << 32 | event->node;
		sum = (sum ^ both ^ event->ended >> HS_CODED_KIND_BITS << 15 ^
		       (event->ended & KIND_MASK) << 13) *
		      0x9e3779b97f4a7c15u;
		sum ^= sum >> 29;
	}
	return &lane->seen[sum * 0x9e3779b97f4a7c15u >> lane->seen_shift];
}

/* Whether event i is a copy of the one `distance` before it. */
static inline bool same(const struct hs_event_lane *lane, uint32_t i, uint32_t distance)
{
	const struct hs_coded_event *event = event_at(lane, i);
	const struct hs_coded_event *earlier = event_at(lane, i - distance);
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

/* Mostly one byte. */
static inline uint8_t *put_byte(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value >= 0x80, 0))
		return hs_varint_put(at, value);
	*at = (uint8_t)value;
	return at + 1;
}

/* `count` events in a row, the next after those in the parts, that are no copies. all_near: of the lane. */
static inline __attribute__((always_inline)) void put_row_of(struct hs_event_lane *lane, uint32_t count,
							     bool all_near)
{
	struct hs_bytes *parts = lane->parts;
	uint8_t *kind = hs_bytes_room(&parts[HS_COLUMN_KIND], count);
	uint8_t *node = hs_bytes_room(&parts[HS_COLUMN_NODE], (size_t)count * HS_VARINT_MOST);
	uint8_t *size = hs_bytes_room(&parts[HS_COLUMN_SIZE], (size_t)count * HS_VARINT_MOST);
	uint8_t *ended = hs_bytes_room(&parts[HS_COLUMN_ENDED], (size_t)count * HS_VARINT_MOST);
	const struct hs_coded_event *event = event_at(lane, lane->put), *end = event + count;
	bool sizes_apart = lane->sizes_are == HS_SIZES_APART;
	for (; event < end; event++) {
		unsigned is = event->ended % HS_EVENT_KINDS;
		*kind++ = event->ended & KIND_MASK;
		if (is != HS_EVENT_ALLOC) {
			uint64_t code = event->ended >> HS_CODED_KIND_BITS;
			ended = all_near ? put_value(ended, code) : put_byte(ended, code);
			if (is == HS_EVENT_FREE)
				continue;
		}
		node = put_value(node, event->node);
		if (sizes_apart)
			continue;
		if (__builtin_expect(event->size != HS_CODED_LARGE, 1))
			size = put_value(size, event->size);
		else
			size = hs_varint_put(size, lane->large[lane->large_put++]);
	}
	parts[HS_COLUMN_KIND].count += count;
	parts[HS_COLUMN_NODE].count = (size_t)(node - parts[HS_COLUMN_NODE].data);
	parts[HS_COLUMN_SIZE].count = (size_t)(size - parts[HS_COLUMN_SIZE].data);
	parts[HS_COLUMN_ENDED].count = (size_t)(ended - parts[HS_COLUMN_ENDED].data);
	lane->put += count;
}

/* Two functions, each of which has the registers for itself. */
static __attribute__((noinline)) void put_row(struct hs_event_lane *lane, uint32_t count)
{
	put_row_of(lane, count, false);
}

static __attribute__((noinline)) void put_row_all_near(struct hs_event_lane *lane, uint32_t count)
{
	put_row_of(lane, count, true);
}

typedef uint8_t sixteen __attribute__((vector_size(16)));

static inline sixteen even_bytes(sixteen a, sixteen b)
{
	return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

static inline sixteen odd_bytes(sixteen a, sixteen b)
{
	return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* Far blocks that have come since the last time: a column for each byte. Copies or not, each has its own. */
static void put_far(struct hs_event_lane *lane)
{
	enum { AT_ONCE = 16, FAR_COLUMNS = HS_COLUMN_FAR_LANE - HS_COLUMN_FAR_LOW + 1 };
	_Static_assert(FAR_COLUMNS == sizeof *lane->far && HS_LANE_STRIDE % AT_ONCE == 0, "no more, no less");
	size_t count = (size_t)(lane->far_next - lane->far);
	uint8_t *out[FAR_COLUMNS];
	for (unsigned i = 0; i < FAR_COLUMNS; i++) {
		out[i] = hs_bytes_room(&lane->parts[HS_COLUMN_FAR_LOW + i], HS_LANE_STRIDE);
		lane->parts[HS_COLUMN_FAR_LOW + i].count += count;
	}
	/* of the last sixteen some may be what was there before */
	for (size_t i = 0; i < count; i += AT_ONCE) {
		sixteen far[4], even[2], odd[2], bytes;
		memcpy(far, lane->far + i, sizeof far);
		for (unsigned k = 0; k < 2; k++) {
			even[k] = even_bytes(far[2 * k], far[2 * k + 1]);
			odd[k] = odd_bytes(far[2 * k], far[2 * k + 1]);
		}
		bytes = even_bytes(even[0], even[1]);
		memcpy(out[0] + i, &bytes, sizeof bytes);
		bytes = even_bytes(odd[0], odd[1]);
		memcpy(out[1] + i, &bytes, sizeof bytes);
		bytes = odd_bytes(even[0], even[1]);
		memcpy(out[2] + i, &bytes, sizeof bytes);
		bytes = odd_bytes(odd[0], odd[1]);
		memcpy(out[3] + i, &bytes, sizeof bytes);
	}
	lane->far_next = lane->far;
}

/* Events that are no copies: those that are not in the parts yet, up to `end`. */
static void put_plain(struct hs_event_lane *lane, uint32_t end)
{
	while (lane->put < end) {
		uint32_t count = end - lane->put, row = lane->ring_mask + 1 - (lane->put & lane->ring_mask);
		(lane->all_near ? put_row_all_near : put_row)(lane, count < row ? count : row);
	}
}

/* The copy that ends before `at`, and what stands before it. */
static void put_copy(struct hs_event_lane *lane)
{
	struct hs_bytes *parts = lane->parts;
	const uint8_t back[] = {(uint8_t)lane->distance, (uint8_t)(lane->distance >> 8)};
	if (lane->copied)
		hs_bytes_varint(&parts[HS_COLUMN_PLAIN], lane->copy - lane->copied);
	else
		lane->plain_first = lane->copy;
	hs_bytes_varint(&parts[HS_COLUMN_COPIED], lane->at - lane->copy);
	hs_bytes_add(&parts[HS_COLUMN_BACK_LOW], &back[0], 1);
	hs_bytes_add(&parts[HS_COLUMN_BACK_HIGH], &back[1], 1);
	lane->put = lane->copied = lane->at;
	lane->distance = lane->misses = 0;
}

/* Follows the copy that `at` is in. Returns false if all events so far belong to it. */
static bool end_copy(struct hs_event_lane *lane)
{
	uint32_t at = lane->at;
	while (at < lane->count && same(lane, at, lane->distance))
		at++;
	lane->at = at;
	if (at == lane->count)
		return false;
	put_copy(lane);
	return true;
}

/* Events that are those `distance` before them. */
struct repeat {
	uint32_t at, count, distance;
};

/* What repeats from `at` on: LOOK events or more, or none. Remembers the place. */
static struct repeat find_repeat(struct hs_event_lane *lane, uint32_t at)
{
	uint32_t *seen = look_up(lane, at), place = *seen, left = lane->count - at;
	uint32_t most = left < LONG_ENOUGH ? left : LONG_ENOUGH;
	struct repeat best = {at, LOOK - 1, 0};
	lane->earlier[at & lane->ring_mask] = place;
	*seen = at + 1;
	for (unsigned i = 0; i < PLACES && place && best.count < most; i++) {
		uint32_t distance = at + 1 - place, count = 0;
		if (distance > lane->distance_most)
			break;
		while (count < most && same(lane, at + count, distance))
			count++;
		if (count > best.count)
			best = (struct repeat){at, count, distance};
		place = lane->earlier[(place - 1) & lane->ring_mask];
	}
	return best;
}

/* If the events at `at` are those of a time before a copy begins, perhaps with some that stand before them.
 */
static bool begin_copy(struct hs_event_lane *lane)
{
	struct repeat best = find_repeat(lane, lane->at);
	if (!best.distance)
		return false;
	for (uint32_t i = 1; i <= LATER && best.count < LONG_ENOUGH && best.at + i + LOOK <= lane->count;
	     i++) {
		struct repeat later = find_repeat(lane, best.at + i);
		if (later.distance && i + later.count >= best.count + GAIN) {
			best = later;
			i = 0;
		}
	}
	lane->at = best.at + best.count;
	while (best.at > lane->put && best.at > best.distance && same(lane, best.at - 1, best.distance))
		best.at--;
	put_plain(lane, best.at);
	lane->distance = best.distance;
	lane->copy = best.at;
	return true;
}

void hs_event_lane_pack(struct hs_event_lane *lane)
{
	put_far(lane);
	lane->count += (uint32_t)(lane->next - lane->packed);
	if (lane->next == lane->events + lane->ring_mask + 1)
		lane->next = lane->events;
	lane->packed = lane->next;
	lane->limit = lane->next + HS_LANE_STRIDE;
	while (!lane->distance || end_copy(lane)) {
		if (lane->at + LOOK > lane->count)
			break;
		/* where nothing repeats, look less and less often */
		if (!begin_copy(lane))
			lane->at += 1 + (lane->misses++ >> PATIENCE_BITS);
	}
	if (!lane->distance && lane->at > lane->put)
		put_plain(lane, lane->at < lane->count ? lane->at : lane->count);
}

void hs_event_lane_finish(struct hs_event_lane *lane)
{
	hs_event_lane_pack(lane);
	if (lane->distance)
		put_copy(lane);
	else
		put_plain(lane, lane->count);
}

void hs_event_lane_keep_size(struct hs_event_lane *lane, struct hs_coded_event *event, uint32_t node,
			     uint64_t size, uint64_t code)
{
	unsigned kind = event->ended % HS_EVENT_KINDS;
	if (lane->sizes_are == HS_SIZES_IN_COPIES) {
		event->size = HS_CODED_LARGE;
		lane->large =
			hs_grow(lane->large, lane->large_count, &lane->large_capacity, sizeof *lane->large);
		lane->large[lane->large_count++] = code;
		return;
	}
	event->size = 0;
	if (kind == HS_EVENT_RESIZE)
		event->ended += HS_EVENT_MOVE - HS_EVENT_RESIZE;
	hs_bytes_varint(&lane->sizes[node % HS_SIZE_PARTS],
			kind == HS_EVENT_ALLOC ? size : size << 1 | (kind == HS_EVENT_RESIZE));
}
