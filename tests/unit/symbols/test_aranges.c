/* .debug_aranges by hand: DWARF 5, section 6.1.2. */
#include "symbols/aranges.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t two_units[] = {
	/* 60 bytes, version 2, unit at 0x100, 8-byte addresses, no segments, padding to 16 */
	60, 0, 0, 0, 2, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0, 0,
	/* 0x1000, 16 bytes */
	0, 0x10, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0,
	/* 0x2000, none: left out */
	0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* the end */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* 44 bytes, unit at 0x2030 */
	44, 0, 0, 0, 2, 0, 0x30, 0x20, 0, 0, 8, 0, 0, 0, 0, 0,
	/* 0x3000, 1 byte; the end */
	0, 0x30, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static bool is(struct hs_arange range, uint64_t low, uint64_t high, uint64_t unit)
{
	return range.low == low && range.high == high && range.unit == unit;
}

/* A copy of its own, so that a sanitizer sees what is read behind it. */
static size_t read(const uint8_t *section, size_t bytes, struct hs_arange **ranges)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	memcpy(copy, section, bytes);
	size_t count = hs_aranges_read(copy, bytes, ranges);
	free(copy);
	return count;
}

int main(void)
{
	struct hs_arange *ranges;
	check(read(two_units, sizeof two_units, &ranges) == 2, "two ranges");
	check(is(ranges[0], 0x1000, 0x1010, 0x100) && is(ranges[1], 0x3000, 0x3001, 0x2030), "their values");
	free(ranges);

	/* Cut anywhere: the second set needs all of its bytes. */
	for (size_t bytes = 0; bytes < sizeof two_units; bytes++) {
		size_t count = read(two_units, bytes, &ranges);
		check(count == (bytes >= 64 ? 1 : 0), "cut");
		free(ranges);
	}

	/* A set of another version, with other addresses, or with segments is skipped. */
	static const struct {
		uint8_t at, value;
	} changes[] = {{4, 3}, {10, 4}, {11, 1}};
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		uint8_t changed[sizeof two_units];
		memcpy(changed, two_units, sizeof changed);
		changed[changes[i].at] = changes[i].value;
		check(read(changed, sizeof changed, &ranges) == 1 && is(ranges[0], 0x3000, 0x3001, 0x2030),
		      "skipped");
		free(ranges);
	}

	/* A range that would go around the end of memory. */
	uint8_t huge[sizeof two_units];
	memcpy(huge, two_units, sizeof huge);
	memset(huge + 24, 0xff, 8);
	check(read(huge, sizeof huge, &ranges) == 1, "around the end");
	free(ranges);
	return 0;
}
