/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. The grouping is known before the replay, so that a site's maximum is its own and not a sum of
 * maxima. */
#include "base/aside.h"
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
	uint32_t group_count;
	uint32_t *group_of_node;
	bool *own_modules;
	const uint32_t *rule_of_node; /* suppressions.h; NULL: there are no rules */
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

static uint32_t rule_of(const struct making *making, uint32_t node)
{
	return making->rule_of_node ? making->rule_of_node[node] : 0;
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
		*group = making->group_count++;
	return *group;
}

/* Nodes that nobody calls from have blocks of their own, most others have none. So the groups of the former
 * come first: what the replay keeps of groups stays together. */
static void group_nodes(struct making *making)
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
}

/* All but the stacks. */
static void free_grouping(struct making *making)
{
	free(making->folded);
	free(making->group_of_node);
	free(making->group_of_suppressed);
	free(making->stacks.of_node);
	hs_pairs_free(&making->suppressed);
	making->folded = making->group_of_node = making->group_of_suppressed = making->stacks.of_node = NULL;
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* A site to be. */
struct draft {
	uint32_t node; /* one of those that it has */
	uint32_t stack;
	uint32_t rest; /* while drafts are sorted: the outer part of the stack, not looked at yet */
	uint64_t key;  /* likewise: what is looked at; the smallest comes first */
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
		uint32_t stack = last, n = 0;
		for (; stack && place[stack] < PLACES; stack = stacks[stack].parent) {
			place[stack] = (uint32_t)used + n + PLACES;
			pool[used + n++] = stacks[stack].frame;
		}
		if (stack)
			memcpy(pool + used + n, pool + place[stack] - PLACES, (depth - n) * sizeof *pool);
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

/* What drafts are sorted by, one after another. Frames: innermost first, and a stack that another one begins
 * with comes before it. */
enum step { BY_PEAK, BY_ALLOCATED, BY_FRAME, BY_RULE };

static uint64_t next_key(const struct making *making, const struct hs_replay *replay, struct draft *draft,
			 enum step step)
{
	const struct hs_stack *stack = &making->stacks.items[draft->rest];
	switch (step) {
	case BY_PEAK:
		return ~replay->groups[making->group_of_node[draft->node]].peak_bytes;
	case BY_ALLOCATED:
		return ~replay->groups[making->group_of_node[draft->node]].allocated_bytes;
	case BY_FRAME:
		if (!draft->rest)
			return 0;
		draft->rest = stack->parent;
		return making->profile->frames[stack->frame].rank + 1ULL;
	default:
		return rule_of(making, draft->node);
	}
}

struct run {
	uint32_t first, count;
	enum step step;
	bool known; /* their keys */
};

struct runs {
	struct run *items;
	uint32_t count;
	size_t capacity;
};

static void add_run(struct runs *runs, struct run run)
{
	if (run.count < 2)
		return;
	runs->items = hs_grow(runs->items, runs->count, &runs->capacity, sizeof *runs->items);
	runs->items[runs->count++] = run;
}

static void swap(struct draft *left, struct draft *right)
{
	struct draft draft = *left;
	*left = *right;
	*right = draft;
}

/* Quicksort by several keys (Bentley and Sedgewick, 1997): what has the same key is sorted by the next one,
 * so that each frame is looked at once and not in every comparison of two stacks. */
static void sort_drafts(const struct making *making, const struct hs_replay *replay, struct draft *drafts,
			uint32_t count)
{
	struct runs runs = {0};
	uint32_t random = 1;
	add_run(&runs, (struct run){0, count, BY_PEAK, false});
	while (runs.count) {
		struct run run = runs.items[--runs.count];
		uint32_t low = run.first, at = run.first, high = run.first + run.count, end = high;
		for (uint32_t i = run.first; !run.known && i < end; i++)
			drafts[i].key = next_key(making, replay, &drafts[i], run.step);
		random = random * 1664525 + 1013904223;
		uint64_t pivot = drafts[run.first + (uint32_t)((uint64_t)random * run.count >> 32)].key;
		while (at < high)
			if (drafts[at].key < pivot)
				swap(&drafts[low++], &drafts[at++]);
			else if (drafts[at].key > pivot)
				swap(&drafts[at], &drafts[--high]);
			else
				at++;
		add_run(&runs, (struct run){run.first, low - run.first, run.step, true});
		add_run(&runs, (struct run){high, end - high, run.step, true});
		bool further_out = run.step == BY_FRAME && pivot != 0;
		if (run.step != BY_RULE) /* the same stack by the same rule is one draft */
			add_run(&runs, (struct run){low, high - low, run.step + !further_out, false});
	}
	free(runs.items);
}

/* Maps the nodes that have events to their sites; finds how many frames each site left out. */
static void place_nodes(struct making *making, const struct draft *drafts, struct hs_sites *sites)
{
	const struct hs_profile *profile = making->profile;
	const struct hs_stack *stacks = making->stacks.items;
	uint32_t *site_of_group = hs_allocate_zero(making->group_count, sizeof *site_of_group);
	for (uint32_t i = 0; i < sites->count; i++)
		site_of_group[making->group_of_node[drafts[i].node]] = i;
	sites->site_of_node = hs_allocate_zero(profile->node_count, sizeof *sites->site_of_node);
	for (uint32_t id = 0; id < profile->node_count; id++) {
		sites->site_of_node[id] = UINT32_MAX;
		if (!sites->replay.node_used[id])
			continue;
		uint32_t index = site_of_group[making->group_of_node[id]];
		uint32_t folded =
			stacks[making->stacks.of_node[id]].depth - stacks[drafts[index].stack].depth;
		struct hs_site *site = &sites->items[index];
		sites->site_of_node[id] = index;
		if (folded > site->folded_frames)
			site->folded_frames = folded;
	}
	free(site_of_group);
}

/* One for each group that has blocks; sorted. */
static struct draft *make_drafts(struct making *making, const struct hs_replay *replay, uint32_t *count)
{
	bool *has_blocks = hs_allocate_zero(making->group_count, sizeof *has_blocks);
	struct draft *drafts = NULL;
	size_t capacity = 0;
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t group = making->group_of_node[id];
		if (!replay->node_used[id] || has_blocks[group])
			continue;
		has_blocks[group] = true;
		uint32_t stack = making->folded[making->stacks.of_node[id]];
		drafts = hs_grow(drafts, *count, &capacity, sizeof *drafts);
		drafts[(*count)++] = (struct draft){.node = id, .stack = stack, .rest = stack};
	}
	free(has_blocks);
	sort_drafts(making, replay, drafts, *count);
	return drafts;
}

static void make_sites(struct making *making, struct hs_sites *sites)
{
	struct hs_counts *totals = &sites->replay.totals.counts;
	struct draft *drafts = make_drafts(making, &sites->replay, &sites->count);
	sites->items = hs_allocate_zero(sites->count, sizeof *sites->items);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		struct hs_counts *counts = &sites->replay.groups[making->group_of_node[drafts[i].node]];
		site->suppression = rule_of(making, drafts[i].node);
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
	place_nodes(making, drafts, sites);
	free_grouping(making);
	sites->frame_pool = write_frames(making, drafts, sites);
	for (uint32_t i = 0; i < sites->count; i++)
		sites->items[i].own_frame = find_own_frame(making, &sites->items[i]);
	free(drafts);
}

static void find_rules(void *context)
{
	struct making *making = context;
	making->rule_of_node = hs_suppressions_find(making->profile);
}

static void make_stacks(struct making *making, bool raw)
{
	uint32_t *texts = hs_frame_texts(making->profile);
	hs_stacks_make(making->profile, texts, &making->stacks);
	free(texts);
	fold_stacks(making, raw);
}

/* Rules and stacks of many nodes at the same time: they have nothing to do with each other. */
static void make_rules_and_stacks(struct making *making, bool raw)
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

int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	struct making making = {.profile = profile};
	*sites = (struct hs_sites){0};
	make_rules_and_stacks(&making, raw);
	group_nodes(&making);
	free(making.group_of_stack);
	int result = hs_replay_run(profile, making.group_of_node, making.group_count, &sites->replay, error);
	if (result == 0) {
		making.own_modules = hs_own_modules(profile);
		make_sites(&making, sites);
	}
	free(making.own_modules);
	free_grouping(&making);
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
