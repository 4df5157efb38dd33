/* heapscope print: the report of a recording. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/suppress.h"
#include "cli/terminal.h"

#include <unistd.h>

static const char help[] =
	"Shows what a recording holds: how large the heap was and when, then the lines of the\n"
	"program's own code that held the most at the peak, allocated most often, allocated in vain\n"
	"(temporary: freed before the thread allocated again), and never freed; then their stacks.\n"
	"Bytes are those that the program asked for.\n"
	"\n"
	"Works on a recording that is still being written, and on one that was cut off.\n"
	"Exit codes: 0; 1 if the file cannot be read or is no recording; 2 for usage.";

int hs_command_print(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	int colour = HS_COLOUR_AUTO, raw = 0, json = 0;
	uint64_t rows = UINT64_MAX, depth = 40;
	struct hs_suppress suppress = {0};
	struct hs_suppressions suppressions = {0};
	const struct hs_option options[] = {
		{'n', "number", HS_OPTION_NUMBER, &rows, 0, "N", NULL, "rows of each table: 10; 0 shows all"},
		{0, "depth", HS_OPTION_NUMBER, &depth, 0, "N", NULL, "frames of each stack: 40; 0 shows all"},
		{0, "raw", HS_OPTION_SET, &raw, 1, NULL, NULL,
		 "show the frames of allocators and containers, which are folded into their callers "
		 "otherwise"},
		HS_SUPPRESS_OPTIONS(suppress),
		{0, "json", HS_OPTION_SET, &json, 1, NULL, NULL,
		 "write JSON with raw integers (docs/json.md): all sites, or the N largest with -n"},
		{0, "color", HS_OPTION_CHOICE, &colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "print",
		.operands = "FILE",
		.help = help,
		.options = options,
		.fewest = 1,
		.most = 1,
		.missing = "which recording? e.g. heapscope print server.hs.gz",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);

	struct hs_error error = {{0}};
	struct hs_profile *profile = hs_profile_load(argv[first], &error);
	if (profile == NULL) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	struct hs_sites sites = {0};
	if (hs_suppress(&suppress, profile, &suppressions, &error) != 0 ||
	    hs_sites_make(profile, raw, &sites, &error) != 0) {
		hs_notice(error.text);
		hs_suppressions_free(&suppressions);
		hs_profile_free(profile);
		return HS_EXIT_DATA;
	}
	/* the report says it too; whoever sends that to a file is to see it here */
	if (profile->facts.warning && !isatty(STDOUT_FILENO))
		hs_message("warning: %s: %s", argv[first], profile->facts.warning);

	struct hs_report report = {
		.profile = profile,
		.sites = &sites,
		.path = argv[first],
		.depth = depth,
		.raw = raw,
		.columns = hs_terminal_columns(STDOUT_FILENO),
		.utf8 = hs_terminal_utf8(),
		.rows = rows != UINT64_MAX ? rows
			: json             ? 0
					   : 10,
	};
	struct hs_text text = {0};
	if (json)
		hs_report_json(&text, &report);
	else
		hs_report_text(&text, &report);
	if (!json && !hs_terminal_colour(STDOUT_FILENO, (enum hs_colour)colour))
		hs_text_strip_colour(&text);
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	hs_sites_free(&sites);
	hs_profile_free(profile);
	hs_suppressions_free(&suppressions);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}
