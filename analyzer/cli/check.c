/* Checking recordings against budgets: options, recordings, verdict. */
#include "cli/check.h"

#include "base/memory.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hs_check_asked(const struct hs_check_options *options)
{
	bool asked = options->file || options->against;
	for (unsigned i = 0; i < HS_QUANTITIES; i++)
		asked |= options->limits[i] != NULL;
	return asked;
}

/* ---- budgets --------------------------------------------------------------------------------------------
 */

static int take_options(const struct hs_check_options *options, struct hs_budgets *budgets,
			struct hs_error *error)
{
	int section = hs_budgets_section(budgets, options->site, error);
	if (section < 0)
		return -1;
	for (unsigned i = 0; i < HS_QUANTITIES; i++) {
		if (options->limits[i] && hs_budgets_limit(budgets, (uint32_t)section, (enum hs_quantity)i,
							   options->limits[i], error) != 0)
			return -1;
	}
	/* With a site, the whole program is compared only if the file says so. */
	if (section && budgets->sections[0].tolerance.kind == HS_AMOUNT_NONE)
		budgets->sections[0].tolerance.kind = HS_AMOUNT_OFF;
	if (section && budgets->sections[section].tolerance.kind == HS_AMOUNT_NONE)
		budgets->sections[section].tolerance = (struct hs_amount){HS_AMOUNT_PERCENT, 0};
	return options->tolerance ? hs_budgets_tolerate(budgets, (uint32_t)section, options->tolerance, error)
				  : 0;
}

int hs_check_budgets(const struct hs_check_options *options, const char *command, struct hs_budgets *budgets)
{
	struct hs_error error = {{0}};
	if (options->tolerance && !options->against) {
		hs_message("%s: --tolerance goes with --against OLD", command);
		return HS_EXIT_USAGE;
	}
	if (options->file) {
		size_t count;
		char *text = hs_input_read(options->file, &count, &error);
		int result = text ? hs_budgets_read(budgets, options->file, text, count, &error) : -1;
		free(text);
		if (result != 0) {
			hs_notice(error.text);
			return HS_EXIT_DATA;
		}
	}
	if (take_options(options, budgets, &error) != 0) {
		hs_message("%s: %s", command, error.text);
		hs_message("see \"heapscope %s --help\"", command);
		return HS_EXIT_USAGE;
	}
	if (!hs_budgets_any(budgets) && !options->against) {
		hs_message("%s: there is no budget to check", command);
		return HS_EXIT_USAGE;
	}
	return 0;
}

/* ---- recordings -----------------------------------------------------------------------------------------
 */

/* What makes the numbers too low, in words; NULL: nothing does. */
static char *why_incomplete(const struct hs_profile *profile)
{
	const struct hs_facts *facts = &profile->facts;
	struct hs_text words = {0};
	if (facts->warning && profile->damaged)
		hs_text_clean(&words, facts->warning);
	else if (facts->end == HS_END_RUNNING && !(facts->unknown & HS_TOLD_PROCESS))
		hs_text_add(&words, "it is still being written, or was cut off");
	if (facts->stopped) {
		hs_text_add(&words, words.count ? "; " : "");
		hs_text_add(&words, "recording ended before the program did: ");
		hs_text_clean(&words, facts->stopped);
	}
	if (facts->lost_events)
		hs_text_addf(&words, "%s%llu events could not be recorded", words.count ? "; " : "",
			     (unsigned long long)facts->lost_events);
	if (facts->merged.incomplete)
		hs_text_addf(&words, "%s%llu of the recordings that were merged are not whole",
			     words.count ? "; " : "", (unsigned long long)facts->merged.incomplete);
	return words.bytes;
}

static int load(struct hs_checked *checked, const char *path, const struct hs_check_options *options)
{
	*checked = (struct hs_checked){.path = path};
	if (hs_open(&checked->opened, path, NULL, NULL, &options->suppress, true) != 0)
		return -1;
	checked->incomplete = why_incomplete(checked->opened.profile);
	return 0;
}

