/* Regular expressions (POSIX extended) over names of frames: filters, and wrappers that a user hides. */
#ifndef HS_PATTERNS_H
#define HS_PATTERNS_H

#include "profile/profile.h"

#include <regex.h>

struct hs_pattern {
	char *text;
	regex_t regex;
};

/* An object of zeros is empty. */
struct hs_patterns {
	struct hs_pattern *items;
	uint32_t count;
	size_t capacity;
};

/* Returns 0; or -1 and an error that says what is wrong with the expression. One that could take very long to
 * compile is refused. */
int hs_patterns_add(struct hs_patterns *patterns, const char *text, struct hs_error *error);
void hs_patterns_free(struct hs_patterns *patterns);

bool hs_pattern_matches(const struct hs_pattern *pattern, const char *text);

/* By frame: whether its function, its file (path, or path:line) or its module's path matches. Each distinct
 * name is looked at once. malloc'ed. */
bool *hs_pattern_frames(const struct hs_pattern *pattern, const struct hs_profile *profile);

/* Sets `internal` of the frames that match any of the patterns: hs_sites_make folds them then. Returns how
 * many frames did. */
uint32_t hs_patterns_hide(const struct hs_patterns *patterns, struct hs_profile *profile);

#endif
