/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. Where sites' maxima matter the grouping has to be known before the replay, so that they are not
 * sums of nodes' maxima; else both go on at the same time. What only takes time for sites that nobody looks
 * at is left to sites_finish.c. */
#include "sites_making.h"

#include "base/aside.h"
#include "base/memory.h"
#include "filter.h"
#include "heapscope/region.h"
#include "internal.h"
#include "metrics.h"
#include "own.h"
#include "recording.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* ---- grouping -------------------------------------------------------------------------------------------
 */

/* The innermost run of internal frames goes, unless nothing would remain. */
static void fold_stacks(struct hs_sites_making *making, bool raw)
{
	struct hs_stack *stacks = making->stacks.items;
	const struct hs_frame *frames = making->profile->frames;
	uint32_t count = making->stacks.count;
	bool nothing = false; /* remains of some */
	stacks[0].folded = 0;
	for (uint32_t s = 1; s < count; s++) {
		if (raw || !frames[stacks[s].frame].internal) {
			stacks[s].folded = s;
			continue;
		}
		stacks[s].folded = stacks[stacks[s].parent].folded;
		nothing |= !stacks[s].folded;
	}
	for (uint32_t s = count; nothing && s-- > 1;)
		if (stacks[s].folded == 0)
			stacks[s].folded = s;
}

static uint32_t folded_stack(const struct hs_sites_making *making, uint32_t node)
{
	return making->stacks.items[making->stacks.of_node[node]].folded;
}

static inline uint32_t find_group(struct hs_sites_making *making, uint32_t stack, uint32_t rule)
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

/* Inline: nodes are many. */
static inline __attribute__((always_inline)) uint32_t group_of(struct hs_sites_making *making, uint32_t node)
{
	return find_group(making, folded_stack(making, node), hs_suppression_of(making->profile, node));
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

/* Groups the nodes that others are called from, or those that are not. */
static inline __attribute__((always_inline)) void
group_some(struct hs_sites_making *making, const bool *is_parent, bool parents, uint32_t *group_of_node)
{
	uint32_t count = making->profile->node_count;
	for (uint32_t id = 0; id < count; id++)
		if (is_parent[id] == parents)
			group_of_node[id] = group_of(making, id);
}

/* Nodes that nobody calls from have blocks of their own, most others have none. So the groups of the former
 * come first: what the replay keeps of groups stays together. */
static uint32_t *group_nodes(struct hs_sites_making *making)
{
	const struct hs_profile *profile = making->profile;
	bool *is_parent = hs_allocate_zero(profile->node_count, sizeof *is_parent);
	uint32_t *group_of_node = hs_allocate(profile->node_count * sizeof *group_of_node);
	for (uint32_t id = 1; id < profile->node_count; id++)
		is_parent[profile->nodes[id].parent] = true;
	group_some(making, is_parent, false, group_of_node);
	group_some(making, is_parent, true, group_of_node);
	free(is_parent);
	end_groups(making);
	return group_of_node;
}

void hs_sites_making_free(struct hs_sites_making *making)
{
	if (!making)
		return;
	hs_stacks_free(&making->stacks);
	end_groups(making);
	free(making);
}

static void find_rules(void *context)
{
	struct hs_sites_making *making = context;
	hs_suppressions_find(making->profile);
}

static void make_stacks(struct hs_sites_making *making, bool raw)
{
	uint32_t *texts = hs_frame_texts(making->profile);
	hs_stacks_make(making->profile, texts, &making->stacks);
	free(texts);
	fold_stacks(making, raw);
	start_groups(making);
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

static void add_site(struct hs_sites_making *making, struct hs_sites *sites, uint32_t node,
		     struct hs_counts *counts)
{
	uint32_t stack = folded_stack(making, node);
	sites->items = hs_grow(sites->items, sites->count, &making->site_capacity, sizeof *sites->items);
	sites->items[sites->count++] =
		(struct hs_site){.stack = stack,
				 .frame_count = making->stacks.items[stack].depth,
				 .suppression = hs_suppression_of(making->profile, node),
				 .counts = counts};
}

/* Of the replay's groups, which are sites' already. */
static void take_groups(struct hs_sites_making *making, struct hs_sites *sites, uint32_t *group_of_node)
{
	const struct hs_replay *replay = &sites->replay;
	uint32_t *site_of_group = hs_allocate(replay->group_count * sizeof *site_of_group);
	memset(site_of_group, 0xff, replay->group_count * sizeof *site_of_group);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t group = group_of_node[id];
		if (!replay->node_used[id]) {
			group_of_node[id] = UINT32_MAX;
			continue;
		}
		if (site_of_group[group] == UINT32_MAX) {
			site_of_group[group] = sites->count;
			add_site(making, sites, id, &replay->groups[group]);
		}
		group_of_node[id] = site_of_group[group];
	}
	sites->site_of_node = group_of_node;
	free(site_of_group);
}

/* Of the replay's groups, which are nodes': sums, each in the place of its first node's. */
static void add_up_nodes(struct hs_sites_making *making, struct hs_sites *sites)
{
	struct hs_replay *replay = &sites->replay;
	making->site_capacity = replay->group_count;
	sites->items = hs_allocate(making->site_capacity * sizeof *sites->items);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		if (!replay->node_used[id])
			continue;
		struct hs_counts *counts = &replay->groups[replay->group_of_node[id]];
		uint32_t index = group_of(making, id);
		if (index == sites->count)
			add_site(making, sites, id, counts);
		else
			hs_counts_add(sites->items[index].counts, counts);
		replay->group_of_node[id] = index;
	}
	end_groups(making);
	sites->site_of_node = replay->group_of_node;
	replay->group_of_node = NULL;
}

