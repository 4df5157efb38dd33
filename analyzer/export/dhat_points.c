/* Which program points a DHAT file has. Stacks whose lines are the same become one point, since the viewer
 * refuses a file that repeats one. Shapes that the viewer takes minutes for are made smaller, with all sums
 * kept:
 *   - more nested branches than it can lay out (a recursion that allocates at every depth): recursion is
 * folded, and stacks are cut if that does not suffice;
 *   - more points than it can show, which are few when a metric is 0 all over (then it hides none), or too
 * many different innermost lines (it searches them one by one): the small ones become one point. What is
 * merged is known before the last replay, so that maxima are true ones. */
#include "dhat.h"

#include "base/memory.h"
#include "profile/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Measured with dh_view.html of valgrind 3.19 in Chromium: 100 nested branches take a second, 300 ten; 2,000
 * points that are all shown one; 10,000 different innermost lines one; 200,000 points five. */
enum {
	NESTED_MOST = 64,
	DEPTH_MOST = 10000,
	SHOWN_POINTS_MOST = 2000,
	POINTS_MOST = 200000,
	INNERMOST_LINES_MOST = 8000,
	POOL_MOST = 64 << 20,
};

struct making {
	struct hs_profile *profile;
	struct hs_dhat *dhat;
	struct hs_stacks stacks;
	uint32_t *line_of_frame;
	struct hs_dhat_point *points;
	uint32_t *stack_of_point; /* of the first, undivided points */
	uint32_t stack_point_count;
	uint32_t *point_of_stack_point; /* where they have gone */
	uint32_t point_count;
};

/* ---- lines ----------------------------------------------------------------------------------------------
 */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static uint32_t add_line(struct making *making, const struct hs_frame *frame)
{
	const struct hs_profile *profile = making->profile;
	char *const *strings = profile->strings.items;
	const char *function = frame->function ? strings[frame->function] : "???";
	const char *module =
		frame->module == UINT32_MAX ? "???" : strings[profile->modules[frame->module].path];
	char *line;
	int bytes;
	if (frame->file && frame->line)
		bytes = asprintf(&line, "0x%" PRIX64 ": %s (%s:%u)", frame->address, function,
				 base_name(strings[frame->file]), frame->line);
	else if (frame->file)
		bytes = asprintf(&line, "0x%" PRIX64 ": %s (%s)", frame->address, function,
				 base_name(strings[frame->file]));
	else
		bytes = asprintf(&line, "0x%" PRIX64 ": %s (in %s)", frame->address, function,
				 *module ? module : "???");
	if (bytes < 0)
		return hs_strings_add_text(&making->dhat->lines, "0x0: ??? (in ???"
								 ")");
	uint32_t index = hs_strings_add(&making->dhat->lines, line, (size_t)bytes);
	free(line);
	return index;
}

static void make_lines(struct making *making)
{
	const struct hs_profile *profile = making->profile;
	making->line_of_frame = hs_allocate_zero(profile->frame_count, sizeof *making->line_of_frame);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		making->line_of_frame[i] = add_line(making, &profile->frames[i]);
}

/* ---- points of single stacks ----------------------------------------------------------------------------
 */

/* The first replay: each stack is a point. */
static int count_stacks(struct making *making, struct hs_error *error)
{
	struct hs_replay replay;
	if (hs_replay_run(making->profile, making->stacks.of_node, making->stacks.count, &replay, error) != 0)
		return -1;
	bool *has_blocks = hs_allocate_zero(making->stacks.count, sizeof *has_blocks);
	uint32_t count = 0;
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		bool *has = &has_blocks[making->stacks.of_node[id]];
		count += replay.node_used[id] && !*has;
		*has |= replay.node_used[id];
	}
	making->points = hs_allocate_zero(count, sizeof *making->points);
	making->stack_of_point = hs_allocate_zero(count, sizeof *making->stack_of_point);
	making->point_of_stack_point = hs_allocate_zero(count, sizeof *making->point_of_stack_point);
	for (uint32_t s = 0; s < making->stacks.count; s++) {
		if (!has_blocks[s])
			continue;
		making->points[making->point_count].counts = replay.groups[s];
		making->point_of_stack_point[making->point_count] = making->point_count;
		making->stack_of_point[making->point_count++] = s;
	}
	making->stack_point_count = making->point_count;
	making->dhat->totals = replay.totals;
	free(has_blocks);
	hs_replay_free(&replay);
	return 0;
}

