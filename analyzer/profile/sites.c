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

/* Nodes that nobody calls from have blocks of their own, most others have none. So the groups of the former
 * come first: what the replay keeps of groups stays together. */
static void group_nodes(struct making *making)
{
	const struct hs_profile *profile = making->profile;
	const struct hs_suppressions *suppressions = profile->suppressions;
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
						   suppressions ? suppressions->rule_of_node[id] : 0);
	free(is_parent);
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* A site to be: what it is sorted by, and where it comes from. */
struct draft {
	uint64_t peak_bytes, allocated_bytes;
	uint32_t stack, group;
};

/* Writes the innermost `most` frames of a stack. */
static uint32_t write_stack(const struct hs_stack *stacks, uint32_t stack, uint32_t most, uint32_t *frames)
{
	uint32_t count = 0;
	for (; stack && count < most; stack = stacks[stack].parent)
		frames[count++] = stacks[stack].frame;
	return count;
}

/* Every stack on its own, cut to a depth at which they all fit. */
static uint32_t *write_cut_frames(struct making *making, const struct draft *drafts, struct hs_sites *sites)
{
	uint32_t most = POOL_FRAMES_MOST / sites->count > CUT_DEPTH_LEAST ? POOL_FRAMES_MOST / sites->count
									  : CUT_DEPTH_LEAST;
	uint32_t *pool = hs_allocate_zero((size_t)most * sites->count, sizeof *pool), *at = pool;
	for (uint32_t i = 0; i < sites->count; i++) {
		sites->items[i].frames = at;
		sites->items[i].frame_count = write_stack(making->stacks.items, drafts[i].stack, most, at);
		at += sites->items[i].frame_count;
	}
	hs_profile_warn(making->profile, "only the innermost %u frames of each stack are shown", most);
	return pool;
}

/* Gives every site its frames, innermost first. A stack's frames are the tail of each deeper one's that runs
 * through it, so they share memory: a recursion of any depth takes its depth once. */
static uint32_t *write_frames(struct making *making, const struct draft *drafts, struct hs_sites *sites)
{
	const struct hs_stack *stacks = making->stacks.items;
	enum { WANTED = 1, PLACES = 2 };
	/* of a stack in the pool, + PLACES; WANTED: of a site and not written yet */
	uint32_t *place = hs_allocate_zero(making->stacks.count, sizeof *place);
	size_t used = 0, capacity = 0;
	uint32_t *pool = hs_grow(NULL, 0, &capacity, sizeof *pool);
	for (uint32_t i = 0; i < sites->count; i++)
		place[drafts[i].stack] = WANTED;
	/* callees stand behind their callers */
	for (uint32_t last = making->stacks.count; last-- > 1 && used <= POOL_FRAMES_MOST;) {
		uint32_t depth = stacks[last].depth;
		if (place[last] != WANTED)
			continue;
		while (capacity < used + depth)
			pool = hs_grow(pool, capacity, &capacity, sizeof *pool);
		write_stack(stacks, last, depth, pool + used);
		for (uint32_t stack = last, n = 0; n < depth; n++, stack = stacks[stack].parent)
			if (place[stack] < PLACES)
				place[stack] = (uint32_t)used + n + PLACES;
		used += depth;
	}
	if (used > POOL_FRAMES_MOST) {
		free(pool);
		pool = write_cut_frames(making, drafts, sites);
	} else {
		for (uint32_t i = 0; i < sites->count; i++) {
			struct hs_site *site = &sites->items[i];
			site->frame_count = stacks[drafts[i].stack].depth;
			site->frames = pool;
			if (site->frame_count)
				site->frames += place[drafts[i].stack] - PLACES;
		}
	}
	free(place);
	return pool;
}

/* By the frames, innermost first; a stack that the other one begins with comes before it. */
static int compare_stacks(const struct making *making, uint32_t left, uint32_t right)
{
	const struct hs_stack *stacks = making->stacks.items;
	const struct hs_frame *frames = making->profile->frames;
	for (; left != right && left && right; left = stacks[left].parent, right = stacks[right].parent) {
		uint32_t a = frames[stacks[left].frame].rank, b = frames[stacks[right].frame].rank;
		if (a != b)
			return a < b ? -1 : 1;
	}
	return left == right ? 0 : left ? 1 : -1;
}

static int larger_first(const void *left, const void *right, void *context)
{
	const struct draft *a = left, *b = right;
	const struct making *making = context;
	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	if (a->allocated_bytes != b->allocated_bytes)
		return a->allocated_bytes > b->allocated_bytes ? -1 : 1;
	int order = compare_stacks(making, a->stack, b->stack);
	uint32_t one = making->groups[a->group].rule, two = making->groups[b->group].rule;
	return order ? order : (one > two) - (one < two);
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

/* One for each group that has blocks; sorted. */
static struct draft *make_drafts(struct making *making, const struct hs_replay *replay, uint32_t *count)
{
	bool *has_blocks = hs_allocate_zero(making->group_count, sizeof *has_blocks);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		bool *has = &has_blocks[making->group_of_node[id]];
		*count += replay->node_used[id] && !*has;
		*has |= replay->node_used[id];
	}
	struct draft *drafts = hs_allocate_zero(*count, sizeof *drafts), *next = drafts;
	for (uint32_t g = 0; g < making->group_count; g++)
		if (has_blocks[g])
			*next++ = (struct draft){.peak_bytes = replay->groups[g].peak_bytes,
						 .allocated_bytes = replay->groups[g].allocated_bytes,
						 .stack = making->groups[g].stack,
						 .group = g};
	free(has_blocks);
	qsort_r(drafts, *count, sizeof *drafts, larger_first, making);
	return drafts;
}

static void make_sites(struct making *making, struct hs_sites *sites)
{
	struct hs_counts *totals = &sites->replay.totals.counts;
	struct draft *drafts = make_drafts(making, &sites->replay, &sites->count);
	sites->items = hs_allocate_zero(sites->count, sizeof *sites->items);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		struct hs_counts *counts = &sites->replay.groups[drafts[i].group];
		site->suppression = making->groups[drafts[i].group].rule;
		if (site->suppression) {
			counts->suppressed_bytes = counts->live_bytes;
			counts->suppressed_blocks = counts->live_blocks;
			totals->suppressed_bytes += counts->live_bytes;
			totals->suppressed_blocks += counts->live_blocks;
		}
		site->counts = *counts;
	}
	/* the sites have them now: the frames take their memory */
	free(sites->replay.groups);
	sites->replay.groups = NULL;
	sites->replay.group_count = 0;
	sites->frame_pool = write_frames(making, drafts, sites);
	for (uint32_t i = 0; i < sites->count; i++)
		sites->items[i].own_frame = find_own_frame(making, &sites->items[i]);
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
	free(making.group_of_stack);
	int result = hs_replay_run(profile, making.group_of_node, making.group_count, &sites->replay, error);
	if (result == 0) {
		making.own_modules = hs_own_modules(profile);
		make_sites(&making, sites);
	}
	free(making.own_modules);
	free(making.folded);
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
