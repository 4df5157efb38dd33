/* What sites allocated by thread, by size, by how long blocks lived. */
#include "profile/parts.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct keyed {
	uint32_t key;
	struct hs_site_part part;
};

static int compare(const void *left, const void *right, void *context)
{
	const struct keyed *a = left, *b = right;
	enum hs_metric metric = *(const enum hs_metric *)context;
	uint64_t one = hs_metric_value(&a->part.counts, metric),
		 two = hs_metric_value(&b->part.counts, metric);
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (one != two)
		return one > two ? -1 : 1;
	return (a->part.site > b->part.site) - (a->part.site < b->part.site);
}

static void make_rows(struct hs_parts *parts, struct keyed *keyed, uint32_t count)
{
	size_t capacity = 0;
	parts->parts = hs_allocate_zero((size_t)count + 1, sizeof(*parts->parts));
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || keyed[i].key != keyed[i - 1].key) {
			parts->rows = hs_grow(parts->rows, parts->row_count, &capacity, sizeof(*parts->rows));
			parts->rows[parts->row_count++] =
				(struct hs_parts_row){.key = keyed[i].key, .first = i};
		}
		struct hs_parts_row *row = &parts->rows[parts->row_count - 1];
		parts->parts[i] = keyed[i].part;
		row->count++;
		hs_counts_add(&row->counts, &keyed[i].part.counts);
	}
}

int hs_parts_make(struct hs_parts *parts, struct hs_profile *profile, const struct hs_sites *sites,
		  enum hs_parts_by by, enum hs_metric metric, struct hs_error *error)
{
	const struct hs_replay_how how = {.by_thread = by == HS_PARTS_BY_THREAD,
					  .by_size = by == HS_PARTS_BY_SIZE,
					  .by_lifetime = by == HS_PARTS_BY_LIFETIME};
	struct hs_replay replay;
	*parts = (struct hs_parts){0};
	if (profile->facts.unknown & (by == HS_PARTS_BY_THREAD ? HS_TOLD_THREADS : HS_TOLD_EVENTS))
		return hs_fail(error, profile->facts.unknown & HS_TOLD_EVENTS
					      ? "not known from this file, which has only sums by stack"
					      : "not known from this file");
	uint32_t *group_of_node = hs_allocate_zero(profile->node_count, sizeof(*group_of_node));
	for (uint32_t i = 0; i < profile->node_count;
	     i++) /* one more for nodes without a site, which have no events */
		group_of_node[i] =
			sites->site_of_node[i] == UINT32_MAX ? sites->count : sites->site_of_node[i];
	int result = hs_replay_run_as(profile, group_of_node, sites->count + 1, &how, &replay, error);
	free(group_of_node);
	if (result != 0)
		return -1;
	struct keyed *keyed = hs_allocate_zero((size_t)replay.group_count + 1, sizeof(*keyed));
	uint32_t count = 0;
	for (uint32_t g = how.by_lifetime ? sites->count + 1 : 0; g < replay.group_count; g++) {
		const struct hs_part *part = &replay.parts[g];
		if (!hs_counts_any(&replay.groups[g]) || part->group == sites->count)
			continue;
		keyed[count++] = (struct keyed){
			.key = how.by_thread ? replay.threads[part->thread] : part->bucket,
			.part = {part->group, replay.groups[g]},
		};
		if (sites->items[part->group].suppression) {
			struct hs_counts *counts = &keyed[count - 1].part.counts;
			counts->suppressed_bytes = counts->live_bytes;
			counts->suppressed_blocks = counts->live_blocks;
		}
	}
	if (count)
		qsort_r(keyed, count, sizeof(*keyed), compare, &metric);
	make_rows(parts, keyed, count);
	free(keyed);
	hs_replay_free(&replay);
	return 0;
}

void hs_parts_free(struct hs_parts *parts)
{
	free(parts->rows);
	free(parts->parts);
	*parts = (struct hs_parts){0};
}
