/* The stacks and counts of one or two recordings in one tree. In one recording stacks are told apart as
 * people see them; two are compared by names, as `heapscope diff` does. */
#include "page.h"

#include "base/memory.h"
#include "profile/metrics.h"
#include "profile/own.h"
#include "profile/pairs.h"
#include "profile/stacks.h"
#include "profile/suppressions.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys of frames -------------------------------------------------------------------------------------
 */

static void add_keys(struct hs_page_tree *tree, unsigned side, const uint32_t *key_of_frame)
{
	const struct hs_profile *profile = tree->sides[side].profile;
	bool *own = hs_own_modules(profile);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		struct hs_page_key *key = &tree->keys[key_of_frame[i]];
		if (!key->frame)
			*key = (struct hs_page_key){
				.frame = frame,
				.side = (uint8_t)side,
				.own = frame->module < profile->module_count && own[frame->module] &&
				       !frame->internal,
			};
	}
	free(own);
}

static void make_keys(struct hs_page_tree *tree, uint32_t *key_of_frame[HS_PAGE_SIDES])
{
	const struct hs_profile *new = tree->sides[HS_PAGE_NEW].profile,
				*old = tree->sides[HS_PAGE_OLD].profile;
	struct hs_strings names;
	hs_strings_init(&names);
	if (old) {
		key_of_frame[HS_PAGE_NEW] = hs_diff_names(&names, new, old);
		key_of_frame[HS_PAGE_OLD] = hs_diff_names(&names, old, new);
	} else {
		key_of_frame[HS_PAGE_NEW] = hs_frame_texts(new);
	}
	for (unsigned side = 0; side < HS_PAGE_SIDES && tree->sides[side].profile; side++)
		for (uint32_t i = 0; i < tree->sides[side].profile->frame_count; i++)
			if (key_of_frame[side][i] >= tree->key_count)
				tree->key_count = key_of_frame[side][i] + 1;
	tree->keys = hs_allocate_zero((size_t)tree->key_count + 1, sizeof *tree->keys);
	hs_strings_free(&names);
	add_keys(tree, HS_PAGE_NEW, key_of_frame[HS_PAGE_NEW]);
	if (old)
		add_keys(tree, HS_PAGE_OLD, key_of_frame[HS_PAGE_OLD]);
}

/* ---- nodes ----------------------------------------------------------------------------------------------
 */

static uint32_t add_node(struct hs_page_tree *tree, uint32_t parent, uint32_t key)
{
	uint32_t index = tree->node_count++;
	tree->nodes = hs_grow(tree->nodes, index, &tree->node_capacity, sizeof *tree->nodes);
	const struct hs_page_node *outer = &tree->nodes[parent];
	bool internal = tree->keys[key].frame->internal;
	tree->nodes[index] = (struct hs_page_node){
		.parent = parent,
		.key = key,
		.depth = outer->depth + 1,
		.folded = internal ? outer->folded : index,
		.own = tree->keys[key].own ? index : outer->own,
	};
	return index;
}

/* What a suppression says of is a stack of its own, which ends in the same node. */
static void divide_suppressed(struct hs_page_side *side)
{
	uint32_t *twins = hs_allocate_zero(side->stack_count, sizeof *twins), whole = side->stack_count;
	size_t capacity = whole;
	side->suppressed_from = whole;
	hs_suppressions_find(side->profile);
	for (uint32_t id = 0; id < side->profile->node_count; id++) {
		uint32_t stack = side->stack_of_node[id];
		if (!hs_suppression_of(side->profile, id))
			continue;
		if (!twins[stack]) {
			side->node_of_stack = hs_grow(side->node_of_stack, side->stack_count, &capacity,
						      sizeof *side->node_of_stack);
			side->node_of_stack[side->stack_count] = side->node_of_stack[stack];
			twins[stack] = side->stack_count++;
		}
		side->stack_of_node[id] = twins[stack];
	}
	free(twins);
}

static void count_suppressed(struct hs_page_side *side)
{
	struct hs_counts *totals = &side->replay.totals.counts;
	for (uint32_t g = 0; g < side->replay.group_count; g++) {
		struct hs_counts *counts = &side->replay.groups[g];
		if (hs_page_stack_of_group(side, g) < side->suppressed_from)
			continue;
		counts->suppressed_bytes = counts->live_bytes;
		counts->suppressed_blocks = counts->live_blocks;
		totals->suppressed_bytes += counts->live_bytes;
		totals->suppressed_blocks += counts->live_blocks;
	}
}

static void add_stacks(struct hs_page_tree *tree, unsigned index, const uint32_t *key_of_frame,
		       struct hs_pairs *known)
{
	struct hs_page_side *side = &tree->sides[index];
	struct hs_stacks stacks;
	bool alone = !tree->sides[HS_PAGE_OLD].profile; /* its stacks are the tree's nodes */
	hs_stacks_make(side->profile, key_of_frame, &stacks);
	side->stack_count = stacks.count;
	side->node_of_stack = hs_allocate_zero(stacks.count, sizeof *side->node_of_stack);
	for (uint32_t s = 1; s < stacks.count; s++) {
		bool added = true;
		uint32_t parent = side->node_of_stack[stacks.items[s].parent];
		uint32_t key = key_of_frame[stacks.items[s].frame];
		uint32_t node = alone ? s : hs_pairs_add(known, parent, key, &added) + 1;
		if (added)
			add_node(tree, parent, key);
		side->node_of_stack[s] = node;
	}
	side->stack_of_node = stacks.of_node;
	stacks.of_node = NULL;
	hs_stacks_free(&stacks);
	divide_suppressed(side);
}

