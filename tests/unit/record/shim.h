/* A shim of paper: writes chunks into a region of this very process, as region.h says. Stamps are
 * nanoseconds. */
#ifndef RECORD_FAKE_SHIM_H
#define RECORD_FAKE_SHIM_H

#include "record/drain.h"

struct shim_chunk {
	struct hs_view *view;
	uint32_t index;
	struct hs_chunk_header *header;
	uint64_t *at;
	uint64_t stamp;
};

static const struct hs_stamp_clock shim_clock = {HS_CLOCK_MONOTONIC, UINT64_MAX / 1000 + 1, 1000000};

static inline void shim_begin(struct hs_view *view)
{
	view->header->clock = HS_CLOCK_MONOTONIC;
	view->header->node_count = 1;
	view->header->chunk_count = 32;
	view->header->ready = 1;
}

static inline struct shim_chunk shim_take(struct hs_view *view, uint32_t index, uint32_t stream,
					  uint32_t sequence)
{
	struct shim_chunk chunk = {.view = view, .index = index, .header = hs_view_chunk(view, index)};
	view->header->chunk_state[index] = HS_CHUNK_OWNED;
	chunk.header->stream = stream;
	chunk.header->sequence = sequence;
	chunk.header->thread = stream;
	chunk.header->tid = 1000 + stream;
	chunk.at = (uint64_t *)(chunk.header + 1);
	return chunk;
}

static inline void shim_publish(struct shim_chunk *chunk, uint64_t stamp)
{
	chunk->stamp = stamp;
	chunk->header->committed = (uint32_t)((char *)chunk->at - (char *)(chunk->header + 1));
}

static inline void shim_free(struct shim_chunk *chunk, uint64_t stamp, uint64_t address)
{
	*chunk->at++ = HS_WORD(HS_RECORD_FREE, address, stamp - chunk->stamp);
	shim_publish(chunk, stamp);
}

static inline void shim_alloc(struct shim_chunk *chunk, uint64_t stamp, uint64_t address, uint64_t size,
			      uint32_t node)
{
	*chunk->at++ = HS_WORD(HS_RECORD_ALLOC, address, stamp - chunk->stamp);
	*chunk->at++ = size << 32 | node;
	shim_publish(chunk, stamp);
}

static inline void shim_realloc(struct shim_chunk *chunk, uint64_t before, uint64_t old_address,
				uint64_t after, uint64_t address, uint64_t size, uint32_t node)
{
	*chunk->at++ = HS_WORD(HS_RECORD_REALLOC, old_address, before - chunk->stamp);
	*chunk->at++ = size << 32 | node;
	*chunk->at++ = HS_WORD(0, address, after - before);
	shim_publish(chunk, after);
}

static inline void shim_wide(struct shim_chunk *chunk, uint64_t op, const uint64_t *words, unsigned count,
			     uint64_t stamp)
{
	*chunk->at++ = op << 2 | HS_RECORD_WIDE;
	for (unsigned i = 0; i < count; i++)
		*chunk->at++ = words[i];
	shim_publish(chunk, stamp);
}

static inline void shim_hand_over(struct shim_chunk *chunk)
{
	chunk->view->header->chunk_state[chunk->index] = HS_CHUNK_FULL;
}

#endif
