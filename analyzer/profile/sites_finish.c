/* What sites need when all of them are looked at: their order, frames, and the site of each node. */
#include "base/memory.h"
#include "internal.h"
#include "metrics.h"
#include "node_counts.h"
#include "own.h"
#include "sites_making.h"

#include <stdlib.h>
#include <string.h>

/* More frames in all than this are not written out (a hostile or very strange file): stacks are cut. */
enum { POOL_FRAMES_MOST = 64 << 20, CUT_DEPTH_LEAST = 64 };

/* ---- frames ---------------------------------------------------------------------------------------------
 */

/* Writes the innermost `most` frames of a stack. */
static uint32_t write_stack(const struct hs_stack *stacks, uint32_t stack, uint32_t most, uint32_t *frames)
{
	uint32_t count = 0;
	for (; stack && count < most; stack = stacks[stack].parent)
		frames[count++] = stacks[stack].frame;
	return count;
}

/* Every stack on its own, cut to a depth at which they all fit. */
static uint32_t *write_cut_frames(struct hs_sites_making *making, struct hs_sites *sites)
{
	uint32_t most = POOL_FRAMES_MOST / sites->count > CUT_DEPTH_LEAST ? POOL_FRAMES_MOST / sites->count
									  : CUT_DEPTH_LEAST;
	uint32_t *pool = hs_allocate_zero((size_t)most * sites->count, sizeof *pool), *at = pool;
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		site->frames = at;
		site->frame_count = write_stack(making->stacks.items, site->stack, most, at);
		if (site->own_frame >= site->frame_count) {
			site->own_frame = 0;
			site->own = at[0];
		}
		at += site->frame_count;
	}
	hs_profile_warn(making->profile, "only the innermost %u frames of each stack are shown", most);
	return pool;
}

/* Gives every site its frames, innermost first. A stack's frames are the tail of each deeper one's that runs
 * through it, so they share memory: a recursion of any depth takes its depth once. */
static uint32_t *write_frames(struct hs_sites_making *making, struct hs_sites *sites)
{
	const struct hs_stack *stacks = making->stacks.items;
	enum { WANTED = 1, PLACES = 2 };
	/* of a stack in the pool, + PLACES; WANTED: of a site and not written yet */
	uint32_t *place = hs_allocate_zero(making->stacks.count, sizeof *place);
	size_t used = 0, capacity = 0;
	uint32_t *pool = hs_grow(NULL, 0, &capacity, sizeof *pool);
	for (uint32_t i = 0; i < sites->count; i++)
		place[sites->items[i].stack] = WANTED;
	/* callees stand behind their callers */
	for (uint32_t last = making->stacks.count; last-- > 1 && used <= POOL_FRAMES_MOST;) {
		if (place[last] != WANTED)
			continue;
		uint32_t depth = stacks[last].depth;
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
		pool = write_cut_frames(making, sites);
	} else {
		for (uint32_t i = 0; i < sites->count; i++) {
			struct hs_site *site = &sites->items[i];
			site->frames = pool;
			if (site->frame_count)
				site->frames += place[site->stack] - PLACES;
		}
	}
	free(place);
	return pool;
}

/* ---- order ----------------------------------------------------------------------------------------------
 */

/* What drafts are sorted by, one after another. Frames: innermost first, and a stack that another one begins
 * with comes before it. */
enum step { BY_PEAK, BY_ALLOCATED, BY_FRAME, BY_RULE };

/* A site while they are sorted. */
struct draft {
	uint32_t site; /* its index before */
	uint32_t rest; /* the outer part of the stack, not looked at yet */
	uint64_t key;  /* what is looked at; the smallest comes first */
};