static void unload(struct hs_checked *checked)
{
	hs_check_free(&checked->check);
	hs_open_close(&checked->opened);
	free(checked->incomplete);
}

static int judge(struct hs_checked *checked, const struct hs_checked *baseline,
		 const struct hs_budgets *budgets)
{
	struct hs_error error = {{0}};
	const struct hs_check_side new = {checked->opened.profile, &checked->opened.sites};
	struct hs_check_side old = {0};
	if (baseline)
		old = (struct hs_check_side){baseline->opened.profile, &baseline->opened.sites};
	if (hs_check_make(&checked->check, budgets, &new, baseline ? &old : NULL, &error) == 0)
		return 0;
	hs_notice(error.text);
	return -1;
}

bool hs_check_passes(const struct hs_check_report *report)
{
	bool lenient = report->options->allow_incomplete;
	/* a baseline that lacks events shows growth where there is none */
	bool passes = !report->baseline || !report->baseline->incomplete || lenient;
	for (size_t i = 0; i < report->count; i++) {
		const struct hs_checked *checked = &report->checked[i];
		passes &= !checked->check.over && !checked->check.untold && (!checked->incomplete || lenient);
	}
	return passes;
}

/* ---- reports --------------------------------------------------------------------------------------------
 */

static int write_junit(const struct hs_check_report *report)
{
	struct hs_error error = {{0}};
	struct hs_output file;
	struct hs_text text = {0};
	hs_check_junit(&text, report);
	int result = hs_output_open(&file, report->options->junit, &error);
	if (result == 0) {
		fwrite(text.bytes, 1, text.count, file.stream);
		result = hs_output_commit(&file, &error);
	}
	if (result != 0)
		hs_notice(error.text);
	hs_text_free(&text);
	return result;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;
	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/* A comparison with itself would always pass. */
static int check_paths(const struct hs_check_options *options, char *const *paths, size_t count)
{
	for (size_t i = 0; options->against && i < count; i++) {
		if (!is_same_file(options->against, paths[i]))
			continue;
		hs_message("\"%s\" is to be compared with itself; \"heapscope run\" keeps the recording of "
			   "the run before as NAME.old.hs.gz",
			   paths[i]);
		return -1;
	}
	return 0;
}

static int write_report(const struct hs_check_report *report, FILE *output)
{
	struct hs_text text = {0};
	if (report->options->json)
		hs_check_json(&text, report);
	else
		hs_check_text(&text, report);
	if (output && !report->options->json &&
	    !hs_terminal_colour(fileno(output), (enum hs_colour)report->options->colour))
		hs_text_strip_colour(&text);
	int result = output ? hs_write_out(&text, output) : 0;
	hs_text_free(&text);
	if (report->options->junit && write_junit(report) != 0)
		result = -1;
	return result;
}

int hs_check_recordings(const struct hs_check_options *options, const struct hs_budgets *budgets,
			char *const *paths, size_t count, FILE *output)
{
	struct hs_checked *checked = hs_allocate_zero(count + 1, sizeof(*checked)), baseline = {0};
	struct hs_check_report report = {
		.options = options,
		.budgets = budgets,
		.checked = checked,
		.count = count,
		.baseline = options->against ? &baseline : NULL,
		.columns = hs_terminal_columns(fileno(output)),
		.utf8 = hs_terminal_utf8(),
	};
	int result = check_paths(options, paths, count);
	if (result == 0 && options->against)
		result = load(&baseline, options->against, options);
	for (size_t i = 0; i < count && result == 0; i++) {
		result = load(&checked[i], paths[i], options);
		if (result == 0)
			result = judge(&checked[i], report.baseline, budgets);
	}
	if (result == 0) {
		bool passes = hs_check_passes(&report);
		result = write_report(&report, options->quiet && passes ? NULL : output);
		if (!passes)
			result = -1;
	}
	for (size_t i = 0; i < count; i++)
		unload(&checked[i]);
	unload(&baseline);
	free(checked);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}
