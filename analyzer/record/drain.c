/* Finds chunks, keeps the streams, merges them with a heap. decode.h has the records. */
#include "record/drain.h"

#include "base/memory.h"
#include "record/decode.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NO_CHUNK = UINT32_MAX,
	MARGIN_US = 50,     /* well above a store buffer's delay */
	BUSY_MOST_MS = 200, /* a stream that blocks the merge for so long is passed by */
	BUCKETS = 256,
	/* a few ms of work: new processes wait for the end of a round */
	ROUND_ITEMS = 65536,
	RELEASED_MOST = 8, /* chunks that waiting threads are told of together */
	KEEP_ROUNDS = 256, /* a stream without chunk is forgotten after so many */
};

/* What we know of a chunk that is not free. */
struct chunk {
	struct hs_stream *stream; /* NULL: not attached */
	uint32_t next;            /* in the stream */
	uint32_t sequence;
	uint32_t committed;       /* at the last look; */
	bool busy;                /* likewise, */
	uint64_t busy_since;      /* with the same committed since then */
	uint32_t quiet_committed; /* for hs_drain_bury_threads */
	bool dead;
};

struct hs_drain {
	struct hs_view *view;
	hs_sink *sink;
	void *context;

	struct chunk *chunks;
	uint32_t chunk_capacity;
	struct hs_stream *buckets[BUCKETS]; /* by id */
	struct hs_stream **streams;         /* all of them */
	uint32_t stream_count;
	size_t stream_capacity;

	struct hs_stream **heap; /* by key; streams with a next item, and those that block */
	uint32_t heap_count;
	size_t heap_capacity;

	uint64_t merged_key;   /* everything below is with the sink, or late */
	uint64_t bound_key;    /* of this round */
	uint64_t enough_items; /* the round pauses when so many have been merged in all */
	bool finish;
	uint32_t released; /* chunks, in this round */
	uint64_t late, damaged, items;

	struct hs_item batch[HS_BATCH_ITEMS];
	struct hs_news news[HS_BATCH_ITEMS]; /* of those items of the batch that are news */
	uint32_t batch_count;
};

struct hs_drain *hs_drain_new(struct hs_view *view, hs_sink *sink, void *context)
{
	struct hs_drain *drain = hs_allocate_zero(1, sizeof *drain);
	drain->view = view;
	drain->sink = sink;
	drain->context = context;
	return drain;
}

void hs_drain_free(struct hs_drain *drain)
{
	if (!drain)
		return;
	for (uint32_t i = 0; i < drain->stream_count; i++)
		free(drain->streams[i]);
	free(drain->streams);
	free(drain->chunks);
	free(drain->heap);
	free(drain);
}

uint64_t hs_drain_late(const struct hs_drain *drain)
{
	return drain->late;
}

uint64_t hs_drain_damaged(const struct hs_drain *drain)
{
	return drain->damaged;
}

/* ---- streams and their chunks -------------------------------------------------------------------------- */

static struct hs_stream **bucket_of(struct hs_drain *drain, uint32_t id)
{
	return &drain->buckets[id * 2654435761u >> 24];
}

static struct hs_stream *stream_of(struct hs_drain *drain, const struct hs_chunk_header *header)
{
	uint32_t id = hs_peek(&header->stream);
	struct hs_stream **bucket = bucket_of(drain, id), *stream = *bucket;
	while (stream && stream->id != id)
		stream = stream->next_in_bucket;
	if (stream)
		return stream;
	stream = hs_allocate_zero(1, sizeof *stream);
	stream->id = id;
	stream->thread = hs_peek(&header->thread);
	stream->tid = hs_peek(&header->tid);
	stream->mode = hs_peek(&header->mode);
	stream->first_chunk = NO_CHUNK;
	stream->next_in_bucket = *bucket;
	*bucket = stream;
	drain->streams =
		hs_grow(drain->streams, drain->stream_count, &drain->stream_capacity, sizeof *drain->streams);
	drain->streams[drain->stream_count++] = stream;
	return stream;
}

static void forget_stream(struct hs_drain *drain, uint32_t at)
{
	struct hs_stream *stream = drain->streams[at], **link = bucket_of(drain, stream->id);
	while (*link != stream)
		link = &(*link)->next_in_bucket;
	*link = stream->next_in_bucket;
	drain->streams[at] = drain->streams[--drain->stream_count];
	free(stream);
}

/* Adds a chunk to its stream's list, by sequence. A header is whole once something is committed or the owner
 * is busy. */
