/* Reads what the threads of one process image have published and merges it in time order.
 *
 * How far it may merge: a thread marks its chunk busy before it takes a stamp and idle after it has published
 * the event. So everything older than now - a margin well above a store buffer's delay is there, but for the
 * events of threads that are busy: their streams block the merge at their last published stamp (not for
 * longer than 200 ms: the thread may be stopped, or deep in a slow realloc). What comes later all the same is
 * merged where it stands and counted. An event that has the stamp of the one before it (preload/stamps.h) may
 * come long after that: no other thread had any meanwhile. */
#ifndef HS_RECORD_DRAIN_H
#define HS_RECORD_DRAIN_H

#include "record/clock.h"
#include "record/live.h"
#include "record/view.h"

/* What can happen to a block. A realloc that moved is two items: other threads may get the old address
 * between the two, before the new block is there. */
enum hs_item_kind {
	/* At equal stamps these go first. */
	HS_ITEM_FREE,
	HS_ITEM_DETACH,   /* stamp before the call: the old block leaves its address */
	HS_ITEM_NEWS_END, /* news of the end of blocks */
	HS_ITEM_ALLOC,
	HS_ITEM_RESIZE, /* in place; at the stamp after the call */
	HS_ITEM_ATTACH, /* stamp after the call: it lives on at the new one */
	HS_ITEM_NEWS,
};

/* What the program reports by heapscope.h: an item's address points to it, until the sink returns. Nothing is
 * checked. */
struct hs_news {
	uint32_t op;                      /* enum hs_wide, from HS_WIDE_POOL_ALLOC on */
	uint64_t block, slab, size, old;  /* of pools; the node is the item's */
	uint32_t note;                    /* enum hs_note; */
	char name[HS_NOTE_NAME_MOST + 1]; /* with a terminating 0 */
};

/* Blocks of pools and slabs stand in the same table as those of malloc, at their addresses with one of these
 * bits. No program has addresses of bit 63, and what has is damage; bit 62 may be a tag, and then a block of
 * malloc that has it must not be at the address of a pool's block that has not. */
#define HS_KEY_POOL (1ULL << 62)
#define HS_KEY_SLAB (1ULL << 63)

/* One writer of the target: a thread, or a signal handler that interrupted one. */
struct hs_stream {
	uint32_t id, thread, tid; /* as the target says */
	uint32_t mode;            /* likewise: enum hs_stream_mode */
	uint32_t
		file_thread; /* 0: no event of it is in the file yet, or mode is not plain; set by the sink */
	struct hs_block detached; /* between DETACH and ATTACH; for the sink; address 0: none */

	/* The rest is drain.c's. */
	struct hs_stream *next_in_bucket;
	uint32_t first_chunk; /* list of chunks by sequence; NO_CHUNK */
	uint32_t next_sequence;
	unsigned rounds_without_chunk;
	const uint64_t *words;  /* the first chunk's payload, while it is open */
	uint32_t position, end; /* in it, in words */
	bool open, last_words;  /* first chunk: read from; its end is final */
	bool busy, gap, handed_over;
	bool has_second; /* an ATTACH waits for its stamp */
	uint64_t second_address, second_size, second_stamp;
	bool second_has_stamp; /* of its own */
	uint32_t second_node;
	uint64_t stamp; /* the next delta counts from here */
	uint64_t key;   /* of the next item, or of the last one */
};

struct hs_item {
	uint64_t stamp, address, size;
	struct hs_stream *stream;
	uint32_t node; /* of the region */
	uint8_t kind;  /* enum hs_item_kind */
};

/* Gets the items in order, some at a time. */
typedef void hs_sink(void *context, const struct hs_item *items, uint32_t count);

struct hs_drain;
struct hs_drain *hs_drain_new(struct hs_view *view, hs_sink *sink, void *context);
void hs_drain_free(struct hs_drain *drain);

/* Merges what is complete, some ten thousand items at most; returns their number. `finish`: the target writes
 * no more; everything is complete. */
uint64_t hs_drain_round(struct hs_drain *drain, const struct hs_stamp_clock *clock, uint64_t now,
			bool finish);

/* Takes over the chunks of threads that ended without handing them over. Looks only at chunks that did not
 * move since the last call. */
void hs_drain_bury_threads(struct hs_drain *drain, bool (*lives)(void *context, uint32_t tid), void *context);

uint64_t hs_drain_late(const struct hs_drain *drain);    /* items merged out of order */
uint64_t hs_drain_damaged(const struct hs_drain *drain); /* records that made no sense: the rest of a chunk */

#endif
