/* Amounts as people write them. */
#include "cli/parse.h"

#include "base/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The factor of a time's unit, in any case; 0: there is no such unit. */
static uint64_t time_unit(const char *name)
{
	static const struct {
		const char *name;
		uint64_t us;
	} units[] = {
		{"us", 1},    {"", 1000000},   {"s", 1000000},    {"sec", 1000000},
		{"ms", 1000}, {"m", 60000000}, {"min", 60000000}, {"h", 3600000000},
	};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcasecmp(name, units[i].name) == 0)
			return units[i].us;
	}
	return 0;
}

/* A number, digits first, then the name of a unit or nothing. */
static bool parse(const char *text, uint64_t (*find_unit)(const char *), uint64_t *amount)
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
	uint64_t unit = find_unit(end);
	double product = number * (double)unit;
	if (unit == 0 || product >= 0x1p63)
		return false;
	bool whole = unit == 1 && memchr(text, '.', digits) == NULL;
	*amount = whole ? strtoull(text, NULL, 10) : (uint64_t)(product + 0.5);
	return true;
}

bool hs_parse_size(const char *text, uint64_t *bytes)
{
	return parse(text, hs_byte_unit, bytes);
}

bool hs_parse_time(const char *text, uint64_t *time_us)
{
	return parse(text, time_unit, time_us);
}
