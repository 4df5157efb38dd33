/* Pairs each free with its allocation: a table of the live blocks by address, which turns merged items into
 * events of the file. */
#ifndef HS_RECORD_PAIR_H
#define HS_RECORD_PAIR_H

#include "record/drain.h"
#include "record/nodes.h"

/* Memory that the program hands out itself: pools.c. */
struct hs_slab {
	uint64_t address;
	bool of_malloc;     /* else memory that we know nothing of */
	uint32_t next_free; /* of a place in the list that is free; + 1 */
	uint64_t *blocks;   /* addresses of its blocks; of some that have ended as well */
	size_t count, capacity;
};

struct hs_pools {
	struct hs_slab *slabs;           /* what the table has under HS_KEY_SLAB tells the place */
	uint32_t slab_count, free_slabs; /* the first free place + 1 */
	size_t slab_capacity;
	uint64_t allocated_slabs, slab_bytes, slab_most_bytes; /* of malloc */
	uint64_t allocations, live_bytes, most_bytes;          /* of pools */
};

/* What the program said of itself: notes.c. */
enum { HS_PHASES_OPEN_MOST = 1024 };
struct hs_open_phase {
	uint64_t number; /* of phases, in the order of their beginnings */
	uint32_t thread; /* of the file */
	char name[HS_NOTE_NAME_MOST + 1];
};
struct hs_notes {
	struct hs_open_phase *open;
	uint32_t open_count;
	size_t open_capacity;
	uint64_t phases, ignored; /* ignored: phases beyond the limit, ends of phases that nobody began */
	bool paused;
};

struct hs_pairing {
	struct hs_encoder *encoder;
	struct hs_stamp_clock clock;
	uint64_t start_stamp; /* time 0 */
	uint64_t now_stamp;   /* no event is later */

	struct hs_nodes *nodes;
	uint32_t *thread_slots; /* file ids by serial: open addressing */
	uint32_t thread_mask;

	struct hs_live live;

	uint64_t unknown_frees;  /* of blocks from before the recording, or inherited by fork */
	uint64_t repaired_frees; /* implied by an allocation at a live address */
	uint64_t skipped_allocations, skipped_bytes; /* while paused, beside those that the shim counts:
						      * reallocs of blocks that are not known */
	struct hs_pools pools;
	struct hs_notes notes;
};

void hs_pairing_init(struct hs_pairing *pairs, struct hs_encoder *encoder, struct hs_nodes *nodes);
void hs_pairing_free(struct hs_pairing *pairs);
/* An hs_sink; context is the struct hs_pairing. */
void hs_pairing_take(void *context, const struct hs_item *items, uint32_t count);

/* For pools.c and notes.c. */
struct hs_block *hs_pairing_find(struct hs_pairing *pairs, uint64_t key); /* NULL: it is not there */
uint32_t hs_pairing_thread(struct hs_pairing *pairs, const struct hs_item *item);
uint64_t hs_pairing_time(const struct hs_pairing *pairs, const struct hs_item *item);
/* Books the end of a block, and takes it out of the table; or one of the two. */
void hs_pairing_end(struct hs_pairing *pairs, const struct hs_item *item, struct hs_block *block);
void hs_pairing_write_end(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_block *block);
void hs_pairing_take_out(struct hs_pairing *pairs, struct hs_block *block);
/* Books a block that begins, at the item's address. old: the block that it takes the place of, which is out
 * of the table already; else kind is ALLOC. */
void hs_pairing_begin(struct hs_pairing *pairs, const struct hs_item *item, enum hs_event_kind kind,
		      const struct hs_block *old);
/* The block of a key, or a new one that is booked nowhere: all but its address is for the caller to say. */
struct hs_block *hs_pairing_put(struct hs_pairing *pairs, uint64_t key);

void hs_pools_free(struct hs_pools *pools);
/* An allocation of a slab. */
void hs_pools_add_slab(struct hs_pairing *pairs, const struct hs_item *item);
/* A block ends that the table does not know: true if it is a slab. `bytes` is its size. */
bool hs_pools_end_slab(struct hs_pairing *pairs, const struct hs_item *item, uint64_t *bytes);
/* A realloc in place, likewise. */
bool hs_pools_resize_slab(struct hs_pairing *pairs, const struct hs_item *item);
void hs_pools_take(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news);

void hs_notes_free(struct hs_notes *notes);
void hs_notes_take(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news);

#endif