/* How a stack becomes lines. */
struct shape {
	bool fold_recursion;
	uint32_t depth_most;
	size_t lines_most; /* of all stacks together */
};

/* Appends the lines of a stack, innermost first. With fold_recursion a line that stands there already takes
 * back what came after it, so that no line occurs twice. `seen`: position + 1 of each line that stands there,
 * else 0. */
static uint32_t unroll(const struct making *making, uint32_t stack, struct shape shape, uint32_t *seen,
		       uint32_t *lines, bool *cut)
{
	const struct hs_stack *stacks = making->stacks.items;
	uint32_t count = 0;
	for (; stack; stack = stacks[stack].parent) {
		uint32_t line = making->line_of_frame[stacks[stack].frame];
		if (shape.fold_recursion && seen[line]) {
			while (count > seen[line])
				seen[lines[--count]] = 0;
			continue;
		}
		lines[count++] = line;
		seen[line] = count;
	}
	for (uint32_t i = 0; i < count; i++)
		seen[lines[i]] = 0;
	*cut = count > shape.depth_most;
	return *cut ? shape.depth_most : count;
}

/* Fills the pool with every point's lines. Returns -1, and no lines, if they are too many. */
static int unroll_all(struct making *making, struct shape shape)
{
	struct hs_dhat *dhat = making->dhat;
	uint32_t deepest = 1;
	for (uint32_t s = 0; s < making->stacks.count; s++)
		deepest = making->stacks.items[s].depth > deepest ? making->stacks.items[s].depth : deepest;
	uint32_t *seen = hs_allocate_zero(dhat->lines.count, sizeof *seen);
	uint32_t *lines = hs_allocate_zero(deepest, sizeof *lines);
	uint32_t nothing = hs_strings_add_text(&dhat->lines, "0x0: ??? (stack not recorded)");
	char text[80];
	snprintf(text, sizeof text, "0x0: [callers beyond %u frames] (left out)", shape.depth_most);
	uint32_t beyond = hs_strings_add_text(&dhat->lines, text);
	size_t used = 0, capacity = 0;
	free(dhat->pool);
	dhat->pool = NULL;
	dhat->stacks_cut = false;
	for (uint32_t p = 0; p < making->point_count && used <= shape.lines_most; p++) {
		bool cut;
		uint32_t count = unroll(making, making->stack_of_point[p], shape, seen, lines, &cut);
		making->points[p].line_count = count ? count + cut : 1;
		while (capacity < used + making->points[p].line_count)
			dhat->pool = hs_grow(dhat->pool, capacity, &capacity, sizeof *dhat->pool);
		memcpy(dhat->pool + used, lines, count * sizeof *lines);
		if (count == 0)
			dhat->pool[used] = nothing;
		if (cut)
			dhat->pool[used + count] = beyond;
		dhat->stacks_cut |= cut;
		used += making->points[p].line_count;
	}
	free(seen);
	free(lines);
	uint32_t *at = dhat->pool;
	for (uint32_t p = 0; p < making->point_count && used <= shape.lines_most; p++) {
		making->points[p].lines = at;
		at += making->points[p].line_count;
	}
	return used > shape.lines_most ? -1 : 0;
}

/* ---- order, depth, merging ------------------------------------------------------------------------------
 */

static uint32_t common_lines(const struct hs_dhat_point *a, const struct hs_dhat_point *b)
{
	uint32_t i = 0;
	while (i < a->line_count && i < b->line_count && a->lines[i] == b->lines[i])
		i++;
	return i;
}

static int compare_lines(const void *left, const void *right, void *context)
{
	const struct hs_dhat_point *points = context;
	const struct hs_dhat_point *a = &points[*(const uint32_t *)left],
				   *b = &points[*(const uint32_t *)right];
	uint32_t common = common_lines(a, b);
	if (common < a->line_count && common < b->line_count)
		return a->lines[common] < b->lines[common] ? -1 : 1;
	return a->line_count < b->line_count ? -1 : a->line_count > b->line_count;
}

/* The points in the order of their lines. The caller frees it. */
static uint32_t *order_by_lines(const struct making *making)
{
	uint32_t *order = hs_allocate_zero(making->point_count, sizeof *order);
	for (uint32_t p = 0; p < making->point_count; p++)
		order[p] = p;
	qsort_r(order, making->point_count, sizeof *order, compare_lines, making->points);
	return order;
}

/* The most branches that one stack passes in the viewer's tree: neighbours in the order share all that they
 * can share, so a branch lies wherever the common part of two neighbours ends. */
