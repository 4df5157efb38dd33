/* What is counted of nodes' blocks where nobody asks for maxima: nodes are many, so it takes as little memory
 * as can be. Private to profile/. */
#ifndef HS_NODE_COUNTS_H
#define HS_NODE_COUNTS_H

#include "profile.h"

/* One line of the cache. */
struct hs_node_counts {
	uint64_t allocated_bytes, allocations, ended_bytes, ended; /* what is live is the difference */
	uint64_t peak_bytes, peak_blocks;
	uint64_t lifetime_us; /* as in struct hs_group_state; finished: as in struct hs_counts */
	uint32_t peak_number; /* that the at-peak values belong to */
	uint32_t more;        /* index + 1 in the table's; 0: there is none of it */
};

/* What half of the nodes do not have. */
struct hs_node_more {
	uint64_t temporary_bytes, temporary, moved_bytes, moved, reallocations;
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
/* Before what is live of a node changes. */
static inline void hs_node_save_peak(struct hs_node_counts *counts, uint32_t peak_number)
{
	if (counts->peak_number == peak_number)
		return;
	counts->peak_number = peak_number;
	counts->peak_bytes = counts->allocated_bytes - counts->ended_bytes;
	counts->peak_blocks = counts->allocations - counts->ended;
}
/* All nodes' at-peak values belong to a peak before number 1. */
void hs_node_table_forget_peak(struct hs_node_table *table);
/* After the last event: counts live blocks' lives to the end, adds all to *all, and each to the sums that it
 * is part of; those of groups stand in the nodes' place then. */
void hs_node_table_finish(struct hs_node_table *table, uint32_t peak_number, uint64_t now_us,
			  const struct hs_group_sums *sums, struct hs_counts *all);

/* Adds what is counted of a node to a sum of all counts. more: NULL if there is none of it. */
static inline void hs_node_add_to(const struct hs_node_counts *counts, const struct hs_node_more *more,
				  struct hs_counts *sum)
{
	sum->allocated_bytes += counts->allocated_bytes;
	sum->allocations += counts->allocations;
	sum->peak_bytes += counts->peak_bytes;
	sum->peak_blocks += counts->peak_blocks;
	sum->live_bytes += counts->allocated_bytes - counts->ended_bytes;
	sum->live_blocks += counts->allocations - counts->ended;
	sum->lifetime_us += counts->lifetime_us;
	if (!more)
		return;
	sum->temporary_bytes += more->temporary_bytes;
	sum->temporary += more->temporary;
	sum->moved_bytes += more->moved_bytes;
	sum->moved += more->moved;
	sum->reallocations += more->reallocations;
}

/* Of one that is finished: adds what is counted of a node, or a sum. suppressed: what is live counts as that.
 * Inline: sites are many. */
static inline void hs_node_table_add_to(const struct hs_node_table *table, uint32_t index, bool suppressed,
					struct hs_counts *sum)
{
	const struct hs_node_counts *counts = &table->counts[index];
	hs_node_add_to(counts, counts->more ? &table->more[counts->more - 1] : NULL, sum);
	if (suppressed) {
		sum->suppressed_bytes += counts->allocated_bytes - counts->ended_bytes;
		sum->suppressed_blocks += counts->allocations - counts->ended;
	}
}

#endif
