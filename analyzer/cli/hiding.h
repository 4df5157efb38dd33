/* Which frames a report leaves out, being allocator wrappers or plumbing: the built-in rules
 * (profile/fold.h), a project's own from its configuration file, and --hide. */
#ifndef HS_HIDING_H
#define HS_HIDING_H

#include "cli/options.h"
#include "profile/patterns.h"

struct hs_hiding_arguments {
	struct hs_list patterns; /* --hide */
	const char *groups;      /* --hide-groups; NULL: as the configuration says, else all */
	const char *config;      /* --config; NULL: look for it */
};

#define HS_HIDING_OPTIONS(arguments)                                                                         \
	{0,                                                                                                  \
	 "hide",                                                                                             \
	 HS_OPTION_LIST,                                                                                     \
	 &(arguments).patterns,                                                                              \
	 0,                                                                                                  \
	 "RE",                                                                                               \
	 NULL,                                                                                               \
	 "leave out frames whose function, file or module matches, like wrappers of malloc: their callers "  \
	 "count as the allocating code"},                                                                    \
		{0,                                                                                          \
		 "hide-groups",                                                                              \
		 HS_OPTION_TEXT,                                                                             \
		 &(arguments).groups,                                                                        \
		 0,                                                                                          \
		 "LIST",                                                                                     \
		 NULL,                                                                                       \
		 "which built-in rules hide frames too: all (the default), none, or some of c,c++,rust,"     \
		 "loops"},                                                                                   \
	{                                                                                                    \
		0, "config", HS_OPTION_TEXT, &(arguments).config, 0, "FILE", NULL,                           \
			"read \"hide RE\" and \"hide-groups LIST\" lines from FILE, not from the "           \
			".heapscope "                                                                        \
			"file that is found here or in a folder above; \"\" reads none"                      \
	}

struct hs_hiding {
	unsigned groups; /* of profile/fold.h */
	struct hs_patterns patterns;
	char *config; /* the file that was read; NULL: none */
};

/* Reads the configuration, compiles the expressions. Returns 0, or -1 after a message for exit code 2. */
int hs_hiding_make(struct hs_hiding *hiding, const struct hs_hiding_arguments *arguments,
		   const char *command);
void hs_hiding_free(struct hs_hiding *hiding);
void hs_hiding_arguments_free(struct hs_hiding_arguments *arguments);

/* Marks the frames of the profile. */
void hs_hiding_apply(const struct hs_hiding *hiding, struct hs_profile *profile);

/* --list-hidden: the rules in effect. Returns the exit code. */
int hs_hiding_list(const struct hs_hiding *hiding);

#endif
