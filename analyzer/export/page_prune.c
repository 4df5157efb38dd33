/* Chooses the nodes of the tree that somebody could see, and numbers what the page needs of them. What is
 * left out stands below its parent as "(other)", so that all sums stay exact. */
#include "page.h"

#include "base/memory.h"
#include "json.h"
#include "profile/contents.h"
#include "profile/metrics.h"
#include "profile/own.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum {
	SMALL_TREE = 20000,     /* nodes; smaller ones are kept whole */
	NAME_BYTES_MOST = 4096, /* of a string of the page */
};
/* A box of this share of any total is less than a pixel, however large the window is. */
#define SHARE_LEAST 1e-6F

/* ---- what is kept ---------------------------------------------------------------------------------------
 */

static int heavier_first(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;
	return a < b ? 1 : a > b ? -1 : 0;
}

/* A node weighs at least as much as those below it, and stands before them: so all its outer ones are kept
 * too. */
static void choose(struct hs_page_tree *tree, uint32_t nodes_most)
{
	uint32_t count = tree->node_count;
	float least = count > SMALL_TREE ? SHARE_LEAST : 0;
	uint32_t equals = 0; /* how many of the weight `least` are kept */
	float *weights = hs_allocate_zero(count, sizeof *weights);
	for (uint32_t i = 0; i < count; i++)
		weights[i] = tree->nodes[i].weight;
	qsort(weights, count, sizeof *weights, heavier_first);
	if (count > nodes_most && weights[nodes_most] >= least) {
		least = weights[nodes_most];
		for (uint32_t i = nodes_most; i-- > 0 && weights[i] == least;)
			equals++;
	} else {
		equals = count;
	}
	free(weights);
	tree->nodes[0].kept = true;
	for (uint32_t i = 1; i < count; i++) {
		struct hs_page_node *node = &tree->nodes[i];
		node->kept = node->weight > least || (node->weight == least && equals > 0);
		equals -= node->weight == least && equals > 0;
	}
}

/* ---- strings and modules --------------------------------------------------------------------------------
 */

uint32_t hs_page_string(struct hs_page_view *view, const char *text)
{
	char *cut = NULL;
	if (strnlen(text, NAME_BYTES_MOST + 1) > NAME_BYTES_MOST) {
		static const char ellipsis[] = "\xe2\x80\xa6";
		cut = hs_allocate(NAME_BYTES_MOST + sizeof ellipsis);
		memcpy(cut, text, NAME_BYTES_MOST);
		memcpy(cut + NAME_BYTES_MOST, ellipsis, sizeof ellipsis);
		view->cut_strings = true;
	}
	char *repaired = hs_repair_utf8(cut ? cut : text);
	uint32_t index = hs_strings_add_text(&view->strings, repaired);
	free(repaired);
	free(cut);
	return index;
}

/* As docs/json.md has them, and what the page wants besides. */
static json_t *describe_modules(const struct hs_profile *profile)
{
	json_t *modules = hs_json_modules(profile);
	bool *own = hs_own_modules(profile);
	struct hs_contents contents;
	hs_contents_make(&contents, profile);
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct hs_contents_module *frames = &contents.modules[profile->modules[i].same_as];
		json_t *module = json_array_get(modules, i);
		hs_json_put(module, "own", json_boolean(own[i]));
		hs_json_put(module, "has_lines", json_boolean(frames->without_line < frames->frames));
	}
	hs_contents_free(&contents);
	free(own);
	return modules;
}

static uint32_t find_module(const struct hs_profile *profile, const char *path)
{
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (strcmp(profile->strings.items[profile->modules[i].path], path) == 0)
			return profile->modules[i].same_as;
	return UINT32_MAX;
}

/* Those of the new side, then what only the old one has. */
static void list_modules(struct hs_page_view *view, const struct hs_page_tree *tree)
{
	const struct hs_profile *new = tree->sides[HS_PAGE_NEW].profile,
				*old = tree->sides[HS_PAGE_OLD].profile;
	view->modules = describe_modules(new);
	if (!old)
		return;
	json_t *modules = describe_modules(old);
	view->module_of_old = hs_allocate_zero((size_t)old->module_count + 1, sizeof *view->module_of_old);
	for (uint32_t i = 0; i < old->module_count; i++) {
		uint32_t same = find_module(new, old->strings.items[old->modules[i].path]);
		if (same == UINT32_MAX) {
			same = (uint32_t)json_array_size(view->modules);
			json_array_append(view->modules, json_array_get(modules, i));
		}
		view->module_of_old[i] = same;
	}
	json_decref(modules);
}

/* ---- numbering ------------------------------------------------------------------------------------------
 */

/* Nodes that are left out go to their nearest kept one, apart: those that fold into it (or further out)
 * anyhow, since all that is left out are internal frames, and those that do not. */
enum { OTHER_PLAIN, OTHER_INTERNAL, OTHERS };

