/* What of a node's stack is its site; and, where the grouping has to be known before the replay, the groups
 * of all nodes: by their stack as people see it, and their rule. Nothing here needs the replay's counts. */
#include "base/memory.h"
#include "own.h"
#include "sites_making.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* ---- frames ---------------------------------------------------------------------------------------------
 */

static bool is_own(const struct hs_profile *profile, const bool *own_modules, const struct hs_frame *frame)
{
	/* a frame with a file but no module comes from a format that only tells the one */
	bool own = frame->module == UINT32_MAX ? frame->file != 0 || profile->facts.imported
					       : own_modules[frame->module];
	return own && !frame->internal;
}

static uint16_t count_folded(const struct hs_profile *profile, struct hs_call call, bool raw)
{
	for (uint32_t i = 0; i < call.frame_count; i++)
		if (raw || !profile->frames[call.first_frame + i].internal)
			return (uint16_t)i;
	return HS_CALL_FOLDED;
}

void hs_sites_know_frames(struct hs_sites_making *making, bool raw)
{
	const struct hs_profile *profile = making->profile;
	bool *own_modules = hs_own_modules(profile);
	making->own_frames = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof *making->own_frames);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		making->own_frames[i] = is_own(profile, own_modules, &profile->frames[i]);
	free(own_modules);
	making->folded_of_call = hs_allocate(profile->call_count * sizeof *making->folded_of_call);
	for (uint32_t i = 0; i < profile->call_count; i++)
		making->folded_of_call[i] = count_folded(profile, profile->calls[i], raw);
}

/* Of each node the one whose call is not folded: itself or the innermost such caller; 0 none. */
static uint32_t *find_unfolded(const struct hs_sites_making *making)
{
	const struct hs_profile *profile = making->profile;
	uint32_t *unfolded = hs_allocate(profile->node_count * sizeof *unfolded);
	unfolded[0] = 0;
	for (uint32_t id = 1; id < profile->node_count; id++)
		unfolded[id] = making->folded_of_call[profile->nodes[id].call] == HS_CALL_FOLDED
				       ? unfolded[profile->nodes[id].parent]
				       : id;
	return unfolded;
}

struct hs_rest hs_sites_fold_node(struct hs_sites_making *making, uint32_t node)
{
	enum { STEPS_MOST = 64 }; /* if nodes have more, following each of them might take forever */
	const struct hs_profile *profile = making->profile;
	uint32_t at = node, folded;
	for (unsigned i = 0; (folded = making->folded_of_call[profile->nodes[at].call]) == HS_CALL_FOLDED;) {
		at = profile->nodes[at].parent;
		if (++i == STEPS_MOST) {
			if (!making->unfolded)
				making->unfolded = find_unfolded(making);
			at = making->unfolded[at];
		}
		if (at == 0)
			return (struct hs_rest){node, 0};
	}
	return (struct hs_rest){at, folded};
}

/* ---- grouping -------------------------------------------------------------------------------------------
 */

uint32_t hs_sites_stack_of(const struct hs_sites_making *making, struct hs_rest rest)
{
	uint32_t stack = making->stacks.of_node[rest.node];
	for (uint32_t i = 0; i < rest.cut; i++)
		stack = making->stacks.items[stack].parent;
	return stack;
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
	return find_group(making, hs_sites_stack_of(making, hs_sites_fold_node(making, node)),
			  hs_suppression_of(making->profile, node));
}

void hs_sites_make_stacks(struct hs_sites_making *making)
{
	uint32_t *texts = hs_frame_texts(making->profile);
	hs_stacks_make(making->profile, texts, &making->stacks);
	free(texts);
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
	making->group_of_stack = hs_allocate(making->stacks.count * sizeof *making->group_of_stack);
	memset(making->group_of_stack, 0xff, making->stacks.count * sizeof *making->group_of_stack);
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

/* The own frame of a site: the innermost one that is the user's, or else the innermost one. */
static void find_own_frame(const struct hs_sites_making *making, struct hs_site *site)
{
	const struct hs_profile *profile = making->profile;
	struct hs_rest rest = hs_rest_of_site(site), callers = {0};
	uint32_t frame;
	site->own = HS_NO_FRAME;
	for (uint32_t position = 0; hs_rest_next(profile, &rest, &frame); position++) {
		bool own = making->own_frames[frame];
		if (position == 0 || own) {
			site->own_frame = position;
			site->own = frame;
			callers = rest;
		}
		if (own)
			break;
	}
	if (callers.cut == hs_call_of(profile, callers.node).frame_count)
		callers = (struct hs_rest){profile->nodes[callers.node].parent, 0};
	site->callers = callers.node;
	site->callers_cut = (uint16_t)callers.cut;
}

static void add_suppressed(struct hs_sites_making *making, struct hs_sites *sites, uint32_t site)
{
	sites->suppressed = hs_grow(sites->suppressed, sites->suppressed_count,
				    &making->suppressed_sites_capacity, sizeof *sites->suppressed);
	sites->suppressed[sites->suppressed_count++] = site;
}

void hs_sites_add(struct hs_sites_making *making, struct hs_sites *sites, struct hs_rest rest, uint32_t rule,
		  uint32_t group)
{
	sites->items = hs_grow(sites->items, sites->count, &making->site_capacity, sizeof *sites->items);
	struct hs_site *site = &sites->items[sites->count++];
	*site = (struct hs_site){
		.suppression = rule, .node = rest.node, .cut = (uint16_t)rest.cut, .group = group};
	find_own_frame(making, site);
	if (rule)
		add_suppressed(making, sites, sites->count - 1);
}

void hs_sites_making_free(struct hs_sites_making *making)
{
	if (!making)
		return;
	free(making->own_frames);
	free(making->folded_of_call);
	free(making->unfolded);
	hs_stacks_free(&making->stacks);
	end_groups(making);
	hs_sites_end_mapping(making);
	free(making->met.nodes);
	free(making->site_of_group);
	free(making->spare);
	free(making);
}
