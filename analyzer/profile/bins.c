#include "profile/bins.h"

#include "base/memory.h"

#include <stdlib.h>

/* A histogram of each group. */
struct histogram {
	struct hs_bucket *items;
	uint32_t *next; /* of each item: the next of its group, + 1; 0 none */
	uint32_t count;
	size_t capacity, next_capacity;
	uint32_t *first; /* of each group: the item that it needed last, + 1. A group has few */
	bool full;
};

struct binning {
	struct hs_bins *bins;
	const struct hs_bins_limits *limits;
	uint32_t *place; /* of each group: its change in the open bin is changes[place], if it is there */
	uint32_t open;   /* the bin */
	uint32_t open_first;
	uint64_t open_end_us;
	size_t capacity;
	bool failed;
	struct histogram sizes, lifetimes;
};

static int by_group(const void *left, const void *right)
{
	uint32_t a = ((const struct hs_change *)left)->group, b = ((const struct hs_change *)right)->group;
	return a < b ? -1 : a > b;
}

static void close_bin(struct binning *binning)
{
	struct hs_bins *bins = binning->bins;
	if (bins->change_count > binning->open_first)
		qsort(bins->changes + binning->open_first, bins->change_count - binning->open_first,
		      sizeof *bins->changes, by_group);
	bins->ends[binning->open++] = bins->change_count;
	binning->open_first = bins->change_count;
	binning->open_end_us += bins->bin_us;
}

/* Joins the changes of two neighbours, each sorted by group; returns where they end. */
static uint32_t join_bins(struct hs_change *changes, uint32_t first, uint32_t middle, uint32_t end,
			  uint32_t to)
{
	uint32_t count = to;
	/* both lists stand behind `to`, so the left one is copied before it can be overwritten */
	uint32_t left_count = middle - first, left = 0, right = middle;
	struct hs_change *copy = hs_allocate_zero((size_t)left_count + 1, sizeof *copy);
	for (uint32_t i = 0; i < left_count; i++)
		copy[i] = changes[first + i];
	while (left < left_count || right < end) {
		bool take_left =
			left < left_count && (right == end || copy[left].group <= changes[right].group);
		bool take_right =
			right < end && (left == left_count || changes[right].group <= copy[left].group);
		struct hs_change joined = take_left ? copy[left] : changes[right];
		if (take_left && take_right) {
			joined.allocated_bytes += changes[right].allocated_bytes;
			joined.allocations += changes[right].allocations;
			joined.freed_bytes += changes[right].freed_bytes;
			joined.frees += changes[right].frees;
		}
		left += take_left;
		right += take_right;
		changes[count++] = joined;
	}
	free(copy);
	return count;
}

/* Makes bins twice as wide. The open one is closed for that, and opened again as part of a wider one. */
static void widen_bins(struct binning *binning)
{
	struct hs_bins *bins = binning->bins;
	uint32_t open = binning->open;
	close_bin(binning);
	uint32_t first = 0, count = 0;
	for (uint32_t b = 0; b <= open; b += 2) {
		uint32_t middle = bins->ends[b], end = b < open ? bins->ends[b + 1] : middle;
		count = join_bins(bins->changes, first, middle, end, count);
		bins->ends[b / 2] = count;
		first = end;
	}
	bins->change_count = count;
	bins->bin_us *= 2;
	bins->bin_count /= 2;
	binning->open = open / 2;
	binning->open_first = binning->open ? bins->ends[binning->open - 1] : 0;
	binning->open_end_us = (binning->open + 1) * bins->bin_us;
	for (uint32_t i = binning->open_first; i < count; i++)
		binning->place[bins->changes[i].group] = i;
}

/* The group's change in the bin of now_us; NULL if there is no room for one. */
static struct hs_change *change_of(struct binning *binning, uint32_t group, uint64_t now_us)
{
	struct hs_bins *bins = binning->bins;
	while (now_us >= binning->open_end_us)
		close_bin(binning);
	for (;;) {
		uint32_t place = binning->place[group];
		if (place >= binning->open_first && place < bins->change_count &&
		    bins->changes[place].group == group)
			return &bins->changes[place];
		if (bins->change_count < binning->limits->changes_most)
			break;
		if (bins->bin_count <= binning->limits->bins_least) {
			binning->failed = true;
			return NULL;
		}
		widen_bins(binning);
	}
	bins->changes = hs_grow(bins->changes, bins->change_count, &binning->capacity, sizeof *bins->changes);
	bins->changes[bins->change_count] = (struct hs_change){.group = group};
	binning->place[group] = bins->change_count;
	return &bins->changes[bins->change_count++];
}

