#include "tally.h"

#include "base/memory.h"
#include "heapscope/region.h"
#include "metrics.h"

#include <stdlib.h>
#include <string.h>

void hs_tally_init(struct hs_tally *tally)
{
	*tally = (struct hs_tally){0};
	hs_strings_init(&tally->strings);
	hs_strings_init(&tally->module_keys);
	tally->counts_of_node = hs_grow(NULL, 0, &tally->node_capacity, sizeof *tally->counts_of_node);
	tally->counts_of_node[0] = 0;
}

void hs_tally_free(struct hs_tally *tally)
{
	hs_facts_free(&tally->facts);
	hs_strings_free(&tally->strings);
	hs_strings_free(&tally->module_keys);
	hs_pairs_free(&tally->nodes);
	hs_pairs_free(&tally->frame_texts);
	free(tally->modules);
	free(tally->frames);
	free(tally->counts_of_node);
	free(tally->counts);
	free(tally->module_of_key);
	*tally = (struct hs_tally){0};
}

uint32_t hs_tally_add_module(struct hs_tally *tally, const struct hs_tally_module *module)
{
	tally->modules =
		hs_grow(tally->modules, tally->module_count, &tally->module_capacity, sizeof *tally->modules);
	tally->modules[tally->module_count] = *module;
	return tally->module_count++;
}

uint32_t hs_tally_add_frame(struct hs_tally *tally, const struct hs_tally_frame *frame)
{
	tally->frames =
		hs_grow(tally->frames, tally->frame_count, &tally->frame_capacity, sizeof *tally->frames);
	tally->frames[tally->frame_count] = *frame;
	return tally->frame_count++;
}

uint32_t hs_tally_node(struct hs_tally *tally, uint32_t parent, uint32_t frame, struct hs_error *error)
{
	bool added;
	uint32_t node = hs_pairs_add(&tally->nodes, parent, frame, &added) + 1;
	if (!added)
		return node;
	if (node >= HS_MAX_NODES) {
		hs_fail(error,
			"there are more than %u frames in all its different stacks, which is the most "
			"that a recording can hold",
			(unsigned)HS_MAX_NODES);
		return 0;
	}
	tally->counts_of_node =
		hs_grow(tally->counts_of_node, node, &tally->node_capacity, sizeof *tally->counts_of_node);
	tally->counts_of_node[node] = 0;
	return node;
}

void hs_tally_add(struct hs_tally *tally, uint32_t node, const struct hs_counts *counts)
{
	if (!tally->counts_of_node[node]) {
		tally->counts = hs_grow(tally->counts, tally->count_count, &tally->count_capacity,
					sizeof *tally->counts);
		tally->counts[tally->count_count++] = (struct hs_counts){0};
		tally->counts_of_node[node] = tally->count_count;
	}
	struct hs_counts *sum = &tally->counts[tally->counts_of_node[node] - 1];
	hs_counts_add(sum, counts);
	sum->max_bytes += counts->max_bytes;
	sum->max_blocks += counts->max_blocks;
}

int hs_tally_totals(const struct hs_tally *tally, struct hs_counts *totals, struct hs_error *error)
{
	int64_t sums[HS_COUNT_FIELDS] = {0};
	for (uint32_t i = 0; i < tally->count_count; i++) {
		uint64_t values[HS_COUNT_FIELDS];
		memcpy(values, &tally->counts[i], sizeof values);
		for (unsigned field = 0; field < HS_COUNT_FIELDS; field++)
			if (__builtin_add_overflow(sums[field], values[field], &sums[field]))
				return hs_fail(error, "the sum of %s is larger than a recording can hold",
					       hs_told_names[field]);
	}
	*totals = (struct hs_counts){0};
	memcpy(totals, sums, sizeof sums);
	totals->max_bytes = totals->max_blocks = 0;
	return 0;
}