static uint64_t next_key(const struct hs_sites *sites, struct draft *draft, enum step step)
{
	const struct hs_sites_making *making = sites->making;
	const struct hs_site *site = &sites->items[draft->site];
	const struct hs_stack *stack = &making->stacks.items[draft->rest];
	switch (step) {
	case BY_PEAK:
		return ~site->counts->peak_bytes;
	case BY_ALLOCATED:
		return ~site->counts->allocated_bytes;
	case BY_FRAME:
		if (!draft->rest)
			return 0;
		draft->rest = stack->parent;
		return making->profile->frames[stack->frame].rank + 1ULL;
	default:
		return site->suppression;
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
static void sort_drafts(const struct hs_sites *sites, struct draft *drafts)
{
	struct runs runs = {0};
	uint32_t random = 1;
	add_run(&runs, (struct run){0, sites->count, BY_PEAK, false});
	while (runs.count) {
		struct run run = runs.items[--runs.count];
		uint32_t low = run.first, at = run.first, high = run.first + run.count, end = high;
		for (uint32_t i = run.first; !run.known && i < end; i++)
			drafts[i].key = next_key(sites, &drafts[i], run.step);
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
		if (run.step != BY_RULE) /* the same stack by the same rule is one site */
			add_run(&runs, (struct run){low, high - low, run.step + !further_out, false});
	}
	free(runs.items);
}

/* Puts the sites into the order of the drafts, cycle by cycle: they take too much memory to be there twice.
 * Returns where each is now. */
static uint32_t *arrange(struct hs_sites *sites, struct draft *drafts)
{
	uint32_t *now_at = hs_allocate(sites->count * sizeof *now_at);
	for (uint32_t i = 0; i < sites->count; i++)
		now_at[drafts[i].site] = i;
	for (uint32_t first = 0; first < sites->count; first++) {
		uint32_t at = first, from = drafts[at].site;
		if (from == first)
			continue;
		struct hs_site saved = sites->items[first];
		for (; from != first; from = drafts[at].site) {
			sites->items[at] = sites->items[from];
			drafts[at].site = at;
			at = from;
		}
		sites->items[at] = saved;
		drafts[at].site = at;
	}
	return now_at;
}

/* By the groups of the replay, which are nodes. */
static uint32_t *find_sites_of_nodes(const struct hs_sites_making *making)
{
	uint32_t *of_node = hs_allocate(making->profile->node_count * sizeof *of_node);
	memset(of_node, 0xff, making->profile->node_count * sizeof *of_node);
	for (uint32_t group = 0; group < making->mapped; group++)
		of_node[making->met.nodes[group]] = making->site_of_group[group];
	return of_node;
}

/* All of the sites' counts, of which nodes' counts are the sums. */
static void write_counts(struct hs_sites *sites)
{
	struct hs_replay *replay = &sites->replay;
	replay->groups = hs_allocate(sites->count * sizeof *replay->groups);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		replay->groups[i] = hs_site_counts(sites, site);
		site->counts = &replay->groups[i];
	}
	hs_node_table_free(replay->nodes);
	replay->nodes = NULL;
}

static void find_stacks_of_sites(struct hs_sites *sites)
{
	const struct hs_sites_making *making = sites->making;
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		site->stack = hs_sites_stack_of(making, hs_rest_of_site(site));
		site->frame_count = making->stacks.items[site->stack].depth;
		site->folded_frames = 0;
	}
}

/* Tells nodes where their sites are now; finds how many frames each site left out. */
static void place_nodes(struct hs_sites *sites, const uint32_t *now_at)
{
	const struct hs_sites_making *making = sites->making;
	const struct hs_stack *stacks = making->stacks.items;
	if (!sites->site_of_node)
		sites->site_of_node = find_sites_of_nodes(making);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t *index = &sites->site_of_node[id];
		if (*index == UINT32_MAX)
			continue;
		*index = now_at[*index];
		struct hs_site *site = &sites->items[*index];
		uint32_t folded = stacks[making->stacks.of_node[id]].depth - site->frame_count;
		if (folded > site->folded_frames)
			site->folded_frames = folded;
	}
}

