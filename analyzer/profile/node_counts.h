/* What is counted of nodes' blocks where nobody asks for more: nodes are many, so it takes as little memory
 * as can be. Private to profile/. */
#ifndef HS_NODE_COUNTS_H
#define HS_NODE_COUNTS_H

#include "event.h"
#include "profile.h"

#include <string.h>

/* Blocks. Both numbers are added at once, as in a vector. */
struct hs_volume {
	uint64_t bytes, blocks;
};
typedef uint64_t hs_volume_vector __attribute__((vector_size(sizeof(struct hs_volume))));

HS_IN_LOOP void hs_volume_add(struct hs_volume *sum, hs_volume_vector change)
{
	hs_volume_vector vector;
	memcpy(&vector, sum, sizeof vector);
	vector += change;
	memcpy(sum, &vector, sizeof vector);
}

enum hs_node_volume {
	HS_NODE_BEGUN = HS_EVENT_ALLOC,
	HS_NODE_ENDED = HS_EVENT_FREE, /* what is live is the difference */
	HS_NODE_VOLUMES
};

/* One line of the cache: what nearly every event needs. */
struct hs_node_counts {
	struct hs_volume volumes[HS_NODE_VOLUMES], peak;
	uint64_t temporary;   /* blocks */
	uint32_t peak_number; /* that `peak` belongs to */
	uint32_t more;        /* index + 1 in the table's; 0: there is none of it */
};

/* What most nodes do not have. */
struct hs_node_more {
	uint64_t moved_bytes, moved, reallocations;
};

struct hs_node_table {
	struct hs_node_counts *counts;
	uint32_t count;
	size_t capacity;
	struct hs_node_more *more;
	size_t more_count, more_capacity;
};

/* Room for that many at first. */
struct hs_node_table *hs_node_table_new(size_t capacity);
void hs_node_table_free(struct hs_node_table *table); /* may be NULL */
/* Appends one of zeros. */
struct hs_node_counts *hs_node_table_add(struct hs_node_table *table);
/* For the function below. */
void hs_node_table_add_more(struct hs_node_table *table, struct hs_node_counts *counts);
/* Where more is counted of a node. */
static inline struct hs_node_more *hs_node_more(struct hs_node_table *table, struct hs_node_counts *counts)
{
	if (!counts->more)
		hs_node_table_add_more(table, counts);
	return &table->more[counts->more - 1];
}
static inline struct hs_volume hs_node_live(const struct hs_node_counts *counts)
{
	const struct hs_volume *begun = &counts->volumes[HS_NODE_BEGUN],
			       *ended = &counts->volumes[HS_NODE_ENDED];
	return (struct hs_volume){begun->bytes - ended->bytes, begun->blocks - ended->blocks};
}
/* Before what is live of a node changes. */
HS_IN_LOOP void hs_node_save_peak(struct hs_node_counts *counts, uint32_t peak_number)
{
	if (__builtin_expect(counts->peak_number == peak_number, 1))
		return;
	counts->peak_number = peak_number;
	counts->peak = hs_node_live(counts);
}
/* All nodes' at-peak values belong to a peak before number 1. */
void hs_node_table_forget_peak(struct hs_node_table *table);
/* After the last event: adds all to *all, and each to the sums that it
 * is part of; those of groups stand in the nodes' place then. */
void hs_node_table_finish(struct hs_node_table *table, uint32_t peak_number, const struct hs_group_sums *sums,
			  struct hs_counts *all);

/* Of one that is finished: adds what is counted of a node, or a sum. suppressed: what is live counts as that.
 * Inline: sites are many. */
static inline void hs_node_table_add_to(const struct hs_node_table *table, uint32_t index, bool suppressed,
					struct hs_counts *sum)
{
	const struct hs_node_counts *counts = &table->counts[index];
	struct hs_volume live = hs_node_live(counts);
	sum->allocated_bytes += counts->volumes[HS_NODE_BEGUN].bytes;
	sum->allocations += counts->volumes[HS_NODE_BEGUN].blocks;
	sum->peak_bytes += counts->peak.bytes;
	sum->peak_blocks += counts->peak.blocks;
	sum->live_bytes += live.bytes;
	sum->live_blocks += live.blocks;
	sum->temporary += counts->temporary;
	if (suppressed) {
		sum->suppressed_bytes += live.bytes;
		sum->suppressed_blocks += live.blocks;
	}
	if (!counts->more)
		return;
	const struct hs_node_more *more = &table->more[counts->more - 1];
	sum->moved_bytes += more->moved_bytes;
	sum->moved += more->moved;
	sum->reallocations += more->reallocations;
}

#endif
