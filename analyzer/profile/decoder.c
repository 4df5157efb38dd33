#include "decoder.h"

#include "base/memory.h"
#include "heapscope/varint.h"

#include <stdlib.h>
#include <string.h>

/* No block is larger than the address space (57 bits), and sums stay within 63 bits. */
#define SIZE_MOST (1ULL << 57)
#define SUM_MOST ((uint64_t)INT64_MAX - SIZE_MOST)

/* Of a table as large only those pages should be there that a lane needs. */
enum { SPARSE_BYTES = 256 << 10 };

static uint64_t allocations_begun(const struct hs_decoder *decoder)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < HS_LANES; i++)
		count += decoder->lanes[i].blocks;
	return count;
}

static struct hs_remembered *make_nodes(const struct hs_decoder *decoder)
{
	size_t bytes = decoder->node_count * sizeof(struct hs_remembered);
	if (decoder->lanes_begun && bytes >= SPARSE_BYTES)
		return hs_allocate_zero(1, bytes);
	/* The first lane, mostly the only one, meets most nodes. Written at once: a page of zeros that is
	 * read first costs a second fault when it is written. */
	struct hs_remembered *nodes = hs_allocate_filled(bytes);
	memset(nodes, 0, bytes);
	return nodes;
}

/* Makes the lanes ready for a member. */
static void start_lanes(struct hs_decoder *decoder, struct hs_events *events)
{
	struct hs_event *next = events->events;
	for (unsigned i = 0; i < HS_LANES; i++) {
		struct hs_decoder_lane *lane = &decoder->lanes[i];
		lane->next = next;
		next += events->lane_events[i];
		for (unsigned k = 0; k < HS_LANES; k++)
			lane->last_ended[k] = decoder->lanes[(i + k) % HS_LANES].blocks;
		if (lane->nodes || !events->lane_events[i])
			continue;
		lane->nodes = make_nodes(decoder);
		decoder->lanes_begun = true;
	}
}

/* Threads get dense numbers in the order of their first event, whatever their ids are. Makes the thread the
 * latest of its lane. */
static void turn_to_thread(struct hs_decoder *decoder, struct hs_decoder_lane *lane, uint32_t id,
			   struct hs_events *events, uint32_t *new_threads)
{
	bool added;
	uint32_t number = hs_pairs_add(&decoder->thread_ids, id, 0, &added);
	if (added) {
		decoder->thread_nodes = hs_grow(decoder->thread_nodes, number, &decoder->thread_capacity,
						sizeof *decoder->thread_nodes);
		decoder->thread_nodes[number] = 0;
		events->new_threads[(*new_threads)++] = id;
	}
	if (lane->latest_id)
		decoder->thread_nodes[lane->latest_thread] = lane->latest_node;
	lane->latest_id = id;
	lane->latest_thread = number;
	lane->latest_node = decoder->thread_nodes[number];
}

static inline void decode_end(const struct hs_decoder *decoder, struct hs_decoder_lane *lane,
			      struct hs_event *event)
{
	unsigned further = event->kind / HS_EVENT_KINDS;
	const struct hs_decoder_lane *home =
		__builtin_expect(further == 0, 1)
			? lane
			: &decoder->lanes[((size_t)(lane - decoder->lanes) + further) % HS_LANES];
	uint64_t code = event->ended, *last_ended = &lane->last_ended[further];
	event->ended = *last_ended =
		code & 1 ? *last_ended + (uint64_t)hs_unzigzag(code >> 1) : home->blocks - 1 - (code >> 1);
}

/* For loops over the events of a run, in which `apart` is constant. */
#define IN_LOOP static inline __attribute__((always_inline))

/* The event's size, which stands apart and tells a realloc in place as well. Returns false if there is none.
 */
static bool take_size(struct hs_events *events, size_t lane, uint32_t node, struct hs_event *event)
{
	uint32_t *next = &events->sizes_begin[lane][node % HS_SIZE_PARTS];
	if (*next == events->sizes_end[lane][node % HS_SIZE_PARTS])
		return false;
	uint64_t value = events->sizes[(*next)++];
	bool was_realloc = event->kind % HS_EVENT_KINDS == HS_EVENT_MOVE;
	event->size = was_realloc ? value >> 1 : value;
	if (was_realloc && value & 1)
		event->kind += HS_EVENT_RESIZE - HS_EVENT_MOVE;
	return true;
}