void hs_sites_finish(struct hs_sites *sites)
{
	struct hs_sites_making *making = sites->making;
	hs_own_frames_free(&sites->own);
	if (sites->replay.nodes)
		write_counts(sites);
	if (!making->stacks.items)
		hs_sites_make_stacks(making);
	find_stacks_of_sites(sites);
	struct draft *drafts = hs_allocate(sites->count * sizeof *drafts);
	for (uint32_t i = 0; i < sites->count; i++)
		drafts[i] = (struct draft){.site = i, .rest = sites->items[i].stack};
	sort_drafts(sites, drafts);
	uint32_t *now_at = arrange(sites, drafts);
	free(drafts);
	place_nodes(sites, now_at);
	for (uint32_t i = 0; i < sites->suppressed_count; i++)
		sites->suppressed[i] = now_at[sites->suppressed[i]];
	free(now_at);
	free(making->stacks.of_node);
	making->stacks.of_node = NULL;
	sites->frame_pool = write_frames(making, sites);
	hs_sites_making_free(making);
	sites->making = NULL;
}

/* ---- finished or not ------------------------------------------------------------------------------------
 */

struct hs_counts hs_site_counts(const struct hs_sites *sites, const struct hs_site *site)
{
	struct hs_counts counts = {0};
	if (site->counts)
		return *site->counts;
	hs_site_add_counts(sites, site, &counts);
	return counts;
}

void hs_site_counts_soon(const struct hs_sites *sites, const struct hs_site *site)
{
	__builtin_prefetch(site->counts ? (const void *)site->counts
					: &sites->replay.nodes->counts[site->group]);
}

void hs_site_add_counts(const struct hs_sites *sites, const struct hs_site *site, struct hs_counts *sum)
{
	if (site->counts)
		hs_counts_add(sum, site->counts);
	else
		hs_node_table_add_to(sites->replay.nodes, site->group, site->suppression != 0, sum);
}

void hs_sites_add_up(const struct hs_sites *sites, const struct hs_site_sums *sums)
{
	for (uint32_t i = 0; i < sites->count; i++)
		hs_site_add_counts(sites, &sites->items[i], &sums->sums[sums->of_site[i]]);
}

uint32_t *hs_sites_spare(const struct hs_sites *sites)
{
	struct hs_sites_making *making = sites->making;
	if (making && !making->spare)
		making->spare = hs_allocate(making->profile->node_count * sizeof(uint32_t));
	return making ? making->spare : NULL;
}

uint32_t hs_site_depth(const struct hs_sites *sites, const struct hs_site *site)
{
	if (!sites->making)
		return site->frame_count;
	const struct hs_profile *profile = sites->making->profile;
	uint32_t depth = 0;
	for (uint32_t node = site->node; node; node = profile->nodes[node].parent)
		depth += hs_call_of(profile, node).frame_count;
	return depth - site->cut;
}

void hs_site_write_frames(const struct hs_sites *sites, const struct hs_site *site, uint32_t count,
			  uint32_t *frames)
{
	if (!sites->making) {
		memcpy(frames, site->frames, count * sizeof *frames);
		return;
	}
	struct hs_rest rest = hs_rest_of_site(site);
	for (uint32_t i = 0; i < count; i++)
		hs_rest_next(sites->making->profile, &rest, &frames[i]);
}

/* As drafts are sorted BY_FRAME. */
static int compare_stacks(const struct hs_profile *profile, struct hs_rest left, struct hs_rest right)
{
	while (left.node != right.node || left.cut != right.cut) {
		uint32_t frame = HS_NO_FRAME, other = HS_NO_FRAME;
		hs_rest_next(profile, &left, &frame);
		hs_rest_next(profile, &right, &other);
		int order = hs_frames_compare(profile, frame, other);
		if (order != 0 || frame == HS_NO_FRAME)
			return order;
	}
	return 0;
}

bool hs_site_is_before(const struct hs_sites *sites, uint32_t left, uint32_t right)
{
	if (!sites->making)
		return left < right;
	const struct hs_site *a = &sites->items[left], *b = &sites->items[right];
	struct hs_counts a_counts = hs_site_counts(sites, a), b_counts = hs_site_counts(sites, b);
	if (a_counts.peak_bytes != b_counts.peak_bytes)
		return a_counts.peak_bytes > b_counts.peak_bytes;
	if (a_counts.allocated_bytes != b_counts.allocated_bytes)
		return a_counts.allocated_bytes > b_counts.allocated_bytes;
	int order = compare_stacks(sites->making->profile, hs_rest_of_site(a), hs_rest_of_site(b));
	return order ? order < 0 : a->suppression < b->suppression;
}
