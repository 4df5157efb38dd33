/* Regular expressions over names of frames. */
#include "profile/patterns.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* regcomp copies what is repeated, and parses brackets by recursion: an expression may come from a file that
 * somebody else wrote. */
enum { BYTES_MOST = 1000, COPIES_MOST = 1000 };

/* How often repetitions like {3,20} could copy a part of the expression, at most. */
static uint64_t copies(const char *text)
{
	uint64_t product = 1;
	for (const char *at = text; (at = strchr(at, '{')) != NULL; at++) {
		uint64_t most = 1;
		const char *number = at + 1;
		while (isdigit((unsigned char)*number) || *number == ',') {
			char *end = (char *)number + 1;
			uint64_t value = *number == ',' ? 1 : strtoull(number, &end, 10);
			most = value > most ? value : most;
			number = end;
		}
		product = most > COPIES_MOST ? COPIES_MOST + 1 : product * most;
		if (product > COPIES_MOST)
			break;
	}
	return product;
}

int hs_patterns_add(struct hs_patterns *patterns, const char *text, struct hs_error *error)
{
	char cause[256];
	struct hs_pattern pattern = {0};
	if (*text == 0)
		return hs_fail(error, "an empty expression matches everything");
	if (strlen(text) > BYTES_MOST)
		return hs_fail(error, "it is longer than %d bytes", BYTES_MOST);
	if (copies(text) > COPIES_MOST)
		return hs_fail(error, "it repeats a part more than %d times", COPIES_MOST);
	int failure = regcomp(&pattern.regex, text, REG_EXTENDED | REG_NOSUB);
	if (failure) {
		regerror(failure, &pattern.regex, cause, sizeof(cause));
		return hs_fail(error, "%s", cause);
	}
	pattern.text = hs_copy_string(text);
	patterns->items =
		hs_grow(patterns->items, patterns->count, &patterns->capacity, sizeof(*patterns->items));
	patterns->items[patterns->count++] = pattern;
	return 0;
}

void hs_patterns_free(struct hs_patterns *patterns)
{
	for (uint32_t i = 0; i < patterns->count; i++) {
		regfree(&patterns->items[i].regex);
		free(patterns->items[i].text);
	}
	free(patterns->items);
	*patterns = (struct hs_patterns){0};
}

bool hs_pattern_matches(const struct hs_pattern *pattern, const char *text)
{
	return *text && regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}

/* Answers by string index, found when asked for. */
enum answer { UNKNOWN, NO, YES };

static bool string_matches(const struct hs_pattern *pattern, const struct hs_profile *profile,
			   uint32_t string, uint8_t *answers)
{
	if (answers[string] == UNKNOWN)
		answers[string] = hs_pattern_matches(pattern, profile->strings.items[string]) ? YES : NO;
	return answers[string] == YES;
}

/* "path:line"; frames of one line mostly stand together. */
static bool line_matches(const struct hs_pattern *pattern, const struct hs_profile *profile,
			 const struct hs_frame *frame)
{
	char place[4200];
	if (frame->file == 0 || frame->line == 0)
		return false;
	snprintf(place, sizeof(place), "%s:%u", profile->strings.items[frame->file], frame->line);
	return hs_pattern_matches(pattern, place);
}

bool *hs_pattern_frames(const struct hs_pattern *pattern, const struct hs_profile *profile)
{
	bool *matches = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*matches));
	uint8_t *answers = hs_allocate_zero(profile->strings.count, sizeof(*answers));
	bool lines = strchr(pattern->text, ':') != NULL; /* else no line can make a difference */
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		matches[i] =
			string_matches(pattern, profile, frame->function, answers) ||
			string_matches(pattern, profile, frame->file, answers) ||
			(frame->module < profile->module_count &&
			 string_matches(pattern, profile, profile->modules[frame->module].path, answers)) ||
			(lines && line_matches(pattern, profile, frame));
	}
	free(answers);
	return matches;
}

uint32_t hs_patterns_hide(const struct hs_patterns *patterns, struct hs_profile *profile)
{
	uint32_t count = 0;
	for (uint32_t p = 0; p < patterns->count; p++) {
		bool *matches = hs_pattern_frames(&patterns->items[p], profile);
		for (uint32_t i = 0; i < profile->frame_count; i++) {
			count += matches[i] && !profile->frames[i].internal;
			profile->frames[i].internal |= matches[i];
		}
		free(matches);
	}
	return count;
}
