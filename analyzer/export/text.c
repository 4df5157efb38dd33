#include "text.h"

#include "base/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the valid UTF-8 sequence at `at` (Unicode's table 3-7: no overlong forms, no surrogates); 0 if it
 * is none. */
static size_t sequence_bytes(const unsigned char *at)
{
	unsigned char lowest = 0x80, highest = 0xbf;
	size_t more;
	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf) {
		more = 1;
	} else if (at[0] >= 0xe0 && at[0] <= 0xef) {
		more = 2;
		lowest = at[0] == 0xe0 ? 0xa0 : lowest;
		highest = at[0] == 0xed ? 0x9f : highest;
	} else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
		more = 3;
		lowest = at[0] == 0xf0 ? 0x90 : lowest;
		highest = at[0] == 0xf4 ? 0x8f : highest;
	} else {
		return 0;
	}
	if (at[1] < lowest || at[1] > highest)
		return 0;
	for (size_t i = 2; i <= more; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return 0;
	return more + 1;
}

char *hs_repair_utf8(const char *text)
{
	char *copy = hs_allocate(strlen(text) * 3 + 1), *out = copy;
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t bytes = sequence_bytes(at);
		if (bytes == 0) {
			out = mempcpy(out, "\xef\xbf\xbd", 3);
			at++;
		} else {
			out = mempcpy(out, at, bytes);
			at += bytes;
		}
	}
	*out = 0;
	return copy;
}

void hs_write_json_text(FILE *output, const char *text)
{
	char *repaired = hs_repair_utf8(text);
	json_t *json = json_string_nocheck(repaired);
	json_dumpf(json, output, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(json);
	free(repaired);
}
