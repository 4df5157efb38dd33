/* Ranges that nest, touch, overlap and repeat, against a look-up by trying all of them. */
#include "symbols/range_map.h"

#include <stdio.h>
#include <stdlib.h>

struct expectation {
	uint64_t address;
	bool found;
	uint32_t value;
};

static void check(const struct hs_range_map *map, struct expectation wanted, const char *what)
{
	uint32_t value = 0;
	bool found = hs_range_map_find(map, wanted.address, &value);
	if (found == wanted.found && (!found || value == wanted.value))
		return;
	fprintf(stderr, "%s: at %llu got %d %u, wanted %d %u\n", what, (unsigned long long)wanted.address,
		found, value, wanted.found, wanted.value);
	exit(1);
}

/* A function (0) with two inlined calls (1, 3), one of which has an own one (2); then a gap and another
 * function. */
static void test_nested(void)
{
	struct hs_range_map map = {0};
	hs_range_map_add(&map, 100, 200, 0);
	hs_range_map_add(&map, 110, 150, 1);
	hs_range_map_add(&map, 120, 130, 2);
	hs_range_map_add(&map, 150, 160, 3);
	hs_range_map_add(&map, 300, 310, 4);
	hs_range_map_add(&map, 305, 305, 5); /* empty */
	hs_range_map_add(&map, 309, 302, 6); /* nonsense */
	hs_range_map_build(&map);
	const struct expectation wanted[] = {
		{99, false, 0}, {100, true, 0}, {109, true, 0},  {110, true, 1},  {119, true, 1},
		{120, true, 2}, {129, true, 2}, {130, true, 1},  {149, true, 1},  {150, true, 3},
		{159, true, 3}, {160, true, 0}, {199, true, 0},  {200, false, 0}, {299, false, 0},
		{305, true, 4}, {309, true, 4}, {310, false, 0}, {0, false, 0},   {UINT64_MAX, false, 0},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		check(&map, wanted[i], "nested");
	hs_range_map_free(&map);
}

static void test_empty(void)
{
	struct hs_range_map map = {0};
	hs_range_map_build(&map);
	check(&map, (struct expectation){5, false, 0}, "empty");
	hs_range_map_free(&map);
}

/* The same rule by trying all: begins last, then the shortest, then the largest value. */
static struct expectation by_trying(const struct hs_range *ranges, size_t count, uint64_t address)
{
	const struct hs_range *best = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct hs_range *range = &ranges[i];
		if (address < range->low || address >= range->high)
			continue;
		if (!best || range->low > best->low ||
		    (range->low == best->low && range->high < best->high) ||
		    (range->low == best->low && range->high == best->high && range->value > best->value))
			best = range;
	}
	return (struct expectation){address, best != NULL, best ? best->value : 0};
}

static void test_random(void)
{
	enum { RANGES = 30, SPAN = 200, ROUNDS = 500 };
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct hs_range ranges[RANGES];
		struct hs_range_map map = {0};
		for (uint32_t i = 0; i < RANGES; i++) {
			uint64_t low = (uint64_t)rand() % SPAN;
			ranges[i] = (struct hs_range){low, low + 1 + (uint64_t)rand() % 40, i};
			hs_range_map_add(&map, ranges[i].low, ranges[i].high, i);
		}
		hs_range_map_build(&map);
		for (uint64_t address = 0; address < SPAN + 50; address++)
			check(&map, by_trying(ranges, RANGES, address), "random");
		hs_range_map_free(&map);
	}
}

int main(void)
{
	test_nested();
	test_empty();
	test_random();
	return 0;
}
