#include "tracker.h"

#include "base/memory.h"
#include "heapscope/varint.h"

#include <stdlib.h>
#include <string.h>

/* No block is larger than the address space, and sums stay within 63 bits. */
#define SIZE_MOST ((1ULL << 57) - 1)
#define SUM_MOST (UINT64_MAX / 2)

/* Of a table as large only those pages should be there that a lane needs. */
enum { SPARSE_BYTES = 256 << 10 };

/* ---- codes ----------------------------------------------------------------------------------------------
 */

/* What the events of a run have in common, in registers as far as they go. */
struct turn {
	struct hs_tracker *tracker;
	struct hs_tracker_lane *lane;
	struct hs_events *events;
	bool sizes_apart;                       /* constant */
	struct hs_remembered *remembered, *own; /* of the lane; of the latest allocation's node */
	uint64_t *latest, *own_latest;          /* of all threads; of this one */
	uint32_t node_count, thread;
	uint64_t now_us, allocated_bytes;
};

static void add_place(struct hs_tracker_lane *lane, uint32_t node)
{
	uint32_t place = lane->place_count++;
	lane->remembered =
		hs_grow(lane->remembered, place, &lane->remembered_capacity, sizeof *lane->remembered);
	lane->remembered[place] = (struct hs_remembered){.node = node};
	lane->place_of_node[node] = place;
}

/* Turns to the node, which the latest one's is followed by from now on. */
HS_IN_LOOP void turn_to_node(struct turn *turn, uint32_t node)
{
	struct hs_tracker_lane *lane = turn->lane;
	if (__builtin_expect(lane->place_of_node[node] == 0, 0) && node) {
		ptrdiff_t latest = turn->own - turn->remembered;
		add_place(lane, node);
		turn->remembered = lane->remembered;
		turn->own = turn->remembered + latest;
	}
	turn->own->successor = lane->place_of_node[node];
	turn->own = turn->remembered + turn->own->successor;
}

/* Where the block is that the event ends. */
HS_IN_LOOP struct hs_tracker_lane *ended_home(const struct turn *turn, unsigned further)
{
	size_t place = (size_t)(turn->lane - turn->tracker->lanes);
	return __builtin_expect(further == 0, 1) ? turn->lane
						 : &turn->tracker->lanes[(place + further) % HS_LANES];
}

/* The number of the ended block that the code stands for. */
HS_IN_LOOP uint64_t decode_end(const struct turn *turn, const struct hs_tracker_lane *home, unsigned further,
			       uint64_t code)
{
	uint64_t *last_ended = &turn->lane->last_ended[further];
	return *last_ended = code & 1 ? *last_ended + (uint64_t)hs_unzigzag(code >> 1)
				      : home->blocks.count - 1 - (code >> 1);
}

/* Where the size of the node's latest block stands, which is large. */
static __attribute__((noinline)) uint64_t *large_size(struct hs_tracker_lane *lane,
						      const struct hs_remembered *own)
{
	uint32_t number = hs_pairs_add(&lane->large_places, (uint64_t)(own - lane->remembered), 0, NULL);
	lane->large_sizes =
		hs_grow(lane->large_sizes, number, &lane->large_capacity, sizeof *lane->large_sizes);
	return &lane->large_sizes[number];
}

HS_IN_LOOP void remember_size(struct turn *turn, uint64_t size)
{
	struct hs_event *ending = &turn->own->ending;
	bool known = hs_event_kind(*ending) != HS_EVENT_ALLOC;
	uint32_t group = hs_event_node(*ending);
	if (__builtin_expect(size < HS_VALUE_LARGE, 1)) {
		*ending = hs_event(known ? HS_EVENT_FREE : HS_EVENT_ALLOC, (uint32_t)size, group);
	} else {
		*ending = hs_event(known ? HS_EVENT_MOVE : HS_EVENT_ALLOC, HS_VALUE_LARGE, group);
		*large_size(turn->lane, turn->own) = size;
	}
}

HS_IN_LOOP uint64_t remembered_size(const struct turn *turn)
{
	uint32_t value = hs_event_value(turn->own->ending);
	return __builtin_expect(value < HS_VALUE_LARGE, 1) ? value : *large_size(turn->lane, turn->own);
}

