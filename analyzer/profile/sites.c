/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. The grouping is known before the replay, so that a site's maximum is its own and not a sum of
 * maxima. What only takes time for sites that nobody looks at is left to sites_finish.c. */
#include "sites_making.h"

#include "base/aside.h"
#include "base/memory.h"
#include "internal.h"
#include "own.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* ---- grouping -------------------------------------------------------------------------------------------
 */

/* The innermost run of internal frames goes, unless nothing would remain. */
static void fold_stacks(struct hs_sites_making *making, bool raw)
{
	const struct hs_stacks *stacks = &making->stacks;
	making->folded = hs_allocate_zero(stacks->count, sizeof *making->folded);
	for (uint32_t s = 1; s < stacks->count; s++) {
		bool internal = !raw && making->profile->frames[stacks->items[s].frame].internal;
		making->folded[s] = internal ? making->folded[stacks->items[s].parent] : s;
	}
	for (uint32_t s = stacks->count; s-- > 1;)
		if (making->folded[s] == 0)
			making->folded[s] = s;
}

static uint32_t rule_of(const struct hs_sites_making *making, uint32_t node)
{
	return making->rule_of_node ? making->rule_of_node[node] : 0;
}

static uint32_t find_group(struct hs_sites_making *making, uint32_t stack, uint32_t rule)
{
	uint32_t *group = &making->group_of_stack[stack];
	bool added = *group == UINT32_MAX;
	if (rule) {
		uint32_t place = hs_pairs_add(&making->suppressed, stack, rule, &added);
		making->group_of_suppressed =
			hs_grow(making->group_of_suppressed, place, &making->suppressed_capacity,
				sizeof *making->group_of_suppressed);
		group = &making->group_of_suppressed[place];
	}
	if (added)
		*group = making->group_count++;
	return *group;
}

/* Nodes that nobody calls from have blocks of their own, most others have none. So the groups of the former
 * come first: what the replay keeps of groups stays together. */
static void group_nodes(struct hs_sites_making *making)
{
	const struct hs_profile *profile = making->profile;
	bool *is_parent = hs_allocate_zero(profile->node_count, sizeof *is_parent);
	making->group_of_node = hs_allocate_zero(profile->node_count, sizeof *making->group_of_node);
	making->group_of_stack = hs_allocate(making->stacks.count * sizeof *making->group_of_stack);
	memset(making->group_of_stack, 0xff, making->stacks.count * sizeof *making->group_of_stack);
	for (uint32_t id = 1; id < profile->node_count; id++)
		is_parent[profile->nodes[id].parent] = true;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t id = 0; id < profile->node_count; id++)
			if (is_parent[id] == pass)
				making->group_of_node[id] =
					find_group(making, making->folded[making->stacks.of_node[id]],
						   rule_of(making, id));
	free(is_parent);
	free(making->group_of_stack);
	free(making->group_of_suppressed);
	hs_pairs_free(&making->suppressed);
	making->group_of_stack = making->group_of_suppressed = NULL;
}

void hs_sites_making_free(struct hs_sites_making *making)
{
	if (!making)
		return;
	hs_stacks_free(&making->stacks);
	free(making->group_of_node);
	free(making->site_of_group);
	free(making->folded);
	free(making->group_of_stack);
	free(making->group_of_suppressed);
	hs_pairs_free(&making->suppressed);
	free(making);
}

static void find_rules(void *context)
{
	struct hs_sites_making *making = context;
	making->rule_of_node = hs_suppressions_find(making->profile);
}

static void make_stacks(struct hs_sites_making *making, bool raw)
{
	uint32_t *texts = hs_frame_texts(making->profile);
	hs_stacks_make(making->profile, texts, &making->stacks);
	free(texts);
	fold_stacks(making, raw);
}