static void count(struct histogram *histogram, uint32_t most, uint32_t group, uint64_t value, uint64_t bytes)
{
	uint32_t bucket = value ? 64 - (uint32_t)__builtin_clzll(value) : 0;
	uint32_t *link = &histogram->first[group];
	while (*link && histogram->items[*link - 1].bucket != bucket)
		link = &histogram->next[*link - 1];
	uint32_t item = *link; /* + 1 */
	if (histogram->full)
		return;
	if (item) {
		*link = histogram->next[item - 1];
	} else {
		uint32_t index = histogram->count++;
		histogram->items =
			hs_grow(histogram->items, index, &histogram->capacity, sizeof *histogram->items);
		histogram->next =
			hs_grow(histogram->next, index, &histogram->next_capacity, sizeof *histogram->next);
		histogram->items[index] = (struct hs_bucket){.group = group, .bucket = bucket};
		histogram->full = index >= most;
		item = index + 1;
	}
	histogram->next[item - 1] = histogram->first[group];
	histogram->first[group] = item;
	histogram->items[item - 1].blocks++;
	histogram->items[item - 1].bytes += bytes;
}

static void see_begin(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct binning *binning = context;
	struct hs_change *change = binning->failed ? NULL : change_of(binning, group, now_us);
	if (!change)
		return;
	change->allocated_bytes += size;
	change->allocations++;
	count(&binning->sizes, binning->limits->buckets_most, group, size, size);
}

static void see_end(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct binning *binning = context;
	struct hs_change *change = binning->failed ? NULL : change_of(binning, group, now_us);
	if (!change)
		return;
	change->freed_bytes += size;
	change->frees++;
}

static void see_life(void *context, uint32_t group, uint64_t lived_us)
{
	struct binning *binning = context;
	if (!binning->failed)
		count(&binning->lifetimes, binning->limits->buckets_most, group, lived_us, 0);
}

static int by_group_and_bucket(const void *left, const void *right)
{
	const struct hs_bucket *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

static void start_histogram(struct histogram *histogram, uint32_t group_count)
{
	histogram->first = hs_allocate_zero((size_t)group_count + 1, sizeof *histogram->first);
}

/* Hands the items over. */
static struct hs_bucket *finish_histogram(struct histogram *histogram, uint32_t *count_of_items)
{
	*count_of_items = histogram->full ? 0 : histogram->count;
	if (histogram->full) {
		free(histogram->items);
		histogram->items = NULL;
	} else if (*count_of_items) {
		qsort(histogram->items, *count_of_items, sizeof *histogram->items, by_group_and_bucket);
	} else { /* none, but not too many */
		histogram->items = hs_allocate_zero(1, sizeof *histogram->items);
	}
	free(histogram->next);
	free(histogram->first);
	return histogram->items;
}

int hs_bins_make(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		 const struct hs_bins_limits *limits, struct hs_bins *bins, struct hs_error *error)
{
	*bins = (struct hs_bins){0};
	if (profile->facts.unknown & HS_TOLD_EVENTS)
		return 0;
	struct binning binning = {.bins = bins, .limits = limits};
	struct hs_watch watch = {see_begin, see_end, see_life, &binning, NULL};
	struct hs_replay_how how = {.watch = &watch};
	struct hs_replay replay;
	bins->bin_us = profile->facts.duration_us / limits->bins_most + 1;
	bins->bin_count = limits->bins_most;
	bins->ends = hs_allocate_zero((size_t)limits->bins_most + 1, sizeof *bins->ends);
	binning.open_end_us = bins->bin_us;
	binning.place = hs_allocate_zero((size_t)group_count + 1, sizeof *binning.place);
	start_histogram(&binning.sizes, group_count);
	start_histogram(&binning.lifetimes, group_count);

	int result = hs_replay_run_as(profile, group_of_node, group_count, &how, &replay, error);
	hs_replay_free(&replay);
	while (binning.open < bins->bin_count)
		close_bin(&binning);
	/* the last bins may lie behind the end */
	bins->bin_count = (uint32_t)(profile->facts.duration_us / bins->bin_us + 1);
	bins->sizes = finish_histogram(&binning.sizes, &bins->size_count);
	bins->lifetimes = finish_histogram(&binning.lifetimes, &bins->lifetime_count);
	free(binning.place);
	if (result == 0 && !binning.failed)
		return 0;
	hs_bins_free(bins);
	return result == 0 ? 1 : -1;
}

void hs_bins_free(struct hs_bins *bins)
{
	free(bins->ends);
	free(bins->changes);
	free(bins->sizes);
	free(bins->lifetimes);
	*bins = (struct hs_bins){0};
}