struct numbering {
	struct hs_page_view *view;
	struct hs_page_tree *tree;
	uint32_t *first, *next;  /* kept children and siblings; 0: none */
	uint32_t *nearest;       /* kept node, itself or outwards */
	uint32_t *number;        /* of a kept node in the page */
	uint32_t *frame_of_key;  /* + 1 */
	uint32_t *other[OTHERS]; /* of each kept node: 0, or the stack + 1 (while it is wanted: UINT32_MAX) */
	size_t node_capacity, frame_index_capacity, stack_capacity;
};

static uint32_t add_frame(struct hs_page_view *view, struct hs_page_frame frame)
{
	view->frames = hs_grow(view->frames, view->frame_count, &view->frame_capacity, sizeof *view->frames);
	view->frames[view->frame_count] = frame;
	return view->frame_count++;
}

static uint32_t frame_of_key(struct numbering *numbering, uint32_t index)
{
	const struct hs_page_key *key = &numbering->tree->keys[index];
	struct hs_page_view *view = numbering->view;
	if (numbering->frame_of_key[index])
		return numbering->frame_of_key[index] - 1;
	const struct hs_profile *profile = numbering->tree->sides[key->side].profile;
	const struct hs_frame *frame = key->frame;
	uint32_t module = frame->module;
	if (module < profile->module_count && key->side == HS_PAGE_OLD)
		module = view->module_of_old[module];
	else if (module >= profile->module_count)
		module = UINT32_MAX;
	uint32_t made = add_frame(
		view,
		(struct hs_page_frame){
			.function = hs_page_string(view, profile->strings.items[frame->function]),
			.file = hs_page_string(view, profile->strings.items[frame->file]),
			.line = frame->line,
			.module = module + 1,
			.address = frame->address,
			.flags = (frame->inlined ? HS_PAGE_INLINED : 0) |
				 (frame->internal ? HS_PAGE_INTERNAL : 0) | (key->own ? HS_PAGE_OWN : 0),
		});
	numbering->frame_of_key[index] = made + 1;
	return made;
}

static uint32_t add_node(struct numbering *numbering, uint32_t depth, uint32_t frame)
{
	struct hs_page_view *view = numbering->view;
	size_t capacity = numbering->node_capacity;
	view->depths =
		hs_grow(view->depths, view->node_count, &numbering->node_capacity, sizeof *view->depths);
	view->node_frames =
		hs_grow(view->node_frames, view->node_count, &capacity, sizeof *view->node_frames);
	view->depths[view->node_count] = depth;
	view->node_frames[view->node_count] = frame;
	return view->node_count++;
}

static uint32_t add_stack(struct numbering *numbering, struct hs_page_stack stack)
{
	struct hs_page_view *view = numbering->view;
	view->stacks =
		hs_grow(view->stacks, view->stack_count, &numbering->stack_capacity, sizeof *view->stacks);
	view->stacks[view->stack_count] = stack;
	return view->stack_count++;
}

static void enter(struct numbering *numbering, uint32_t index)
{
	const struct hs_page_node *nodes = numbering->tree->nodes, *node = &nodes[index];
	struct hs_page_view *view = numbering->view;
	uint32_t frame = index ? frame_of_key(numbering, node->key) : 0;
	uint32_t number = add_node(numbering, node->depth, frame);
	numbering->number[index] = number;
	if (index && node->weight > view->frames[frame].weight)
		view->frames[frame].weight = node->weight;
	if (!node->used)
		return;
	if (index == 0) { /* a stack needs a frame to be seen */
		frame = add_frame(view, (struct hs_page_frame){
						.function = hs_page_string(view, "[stack not recorded]")});
		number = add_node(numbering, 1, frame);
	}
	view->stack_of_node[index] = add_stack(
		numbering,
		(struct hs_page_stack){
			.node = number,
			.own = index ? numbering->number[node->own ? node->own : node->folded] : number,
			.folded = node->depth - nodes[node->folded].depth,
		});
}

static void leave(struct numbering *numbering, uint32_t index)
{
	const struct hs_page_node *nodes = numbering->tree->nodes, *node = &nodes[index];
	for (unsigned kind = 0; kind < OTHERS; kind++) {
		if (!numbering->other[kind][index])
			continue;
		bool internal = kind == OTHER_INTERNAL;
		uint32_t number =
			add_node(numbering, node->depth + 1, kind); /* the first frames, see start() */
		uint32_t shown = internal ? numbering->number[node->folded] : number;
		struct hs_page_stack stack = {
			.node = number,
			.own = node->own ? numbering->number[node->own] : shown,
			.folded = internal ? node->depth + 1 - nodes[node->folded].depth : 0,
		};
		numbering->other[kind][index] = add_stack(numbering, stack) + 1;
	}
}

static void number_nodes(struct numbering *numbering)
{
	const struct hs_page_node *nodes = numbering->tree->nodes;
	uint32_t at = 0;
	enter(numbering, at);
	for (;;) {
		if (numbering->first[at]) {
			at = numbering->first[at];
			enter(numbering, at);
			continue;
		}
		leave(numbering, at);
		while (at && !numbering->next[at]) {
			at = nodes[at].parent;
			leave(numbering, at);
		}
		if (at == 0)
			return;
		at = numbering->next[at];
		enter(numbering, at);
	}
}

