/* Sites as a tree of functions. Each node owns a range of the sites; to find its children the range is sorted
 * by the next frame's function. So the work is that of the levels that are built, whatever stacks look like;
 * nothing recurses. */
#include "profile/tree.h"

#include "base/memory.h"
#include "own.h"
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#define NO_KEY UINT32_MAX

struct making {
	const struct hs_profile *profile;
	const struct hs_sites *sites;
	const struct hs_tree_wanted *wanted;
	struct hs_tree *tree;
	size_t node_capacity;
	uint32_t *key_of_frame;
	uint32_t *order; /* sites; a node's stand together */
	uint32_t *end;   /* of each site: how many of its frames count */
	uint32_t *next; /* of each site: position of the frame of the next level; frame_count: none is left */
	uint32_t *key;  /* of each site: that frame's */
	struct branch *pending; /* nodes to be, the next one last */
	size_t pending_count, pending_capacity;
};

/* Sites order[first .. first + count) that share a path. */
struct branch {
	struct hs_tree_node node;
	uint32_t first, count;
};

uint32_t *hs_function_keys(const struct hs_profile *profile)
{
	struct hs_pairs known = {0};
	uint32_t *keys = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*keys));
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		if (frame->function)
			keys[i] = hs_pairs_add(&known, (uint64_t)frame->function << 32 | frame->file,
					       frame->module, NULL);
		else
			keys[i] =
				hs_pairs_add(&known, frame->address,
					     1ULL << 63 | (uint64_t)frame->line << 32 | frame->module, NULL);
	}
	hs_pairs_free(&known);
	return keys;
}

/* ---- levels ---------------------------------------------------------------------------------------------
 */

static bool is_shown(const struct making *making, const struct hs_site *site, uint32_t position)
{
	return making->wanted->raw || !making->profile->frames[site->frames[position]].internal;
}

/* Frames of the stack that are looked at. */
static uint32_t end_of(const struct making *making, const struct hs_site *site)
{
	return making->wanted->raw ? site->frame_count
				   : hs_without_start(making->profile, site->frames, site->frame_count);
}

/* A stack that is all internal is shown by its innermost frame. */
static bool is_all_internal(const struct making *making, const struct hs_site *site)
{
	for (uint32_t i = 0; i < making->end[site - making->sites->items]; i++)
		if (is_shown(making, site, i))
			return false;
	return true;
}

/* Moves a site to the next frame that is shown; `from` has not been shown. Bottom-up positions count up. */
static void advance(struct making *making, uint32_t index, uint32_t from)
{
	const struct hs_site *site = &making->sites->items[index];
	uint32_t at = from, end = making->end[index];
	if (making->wanted->bottom_up)
		while (at < end && !is_shown(making, site, at))
			at++;
	else
		while (at < end && !is_shown(making, site, at))
			at--; /* below 0: large */
	making->next[index] = at < end ? at : end;
	making->key[index] = at < end ? making->key_of_frame[site->frames[at]] : NO_KEY;
}

static void start_site(struct making *making, uint32_t index)
{
	const struct hs_site *site = &making->sites->items[index];
	making->next[index] = 0;
	making->end[index] = end_of(making, site);
	if (site->frame_count == 0)
		making->key[index] = NO_KEY;
	else if (is_all_internal(making, site))
		making->key[index] = making->key_of_frame[site->frames[0]];
	else
		advance(making, index, making->wanted->bottom_up ? 0 : making->end[index] - 1);
}

static int by_key(const void *left, const void *right, void *context)
{
	const struct making *making = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (making->key[a] != making->key[b])
		return making->key[a] < making->key[b] ? -1 : 1;
	return (a > b) - (a < b);
}

static int larger_first(const void *left, const void *right, void *context)
{
	const struct making *making = context;
	const struct branch *a = left, *b = right;
	uint64_t one = hs_metric_value(&a->node.counts, making->wanted->metric);
	uint64_t two = hs_metric_value(&b->node.counts, making->wanted->metric);
	if (one != two)
		return one > two ? -1 : 1;
	/* sites have a stable order, keys may have not */
	return (making->order[a->first] > making->order[b->first]) -
	       (making->order[a->first] < making->order[b->first]);
}

/* The branch of sites order[first .. first + count), which have the same next frame. */
static struct branch make_branch(const struct making *making, uint32_t first, uint32_t count)
{
	struct branch branch = {.first = first, .count = count};
	branch.node.frame = UINT32_MAX;
	branch.node.one_line = true;
	for (uint32_t i = first; i < first + count; i++) {
		const struct hs_site *site = &making->sites->items[making->order[i]];
		hs_counts_add(&branch.node.counts, site->counts);
		if (site->frame_count == 0)
			continue;
		uint32_t frame = site->frames[making->next[making->order[i]]];
		if (branch.node.frame == UINT32_MAX)
			branch.node.frame = frame;
		branch.node.one_line &= making->profile->frames[frame].line ==
					making->profile->frames[branch.node.frame].line;
	}
	return branch;
}