/* The next size of those that stand apart, which tells a realloc in place as well. Returns false if there is
 * none. */
HS_IN_LOOP bool take_size(struct hs_events *events, size_t lane, uint32_t node, enum hs_event_kind *kind,
			  uint64_t *size)
{
	uint32_t *next = &events->sizes_begin[lane][node % HS_SIZE_PARTS];
	if (*next == events->sizes_end[lane][node % HS_SIZE_PARTS])
		return false;
	uint64_t value = events->sizes[(*next)++];
	bool was_realloc = *kind == HS_EVENT_MOVE;
	*size = was_realloc ? value >> 1 : value;
	if (was_realloc && value & 1)
		*kind = HS_EVENT_RESIZE;
	return true;
}

/* Turns to the event's node and remembers the block's size, of which there is a code. Returns NULL, or what
 * is wrong. */
HS_IN_LOOP const char *decode_beginning(struct turn *turn, struct hs_event event, uint64_t size_code,
					enum hs_event_kind *kind)
{
	uint32_t code = hs_event_node(event);
	if (code != 0) {
		int64_t node = (int64_t)turn->own->node + hs_unzigzag(code - 1);
		if (node < 0 || node >= (int64_t)turn->node_count)
			return "an allocation has a stack that is not in the file";
		turn_to_node(turn, (uint32_t)node);
	} else {
		turn->own = turn->remembered + turn->own->successor;
	}
	if (turn->sizes_apart) {
		uint64_t size;
		if (!take_size(turn->events, (size_t)(turn->lane - turn->tracker->lanes), turn->own->node,
			       kind, &size))
			return "an allocation has no size";
		remember_size(turn, size);
	} else if (size_code != 0) {
		remember_size(turn, size_code - 1);
	}
	return NULL;
}

static const char *const impossible_size = "an allocation has an impossible size";

HS_IN_LOOP bool is_possible(const struct turn *turn, uint64_t size)
{
	return size <= SIZE_MOST && turn->allocated_bytes + size <= SUM_MOST;
}

/* ---- events ---------------------------------------------------------------------------------------------
 */

/* Begins the latest node's block, which `ending` would end. */
HS_IN_LOOP void begin_block(struct turn *turn, struct hs_event ending, uint64_t size, enum hs_pass pass)
{
	struct hs_blocks *blocks = &turn->lane->blocks;
	turn->allocated_bytes += size;
	*turn->own_latest = blocks->count;
	hs_blocks_begin(blocks, pass != HS_PASS_NODES, ending, size, turn->thread, turn->now_us,
			turn->allocated_bytes);
}

/* Likewise, of the size that is remembered, which is possible. Returns the tracked event. */
HS_IN_LOOP struct hs_event begin_rare(struct turn *turn, enum hs_event_kind kind, enum hs_pass pass)
{
	struct hs_remembered *own = turn->own;
	uint64_t size = remembered_size(turn);
	struct hs_chosen chosen = pass == HS_PASS_FULL
					  ? hs_tracker_choose(turn->tracker, turn->lane, own, size)
					  : hs_tracker_use_node(turn->tracker, turn->lane, own);
	begin_block(turn, hs_event(HS_EVENT_FREE, hs_event_value(own->ending), chosen.group), size, pass);
	return hs_event(kind + HS_EVENT_RARE + chosen.first * HS_EVENT_FIRST, hs_value_of(turn->events, size),
			chosen.group);
}

/* Of a block that an event ends. Returns the time it lived, if somebody asks. */
HS_IN_LOOP uint64_t end_life(const struct turn *turn, const struct hs_block *block, enum hs_pass pass)
{
	if (pass == HS_PASS_NODES)
		return 0;
	uint64_t lived_us = turn->now_us - block->born_us;
	if (pass == HS_PASS_GROUPS || block->group != HS_LEFT_OUT)
		hs_tracker_note_life(turn->tracker->out, block, lived_us, turn->allocated_bytes);
	return lived_us;
}

HS_IN_LOOP void note_ended(struct turn *turn, const struct hs_block *block, uint64_t lived_us)
{
	struct hs_events *events = turn->events;
	events->ended[events->ended_count++] = (struct hs_ended){block->size, lived_us, block->group};
}

