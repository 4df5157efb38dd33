/* The filters of the command line, the same for each command that has them. */
#ifndef HS_CLI_FILTERS_H
#define HS_CLI_FILTERS_H

#include "base/text.h"
#include "cli/options.h"
#include "profile/filter.h"

struct hs_filter_arguments {
	struct hs_list focus, ignore, modules, threads, phases;
	uint64_t least_bytes, most_bytes, from_us, to_us, at_us;
};

#define HS_FILTER_ARGUMENTS                                                                                  \
	{                                                                                                    \
		.most_bytes = UINT64_MAX, .to_us = HS_TIME_NONE, .at_us = HS_TIME_NONE                       \
	}

/* Rows of a command's table of options. */
#define HS_FILTER_OPTIONS(arguments)                                                                         \
	{0,                                                                                                  \
	 "",                                                                                                 \
	 HS_OPTION_TITLE,                                                                                    \
	 NULL,                                                                                               \
	 0,                                                                                                  \
	 NULL,                                                                                               \
	 NULL,                                                                                               \
	 "filters, which combine (RE is a POSIX extended regular expression)"},                              \
		{0,                                                                                          \
		 "focus",                                                                                    \
		 HS_OPTION_LIST,                                                                             \
		 &(arguments).focus,                                                                         \
		 0,                                                                                          \
		 "RE",                                                                                       \
		 NULL,                                                                                       \
		 "only stacks with a frame whose function, file, file:line or module matches; given twice, " \
		 "stacks that match both"},                                                                  \
		{0, "ignore", HS_OPTION_LIST, &(arguments).ignore,                                           \
		 0, "RE",     NULL,           "no stacks with such a frame"},                                \
		{0,                                                                                          \
		 "module",                                                                                   \
		 HS_OPTION_LIST,                                                                             \
		 &(arguments).modules,                                                                       \
		 0,                                                                                          \
		 "RE",                                                                                       \
		 NULL,                                                                                       \
		 "only what this program or library allocated itself: the module of the innermost frame "    \
		 "that is not hidden; given twice, either"},                                                 \
		{0,                                                                                          \
		 "thread",                                                                                   \
		 HS_OPTION_LIST,                                                                             \
		 &(arguments).threads,                                                                       \
		 0,                                                                                          \
		 "RE|NUMBER",                                                                                \
		 NULL,                                                                                       \
		 "only what threads of that name allocated, or that thread: its tid or its number in "       \
		 "--threads; given twice, either"},                                                          \
		{0,                                                                                          \
		 "phase",                                                                                    \
		 HS_OPTION_LIST,                                                                             \
		 &(arguments).phases,                                                                        \
		 0,                                                                                          \
		 "NAME",                                                                                     \
		 NULL,                                                                                       \
		 "only what was allocated while the program was in a phase of that name, which it "          \
		 "reports itself (heapscope.h); given twice, either"},                                       \
		{0, "min-size", HS_OPTION_SIZE, &(arguments).least_bytes,                                    \
		 0, "SIZE",     NULL,           "only blocks of at least SIZE: 4096, 64KiB, 1.5M"},          \
		{0, "max-size", HS_OPTION_SIZE, &(arguments).most_bytes,                                     \
		 0, "SIZE",     NULL,           "only blocks of at most SIZE"},                              \
		{0,                                                                                          \
		 "from",                                                                                     \
		 HS_OPTION_TIME,                                                                             \
		 &(arguments).from_us,                                                                       \
		 0,                                                                                          \
		 "TIME",                                                                                     \
		 NULL,                                                                                       \
		 "only what was allocated at that time of the run or later: 1.5s, 200ms, 2min"},             \
		{0, "to",   HS_OPTION_TIME, &(arguments).to_us,                                              \
		 0, "TIME", NULL,           "only what was allocated before that time"},                     \
	{                                                                                                    \
		0, "at", HS_OPTION_TIME, &(arguments).at_us, 0, "TIME", NULL,                                \
			"only what was live at that time, which then takes the place of the peak"            \
	}

/* Compiles the expressions, checks the limits. Returns 0, or -1 after a message for exit code 2. */
int hs_filter_make(struct hs_filter *filter, const struct hs_filter_arguments *arguments,
		   const char *command);
void hs_filter_arguments_free(struct hs_filter_arguments *arguments);

/* Adds the filter as it could be given: "--focus parse --min-size 64KiB". */
void hs_filter_describe(struct hs_text *text, const struct hs_filter *filter);

/* What to tell a user whose filter selects nothing: each expression that matches nothing in the profile. Adds
 * sentences, or nothing. */
void hs_filter_explain(struct hs_text *text, const struct hs_filter *filter,
		       const struct hs_profile *profile);

#endif
