/* Suppressions of leaks in the commands that report them: the options, and the words for what they hid. */
#ifndef HS_SUPPRESS_H
#define HS_SUPPRESS_H

#include "base/text.h"
#include "profile/suppressions.h"

#include <jansson.h>

struct hs_suppress {
	const char *file; /* --suppressions; NULL: $HEAPSCOPE_SUPPRESSIONS, if it is set */
	int off;          /* --no-suppressions */
};

/* The two options, for a command's table. */
#define HS_SUPPRESS_OPTIONS(suppress)                                                                        \
	{0,                                                                                                  \
	 "suppressions",                                                                                     \
	 HS_OPTION_TEXT,                                                                                     \
	 &(suppress).file,                                                                                   \
	 0,                                                                                                  \
	 "FILE",                                                                                             \
	 NULL,                                                                                               \
	 "do not count as leaked what the rules of FILE match, in LeakSanitizer's syntax (leak:PATTERN), "   \
	 "besides the built-in ones and the program's own"},                                                 \
	{                                                                                                    \
		0, "no-suppressions", HS_OPTION_SET, &(suppress).off, 1, NULL, NULL,                         \
			"count everything that is live at the end as leaked"                                 \
	}

/* Reads the rules and applies them to the profile, which refers to *suppressions from then on. Rules of the
 * program that cannot be understood are passed over with a message. Returns 0, or -1 and an error: the user's
 * file is bad. */
int hs_suppress(const struct hs_suppress *suppress, struct hs_profile *profile,
		struct hs_suppressions *suppressions, struct hs_error *error);

/* Adds "71.0 KiB in 1 block suppressed by 1 rule: the emergency pool for exceptions"; nothing if
 * nothing was suppressed. */
void hs_suppressed_words(struct hs_text *text, const struct hs_profile *profile,
			 const struct hs_sites *sites);
/* Adds one rule: what it is for if it is built in, else as it stands in its file, and where that is. */
void hs_suppression_name(struct hs_text *text, const struct hs_suppression *rule);

/* A rule, and the rules that suppressed something, as docs/json.md has them. */
json_t *hs_suppression_json(const struct hs_suppression *rule);
/* The name of the rule that suppresses what is live of a site; null: none does. */
json_t *hs_suppression_of_site_json(const struct hs_profile *profile, const struct hs_site *site);
json_t *hs_suppressed_json(const struct hs_profile *profile, const struct hs_sites *sites);

#endif