static const char *const no_such_block = "an event ends a block that is not live";

/* Ends the block of that number. Returns the free that ends it, of word 0 if there is no such block. */
HS_IN_LOOP struct hs_event end_block(struct turn *turn, struct hs_tracker_lane *home, uint64_t number,
				     struct hs_block *block, enum hs_pass pass)
{
	struct hs_event ending = hs_blocks_end_small(&home->blocks, pass != HS_PASS_NODES, number, block);
	if (__builtin_expect(ending.word == 0, 0)) {
		struct hs_block apart; /* so that *block may be in registers */
		if (!hs_blocks_end_apart(&home->blocks, number, &apart))
			return ending;
		bool rare = apart.size >= HS_VALUE_LARGE;
		ending = hs_event(HS_EVENT_FREE + rare * HS_EVENT_RARE, hs_value_of(turn->events, apart.size),
				  apart.group);
		*block = apart;
	}
	return ending;
}

/* These return NULL, or what is wrong. */

HS_IN_LOOP const char *track_free(struct turn *turn, struct hs_event *event, struct hs_tracker_lane *home,
				  unsigned further, uint64_t code, enum hs_pass pass)
{
	struct hs_block block;
	uint64_t number = decode_end(turn, home, further, code);
	struct hs_event ending = end_block(turn, home, number, &block, pass);
	if (ending.word == 0)
		return no_such_block;
	bool temporary = turn->latest[block.thread] == number;
	event->word = ending.word + temporary * HS_EVENT_TEMPORARY;
	uint64_t lived_us = end_life(turn, &block, pass);
	if (pass == HS_PASS_FULL)
		note_ended(turn, &block, lived_us);
	return NULL;
}

HS_IN_LOOP const char *track_allocation(struct turn *turn, struct hs_event *event, uint64_t size_code,
					enum hs_pass pass)
{
	enum hs_event_kind kind = HS_EVENT_ALLOC;
	const char *wrong = decode_beginning(turn, *event, size_code, &kind);
	if (wrong)
		return wrong;
	struct hs_event ending = turn->own->ending;
	if (pass != HS_PASS_FULL && __builtin_expect(hs_event_kind(ending) == HS_EVENT_FREE, 1)) {
		uint32_t size = hs_event_value(ending);
		if (size >= HS_VALUE_LARGE)
			__builtin_unreachable();
		if (!is_possible(turn, size))
			return impossible_size;
		begin_block(turn, ending, size, pass);
		event->word = ending.word - HS_EVENT_FREE + HS_EVENT_ALLOC;
		return NULL;
	}
	if (!is_possible(turn, remembered_size(turn)))
		return impossible_size;
	*event = begin_rare(turn, HS_EVENT_ALLOC, pass);
	return NULL;
}

HS_IN_LOOP const char *track_realloc(struct turn *turn, struct hs_event *event, struct hs_tracker_lane *home,
				     unsigned further, enum hs_pass pass)
{
	struct hs_block block;
	enum hs_event_kind kind = hs_event_kind(*event);
	struct hs_realloc_codes codes = turn->events->reallocs[hs_event_value(*event)];
	uint64_t number = decode_end(turn, home, further, codes.ended);
	const char *wrong = decode_beginning(turn, *event, codes.size, &kind);
	if (wrong)
		return wrong;
	if (!is_possible(turn, remembered_size(turn)))
		return impossible_size;
	if (end_block(turn, home, number, &block, pass).word == 0)
		return no_such_block;
	note_ended(turn, &block, end_life(turn, &block, pass));
	*event = begin_rare(turn, kind, pass);
	return NULL;
}

/* An HS_EVENT_RARE one. */
HS_IN_LOOP const char *track_rare(struct turn *turn, struct hs_event *event, enum hs_pass pass)
{
	unsigned further = hs_event_lanes(*event);
	struct hs_tracker_lane *home = ended_home(turn, further);
	uint32_t code = hs_event_node(*event);
	switch (hs_event_kind(*event)) {
	case HS_EVENT_FREE:
		return track_free(turn, event, home, further,
				  code < HS_CODE_LARGE ? code : turn->events->large[code - HS_CODE_LARGE],
				  pass);
	case HS_EVENT_ALLOC:
		return track_allocation(turn, event, hs_number_of(turn->events, *event), pass);
	default:
		return track_realloc(turn, event, home, further, pass);
	}
}

