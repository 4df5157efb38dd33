/* Counts by node: the counts members of a file without events, and the replay of such a file, which only has
 * to add them up. */
#include "base/memory.h"
#include "filter.h"
#include "heapscope/varint.h"
#include "internal.h"
#include "load.h"
#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const hs_told_names[HS_TOLD_ITEMS] = {
	"allocated_bytes", "allocations", "peak_bytes",    "peak_blocks",     "live_bytes",
	"live_blocks",     "max_bytes",   "max_blocks",    "temporary_bytes", "temporary",
	"moved_bytes",     "moved",       "reallocations", "lifetime_us",     "peak_us",
	"events",          "frees",       "duration_us",   "threads",         "process",
};

bool hs_counts_any(const struct hs_counts *counts)
{
	static const struct hs_counts none;
	return memcmp(counts, &none, sizeof none) != 0;
}

/* ---- loading --------------------------------------------------------------------------------------------
 */

static bool at_least(uint32_t unknown, enum hs_told large, uint64_t larger, enum hs_told small,
		     uint64_t smaller)
{
	return unknown & (large | small) || larger >= smaller;
}

bool hs_counts_possible(uint32_t unknown, const struct hs_counts *counts)
{
	enum hs_told all = HS_TOLD_ALLOCATED_BYTES, calls = HS_TOLD_ALLOCATIONS;
	uint64_t bytes = counts->allocated_bytes, blocks = counts->allocations;
	return at_least(unknown, all, bytes, HS_TOLD_PEAK_BYTES, counts->peak_bytes) &&
	       at_least(unknown, all, bytes, HS_TOLD_LIVE_BYTES, counts->live_bytes) &&
	       at_least(unknown, all, bytes, HS_TOLD_MAX_BYTES, counts->max_bytes) &&
	       at_least(unknown, all, bytes, HS_TOLD_TEMPORARY_BYTES, counts->temporary_bytes) &&
	       at_least(unknown, all, bytes, HS_TOLD_MOVED_BYTES, counts->moved_bytes) &&
	       at_least(unknown, calls, blocks, HS_TOLD_PEAK_BLOCKS, counts->peak_blocks) &&
	       at_least(unknown, calls, blocks, HS_TOLD_LIVE_BLOCKS, counts->live_blocks) &&
	       at_least(unknown, calls, blocks, HS_TOLD_MAX_BLOCKS, counts->max_blocks) &&
	       at_least(unknown, calls, blocks, HS_TOLD_TEMPORARY, counts->temporary) &&
	       at_least(unknown, calls, blocks, HS_TOLD_REALLOCATIONS, counts->reallocations) &&
	       at_least(unknown, HS_TOLD_REALLOCATIONS, counts->reallocations, HS_TOLD_MOVED,
			counts->moved) &&
	       at_least(unknown, HS_TOLD_MAX_BYTES, counts->max_bytes, HS_TOLD_PEAK_BYTES,
			counts->peak_bytes) &&
	       at_least(unknown, HS_TOLD_MAX_BYTES, counts->max_bytes, HS_TOLD_LIVE_BYTES,
			counts->live_bytes);
}

/* Reads the fields of one stack, and adds them to the sums, which have to stay within 63 bits. */
static const uint8_t *take_fields(struct hs_loader *loader, const uint8_t *at, const uint8_t *end,
				  struct hs_counts *counts)
{
	uint64_t values[HS_COUNT_FIELDS] = {0};
	for (unsigned i = 0; i < HS_COUNT_FIELDS; i++) {
		if (!(loader->counted_fields & 1u << i))
			continue;
		at = hs_varint_get(at, end, &values[i]);
		if (!at || values[i] > INT64_MAX || loader->counted_sums[i] > INT64_MAX - values[i])
			return NULL;
		loader->counted_sums[i] += values[i];
	}
	memcpy(counts, values, sizeof values);
	return at;
}

int hs_load_counts(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		   struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	const uint8_t *at = payload.at, *end = payload.end;
	uint64_t fields;
	at = hs_varint_get(at, end, &fields);
	if (!at || fields == 0 || fields > HS_TOLD_FIELDS)
		return hs_fail(error, "it does not say which counts it has");
	if (!loader->counted_fields)
		loader->counted_fields = (uint32_t)fields;
	if (fields != loader->counted_fields)
		return hs_fail(error, "it has other counts than the one before");
	for (uint32_t i = 0; i < items; i++) {
		struct hs_counted counted = {0};
		uint64_t step;
		at = hs_varint_get(at, end, &step);
		if (!at)
			return hs_fail(error, "it ends too early");
		if (step >= profile->node_count - loader->counted_next)
			return hs_fail(error, "a stack that it counts is not in the file, or comes twice");
		counted.node = loader->counted_next + (uint32_t)step;
		at = take_fields(loader, at, end, &counted.counts);
		if (!at)
			return hs_fail(error, "it ends too early, or a number in it is impossible");
		if (!hs_counts_possible(~loader->counted_fields, &counted.counts))
			return hs_fail(error, "the counts of stack %u contradict each other", counted.node);
		profile->counted = hs_grow(profile->counted, profile->counted_count,
					   &loader->counted_capacity, sizeof *profile->counted);
		profile->counted[profile->counted_count++] = counted;
		loader->counted_next = counted.node + 1;
	}
	if (at != end)
		return hs_fail(error, "%zu bytes follow its last item", (size_t)(end - at));
	return 0;
}