/* Rules and stacks of many nodes at the same time: they have nothing to do with each other. */
static void make_rules_and_stacks(struct hs_sites_making *making, bool raw)
{
	enum { NODES_WORTH_A_THREAD = 16384 };
	struct hs_aside aside;
	if (making->profile->node_count < NODES_WORTH_A_THREAD) {
		find_rules(making);
		make_stacks(making, raw);
		return;
	}
	hs_aside_begin(&aside, find_rules, making);
	make_stacks(making, raw);
	hs_aside_end(&aside);
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

static bool is_own(const struct hs_profile *profile, const bool *own_modules, const struct hs_frame *frame)
{
	/* a frame with a file but no module comes from a format that only tells the one */
	bool own = frame->module == UINT32_MAX ? frame->file != 0 || profile->facts.imported
					       : own_modules[frame->module];
	return own && !frame->internal;
}

/* The position of the user's own frame in each site's. */
static void find_own_frames(const struct hs_sites_making *making, struct hs_sites *sites)
{
	const struct hs_profile *profile = making->profile;
	bool *own_modules = hs_own_modules(profile);
	bool *own = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof *own);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		own[i] = is_own(profile, own_modules, &profile->frames[i]);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		const struct hs_stack *stack = &making->stacks.items[site->stack];
		uint32_t position = 0;
		while (position < site->frame_count && !own[stack->frame]) {
			stack = &making->stacks.items[stack->parent];
			position++;
		}
		site->own_frame = position < site->frame_count ? position : 0;
	}
	free(own);
	free(own_modules);
}

/* One for each group that has blocks. */
static void make_sites(struct hs_sites_making *making, struct hs_sites *sites)
{
	struct hs_counts *groups = sites->replay.groups, *totals = &sites->replay.totals.counts;
	uint32_t capacity = 0;
	making->site_of_group = hs_allocate(making->group_count * sizeof *making->site_of_group);
	memset(making->site_of_group, 0xff, making->group_count * sizeof *making->site_of_group);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t *index = &making->site_of_group[making->group_of_node[id]];
		if (!sites->replay.node_used[id] || *index != UINT32_MAX)
			continue;
		*index = capacity++;
	}
	sites->items = hs_allocate(capacity * sizeof *sites->items);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t group = making->group_of_node[id];
		if (!sites->replay.node_used[id] || making->site_of_group[group] != sites->count)
			continue;
		struct hs_site *site = &sites->items[sites->count++];
		uint32_t stack = making->folded[making->stacks.of_node[id]];
		*site = (struct hs_site){.stack = stack,
					 .frame_count = making->stacks.items[stack].depth,
					 .suppression = rule_of(making, id),
					 .counts = groups[group]};
		if (!site->suppression)
			continue;
		site->counts.suppressed_bytes = site->counts.live_bytes;
		site->counts.suppressed_blocks = site->counts.live_blocks;
		totals->suppressed_bytes += site->counts.live_bytes;
		totals->suppressed_blocks += site->counts.live_blocks;
	}
	free(making->folded);
	making->folded = NULL;
	/* the sites have them now */
	free(sites->replay.groups);
	sites->replay.groups = NULL;
	sites->replay.group_count = 0;
	find_own_frames(making, sites);
}

int hs_sites_begin(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	struct hs_sites_making *making = hs_allocate_zero(1, sizeof *making);
	making->profile = profile;
	*sites = (struct hs_sites){.making = making};
	make_rules_and_stacks(making, raw);
	group_nodes(making);
	if (hs_replay_run(profile, making->group_of_node, making->group_count, &sites->replay, error) != 0) {
		hs_sites_free(sites);
		return -1;
	}
	make_sites(making, sites);
	return 0;
}

int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	int result = hs_sites_begin(profile, raw, sites, error);
	if (result == 0)
		hs_sites_finish(sites);
	return result;
}

void hs_sites_free(struct hs_sites *sites)
{
	free(sites->items);
	free(sites->site_of_node);
	free(sites->frame_pool);
	hs_replay_free(&sites->replay);
	hs_sites_making_free(sites->making);
	*sites = (struct hs_sites){0};
}