HS_IN_LOOP const char *track_event(struct turn *turn, struct hs_event *event, enum hs_pass pass)
{
	if (__builtin_expect(event->word & HS_EVENT_RARE, 0))
		return track_rare(turn, event, pass);
	if (hs_event_kind(*event) == HS_EVENT_FREE)
		return track_free(turn, event, turn->lane, 0, hs_event_node(*event), pass);
	return track_allocation(turn, event, hs_event_value(*event), pass);
}

/* The events of a run, up to lane->next. Returns the one at which something is wrong, or lane->next. */
HS_IN_LOOP struct hs_event *track_run_of(struct hs_tracker *tracker, struct hs_tracker_lane *lane,
					 struct hs_events *events, struct hs_event *event, bool sizes_apart,
					 enum hs_pass pass)
{
	struct turn turn = {
		.tracker = tracker,
		.lane = lane,
		.events = events,
		.sizes_apart = sizes_apart,
		.remembered = lane->remembered,
		.own = lane->remembered + lane->latest_place,
		.latest = tracker->latest,
		.own_latest = &tracker->latest[lane->latest_thread],
		.node_count = tracker->profile->node_count,
		.thread = lane->latest_thread,
		.allocated_bytes = tracker->allocated_bytes,
	};
	const uint64_t *times_us = &events->times_us[events->tracked];
	const char *wrong = NULL;
	for (struct hs_event *end = lane->next; event < end; event++) {
		if (pass != HS_PASS_NODES)
			turn.now_us = *times_us++;
		if (pass == HS_PASS_FULL)
			tracker->now_us = turn.now_us;
		if (pass == HS_PASS_FULL && tracker->choice.stop &&
		    turn.now_us > tracker->choice.filter->at_us)
			wrong = hs_events_stopped;
		else
			wrong = track_event(&turn, event, pass);
		if (__builtin_expect(wrong != NULL, 0))
			break;
		if (pass == HS_PASS_FULL)
			tracker->events++;
	}
	lane->latest_place = (uint32_t)(turn.own - turn.remembered);
	tracker->allocated_bytes = turn.allocated_bytes;
	events->wrong = wrong;
	return event;
}

/* A function each, which has the registers for itself. */
typedef struct hs_event *track_run(struct hs_tracker *tracker, struct hs_tracker_lane *lane,
				   struct hs_events *events, struct hs_event *event);

#define TRACK_RUN(name, sizes_apart, pass)                                                                   \
	static struct hs_event *name(struct hs_tracker *tracker, struct hs_tracker_lane *lane,               \
				     struct hs_events *events, struct hs_event *event)                       \
	{                                                                                                    \
		return track_run_of(tracker, lane, events, event, sizes_apart, pass);                        \
	}
TRACK_RUN(track_nodes, false, HS_PASS_NODES)
TRACK_RUN(track_nodes_apart, true, HS_PASS_NODES)
TRACK_RUN(track_groups, false, HS_PASS_GROUPS)
TRACK_RUN(track_groups_apart, true, HS_PASS_GROUPS)
TRACK_RUN(track_full, false, HS_PASS_FULL)
TRACK_RUN(track_full_apart, true, HS_PASS_FULL)

static track_run *choose_track(enum hs_pass pass, bool sizes_apart)
{
	switch (pass) {
	case HS_PASS_NODES:
		return sizes_apart ? track_nodes_apart : track_nodes;
	case HS_PASS_GROUPS:
		return sizes_apart ? track_groups_apart : track_groups;
	default:
		return sizes_apart ? track_full_apart : track_full;
	}
}

/* ---- members --------------------------------------------------------------------------------------------
 */

static uint32_t *make_places(const struct hs_tracker *tracker)
{
	size_t bytes = tracker->profile->node_count * sizeof(uint32_t);
	if (tracker->lanes_begun && bytes >= SPARSE_BYTES)
		return hs_allocate_zero(1, bytes);
	/* The first lane, mostly the only one, meets most nodes. Written at once: a page of zeros that is
	 * read first costs a second fault when it is written. */
	uint32_t *places = hs_allocate_filled(bytes);
	memset(places, 0, bytes);
	return places;
}