/* apart: NULL, or the member, whose sizes stand apart. Returns NULL, or what is wrong. */
IN_LOOP const char *decode_beginning(struct hs_decoder *decoder, struct hs_decoder_lane *lane,
				     struct hs_event *event, struct hs_events *apart)
{
	struct hs_remembered *previous = &lane->nodes[lane->latest_node];
	uint32_t node = previous->successor;
	if (event->node != 0) {
		int64_t id = (int64_t)lane->latest_node + hs_unzigzag(event->node - 1);
		if (id < 0 || id >= (int64_t)decoder->node_count)
			return "an allocation has a stack that is not in the file";
		previous->successor = node = (uint32_t)id;
	}
	struct hs_remembered *own = &lane->nodes[node];
	if (apart && !take_size(apart, (size_t)(lane - decoder->lanes), node, event))
		return "an allocation has no size";
	if (apart)
		own->size = event->size;
	else if (event->size != 0)
		own->size = event->size - 1;
	event->size = own->size;
	if (event->size > SIZE_MOST || decoder->allocated_bytes > SUM_MOST)
		return "an allocation has an impossible size";
	event->node = lane->latest_node = node;
	decoder->allocated_bytes += event->size;
	lane->blocks++;
	return NULL;
}

/* Returns the event at which something is wrong, or `end`. */
IN_LOOP struct hs_event *decode_run_of(struct hs_decoder *decoder, struct hs_decoder_lane *lane,
				       struct hs_event *event, struct hs_event *end, struct hs_events *apart,
				       const char **wrong)
{
	for (; event < end; event++) {
		unsigned kind = event->kind % HS_EVENT_KINDS;
		if (kind != HS_EVENT_ALLOC)
			decode_end(decoder, lane, event);
		if (kind != HS_EVENT_FREE) {
			*wrong = decode_beginning(decoder, lane, event, apart);
			if (*wrong)
				return event;
		}
	}
	return end;
}

/* Two functions, each of which has the registers for itself. Up to lane->next. */
static __attribute__((noinline)) struct hs_event *decode_run(struct hs_decoder *decoder,
							     struct hs_decoder_lane *lane,
							     struct hs_event *event, struct hs_events *events)
{
	return decode_run_of(decoder, lane, event, lane->next, NULL, &events->wrong);
}

static __attribute__((noinline)) struct hs_event *decode_run_apart(struct hs_decoder *decoder,
								   struct hs_decoder_lane *lane,
								   struct hs_event *event,
								   struct hs_events *events)
{
	return decode_run_of(decoder, lane, event, lane->next, events, &events->wrong);
}

void hs_decoder_decode(struct hs_decoder *decoder, struct hs_events *events)
{
	uint32_t new_threads = 0;
	events->decoded = 0;
	events->wrong = NULL;
	if (events->allocations_before != allocations_begun(decoder) ||
	    events->previous_us != decoder->now_us) {
		events->wrong = "events before it are missing";
		return;
	}
	start_lanes(decoder, events);
	for (uint32_t run = 0; run < events->run_count && !events->wrong; run++) {
		uint32_t id = events->run_threads[run];
		struct hs_decoder_lane *lane = &decoder->lanes[id % HS_LANES];
		if (lane->latest_id != id)
			turn_to_thread(decoder, lane, id, events, &new_threads);
		struct hs_event *first = lane->next;
		events->run_threads[run] = lane->latest_thread;
		lane->next += events->run_lengths[run];
		struct hs_event *end = events->sizes_apart ? decode_run_apart(decoder, lane, first, events)
							   : decode_run(decoder, lane, first, events);
		events->decoded += (uint32_t)(end - first);
	}
	decoder->now_us = events->last_us;
}

void hs_decoder_free(struct hs_decoder *decoder)
{
	for (unsigned i = 0; i < HS_LANES; i++)
		free(decoder->lanes[i].nodes);
	hs_pairs_free(&decoder->thread_ids);
	free(decoder->thread_nodes);
	*decoder = (struct hs_decoder){0};
}
