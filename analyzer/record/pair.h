/* Pairs each free with its allocation: a table of the live blocks by address, which turns merged items into
 * events of the file. */
#ifndef HS_RECORD_PAIR_H
#define HS_RECORD_PAIR_H

#include "record/drain.h"
#include "record/nodes.h"

struct hs_pairing {
	struct hs_encoder *encoder;
	struct hs_stamp_clock clock;
	uint64_t start_stamp; /* time 0 */
	uint64_t now_stamp;   /* no event is later */

	struct hs_nodes *nodes;
	uint32_t *thread_slots; /* file ids by serial: open addressing */
	uint32_t thread_mask;

	struct hs_block *slots; /* open addressing, linear probing */
	uint64_t slot_mask, live, live_most;
	unsigned shift;
	uint64_t seed;

	uint64_t unknown_frees;  /* of blocks from before the recording, or inherited by fork */
	uint64_t repaired_frees; /* implied by an allocation at a live address */
};

void hs_pairing_init(struct hs_pairing *pairs, struct hs_encoder *encoder, struct hs_nodes *nodes);
void hs_pairing_free(struct hs_pairing *pairs);
/* An hs_sink; context is the struct hs_pairing. */
void hs_pairing_take(void *context, const struct hs_item *items, uint32_t count);

#endif