static uint32_t nested_branches(const struct making *making, const uint32_t *order)
{
	uint32_t *branches = hs_allocate_zero(DEPTH_MOST + 2, sizeof *branches);
	uint32_t count = 0, most = 0;
	for (uint32_t i = 1; i < making->point_count; i++) {
		uint32_t common = common_lines(&making->points[order[i - 1]], &making->points[order[i]]);
		while (count && branches[count - 1] > common)
			count--;
		if (count == 0 || branches[count - 1] < common)
			branches[count++] = common;
		most = count > most ? count : most;
	}
	free(branches);
	return most;
}

/* Makes one point of those with the same lines. Returns whether there were any. */
static bool merge_equal(struct making *making, const uint32_t *order)
{
	uint32_t old_count = making->point_count, kept = 0;
	uint32_t *moved = hs_allocate_zero(old_count, sizeof *moved);
	struct hs_dhat_point *merged = hs_allocate_zero(old_count, sizeof *merged);
	for (uint32_t i = 0; i < old_count; i++) {
		const struct hs_dhat_point *point = &making->points[order[i]];
		if (kept && point->line_count == merged[kept - 1].line_count &&
		    common_lines(point, &merged[kept - 1]) == point->line_count)
			hs_counts_add(&merged[kept - 1].counts, &point->counts); /* maxima: the next replay */
		else
			merged[kept++] = *point;
		moved[order[i]] = kept - 1;
	}
	for (uint32_t i = 0; i < making->stack_point_count; i++)
		making->point_of_stack_point[i] = moved[making->point_of_stack_point[i]];
	free(moved);
	free(making->points);
	making->points = merged;
	making->point_count = kept;
	return kept < old_count;
}

/* Gives the points lines that do not nest too deep. Returns whether points were merged. */
static bool shape_stacks(struct making *making)
{
	static const struct shape shapes[] = {
		{false, DEPTH_MOST, POOL_MOST},
		{true, DEPTH_MOST, POOL_MOST},
		{true, NESTED_MOST, SIZE_MAX},
	};
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	for (unsigned i = 0;; i++) {
		if (unroll_all(making, shapes[i]) != 0 && i + 1 < SHAPES)
			continue;
		uint32_t *order = order_by_lines(making);
		bool fits = nested_branches(making, order) <= NESTED_MOST || i + 1 == SHAPES, merged = false;
		if (fits) {
			making->dhat->recursion_folded = shapes[i].fold_recursion;
			merged = merge_equal(making, order);
		}
		free(order);
		if (fits)
			return merged;
	}
}

/* ---- too many points ------------------------------------------------------------------------------------
 */

struct rank {
	double share; /* the largest of its shares in all that the viewer shows */
	uint32_t point;
};