static unsigned other_kind(const struct hs_page_node *nodes, const struct hs_page_node *node)
{
	return nodes[node->folded].kept ? OTHER_INTERNAL : OTHER_PLAIN;
}

/* Links the kept nodes, and finds out which of them need others below. */
static void start(struct numbering *numbering)
{
	struct hs_page_tree *tree = numbering->tree;
	uint32_t count = tree->node_count;
	uint32_t **arrays[] = {&numbering->first,
			       &numbering->next,
			       &numbering->nearest,
			       &numbering->number,
			       &numbering->other[OTHER_PLAIN],
			       &numbering->other[OTHER_INTERNAL]};
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		*arrays[i] = hs_allocate_zero(count, sizeof **arrays[i]);
	numbering->frame_of_key =
		hs_allocate_zero((size_t)tree->key_count + 1, sizeof *numbering->frame_of_key);
	uint32_t name = hs_page_string(numbering->view, "(other)");
	add_frame(numbering->view, (struct hs_page_frame){.function = name, .flags = HS_PAGE_OTHER});
	add_frame(numbering->view,
		  (struct hs_page_frame){.function = name, .flags = HS_PAGE_OTHER | HS_PAGE_INTERNAL});
	for (uint32_t i = count; i-- > 1;) {
		const struct hs_page_node *node = &tree->nodes[i];
		if (!node->kept)
			continue;
		numbering->next[i] = numbering->first[node->parent];
		numbering->first[node->parent] = i;
	}
	for (uint32_t i = 1; i < count; i++) {
		const struct hs_page_node *node = &tree->nodes[i];
		numbering->nearest[i] = node->kept ? i : numbering->nearest[node->parent];
		if (node->used && !node->kept)
			numbering->other[other_kind(tree->nodes, node)][numbering->nearest[i]] = UINT32_MAX;
	}
}

static void finish(struct numbering *numbering)
{
	const struct hs_page_tree *tree = numbering->tree;
	struct hs_page_view *view = numbering->view;
	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct hs_page_node *node = &tree->nodes[i];
		if (!node->used || node->kept)
			continue;
		unsigned kind = other_kind(tree->nodes, node);
		view->stack_of_node[i] = numbering->other[kind][numbering->nearest[i]] - 1;
		view->pruned_stacks++;
	}
	free(numbering->first);
	free(numbering->next);
	free(numbering->nearest);
	free(numbering->number);
	free(numbering->other[OTHER_PLAIN]);
	free(numbering->other[OTHER_INTERNAL]);
	free(numbering->frame_of_key);
}

/* ---- counts ---------------------------------------------------------------------------------------------
 */

static void add_counts(struct hs_page_view *view, const struct hs_page_tree *tree, unsigned index)
{
	const struct hs_page_side *side = &tree->sides[index];
	for (uint32_t g = 0; g < side->replay.group_count; g++) {
		const struct hs_counts *counts = &side->replay.groups[g];
		if (!hs_counts_any(counts))
			continue;
		uint32_t node = hs_page_node_of_group(side, g);
		hs_counts_add(&view->stacks[view->stack_of_node[node]].counts[index], counts);
		if (index == HS_PAGE_NEW && node && !tree->nodes[node].kept)
			hs_counts_add(&view->pruned, counts);
	}
	uint64_t totals[HS_COUNT_FIELDS], values[HS_COUNT_FIELDS];
	memcpy(totals, &side->replay.totals.counts, sizeof totals);
	for (uint32_t s = 0; s < view->stack_count; s++) {
		memcpy(values, &view->stacks[s].counts[index], sizeof values);
		for (unsigned field = 0; field < HS_COUNT_FIELDS; field++) {
			float share =
				totals[field] ? (float)((double)values[field] / (double)totals[field]) : 0;
			if (share > view->stacks[s].weight)
				view->stacks[s].weight = share;
		}
	}
}

void hs_page_view_make(struct hs_page_view *view, struct hs_page_tree *tree, uint32_t nodes_most)
{
	*view = (struct hs_page_view){0};
	struct numbering numbering = {.view = view, .tree = tree};
	hs_strings_init(&view->strings);
	choose(tree, nodes_most);
	list_modules(view, tree);
	view->stack_of_node = hs_allocate_zero(tree->node_count, sizeof *view->stack_of_node);
	start(&numbering);
	number_nodes(&numbering);
	finish(&numbering);
	for (unsigned side = 0; side < HS_PAGE_SIDES && tree->sides[side].profile; side++)
		add_counts(view, tree, side);
}

void hs_page_view_free(struct hs_page_view *view)
{
	hs_strings_free(&view->strings);
	json_decref(view->modules);
	free(view->frames);
	free(view->depths);
	free(view->node_frames);
	free(view->stacks);
	free(view->stack_of_node);
	free(view->module_of_old);
	*view = (struct hs_page_view){0};
}