/* Divides a range of sites by their next frames. malloc'ed. */
static struct branch *divide(struct making *making, uint32_t first, uint32_t count, uint32_t *branch_count)
{
	struct branch *branches = NULL;
	size_t capacity = 0;
	*branch_count = 0;
	qsort_r(making->order + first, count, sizeof(*making->order), by_key, making);
	for (uint32_t i = first; i < first + count;) {
		uint32_t end = i + 1;
		while (end < first + count &&
		       making->key[making->order[end]] == making->key[making->order[i]])
			end++;
		branches = hs_grow(branches, *branch_count, &capacity, sizeof(*branches));
		branches[(*branch_count)++] = make_branch(making, i, end - i);
		i = end;
	}
	if (*branch_count)
		qsort_r(branches, *branch_count, sizeof(*branches), larger_first, making);
	return branches;
}

/* Puts the branches that are wanted on the list of nodes to be, the largest on top. */
static void push(struct making *making, struct branch *branches, uint32_t count, uint32_t parent,
		 uint32_t depth, uint32_t *children, uint32_t *left_out, uint64_t *left_out_value)
{
	const struct hs_tree_wanted *wanted = making->wanted;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = hs_metric_value(&branches[i].node.counts, wanted->metric);
		if (value == 0)
			break;
		if (value < wanted->least || (wanted->children_most && kept == wanted->children_most)) {
			++*left_out;
			*left_out_value += value;
		} else {
			kept++;
		}
	}
	*children = kept;
	for (uint32_t i = kept; i-- > 0;) {
		making->pending = hs_grow(making->pending, making->pending_count, &making->pending_capacity,
					  sizeof(*making->pending));
		branches[i].node.parent = parent;
		branches[i].node.depth = depth;
		branches[i].node.last = i + 1 == kept;
		making->pending[making->pending_count++] = branches[i];
	}
}

/* Moves the branch's sites on; those that have no further frame end here, and come first. Returns how many.
 */
static uint32_t step(struct making *making, struct branch *branch)
{
	uint32_t ended = 0;
	for (uint32_t i = branch->first; i < branch->first + branch->count; i++) {
		uint32_t index = making->order[i], at = making->next[index];
		const struct hs_site *site = &making->sites->items[index];
		bool more = site->frame_count && is_shown(making, site, at);
		if (more)
			advance(making, index, making->wanted->bottom_up ? at + 1 : at - 1);
		if (more && making->next[index] < making->end[index])
			continue;
		hs_counts_add(&branch->node.self, site->counts);
		making->order[i] = making->order[branch->first + ended];
		making->order[branch->first + ended++] = index;
	}
	return ended;
}

static void visit(struct making *making, struct branch *branch)
{
	struct hs_tree *tree = making->tree;
	uint32_t self = tree->count, ended = step(making, branch), count;
	uint32_t first = branch->first + ended, rest = branch->count - ended;
	bool deepest = making->wanted->depth_most && branch->node.depth + 1 >= making->wanted->depth_most;
	if (rest && deepest) {
		struct branch below = {.first = first};
		for (uint32_t i = first; i < first + rest; i++)
			hs_counts_add(&below.node.counts, making->sites->items[making->order[i]].counts);
		branch->node.left_out_value = hs_metric_value(&below.node.counts, making->wanted->metric);
		branch->node.cut = branch->node.left_out_value > 0;
	} else if (rest) {
		struct branch *branches = divide(making, first, rest, &count);
		push(making, branches, count, self, branch->node.depth + 1, &branch->node.children,
		     &branch->node.left_out, &branch->node.left_out_value);
		free(branches);
	}
	tree->nodes = hs_grow(tree->nodes, tree->count, &making->node_capacity, sizeof(*tree->nodes));
	tree->nodes[tree->count++] = branch->node;
}

void hs_tree_make(struct hs_tree *tree, const struct hs_profile *profile, const struct hs_sites *sites,
		  const struct hs_tree_wanted *wanted)
{
	struct making making = {.profile = profile, .sites = sites, .wanted = wanted, .tree = tree};
	size_t count = (size_t)sites->count + 1;
	uint32_t branch_count, roots;
	*tree = (struct hs_tree){0};
	making.key_of_frame = hs_function_keys(profile);
	making.order = hs_allocate_zero(count, sizeof(*making.order));
	making.end = hs_allocate_zero(count, sizeof(*making.end));
	making.next = hs_allocate_zero(count, sizeof(*making.next));
	making.key = hs_allocate_zero(count, sizeof(*making.key));
	for (uint32_t i = 0; i < sites->count; i++) {
		making.order[i] = i;
		start_site(&making, i);
	}
	struct branch *branches = divide(&making, 0, sites->count, &branch_count);
	push(&making, branches, branch_count, UINT32_MAX, 0, &roots, &tree->left_out, &tree->left_out_value);
	free(branches);
	while (making.pending_count) {
		struct branch branch = making.pending[--making.pending_count];
		visit(&making, &branch);
	}
	free(making.pending);
	free(making.key_of_frame);
	free(making.order);
	free(making.end);
	free(making.next);
	free(making.key);
}

void hs_tree_free(struct hs_tree *tree)
{
	free(tree->nodes);
	*tree = (struct hs_tree){0};
}