static void attach(struct hs_drain *drain, uint32_t index, struct hs_chunk_header *header)
{
	struct chunk *chunk = &drain->chunks[index];
	struct hs_stream *stream = stream_of(drain, header);
	chunk->stream = stream;
	chunk->sequence = hs_peek(&header->sequence);
	uint32_t *place = &stream->first_chunk;
	/* The first chunk stays where it is once it has been read from. */
	if (stream->open && *place != NO_CHUNK)
		place = &drain->chunks[*place].next;
	while (*place != NO_CHUNK && (int32_t)(drain->chunks[*place].sequence - chunk->sequence) <= 0)
		place = &drain->chunks[*place].next;
	chunk->next = *place;
	*place = index;
}

static bool is_full(struct hs_drain *drain, uint32_t index)
{
	return drain->finish || drain->chunks[index].dead ||
	       hs_peek_acquire(&drain->view->header->chunk_state[index]) != HS_CHUNK_OWNED;
}

/* Never past the end of a chunk. */
static uint32_t words_of(uint32_t committed)
{
	return (committed < HS_CHUNK_PAYLOAD_BYTES ? committed : HS_CHUNK_PAYLOAD_BYTES) / 8;
}

static uint32_t committed_words(const struct hs_chunk_header *header)
{
	return words_of(hs_peek_acquire(&header->committed));
}

