/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. The grouping is known before the replay, so that a site's maximum is its own and not a sum of
 * maxima. */
#include "base/memory.h"
#include "internal.h"
#include "own.h"
#include "pairs.h"
#include "stacks.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* More frames in all than this are not written out (a hostile or very strange file): stacks are cut. */
enum { POOL_FRAMES_MOST = 64 << 20, CUT_DEPTH_LEAST = 64 };

struct making {
	struct hs_profile *profile;
	struct hs_stacks stacks;
	uint32_t *folded;           /* of each stack: the stack without its internal frames */
	uint32_t *group_of_stack;   /* of each folded stack; UINT32_MAX: of no node */
	struct hs_pairs suppressed; /* folded stack, rule + 1: each a group of its own */
	uint32_t *group_of_suppressed;
	size_t suppressed_capacity;
	struct group {
		uint32_t stack, rule;
	} * groups;
	uint32_t group_count;
	size_t group_capacity;
	uint32_t *group_of_node;
	bool *own_modules;
};

/* ---- the user's own code --------------------------------------------------------------------------------
 */

static uint32_t find_own_frame(const struct making *making, const struct hs_site *site)
{
	for (uint32_t i = 0; i < site->frame_count; i++) {
		const struct hs_frame *frame = &making->profile->frames[site->frames[i]];
		/* a frame with a file but no module comes from a format that only tells the one */
		bool own = frame->module == UINT32_MAX ? frame->file != 0 || making->profile->facts.imported
						       : making->own_modules[frame->module];
		if (own && !frame->internal)
			return i;
	}
	return 0;
}

/* ---- grouping -------------------------------------------------------------------------------------------
 */

/* The innermost run of internal frames goes, unless nothing would remain. */
static void fold_stacks(struct making *making, bool raw)
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

static uint32_t add_group(struct making *making, uint32_t stack, uint32_t rule)
{
	making->groups =
		hs_grow(making->groups, making->group_count, &making->group_capacity, sizeof *making->groups);
	making->groups[making->group_count] = (struct group){stack, rule};
	return making->group_count++;
}

static uint32_t find_group(struct making *making, uint32_t stack, uint32_t rule)
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
		*group = add_group(making, stack, rule);
	return *group;
}

