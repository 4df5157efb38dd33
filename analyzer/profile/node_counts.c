#include "node_counts.h"

#include "base/memory.h"

#include <stdlib.h>

struct hs_node_table *hs_node_table_new(size_t capacity)
{
	struct hs_node_table *table = hs_allocate_zero(1, sizeof *table);
	table->capacity = capacity;
	table->counts = hs_allocate_lines(capacity * sizeof *table->counts);
	return table;
}

void hs_node_table_free(struct hs_node_table *table)
{
	if (!table)
		return;
	free(table->counts);
	free(table->more);
	free(table);
}

struct hs_node_counts *hs_node_table_add(struct hs_node_table *table)
{
	table->counts = hs_grow(table->counts, table->count, &table->capacity, sizeof *table->counts);
	table->counts[table->count] = (struct hs_node_counts){0};
	return &table->counts[table->count++];
}

void hs_node_table_add_more(struct hs_node_table *table, struct hs_node_counts *counts)
{
	table->more = hs_grow(table->more, table->more_count, &table->more_capacity, sizeof *table->more);
	table->more[table->more_count++] = (struct hs_node_more){0};
	counts->more = (uint32_t)table->more_count;
}

void hs_node_table_forget_peak(struct hs_node_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		table->counts[i].peak_number = 0;
}

static void add_volume(struct hs_volume *sum, const struct hs_volume *volume)
{
	sum->bytes += volume->bytes;
	sum->blocks += volume->blocks;
}

static void add_more(struct hs_node_more *sum, const struct hs_node_more *more)
{
	sum->moved_bytes += more->moved_bytes;
	sum->moved += more->moved;
	sum->reallocations += more->reallocations;
}

/* Adds a node to the sum that it is part of. */
static void add_node(struct hs_node_table *table, struct hs_node_counts *sum,
		     const struct hs_node_counts *counts)
{
	for (unsigned i = 0; i < HS_NODE_VOLUMES; i++)
		add_volume(&sum->volumes[i], &counts->volumes[i]);
	add_volume(&sum->peak, &counts->peak);
	sum->temporary += counts->temporary;
	if (!sum->more)
		sum->more = counts->more;
	else if (counts->more)
		add_more(&table->more[sum->more - 1], &table->more[counts->more - 1]);
}

void hs_node_table_finish(struct hs_node_table *table, uint32_t peak_number,
			  const struct hs_group_sums *sums_of, struct hs_counts *all)
{
	uint32_t sums = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		struct hs_node_counts *counts = &table->counts[i];
		hs_node_save_peak(counts, peak_number);
		hs_node_table_add_to(table, i, false, all);
		uint32_t sum = sums_of->of_group ? sums_of->of_group[i] : i;
		/* now, while they are at hand: nodes are more than fit into the cache, larger sums are not */
		if (sums_of->larger.of_site)
			hs_node_table_add_to(table, i, false,
					     &sums_of->larger.sums[sums_of->larger.of_site[sum]]);
		if (sum == sums) /* its first node: no sum stands behind the nodes that were added */
			table->counts[sums++] = *counts;
		else
			add_node(table, &table->counts[sum], counts);
	}
	table->count = sums;
}
