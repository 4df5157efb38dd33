/* Address ranges that may nest, flattened. */
#include "range_map.h"

#include "base/memory.h"

#include <stdlib.h>

void hs_range_map_add(struct hs_range_map *map, uint64_t low, uint64_t high, uint32_t value)
{
	if (high <= low)
		return;
	map->ranges = hs_grow(map->ranges, map->count, &map->capacity, sizeof *map->ranges);
	map->ranges[map->count++] = (struct hs_range){low, high, value};
}

static int outer_first(const void *left, const void *right)
{
	const struct hs_range *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

static bool are_sorted(const struct hs_range_map *map)
{
	for (size_t i = 1; i < map->count; i++)
		if (outer_first(&map->ranges[i - 1], &map->ranges[i]) > 0)
			return false;
	return true;
}

/* Appends a piece; pieces come in ascending order. */
static void emit(struct hs_range_map *flat, uint64_t low, uint64_t high, uint32_t value)
{
	if (high <= low)
		return;
	struct hs_range *last = flat->count ? &flat->ranges[flat->count - 1] : NULL;
	if (last && last->high == low && last->value == value)
		last->high = high;
	else
		hs_range_map_add(flat, low, high, value);
}

/* Sweeps over the beginnings with a stack of the ranges that are open. */
void hs_range_map_build(struct hs_range_map *map)
{
	if (map->count == 0)
		return;
	if (!are_sorted(map))
		qsort(map->ranges, map->count, sizeof *map->ranges, outer_first);

	struct hs_range_map flat = {0};
	struct hs_range *open = NULL;
	size_t depth = 0, capacity = 0;
	uint64_t done = 0; /* everything below has been emitted */
	for (size_t i = 0; i <= map->count; i++) {
		uint64_t limit = i < map->count ? map->ranges[i].low : UINT64_MAX;
		for (; depth && open[depth - 1].high <= limit; depth--) {
			const struct hs_range *top = &open[depth - 1];
			emit(&flat, done, top->high, top->value);
			if (done < top->high)
				done = top->high;
		}
		if (i == map->count)
			break;
		if (depth)
			emit(&flat, done, limit, open[depth - 1].value);
		done = limit;
		open = hs_grow(open, depth, &capacity, sizeof *open);
		open[depth++] = map->ranges[i];
	}
	free(open);
	free(map->ranges);
	*map = flat;
}

bool hs_range_map_find(const struct hs_range_map *map, uint64_t address, uint32_t *value)
{
	size_t first = 0, last = map->count; /* the answer is below last */
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (map->ranges[middle].low <= address)
			first = middle + 1;
		else
			last = middle;
	}
	if (first == 0 || address >= map->ranges[first - 1].high)
		return false;
	*value = map->ranges[first - 1].value;
	return true;
}

void hs_range_map_free(struct hs_range_map *map)
{
	free(map->ranges);
	*map = (struct hs_range_map){0};
}
