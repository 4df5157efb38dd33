/* Amounts as people write them. */
#include "cli/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

/* A number, digits first, then the name of a unit or nothing. */
static bool parse(const char *text, const struct unit *units, uint64_t *amount)
{
	char *end;
	size_t digits = strspn(text, "0123456789.");
	if (!isdigit((unsigned char)*text) || digits > 30)
		return false;
	double number = strtod(text, &end);
	if (end != text + digits)
		return false; /* an exponent, two points */
	while (*end == ' ')
		end++;
	for (; units->name; units++) {
		double product = number * units->factor;
		if (strcasecmp(end, units->name) != 0)
			continue;
		if (units->factor == 1 && memchr(text, '.', digits) == NULL) {
			*amount = strtoull(text, NULL, 10);
			return number < 0x1p63;
		}
		*amount = product < 0x1p63 ? (uint64_t)(product + 0.5) : 0;
		return product < 0x1p63;
	}
	return false;
}

bool hs_parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1},         {"b", 1},       {"k", 0x1p10},   {"kb", 0x1p10},  {"kib", 0x1p10},
		{"m", 0x1p20},   {"mb", 0x1p20}, {"mib", 0x1p20}, {"g", 0x1p30},   {"gb", 0x1p30},
		{"gib", 0x1p30}, {"t", 0x1p40},  {"tb", 0x1p40},  {"tib", 0x1p40}, {NULL, 0},
	};
	return parse(text, units, bytes);
}

bool hs_parse_time(const char *text, uint64_t *time_us)
{
	static const struct unit units[] = {
		{"us", 1},   {"", 1e6},     {"s", 1e6},    {"sec", 1e6}, {"ms", 1e3},
		{"m", 60e6}, {"min", 60e6}, {"h", 3600e6}, {NULL, 0},
	};
	return parse(text, units, time_us);
}
