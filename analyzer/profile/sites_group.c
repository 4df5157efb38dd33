/* The groups of nodes that are sites: by their stack as people see it, and their rule. Nothing here needs the
 * replay's counts. */
#include "base/memory.h"
#include "own.h"
#include "sites_making.h"
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
uint32_t *hs_sites_group_nodes(struct hs_sites_making *making)
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

/* ---- sites ----------------------------------------------------------------------------------------------
 */

static bool is_own(const struct hs_profile *profile, const bool *own_modules, const struct hs_frame *frame)
{
	/* a frame with a file but no module comes from a format that only tells the one */
	bool own = frame->module == UINT32_MAX ? frame->file != 0 || profile->facts.imported
					       : own_modules[frame->module];
	return own && !frame->internal;
}

static void find_own_frames(struct hs_sites_making *making)
{
	const struct hs_profile *profile = making->profile;
	bool *own_modules = hs_own_modules(profile);
	making->own_frames = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof *making->own_frames);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		making->own_frames[i] = is_own(profile, own_modules, &profile->frames[i]);
	free(own_modules);
}

static void place_own_frame(const struct hs_sites_making *making, struct hs_site *site)
{
	const struct hs_stack *stack = &making->stacks.items[site->stack];
	site->own = site->frame_count ? stack->frame : HS_NO_FRAME;
	site->callers = site->frame_count ? stack->parent : 0;
	for (uint32_t position = 0; position < site->frame_count; position++) {
		if (making->own_frames[stack->frame]) {
			site->own_frame = position;
			site->own = stack->frame;
			site->callers = stack->parent;
			return;
		}
		stack = &making->stacks.items[stack->parent];
	}
}

void hs_sites_add(struct hs_sites_making *making, struct hs_sites *sites, uint32_t node, uint32_t group)
{
	uint32_t stack = folded_stack(making, node);
	sites->items = hs_grow(sites->items, sites->count, &making->site_capacity, sizeof *sites->items);
	struct hs_site *site = &sites->items[sites->count++];
	*site = (struct hs_site){.stack = stack,
				 .frame_count = making->stacks.items[stack].depth,
				 .suppression = hs_suppression_of(making->profile, node),
				 .group = group};
	place_own_frame(making, site);
}

void hs_sites_map_met(struct hs_sites_making *making, struct hs_sites *sites)
{
	uint32_t count = atomic_load_explicit(&making->met.count, memory_order_acquire);
	for (uint32_t group = making->mapped; group < count; group++) {
		uint32_t node = making->met.nodes[group], site = group_of(making, node);
		if (site == sites->count)
			hs_sites_add(making, sites, node, group);
		making->site_of_group = hs_grow(making->site_of_group, group, &making->site_of_group_capacity,
						sizeof *making->site_of_group);
		making->site_of_group[group] = site;
	}
	making->mapped = count;
}

void hs_sites_make_stacks(struct hs_sites_making *making, bool raw)
{
	uint32_t *texts = hs_frame_texts(making->profile);
	hs_stacks_make(making->profile, texts, &making->stacks);
	free(texts);
	fold_stacks(making, raw);
	start_groups(making);
	find_own_frames(making);
}

void hs_sites_making_free(struct hs_sites_making *making)
{
	if (!making)
		return;
	hs_stacks_free(&making->stacks);
	end_groups(making);
	free(making->own_frames);
	free(making->met.nodes);
	free(making->site_of_group);
	free(making);
}