/* A stack of nothing but internal frames is shown as it is. */
static void finish_folding(struct hs_page_tree *tree)
{
	for (uint32_t i = 1; i < tree->node_count; i++)
		if (tree->nodes[i].folded == 0)
			tree->nodes[i].folded = i;
}

/* Lists the groups that have anything: of the stacks most have not. The caller frees it. */
static uint32_t *list_used(const struct hs_page_side *side, uint32_t *count)
{
	uint32_t *used = hs_allocate_zero(side->replay.group_count, sizeof *used);
	*count = 0;
	for (uint32_t g = 0; g < side->replay.group_count; g++)
		if (hs_counts_any(&side->replay.groups[g]))
			used[(*count)++] = g;
	return used;
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* As print counts them: stacks as people see them, without the internal frames at the inner end; what a
 * suppression says of is a site of its own. */
static uint32_t count_sites(const struct hs_page_side *side, bool raw)
{
	const struct hs_profile *profile = side->profile;
	struct hs_stacks stacks;
	struct hs_pairs sites = {0};
	uint32_t *texts = hs_frame_texts(profile);
	hs_stacks_make(profile, texts, &stacks);
	hs_suppressions_find(profile);
	uint32_t *folded = hs_allocate_zero(stacks.count, sizeof *folded);
	for (uint32_t s = 1; s < stacks.count; s++) {
		bool internal = !raw && profile->frames[stacks.items[s].frame].internal;
		folded[s] = internal ? folded[stacks.items[s].parent] : s;
	}
	for (uint32_t id = 0; id < profile->node_count; id++) {
		uint32_t stack = stacks.of_node[id];
		if (side->replay.node_used[id])
			hs_pairs_add(&sites, folded[stack] ? folded[stack] : stack,
				     hs_suppression_of(profile, id), NULL);
	}
	uint32_t count = sites.count;
	hs_pairs_free(&sites);
	free(folded);
	free(texts);
	hs_stacks_free(&stacks);
	return count;
}

/* ---- weights --------------------------------------------------------------------------------------------
 */

static uint64_t *sum_inclusive(const struct hs_page_tree *tree, const struct hs_page_side *side,
			       const uint32_t *used, uint32_t used_count, unsigned field)
{
	uint64_t *sums = hs_allocate_zero(tree->node_count, sizeof *sums);
	for (uint32_t i = 0; i < used_count; i++) {
		uint64_t values[HS_COUNT_FIELDS];
		memcpy(values, &side->replay.groups[used[i]], sizeof values);
		sums[hs_page_node_of_group(side, used[i])] += values[field];
	}
	for (uint32_t i = tree->node_count; i-- > 1;)
		sums[tree->nodes[i].parent] += sums[i];
	return sums;
}

/* Marks the nodes where blocks end, and weighs all. A maximum weighs as much as it has of the sum of all
 * maxima: what was large only for a while counts too. */
static void weigh(struct hs_page_tree *tree, const struct hs_page_side *side)
{
	uint32_t count, *used = list_used(side, &count);
	for (uint32_t i = 0; i < count; i++)
		tree->nodes[hs_page_node_of_group(side, used[i])].used = true;
	for (unsigned field = 0; field < HS_COUNT_FIELDS; field++) {
		uint64_t *sums = sum_inclusive(tree, side, used, count, field);
		for (uint32_t i = 0; sums[0] && i < tree->node_count; i++) {
			float share = (float)((double)sums[i] / (double)sums[0]);
			if (share > tree->nodes[i].weight)
				tree->nodes[i].weight = share;
		}
		free(sums);
	}
	free(used);
}

/* ---- all of it ------------------------------------------------------------------------------------------
 */

int hs_page_tree_make(struct hs_page_tree *tree, struct hs_profile *new, struct hs_profile *old, bool raw,
		      struct hs_error *error)
{
	*tree = (struct hs_page_tree){.node_count = 1};
	tree->sides[HS_PAGE_NEW].profile = new;
	tree->sides[HS_PAGE_OLD].profile = old;
	tree->nodes = hs_grow(NULL, 0, &tree->node_capacity, sizeof *tree->nodes);
	tree->nodes[0] = (struct hs_page_node){0};
	uint32_t *key_of_frame[HS_PAGE_SIDES] = {NULL};
	struct hs_pairs known = {0}; /* parent, key; index + 1 is the node */
	int result = 0;
	make_keys(tree, key_of_frame);
	for (unsigned s = 0; s < HS_PAGE_SIDES && result == 0 && tree->sides[s].profile; s++) {
		struct hs_page_side *side = &tree->sides[s];
		struct hs_replay_how how = {.by_thread = s == HS_PAGE_NEW};
		add_stacks(tree, s, key_of_frame[s], &known);
		result = hs_replay_run_as(side->profile, side->stack_of_node, side->stack_count, &how,
					  &side->replay, error);
		if (result == 0)
			count_suppressed(side);
	}
	hs_pairs_free(&known);
	free(key_of_frame[HS_PAGE_NEW]);
	free(key_of_frame[HS_PAGE_OLD]);
	if (result != 0)
		return -1;
	finish_folding(tree);
	for (unsigned s = 0; s < HS_PAGE_SIDES && tree->sides[s].profile; s++) {
		struct hs_page_side *side = &tree->sides[s];
		weigh(tree, side);
		side->site_count = count_sites(side, raw);
	}
	return 0;
}

void hs_page_tree_free(struct hs_page_tree *tree)
{
	for (unsigned s = 0; s < HS_PAGE_SIDES; s++) {
		hs_replay_free(&tree->sides[s].replay);
		free(tree->sides[s].node_of_stack);
		free(tree->sides[s].stack_of_node);
	}
	free(tree->nodes);
	free(tree->keys);
	*tree = (struct hs_page_tree){0};
}
