/* Numbers as people read them. */
#include "base/format.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct hs_number hs_size(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct hs_number number;
	if (bytes < 1024) {
		snprintf(number.text, sizeof(number.text), "%u B", (unsigned)bytes);
		return number;
	}
	for (unsigned unit = 0;; unit++) {
		unsigned shift = 10 * (unit + 1);
		unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
		uint64_t tenths = (uint64_t)(((unsigned __int128)bytes * 10 + half) >> shift);
		if (tenths < 10240 || unit == 5) {
			snprintf(number.text, sizeof(number.text), "%u.%u %s", (unsigned)(tenths / 10),
				 (unsigned)(tenths % 10), units[unit]);
			return number;
		}
	}
}

struct hs_number hs_count(uint64_t count)
{
	struct hs_number number;
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *out = number.text;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return number;
}

struct hs_number hs_counted(uint64_t count, const char *noun)
{
	struct hs_number number = hs_count(count);
	size_t used = strlen(number.text);
	snprintf(number.text + used, sizeof(number.text) - used, " %s%s", noun, count == 1 ? "" : "s");
	return number;
}

struct hs_number hs_share(uint64_t part, uint64_t whole)
{
	struct hs_number number;
	if (whole == 0) {
		strcpy(number.text, "-");
		return number;
	}
	uint64_t tenths =
		(uint64_t)(((unsigned __int128)part * 2000 + whole) / ((unsigned __int128)whole * 2));
	if (tenths == 0 && part > 0)
		strcpy(number.text, "<0.1%");
	else if (tenths == 1000 && part < whole)
		strcpy(number.text, ">99.9%");
	else
		snprintf(number.text, sizeof(number.text), "%llu.%u%%", (unsigned long long)(tenths / 10),
			 (unsigned)(tenths % 10));
	return number;
}

struct hs_number hs_time(uint64_t time_us)
{
	struct hs_number number;
	char *out = number.text;
	size_t room = sizeof(number.text);
	/* each unit begins where rounding in the smaller one would reach it */
	if (time_us < 1000) {
		snprintf(out, room, "%u us", (unsigned)time_us);
	} else if (time_us < 999950) {
		unsigned tenths = (unsigned)((time_us + 50) / 100);
		snprintf(out, room, "%u.%u ms", tenths / 10, tenths % 10);
	} else if (time_us < 59995000) {
		unsigned hundredths = (unsigned)((time_us + 5000) / 10000);
		snprintf(out, room, "%u.%02u s", hundredths / 100, hundredths % 100);
	} else if (time_us < 3599500000) {
		unsigned seconds = (unsigned)((time_us + 500000) / 1000000);
		snprintf(out, room, "%u min %02u s", seconds / 60, seconds % 60);
	} else {
		/* no overflow: half a minute more than the most is still 64 bits after the division */
		uint64_t minutes = time_us / 60000000 + (time_us % 60000000 >= 30000000);
		snprintf(out, room, "%llu h %02u min", (unsigned long long)(minutes / 60),
			 (unsigned)(minutes % 60));
	}
	return number;
}

uint64_t hs_byte_unit(const char *name)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{"", 1},
		{"B", 1},
		{"K", 1 << 10},
		{"KiB", 1 << 10},
		{"kB", 1000},
		{"M", 1 << 20},
		{"MiB", 1 << 20},
		{"MB", 1000000},
		{"G", 1 << 30},
		{"GiB", 1 << 30},
		{"GB", 1000000000},
		{"T", 1ull << 40},
		{"TiB", 1ull << 40},
		{"TB", 1000000000000},
	};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcasecmp(name, units[i].name) == 0)
			return units[i].bytes;
	}
	return 0;
}