static int larger_share_first(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;
	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return a->point < b->point ? -1 : 1;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static struct rank *rank_points(const struct making *making)
{
	const struct hs_counts *whole = &making->dhat->totals.counts;
	struct rank *ranks = hs_allocate_zero(making->point_count, sizeof *ranks);
	for (uint32_t p = 0; p < making->point_count; p++) {
		const struct hs_counts *counts = &making->points[p].counts;
		const double shares[] = {
			share(counts->allocated_bytes, whole->allocated_bytes),
			share(counts->allocations, whole->allocations),
			share(counts->peak_bytes, whole->peak_bytes),
			share(counts->live_bytes, whole->live_bytes),
		};
		ranks[p].point = p;
		for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
			ranks[p].share = shares[i] > ranks[p].share ? shares[i] : ranks[p].share;
	}
	qsort(ranks, making->point_count, sizeof *ranks, larger_share_first);
	return ranks;
}

/* Marks the points that stay; returns how many do not. */
static uint32_t choose_points(const struct making *making, bool *stays)
{
	const struct hs_counts *whole = &making->dhat->totals.counts;
	bool all_shown = whole->allocated_bytes == 0 || whole->peak_bytes == 0 || whole->live_bytes == 0;
	uint32_t most = all_shown ? SHOWN_POINTS_MOST : POINTS_MOST, innermost = 0, kept = 0;
	bool *known = hs_allocate_zero(making->dhat->lines.count, sizeof *known);
	struct rank *ranks = rank_points(making);
	for (uint32_t i = 0; i < making->point_count && kept < most; i++) {
		uint32_t line = making->points[ranks[i].point].lines[0];
		if (!known[line] && innermost == INNERMOST_LINES_MOST)
			continue;
		innermost += !known[line];
		known[line] = stays[ranks[i].point] = true;
		kept++;
	}
	free(ranks);
	free(known);
	return making->point_count - kept;
}

/* Gathers the small points in one if there are too many. Returns whether it did. */
static bool gather_small(struct making *making)
{
	bool *stays = hs_allocate_zero(making->point_count, sizeof *stays);
	uint32_t small = choose_points(making, stays), kept = 0;
	if (small > 1) {
		char text[80];
		snprintf(text, sizeof text, "0x0: [%u small program points] (merged)", small);
		uint32_t line = hs_strings_add_text(&making->dhat->lines, text);
		uint32_t *moved = hs_allocate_zero(making->point_count, sizeof *moved);
		struct hs_dhat_point rest = {0};
		for (uint32_t p = 0; p < making->point_count; p++) {
			moved[p] = stays[p] ? kept : making->point_count - small;
			if (!stays[p] && !rest.lines)
				rest = (struct hs_dhat_point){.lines = making->points[p].lines,
							      .line_count = 1};
			if (stays[p])
				making->points[kept++] = making->points[p];
		}
		rest.lines[0] = line;
		making->points[kept++] = rest;
		making->point_count = kept;
		for (uint32_t i = 0; i < making->stack_point_count; i++)
			making->point_of_stack_point[i] = moved[making->point_of_stack_point[i]];
		making->dhat->small_points = small;
		free(moved);
	}
	free(stays);
	return small > 1;
}

/* The last replay: points as they will be written. */
static int count_points(struct making *making, struct hs_error *error)
{
	uint32_t node_count = making->profile->node_count;
	uint32_t *point_of_stack = hs_allocate_zero(making->stacks.count, sizeof *point_of_stack);
	for (uint32_t i = 0; i < making->stack_point_count; i++)
		point_of_stack[making->stack_of_point[i]] = making->point_of_stack_point[i];
	uint32_t *point_of_node = hs_allocate_zero(node_count, sizeof *point_of_node);
	for (uint32_t id = 0; id < node_count; id++)
		point_of_node[id] = point_of_stack[making->stacks.of_node[id]];
	struct hs_replay replay;
	int result = hs_replay_run(making->profile, point_of_node, making->point_count, &replay, error);
	for (uint32_t p = 0; result == 0 && p < making->point_count; p++)
		making->points[p].counts = replay.groups[p];
	if (result == 0) {
		making->dhat->totals = replay.totals;
		hs_replay_free(&replay);
	}
	free(point_of_stack);
	free(point_of_node);
	return result;
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

/* By what they allocated; equals by their text, not by numbers that depend on the order of events. */
static int larger_first(const void *left, const void *right, void *context)
{
	const struct hs_dhat_point *a = left, *b = right;
	char *const *text = context;
	if (a->counts.allocated_bytes != b->counts.allocated_bytes)
		return a->counts.allocated_bytes > b->counts.allocated_bytes ? -1 : 1;
	uint32_t common = common_lines(a, b);
	if (common < a->line_count && common < b->line_count)
		return strcmp(text[a->lines[common]], text[b->lines[common]]);
	return a->line_count < b->line_count ? -1 : a->line_count > b->line_count;
}

int hs_dhat_make(struct hs_profile *profile, struct hs_dhat *dhat, struct hs_error *error)
{
	struct making making = {.profile = profile, .dhat = dhat};
	*dhat = (struct hs_dhat){0};
	hs_strings_init(&dhat->lines);
	make_lines(&making);
	hs_stacks_make(profile, making.line_of_frame, &making.stacks);
	int result = count_stacks(&making, error);
	if (result == 0) {
		bool merged = shape_stacks(&making);
		merged |= gather_small(&making);
		if (merged)
			result = count_points(&making, error);
	}
	if (result == 0) {
		qsort_r(making.points, making.point_count, sizeof *making.points, larger_first,
			dhat->lines.items);
		dhat->points = making.points;
		dhat->point_count = making.point_count;
	} else {
		free(making.points);
		hs_dhat_free(dhat);
	}
	hs_stacks_free(&making.stacks);
	free(making.line_of_frame);
	free(making.stack_of_point);
	free(making.point_of_stack_point);
	return result;
}

void hs_dhat_free(struct hs_dhat *dhat)
{
	hs_strings_free(&dhat->lines);
	free(dhat->points);
	free(dhat->pool);
	*dhat = (struct hs_dhat){0};
}
