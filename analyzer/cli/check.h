/* `heapscope check`, and what `heapscope run` checks at the end.
 *
 *   check.c         options, recordings, verdict
 *   check_guilty.c  the sites that make a quantity too large
 *   check_text.c, check_json.c, check_junit.c  what is said of it
 */
#ifndef HS_CLI_CHECK_H
#define HS_CLI_CHECK_H

#include "base/text.h"
#include "cli/open.h"
#include "profile/check.h"

#include <jansson.h>
#include <stdio.h>

struct hs_check_options {
	const char *file; /* of budgets */
	const char *limits[HS_QUANTITIES];
	const char *site, *against, *tolerance, *junit;
	int json, allow_incomplete, colour;
	int quiet;     /* no report if all is well */
	uint64_t rows; /* sites below each budget that is exceeded; 0: all */
	struct hs_suppress suppress;
};

/* The options that `check` and `run` share, for a command's table. */
/* clang-format off */
#define HS_CHECK_OPTIONS(check) \
	{0, "max-peak", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_PEAK], 0, "SIZE", NULL, \
	 "most bytes live at the peak, like 10MiB"}, \
	{0, "max-own-peak", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_OWN_PEAK], 0, "SIZE", NULL, \
	 "most bytes that the sites of --site ever held together"}, \
	{0, "max-blocks", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_BLOCKS], 0, "N", NULL, \
	 "most blocks live at the peak"}, \
	{0, "max-leaked", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_LEAKED], 0, "SIZE", NULL, \
	 "most bytes never freed, or a percentage of those allocated"}, \
	{0, "max-leaked-blocks", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_LEAKED_BLOCKS], 0, "N", NULL, \
	 "most blocks never freed, or a percentage of the calls"}, \
	{0, "max-allocated", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_ALLOCATED], 0, "SIZE", NULL, \
	 "most bytes allocated in all"}, \
	{0, "max-calls", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_CALLS], 0, "N", NULL, \
	 "most allocations"}, \
	{0, "max-temporary", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_TEMPORARY], 0, "N", NULL, \
	 "most temporary allocations, or a percentage of the calls, like 5%"}, \
	{0, "max-moved", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_MOVED], 0, "SIZE", NULL, \
	 "most bytes copied by realloc, or a percentage of those allocated"}, \
	{0, "max-peak-rss", HS_OPTION_TEXT, &(check).limits[HS_QUANTITY_PEAK_RSS], 0, "SIZE", NULL, \
	 "largest resident size of the process"}, \
	{0, "site", HS_OPTION_TEXT, &(check).site, 0, "RE", NULL, \
	 "these budgets are for stacks with a frame whose function, file or module matches"}, \
	{0, "against", HS_OPTION_TEXT, &(check).against, 0, "FILE", NULL, \
	 "compare with the recording FILE: peak, leaked, allocated, calls and temporary may not have grown"}, \
	{0, "tolerance", HS_OPTION_TEXT, &(check).tolerance, 0, "AMOUNT", NULL, \
	 "by how much they may have: 2%, or 2%,leaked=0,moved=1MiB,calls=off"}, \
	{0, "junit", HS_OPTION_TEXT, &(check).junit, 0, "FILE", NULL, \
	 "write the verdicts to FILE as JUnit XML"}, \
	{0, "allow-incomplete", HS_OPTION_SET, &(check).allow_incomplete, 1, NULL, NULL, \
	 "a recording that is cut off, damaged or has lost events may pass"}, \
	HS_SUPPRESS_OPTIONS((check).suppress)
/* clang-format on */

/* Whether any budget or baseline was given. */
bool hs_check_asked(const struct hs_check_options *options);
/* Reads the budgets. Returns 0; HS_EXIT_USAGE or HS_EXIT_DATA after a message. */
int hs_check_budgets(const struct hs_check_options *options, const char *command, struct hs_budgets *budgets);
/* Checks recordings and writes the report to `output`. Returns HS_EXIT_OK, or HS_EXIT_DATA if a budget is
 * exceeded or a file is bad. */
int hs_check_recordings(const struct hs_check_options *options, const struct hs_budgets *budgets,
			char *const *paths, size_t count, FILE *output);

/* ---- what the reports need ------------------------------------------------------------------------------
 */

/* One recording and its verdicts. */
struct hs_checked {
	const char *path;
	struct hs_opened opened; /* sites are raw: expressions match whole stacks */
	struct hs_check check;
	char *incomplete; /* NULL, or why the recording is not complete */
};

struct hs_check_report {
	const struct hs_check_options *options;
	const struct hs_budgets *budgets;
	const struct hs_checked *baseline; /* NULL: none */
	const struct hs_checked *checked;
	size_t count;
	unsigned columns;
	bool utf8;
};

bool hs_check_passes(const struct hs_check_report *report);

struct hs_guilty {
	const struct hs_site *site; /* one of those of the line or function */
	const struct hs_profile *profile;
	uint64_t value, old; /* old: of the baseline */
	uint64_t weight;     /* what it adds to the quantity, or how much it grew; at least 1 */
	uint32_t place;      /* among equals: as in the tables of print, or of diff */
};
/* The lines (or functions, for growth) behind a quantity, heaviest first, as print and diff have them;
 * malloc'ed. None for what no site causes. */
struct hs_guilty *hs_guilty_find(const struct hs_check_report *report, const struct hs_checked *checked,
				 const struct hs_finding *finding, uint32_t *count);

/* "max-peak", "growth of peak"; with " of sites that match RE" in JUnit. */
void hs_finding_name(struct hs_text *text, const struct hs_finding *finding);
/* "12.0 MiB, limit 10.0 MiB, over by 2.0 MiB" */
void hs_finding_words(struct hs_text *text, const struct hs_finding *finding);

void hs_check_text(struct hs_text *text, const struct hs_check_report *report);
void hs_check_json(struct hs_text *text, const struct hs_check_report *report);
void hs_check_junit(struct hs_text *text, const struct hs_check_report *report);

#endif