/* What else is known of sites now. */
static void complete_sites(struct hs_sites_making *making, struct hs_sites *sites)
{
	struct hs_counts *totals = &sites->replay.totals.counts;
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		if (!site->suppression)
			continue;
		site->counts->suppressed_bytes = site->counts->live_bytes;
		site->counts->suppressed_blocks = site->counts->live_blocks;
		totals->suppressed_bytes += site->counts->live_bytes;
		totals->suppressed_blocks += site->counts->live_blocks;
	}
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
static int begin_with_maxima(struct hs_sites_making *making, bool raw, struct hs_sites *sites,
			     struct hs_error *error)
{
	make_rules_and_stacks(making, raw);
	uint32_t *group_of_node = group_nodes(making);
	if (hs_replay_run(making->profile, group_of_node, making->group_count, &sites->replay, error) != 0) {
		free(group_of_node);
		hs_sites_free(sites);
		return -1;
	}
	take_groups(making, sites, group_of_node);
	complete_sites(making, sites);
	return 0;
}

/* What goes on while events are replayed. */
struct stacking {
	struct hs_sites_making *making;
	bool raw;
	void (*prepare)(struct hs_profile *profile, const void *context);
	const void *context;
};

static void prepare(struct stacking *stacking)
{
	struct hs_profile *profile = stacking->making->profile;
	if (!profile->loader)
		return;
	hs_profile_finish(profile);
	if (stacking->prepare)
		stacking->prepare(profile, stacking->context);
}

static void make_stacks_aside(void *context)
{
	struct stacking *stacking = context;
	prepare(stacking);
	find_rules(stacking->making);
	make_stacks(stacking->making, stacking->raw);
}

/* How many nodes a profile has or, if it is only begun, will have if nothing is wrong with the file. */
static uint32_t expect_nodes(const struct hs_profile *profile)
{
	return profile->loader ? hs_load_expected_nodes(profile->recording) : profile->node_count;
}

static int replay_nodes(struct hs_profile *profile, struct hs_replay *replay, struct hs_error *error)
{
	return hs_replay_run_as(profile, NULL, 0, &(struct hs_replay_how){.by_node = true}, replay, error);
}

/* The replay knows nothing of the profile but what is copied here. */
static int replay_beside(struct stacking *stacking, struct hs_replay *replay, struct hs_error *error)
{
	struct hs_profile *profile = stacking->making->profile;
	struct hs_profile seen = *profile;
	struct hs_aside aside;
	seen.facts.warning = NULL;
	seen.damaged = false;
	seen.node_count = expect_nodes(profile);
	hs_aside_begin(&aside, make_stacks_aside, stacking);
	int result = replay_nodes(&seen, replay, error);
	hs_aside_end(&aside);
	if (profile->node_count != seen.node_count) { /* the file is damaged */
		hs_replay_free(replay);
		result = replay_nodes(profile, replay, error);
	} else {
		profile->facts.time_resolution_us = seen.facts.time_resolution_us;
		profile->facts.duration_us = seen.facts.duration_us;
		if (seen.facts.warning)
			hs_profile_warn(profile, "%s", seen.facts.warning);
	}
	free(seen.facts.warning);
	return result;
}

static bool has_counts(const struct hs_profile *profile)
{
	const struct hs_recording *recording = profile->recording;
	for (uint32_t i = 0; i < recording->member_count; i++)
		if (recording->members[i].kind == HS_MEMBER_COUNTS)
			return true;
	return false;
}

int hs_sites_begin(struct hs_profile *profile, bool raw,
		   void (*prepared)(struct hs_profile *profile, const void *context), const void *context,
		   struct hs_sites *sites, struct hs_error *error)
{
	struct hs_sites_making *making = start(profile, sites);
	struct stacking stacking = {making, raw, prepared, context};
	bool counts = has_counts(profile);
	int result;
	if (counts || !hs_filter_selects_all(profile->filter))
		prepare(&stacking);
	if (counts)
		return begin_with_maxima(making, raw, sites, error);
	if (expect_nodes(profile) >= NODES_WORTH_A_THREAD) {
		result = replay_beside(&stacking, &sites->replay, error);
	} else {
		make_stacks_aside(&stacking);
		result = replay_nodes(profile, &sites->replay, error);
	}
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
	int result = begin_with_maxima(start(profile, sites), raw, sites, error);
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
