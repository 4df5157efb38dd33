/* The region of one process image, mapped by the collector. The target writes to it at any time: a value is
 * copied once, then checked, then used. The file cannot shrink under us: it is sealed. */
#ifndef HS_RECORD_VIEW_H
#define HS_RECORD_VIEW_H

#include "base/error.h"
#include "heapscope/region.h"

#include <stdbool.h>

struct hs_view_area {
	uint64_t offset, first, most;
	int protection;
	uint8_t *extents[HS_MAX_EXTENTS];
};

struct hs_view {
	int fd;                       /* the memfd */
	bool out_of_memory;           /* an extent could not be mapped */
	struct hs_lifesign *lifesign; /* in a page of its own before the header */
	struct hs_region_header *header;
	struct hs_view_area modules, nodes, chunks;
};

#define hs_peek(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define hs_peek_acquire(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)

/* Makes the memfd, sealed against resizing, with its header filled in. Returns 0, or -1 and the error. */
int hs_view_create(struct hs_view *view, uint32_t backlog_chunks, struct hs_error *error);
void hs_view_close(struct hs_view *view);

/* The target sees from now on that the collector lives; and that it reads no more, which is also what it sees
 * when this thread has died. By the same thread. */
void hs_view_attend(struct hs_view *view);
void hs_view_leave(struct hs_view *view);

/* A record of the region, or NULL: out of the area's bounds, or no memory to map it. Ids are checked against
 * the area only, not against the target's counts. */
const struct hs_module_record *hs_view_module(struct hs_view *view, uint32_t id);
const struct hs_node_record *hs_view_node(struct hs_view *view, uint32_t id);
struct hs_chunk_header *hs_view_chunk(struct hs_view *view, uint32_t index);

/* The target's counts, cut to what the areas can hold. */
uint32_t hs_view_module_count(const struct hs_view *view);
uint32_t hs_view_node_count(const struct hs_view *view);
uint32_t hs_view_chunk_count(const struct hs_view *view);

#endif