void hs_load_counts_finish(struct hs_loader *loader)
{
	struct hs_profile *profile = loader->profile;
	if (!loader->counted_fields)
		return;
	/* an empty list is not the same as none */
	if (!profile->counted)
		profile->counted = hs_allocate_zero(1, sizeof *profile->counted);
	profile->facts.unknown |= (HS_TOLD_FIELDS & ~loader->counted_fields) | HS_TOLD_EVENTS;
	if (profile->recording->events)
		hs_profile_warn(profile,
				"the file has both events and counts, which only a damaged one has; its "
				"events are left out");
}

/* ---- replay ---------------------------------------------------------------------------------------------
 */

/* A group of several stacks: what it had at one moment is the least that its maximum can be. */
static void raise_maximum(struct hs_counts *counts, uint64_t bytes, uint64_t blocks)
{
	if (bytes <= counts->max_bytes)
		return;
	counts->max_bytes = bytes;
	counts->max_blocks = blocks;
}

/* By thread: all is of one thread, which has no id. */
static void write_parts(struct hs_replay *replay)
{
	replay->parts = hs_allocate_zero(replay->group_count, sizeof *replay->parts);
	for (uint32_t g = 0; g < replay->group_count; g++)
		replay->parts[g].group = g;
	replay->thread_count = 1;
	replay->threads = hs_allocate_zero(1, sizeof *replay->threads);
}

/* The same moments for all; and a whole that is the file's. */
static void finish_totals(const struct hs_profile *profile, struct hs_replay *replay)
{
	struct hs_totals *totals = &replay->totals, *all = &replay->all, *rest = &replay->left_out;
	totals->counts.max_bytes = totals->counts.peak_bytes;
	totals->counts.max_blocks = totals->counts.peak_blocks;
	totals->peak_us = totals->max_us = profile->recording->expected.peak_us;
	*all = *totals;
	hs_counts_add(&all->counts, &rest->counts);
	all->counts.max_bytes = all->counts.peak_bytes;
	all->counts.max_blocks = all->counts.peak_blocks;
	all->events = profile->recording->expected.events;
	all->frees = profile->recording->expected.frees;
	rest->peak_us = totals->peak_us;
	if (hs_filter_selects_all(profile->filter)) {
		totals->events = all->events;
		totals->frees = all->frees;
	} else {
		replay->unknown |= HS_TOLD_FREES | HS_TOLD_MAX;
	}
}

int hs_counts_replay(struct hs_profile *profile, const uint32_t *group_of_node,
		     const struct hs_replay_how *how, struct hs_replay *replay, struct hs_error *error)
{
	struct hs_totals *totals = &replay->totals;
	if (hs_filter_needs_events(profile->filter))
		return hs_fail(error,
			       "the file has no single allocations, only sums by stack, since it was "
			       "imported or merged: it cannot be filtered by thread, size, time or phase");
	bool *selected = profile->filter ? hs_filter_nodes(profile->filter, profile) : NULL;
	bool *filled = hs_allocate_zero(replay->group_count, sizeof *filled);
	replay->groups = hs_allocate_zero(replay->group_count, sizeof *replay->groups);
	replay->node_used = hs_allocate_zero(profile->node_count, sizeof *replay->node_used);
	for (uint32_t i = 0; i < profile->counted_count; i++) {
		const struct hs_counted *counted = &profile->counted[i];
		uint32_t group = group_of_node[counted->node];
		struct hs_counts *counts = &replay->groups[group];
		if (!hs_counts_any(&counted->counts))
			continue;
		if (selected && !selected[counted->node]) {
			hs_counts_add(&replay->left_out.counts, &counted->counts);
			continue;
		}
		if (filled[group])
			replay->unknown |= HS_TOLD_MAX;
		filled[group] = true;
		replay->node_used[counted->node] = true;
		hs_counts_add(counts, &counted->counts);
		hs_counts_add(&totals->counts, &counted->counts);
		raise_maximum(counts, counted->counts.max_bytes, counted->counts.max_blocks);
	}
	for (uint32_t g = 0; g < replay->group_count; g++) {
		struct hs_counts *counts = &replay->groups[g];
		if (!filled[g])
			continue;
		raise_maximum(counts, counts->peak_bytes, counts->peak_blocks);
		raise_maximum(counts, counts->live_bytes, counts->live_blocks);
	}
	finish_totals(profile, replay);
	free(selected);
	free(filled);
	if (how->by_thread)
		write_parts(replay);
	hs_profile_compare_totals(profile, &replay->all);
	return 0;
}