static void group_nodes(struct making *making)
{
	const struct hs_suppressions *suppressions = making->profile->suppressions;
	uint32_t node_count = making->profile->node_count;
	making->group_of_node = hs_allocate_zero(node_count, sizeof *making->group_of_node);
	making->group_of_stack = hs_allocate_zero(making->stacks.count, sizeof *making->group_of_stack);
	memset(making->group_of_stack, 0xff, making->stacks.count * sizeof *making->group_of_stack);
	for (uint32_t id = 0; id < node_count; id++)
		making->group_of_node[id] = find_group(making, making->folded[making->stacks.of_node[id]],
						       suppressions ? suppressions->rule_of_node[id] : 0);
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* A site with what is needed until it has its final place. */
struct draft {
	struct hs_site site;
	uint32_t stack, group;
};

static int deeper_first(const void *left, const void *right, void *context)
{
	const struct hs_stack *stacks = context;
	uint32_t a = stacks[((const struct draft *)left)->stack].depth;
	uint32_t b = stacks[((const struct draft *)right)->stack].depth;
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Writes the innermost `most` frames of a stack. */
static uint32_t write_stack(const struct hs_stack *stacks, uint32_t stack, uint32_t most, uint32_t *frames)
{
	uint32_t count = 0;
	for (; stack && count < most; stack = stacks[stack].parent)
		frames[count++] = stacks[stack].frame;
	return count;
}

/* Every stack on its own, cut to a depth at which they all fit. */
static uint32_t *write_cut_frames(struct making *making, struct draft *drafts, uint32_t count)
{
	uint32_t most =
		POOL_FRAMES_MOST / count > CUT_DEPTH_LEAST ? POOL_FRAMES_MOST / count : CUT_DEPTH_LEAST;
	uint32_t *pool = hs_allocate_zero((size_t)most * count, sizeof *pool), *at = pool;
	for (uint32_t i = 0; i < count; i++) {
		drafts[i].site.frames = at;
		drafts[i].site.frame_count = write_stack(making->stacks.items, drafts[i].stack, most, at);
		at += drafts[i].site.frame_count;
	}
	hs_profile_warn(making->profile, "only the innermost %u frames of each stack are shown", most);
	return pool;
}

/* Gives every site its frames, innermost first. A stack's frames are the tail of each deeper one's that runs
 * through it, so they share memory: a recursion of any depth takes its depth once. */
static uint32_t *write_frames(struct making *making, struct draft *drafts, uint32_t count)
{
	const struct hs_stack *stacks = making->stacks.items;
	size_t *place =
		hs_allocate_zero(making->stacks.count, sizeof *place); /* of a stack in the pool, + 1 */
	size_t used = 0, capacity = 0;
	uint32_t *pool = hs_grow(NULL, 0, &capacity, sizeof *pool);
	qsort_r(drafts, count, sizeof *drafts, deeper_first, making->stacks.items);
	for (uint32_t i = 0; i < count && used <= POOL_FRAMES_MOST; i++) {
		uint32_t stack = drafts[i].stack, depth = stacks[stack].depth;
		if (place[stack] || depth == 0)
			continue;
		while (capacity < used + depth)
			pool = hs_grow(pool, capacity, &capacity, sizeof *pool);
		write_stack(stacks, stack, depth, pool + used);
		for (uint32_t n = 0; n < depth; n++, stack = stacks[stack].parent)
			if (!place[stack])
				place[stack] = used + n + 1;
		used += depth;
	}
	if (used > POOL_FRAMES_MOST) {
		free(pool);
		pool = write_cut_frames(making, drafts, count);
	} else {
		for (uint32_t i = 0; i < count; i++) {
			drafts[i].site.frame_count = stacks[drafts[i].stack].depth;
			drafts[i].site.frames = pool;
			if (drafts[i].site.frame_count)
				drafts[i].site.frames += place[drafts[i].stack] - 1;
		}
	}
	free(place);
	return pool;
}

int hs_frames_compare(const struct hs_profile *profile, uint32_t left, uint32_t right)
{
	if (left == right)
		return 0;
	if (left == HS_NO_FRAME || right == HS_NO_FRAME)
		return left == HS_NO_FRAME ? -1 : 1;
	const struct hs_frame *a = &profile->frames[left], *b = &profile->frames[right];
	char *const *text = profile->strings.items;
	int order = a->function == b->function ? 0 : strcmp(text[a->function], text[b->function]);
	if (order == 0 && a->file != b->file)
		order = strcmp(text[a->file], text[b->file]);
	if (order == 0 && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	if (order == 0 && a->module != b->module)
		order = a->module < b->module ? -1 : 1;
	if (order == 0 && a->function == 0 && a->address != b->address)
		order = a->address < b->address ? -1 : 1;
	return order;
}

static int larger_first(const void *left, const void *right, void *context)
{
	const struct hs_site *a = &((const struct draft *)left)->site,
			     *b = &((const struct draft *)right)->site;
	if (a->counts.peak_bytes != b->counts.peak_bytes)
		return a->counts.peak_bytes > b->counts.peak_bytes ? -1 : 1;
	if (a->counts.allocated_bytes != b->counts.allocated_bytes)
		return a->counts.allocated_bytes > b->counts.allocated_bytes ? -1 : 1;
	for (uint32_t i = 0; i < a->frame_count && i < b->frame_count; i++) {
		int order = hs_frames_compare(context, a->frames[i], b->frames[i]);
		if (order)
			return order;
	}
	if (a->frame_count != b->frame_count)
		return a->frame_count < b->frame_count ? -1 : 1;
	return (a->suppression > b->suppression) - (a->suppression < b->suppression);
}

/* Maps the nodes that have events to their sites; finds how many frames each site left out. */
static void place_nodes(struct making *making, const struct draft *drafts, struct hs_sites *sites)
{
	const struct hs_profile *profile = making->profile;
	const struct hs_stack *stacks = making->stacks.items;
	uint32_t *site_of_group = hs_allocate_zero(making->group_count, sizeof *site_of_group);
	for (uint32_t i = 0; i < sites->count; i++)
		site_of_group[drafts[i].group] = i;
	sites->site_of_node = hs_allocate_zero(profile->node_count, sizeof *sites->site_of_node);
	for (uint32_t id = 0; id < profile->node_count; id++) {
		uint32_t stack = making->stacks.of_node[id], folded = making->folded[stack];
		sites->site_of_node[id] = UINT32_MAX;
		if (!sites->replay.node_used[id])
			continue;
		uint32_t index = site_of_group[making->group_of_node[id]];
		struct hs_site *site = &sites->items[index];
		sites->site_of_node[id] = index;
		if (stacks[stack].depth - stacks[folded].depth > site->folded_frames)
			site->folded_frames = stacks[stack].depth - stacks[folded].depth;
	}
	free(site_of_group);
}

static void make_sites(struct making *making, struct hs_sites *sites)
{
	struct draft *drafts = hs_allocate_zero(making->group_count, sizeof *drafts);
	struct hs_counts *totals = &sites->replay.totals.counts;
	for (uint32_t g = 0; g < making->group_count; g++) {
		struct hs_counts *counts = &sites->replay.groups[g];
		if (!hs_counts_any(counts))
			continue;
		if (making->groups[g].rule) {
			counts->suppressed_bytes = counts->live_bytes;
			counts->suppressed_blocks = counts->live_blocks;
			totals->suppressed_bytes += counts->live_bytes;
			totals->suppressed_blocks += counts->live_blocks;
		}
		drafts[sites->count++] = (struct draft){.site.counts = *counts,
							.site.suppression = making->groups[g].rule,
							.stack = making->groups[g].stack,
							.group = g};
	}
	sites->frame_pool = write_frames(making, drafts, sites->count);
	qsort_r(drafts, sites->count, sizeof *drafts, larger_first, making->profile);
	sites->items = hs_allocate_zero(sites->count, sizeof *sites->items);
	for (uint32_t i = 0; i < sites->count; i++) {
		sites->items[i] = drafts[i].site;
		sites->items[i].own_frame = find_own_frame(making, &sites->items[i]);
	}
	place_nodes(making, drafts, sites);
	free(drafts);
}

int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	struct making making = {.profile = profile};
	*sites = (struct hs_sites){0};
	uint32_t *texts = hs_frame_texts(profile);
	hs_stacks_make(profile, texts, &making.stacks);
	free(texts);
	fold_stacks(&making, raw);
	group_nodes(&making);
	int result = hs_replay_run(profile, making.group_of_node, making.group_count, &sites->replay, error);
	if (result == 0) {
		making.own_modules = hs_own_modules(profile);
		make_sites(&making, sites);
	}
	free(making.own_modules);
	free(making.folded);
	free(making.group_of_stack);
	free(making.group_of_suppressed);
	free(making.groups);
	free(making.group_of_node);
	hs_pairs_free(&making.suppressed);
	hs_stacks_free(&making.stacks);
	return result;
}

void hs_sites_free(struct hs_sites *sites)
{
	free(sites->items);
	free(sites->site_of_node);
	free(sites->frame_pool);
	hs_replay_free(&sites->replay);
	*sites = (struct hs_sites){0};
}