/* Gives a chunk that is read back to the target. After the end nobody needs it. */
static void wake_waiters(struct hs_drain *drain)
{
	struct hs_region_header *header = drain->view->header;
	if (!drain->released)
		return;
	drain->released = 0;
	__atomic_add_fetch(&header->drained, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&header->waiters, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &header->drained, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void release(struct hs_drain *drain, uint32_t index, struct hs_chunk_header *header)
{
	drain->chunks[index] = (struct chunk){0};
	if (drain->finish)
		return;
	memset(header, 0, sizeof *header);
	__atomic_store_n(&drain->view->header->chunk_state[index], HS_CHUNK_FREE, __ATOMIC_RELEASE);
	/* not only at the end of a round: a core would lie idle */
	if (++drain->released == RELEASED_MOST)
		wake_waiters(drain);
}

static void open_chunk(struct hs_drain *drain, struct hs_stream *stream, struct hs_chunk_header *header)
{
	stream->open = true;
	stream->last_words = is_full(drain, stream->first_chunk);
	stream->words = (const uint64_t *)(header + 1);
	stream->position = 0;
	stream->end = committed_words(header);
	stream->stamp = hs_peek(&header->base_stamp);
}

/* Makes more words readable, in this chunk or the next one. false: there are none now. */
static bool more_words(struct hs_drain *drain, struct hs_stream *stream)
{
	while (stream->first_chunk != NO_CHUNK) {
		uint32_t index = stream->first_chunk;
		struct chunk *chunk = &drain->chunks[index];
		struct hs_chunk_header *header = hs_view_chunk(drain->view, index);
		if (!header)
			return false;
		if (!stream->open) {
			stream->gap =
				chunk->sequence != stream->next_sequence && !stream->gap && !drain->finish;
			if (stream->gap)
				return false; /* one more look for the missing one */
			open_chunk(drain, stream, header);
		} else if (!stream->last_words && is_full(drain, index)) {
			stream->last_words = true;
			stream->end = committed_words(header);
		} else if (stream->last_words) {
			stream->next_sequence = chunk->sequence + 1;
			stream->first_chunk = chunk->next;
			stream->open = false;
			stream->gap = false;
			/* The thread's next chunk may be there, but not seen yet. */
			stream->handed_over =
				stream->first_chunk == NO_CHUNK && !drain->finish && !hs_peek(&header->last);
			release(drain, index, header);
			continue;
		} else {
			return false;
		}
		if (stream->position < stream->end)
			return true;
	}
	return false;
}

/* ---- looking around ------------------------------------------------------------------------------------ */

/* Whether the owner is busy; not if nothing moved in the chunk for long. */
static bool is_busy(struct chunk *chunk, bool busy, uint32_t committed, uint64_t now, uint64_t most)
{
	if (!busy || !chunk->busy || committed != chunk->committed)
		chunk->busy_since = now;
	chunk->busy = busy;
	chunk->committed = committed;
	return busy && now - chunk->busy_since < most;
}

/* Reads busy before committed: what was published when the owner became idle is then seen. */
static void look_at_chunk(struct hs_drain *drain, uint32_t index, uint64_t now, uint64_t busy_most)
{
	struct hs_chunk_header *header = hs_view_chunk(drain->view, index);
	struct chunk *chunk = &drain->chunks[index];
	if (!header)
		return;
	bool owned = !is_full(drain, index);
	bool busy = hs_peek_acquire(&header->busy) != 0;
	uint32_t committed = hs_peek_acquire(&header->committed);
	if (!chunk->stream) {
		if ((committed || busy) && hs_peek(&header->stream)) {
			attach(drain, index, header);
		} else {
			if (!owned) /* handed over without an event */
				release(drain, index, header);
			return;
		}
	}
	struct hs_stream *stream = chunk->stream;
	stream->busy |= is_busy(chunk, owned && busy, committed, now, busy_most);
	if (stream->open && stream->first_chunk == index && !stream->last_words) {
		uint32_t words = words_of(committed);
		if (words > stream->end)
			stream->end = words;
	}
}

static void look_at_chunks(struct hs_drain *drain, const struct hs_stamp_clock *clock, uint64_t now)
{
	uint32_t count = hs_view_chunk_count(drain->view);
	if (count > drain->chunk_capacity) {
		drain->chunks = hs_reallocate(drain->chunks, count, sizeof *drain->chunks);
		memset(drain->chunks + drain->chunk_capacity, 0,
		       (count - drain->chunk_capacity) * sizeof *drain->chunks);
		drain->chunk_capacity = count;
	}
	uint64_t busy_most = clock->stamps_a_ms * BUSY_MOST_MS;
	const uint8_t *states = drain->view->header->chunk_state;
	for (uint32_t i = 0; i < drain->chunk_capacity; i++) {
		/* eight at once: most are free most of the time */
		if (i % 8 == 0 && i + 8 <= drain->chunk_capacity &&
		    !hs_peek((const uint64_t *)(states + i))) {
			i += 7;
			continue;
		}
		if (hs_peek_acquire(&states[i]) != HS_CHUNK_FREE)
			look_at_chunk(drain, i, now, busy_most);
	}
}

void hs_drain_bury_threads(struct hs_drain *drain, bool (*lives)(void *context, uint32_t tid), void *context)
{
	for (uint32_t i = 0; i < drain->chunk_capacity; i++) {
		struct chunk *chunk = &drain->chunks[i];
		if (chunk->dead || hs_peek_acquire(&drain->view->header->chunk_state[i]) != HS_CHUNK_OWNED)
			continue;
		struct hs_chunk_header *header = hs_view_chunk(drain->view, i);
		uint32_t tid = header ? hs_peek(&header->tid) : 0;
		uint32_t committed = header ? hs_peek_acquire(&header->committed) : 0;
		bool quiet = chunk->quiet_committed == committed;
		chunk->quiet_committed = committed;
		if (quiet && tid && !lives(context, tid))
			chunk->dead = true;
	}
}

/* ---- merging ------------------------------------------------------------------------------------------- */

static void sink_batch(struct hs_drain *drain)
{
	drain->items += drain->batch_count;
	if (drain->batch_count)
		drain->sink(drain->context, drain->batch, drain->batch_count);
	drain->batch_count = 0;
}

static struct hs_item *next_item(struct hs_drain *drain)
{
	if (drain->batch_count == HS_BATCH_ITEMS)
		sink_batch(drain);
	return &drain->batch[drain->batch_count++];
}

static void sift_down(struct hs_drain *drain, uint32_t at)
{
	struct hs_stream **heap = drain->heap, *stream = heap[at];
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= drain->heap_count)
			break;
		if (child + 1 < drain->heap_count && heap[child + 1]->key < heap[child]->key)
			child++;
		if (heap[child]->key >= stream->key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = stream;
}

/* The stream has nothing to give now, but something older than its neighbours' items may still come. */
static bool blocks(const struct hs_stream *stream)
{
	return stream->busy || stream->gap || stream->handed_over;
}

static void add_to_heap(struct hs_drain *drain, struct hs_stream *stream)
{
	drain->heap = hs_grow(drain->heap, drain->heap_count, &drain->heap_capacity, sizeof *drain->heap);
	drain->heap[drain->heap_count++] = stream;
}

static void make_heap(struct hs_drain *drain)
{
	drain->heap_count = 0;
	for (uint32_t i = drain->stream_count; i-- > 0;) {
		struct hs_stream *stream = drain->streams[i];
		bool alive = stream->first_chunk != NO_CHUNK || stream->has_second;
		stream->rounds_without_chunk = alive ? 0 : stream->rounds_without_chunk + 1;
		if (alive)
			add_to_heap(drain, stream);
		else if (stream->rounds_without_chunk > KEEP_ROUNDS)
			forget_stream(drain, i);
	}
	for (uint32_t i = drain->heap_count / 2; i-- > 0;)
		sift_down(drain, i);
}

enum run { RUN_LIMIT, RUN_EMPTY, RUN_PAUSED /* the round has given enough */ };

/* false: the stream's second half of a realloc does not come before limit_key. */
static bool run_second(struct hs_drain *drain, struct hs_stream *stream, uint64_t limit_key)
{
	uint64_t key = hs_item_key(stream->second_stamp, HS_ITEM_ATTACH, stream->key);
	stream->key = key;
	if (key >= limit_key)
		return false;
	drain->late += key < drain->merged_key && stream->second_has_stamp;
	stream->has_second = false;
	*next_item(drain) = (struct hs_item){
		.stamp = stream->second_stamp,
		.address = stream->second_address,
		.size = stream->second_size,
		.node = stream->second_node,
		.stream = stream,
		.kind = HS_ITEM_ATTACH,
	};
	return true;
}

static bool begin_lead(const struct hs_stream *stream, struct hs_lead *lead)
{
	if (!stream->open || stream->has_second)
		return false;
	*lead = (struct hs_lead){
		.at = stream->words + stream->position,
		.end = stream->words + stream->end,
		.last_stamp = stream->stamp,
		.key = stream->key,
	};
	return hs_lead_look(lead);
}

static void end_lead(struct hs_stream *stream, const struct hs_lead *lead)
{
	stream->position = (uint32_t)(lead->at - stream->words);
	stream->stamp = lead->last_stamp;
	stream->key = lead->key;
	if (lead->realloc != HS_ITEM_ATTACH)
		return;
	stream->position++;
	stream->stamp = lead->stamp;
	stream->has_second = true;
	stream->second_address = HS_WORD_ADDRESS(lead->first);
	stream->second_stamp = lead->stamp;
	stream->second_has_stamp = lead->stamp != lead->last_stamp;
	hs_lead_get_size(lead, &stream->second_size, &stream->second_node);
}

static inline bool take_lead(struct hs_drain *drain, struct hs_stream *stream, struct hs_lead *lead)
{
	struct hs_item *item = next_item(drain);
	item->stream = stream;
	return hs_lead_take(lead, item);
}

/* Takes what stands in short records up to one that does not. */
static enum run run_short(struct hs_drain *drain, struct hs_stream *stream, uint64_t limit_key)
{
	struct hs_lead lead;
	if (!begin_lead(stream, &lead))
		return RUN_EMPTY;
	bool more = true;
	/* Events without a stamp of their own are not late: there were no others then. */
	for (; more && lead.key < drain->merged_key && lead.key < limit_key;
	     more = take_lead(drain, stream, &lead))
		drain->late += lead.stamp != lead.last_stamp;
	while (more && lead.key < limit_key)
		more = take_lead(drain, stream, &lead);
	end_lead(stream, &lead);
	return more ? RUN_LIMIT : RUN_EMPTY;
}

/* Takes the next record, if one is readable, whatever it is. */
static enum run run_record(struct hs_drain *drain, struct hs_stream *stream, uint64_t limit_key)
{
	if (stream->position >= stream->end)
		return RUN_EMPTY;
	const uint64_t *words = stream->words + stream->position;
	uint32_t available = stream->end - stream->position;
	struct hs_item *item = next_item(drain);
	struct hs_decoded decoded;
	enum hs_decode_result what = hs_decode(words, available, stream->stamp, item, &decoded);
	if (what == HS_DECODE_NEWS)
		what = hs_decode_news(words, available, item, &decoded, &drain->news[item - drain->batch]);
	if (what != HS_DECODE_ITEM) {
		drain->batch_count--;
		drain->damaged += what == HS_DECODE_DAMAGED;
		stream->position += what == HS_DECODE_DAMAGED ? available : decoded.words;
		stream->stamp = what == HS_DECODE_DAMAGED ? stream->stamp : decoded.stamp;
		return RUN_EMPTY;
	}
	stream->key = hs_item_key(item->stamp, item->kind, stream->key);
	if (stream->key >= limit_key) {
		drain->batch_count--;
		return RUN_LIMIT;
	}
	drain->late += stream->key < drain->merged_key && item->stamp != stream->stamp;
	item->stream = stream;
	stream->stamp = decoded.stamp;
	stream->position += decoded.words;
	if (decoded.has_second) {
		stream->has_second = true;
		stream->second_address = decoded.second_address;
		stream->second_stamp = decoded.stamp;
		stream->second_has_stamp = decoded.stamp != item->stamp;
		stream->second_size = item->size;
		stream->second_node = item->node;
	}
	return RUN_EMPTY;
}

/* Gives the stream's items to the sink while they come before limit_key. RUN_LIMIT: stream->key is that of
 * the next item. RUN_EMPTY: there are no more now. */
static enum run run(struct hs_drain *drain, struct hs_stream *stream, uint64_t limit_key)
{
	for (;;) {
		if (stream->has_second && !run_second(drain, stream, limit_key))
			return RUN_LIMIT;
		if (stream->position >= stream->end || !stream->open)
			if (!more_words(drain, stream))
				return RUN_EMPTY;
		if (run_short(drain, stream, limit_key) == RUN_LIMIT ||
		    run_record(drain, stream, limit_key) == RUN_LIMIT)
			return RUN_LIMIT;
		if (drain->items >= drain->enough_items)
			return RUN_PAUSED;
	}
}

/* What stands in short records of the two foremost streams, up to the next stream's key: threads that
 * allocate all the time give one or two each in turn, and a look at the heap for each would take longer. */
static void run_two(struct hs_drain *drain)
{
	struct hs_stream **heap = drain->heap;
	uint32_t other = drain->heap_count > 2 && heap[2]->key < heap[1]->key ? 2 : 1;
	uint64_t limit_key = drain->bound_key;
	const uint32_t rivals[] = {3 - other, 2 * other + 1, 2 * other + 2};
	for (unsigned i = 0; i < 3; i++)
		if (rivals[i] < drain->heap_count && heap[rivals[i]]->key < limit_key)
			limit_key = heap[rivals[i]]->key;
	struct hs_stream *first = heap[0], *second = heap[other];
	struct hs_lead one, two;
	if (!begin_lead(first, &one) || !begin_lead(second, &two) || one.key < drain->merged_key ||
	    two.key < drain->merged_key)
		return;
	bool more = true;
	while (more && (one.key < limit_key || two.key < limit_key)) {
		while (more && one.key <= two.key && one.key < limit_key)
			more = take_lead(drain, first, &one);
		while (more && two.key <= one.key && two.key < limit_key)
			more = take_lead(drain, second, &two);
	}
	end_lead(first, &one);
	end_lead(second, &two);
	sift_down(drain, other);
	sift_down(drain, 0);
}

static void merge(struct hs_drain *drain)
{
	uint64_t reached = drain->bound_key;
	while (drain->heap_count) {
		if (drain->heap_count > 1)
			run_two(drain);
		struct hs_stream **heap = drain->heap;
		if (heap[0]->key >= drain->bound_key)
			break;
		/* Up to the next stream's key, or all if there is none. */
		uint64_t limit_key = drain->bound_key;
		for (uint32_t i = 1; i <= 2 && i < drain->heap_count; i++)
			if (heap[i]->key < limit_key)
				limit_key = heap[i]->key + 1;
		enum run outcome = run(drain, heap[0], limit_key);
		if (outcome == RUN_PAUSED) {
			reached = heap[0]->key;
			break;
		}
		if (outcome == RUN_EMPTY) {
			if (blocks(heap[0])) {
				reached = heap[0]->key;
				break;
			}
			heap[0] = heap[--drain->heap_count];
		}
		if (drain->heap_count)
			sift_down(drain, 0);
	}
	sink_batch(drain);
	if (reached > drain->merged_key)
		drain->merged_key = reached;
}

uint64_t hs_drain_round(struct hs_drain *drain, const struct hs_stamp_clock *clock, uint64_t now, bool finish)
{
	uint64_t margin = clock->stamps_a_ms * MARGIN_US / 1000, before = drain->items;
	drain->finish = finish;
	uint64_t bound = now > margin ? now - margin : 0;
	drain->bound_key = finish ? UINT64_MAX : hs_item_key(bound, HS_ITEM_FREE, 0);
	drain->enough_items = finish ? UINT64_MAX : drain->items + ROUND_ITEMS;
	look_at_chunks(drain, clock, now);
	make_heap(drain);
	merge(drain);
	wake_waiters(drain);
	for (uint32_t i = 0; i < drain->stream_count; i++)
		drain->streams[i]->busy = drain->streams[i]->handed_over = false;
	return drain->items - before;
}