/* Makes the lanes ready for a member. */
static void start_lanes(struct hs_tracker *tracker, struct hs_events *events)
{
	struct hs_event *next = events->events;
	for (unsigned i = 0; i < HS_LANES; i++) {
		struct hs_tracker_lane *lane = &tracker->lanes[i];
		lane->next = next;
		next += events->lane_events[i];
		for (unsigned k = 0; k < HS_LANES; k++)
			lane->last_ended[k] = tracker->lanes[(i + k) % HS_LANES].blocks.count;
		if (lane->place_of_node || !events->lane_events[i])
			continue;
		lane->blocks.births = tracker->pass != HS_PASS_NODES;
		lane->place_of_node = make_places(tracker);
		add_place(lane, 0);
		tracker->lanes_begun |= 1U << i;
	}
}

/* Makes the thread the latest of its lane. */
static void turn_to_thread(struct hs_tracker *tracker, struct hs_tracker_lane *lane, uint32_t id)
{
	bool added;
	const struct hs_filter *filter = tracker->choice.filter;
	uint32_t number = hs_pairs_add(&tracker->thread_ids, id, 0, &added);
	if (added) {
		tracker->threads = hs_grow(tracker->threads, number, &tracker->thread_capacity,
					   sizeof *tracker->threads);
		tracker->latest =
			hs_grow(tracker->latest, number, &tracker->latest_capacity, sizeof *tracker->latest);
		tracker->latest[number] = UINT64_MAX;
		tracker->threads[tracker->thread_count++] = (struct hs_tracker_thread){
			.id = id,
			.selected = !filter || hs_filter_thread(filter, tracker->profile, id),
		};
	}
	if (lane->latest_id)
		tracker->threads[lane->latest_thread].latest_place = lane->latest_place;
	lane->latest_id = id;
	lane->latest_thread = number;
	lane->latest_place = tracker->threads[number].latest_place;
	hs_blocks_turn(&lane->blocks, number);
}

static void track_all(struct hs_tracker *tracker, struct hs_events *events)
{
	track_run *track = choose_track(tracker->pass, events->sizes_apart);
	for (uint32_t run = 0; run < events->run_count && !events->wrong; run++) {
		uint32_t id = events->run_threads[run];
		struct hs_tracker_lane *lane = &tracker->lanes[id % HS_LANES];
		if (lane->latest_id != id)
			turn_to_thread(tracker, lane, id);
		struct hs_event *first = lane->next;
		lane->next += events->run_lengths[run];
		events->tracked += (uint32_t)(track(tracker, lane, events, first) - first);
	}
}

void hs_tracker_track(struct hs_tracker *tracker, struct hs_events *events)
{
	events->tracked = events->ended_count = 0;
	events->wrong = NULL;
	if (tracker->stopped || events->allocations_before != hs_tracker_begun(tracker) ||
	    events->previous_us != tracker->now_us) {
		events->wrong = "events before it are missing";
	} else {
		start_lanes(tracker, events);
		track_all(tracker, events);
		tracker->now_us = events->last_us;
	}
	tracker->stopped = events->wrong != NULL;
	if (tracker->how.by_node)
		atomic_store_explicit(&tracker->how.by_node->count, tracker->node_groups,
				      memory_order_release);
}

void hs_tracker_free_lanes(struct hs_tracker *tracker)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		hs_blocks_free(&tracker->lanes[i].blocks);
		free(tracker->lanes[i].remembered);
		hs_pairs_free(&tracker->lanes[i].large_places);
		free(tracker->lanes[i].large_sizes);
		free(tracker->lanes[i].place_of_node);
		free(tracker->lanes[i].survivors.numbers);
	}
}

void hs_tracker_free(struct hs_tracker *tracker)
{
	hs_pairs_free(&tracker->thread_ids);
	hs_pairs_free(&tracker->parts);
	free(tracker->threads);
	free(tracker->latest);
	free(tracker->begun);
	free(tracker->choice.nodes);
	free(tracker->choice.spans);
}
