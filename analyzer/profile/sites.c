/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. Where sites' maxima matter the grouping has to be known before the replay, so that they are not
 * sums of nodes' maxima; else both go on at the same time. What only takes time for sites that nobody looks
 * at is left to sites_finish.c. */
#include "sites_making.h"

#include "base/aside.h"
#include "base/memory.h"
#include "internal.h"
#include "metrics.h"
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

static uint32_t group_of(struct hs_sites_making *making, uint32_t node)
{
	return find_group(making, making->folded[making->stacks.of_node[node]], rule_of(making, node));
}

static void start_groups(struct hs_sites_making *making)
{
	making->group_of_stack = hs_allocate(making->stacks.count * sizeof *making->group_of_stack);
	memset(making->group_of_stack, 0xff, making->stacks.count * sizeof *making->group_of_stack);
}

static void end_groups(struct hs_sites_making *making)
{
	free(making->group_of_stack);
	free(making->group_of_suppressed);
	hs_pairs_free(&making->suppressed);
	making->group_of_stack = making->group_of_suppressed = NULL;
}

/* Nodes that nobody calls from have blocks of their own, most others have none. So the groups of the former
 * come first: what the replay keeps of groups stays together. */
static uint32_t *group_nodes(struct hs_sites_making *making)
{
	const struct hs_profile *profile = making->profile;
	bool *is_parent = hs_allocate_zero(profile->node_count, sizeof *is_parent);
	uint32_t *group_of_node = hs_allocate_zero(profile->node_count, sizeof *group_of_node);
	start_groups(making);
	for (uint32_t id = 1; id < profile->node_count; id++)
		is_parent[profile->nodes[id].parent] = true;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t id = 0; id < profile->node_count; id++)
			if (is_parent[id] == pass)
				group_of_node[id] = group_of(making, id);
	free(is_parent);
	end_groups(making);
	return group_of_node;
}

void hs_sites_making_free(struct hs_sites_making *making)
{
	if (!making)
		return;
	hs_stacks_free(&making->stacks);
	free(making->site_of_node);
	free(making->folded);
	end_groups(making);
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

/* What is made of fewer takes no time. */
enum { NODES_WORTH_A_THREAD = 16384 };

/* Rules and stacks of many nodes at the same time: they have nothing to do with each other. */
static void make_rules_and_stacks(struct hs_sites_making *making, bool raw)
{
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

static struct hs_site *add_site(struct hs_sites_making *making, struct hs_sites *sites, uint32_t node)
{
	uint32_t stack = making->folded[making->stacks.of_node[node]];
	sites->items = hs_grow(sites->items, sites->count, &making->site_capacity, sizeof *sites->items);
	struct hs_site *site = &sites->items[sites->count++];
	*site = (struct hs_site){.stack = stack,
				 .frame_count = making->stacks.items[stack].depth,
				 .suppression = rule_of(making, node)};
	return site;
}

/* Of the replay's groups, which are sites' already. */
static void take_groups(struct hs_sites_making *making, struct hs_sites *sites, uint32_t *group_of_node)
{
	const struct hs_replay *replay = &sites->replay;
	uint32_t *site_of_group = hs_allocate(replay->group_count * sizeof *site_of_group);
	memset(site_of_group, 0xff, replay->group_count * sizeof *site_of_group);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t group = group_of_node[id];
		if (!replay->node_used[id])
			continue;
		if (site_of_group[group] == UINT32_MAX) {
			site_of_group[group] = sites->count;
			add_site(making, sites, id)->counts = replay->groups[group];
		}
		group_of_node[id] = site_of_group[group];
	}
	making->site_of_node = group_of_node;
	free(site_of_group);
}

/* Of the replay's groups, which are nodes': sums. */
static void add_up_nodes(struct hs_sites_making *making, struct hs_sites *sites)
{
	struct hs_replay *replay = &sites->replay;
	start_groups(making);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		if (!replay->node_used[id])
			continue;
		const struct hs_counts *counts = &replay->groups[replay->group_of_node[id]];
		uint32_t index = group_of(making, id);
		struct hs_site *site =
			index == sites->count ? add_site(making, sites, id) : &sites->items[index];
		hs_counts_add(&site->counts, counts);
		replay->group_of_node[id] = index;
	}
	end_groups(making);
	making->site_of_node = replay->group_of_node;
	replay->group_of_node = NULL;
	replay->unknown |= HS_TOLD_MAX;
}

/* What else is known of sites now. */
static void complete_sites(struct hs_sites_making *making, struct hs_sites *sites)
{
	struct hs_counts *totals = &sites->replay.totals.counts;
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
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

/* ---- from outside ---------------------------------------------------------------------------------------
 */

static struct hs_sites_making *start(struct hs_profile *profile, struct hs_sites *sites)
{
	struct hs_sites_making *making = hs_allocate_zero(1, sizeof *making);
	making->profile = profile;
	*sites = (struct hs_sites){.making = making};
	return making;
}

/* Groups before the replay. */
static int begin_with_maxima(struct hs_profile *profile, bool raw, struct hs_sites *sites,
			     struct hs_error *error)
{
	struct hs_sites_making *making = start(profile, sites);
	make_rules_and_stacks(making, raw);
	uint32_t *group_of_node = group_nodes(making);
	if (hs_replay_run(profile, group_of_node, making->group_count, &sites->replay, error) != 0) {
		free(group_of_node);
		hs_sites_free(sites);
		return -1;
	}
	take_groups(making, sites, group_of_node);
	complete_sites(making, sites);
	return 0;
}

struct stacking {
	struct hs_sites_making *making;
	bool raw;
};

static void make_stacks_aside(void *context)
{
	struct stacking *stacking = context;
	find_rules(stacking->making);
	make_stacks(stacking->making, stacking->raw);
}

int hs_sites_begin(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	if (profile->counted)
		return begin_with_maxima(profile, raw, sites, error);
	struct hs_sites_making *making = start(profile, sites);
	struct stacking stacking = {making, raw};
	struct hs_aside aside;
	bool many = profile->node_count >= NODES_WORTH_A_THREAD;
	if (many)
		hs_aside_begin(&aside, make_stacks_aside, &stacking);
	else
		make_stacks_aside(&stacking);
	int result = hs_replay_run_as(profile, NULL, 0, &(struct hs_replay_how){.by_node = true},
				      &sites->replay, error);
	if (many)
		hs_aside_end(&aside);
	if (result != 0) {
		hs_sites_free(sites);
		return -1;
	}
	add_up_nodes(making, sites);
	complete_sites(making, sites);
	return 0;
}

int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	int result = begin_with_maxima(profile, raw, sites, error);
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
