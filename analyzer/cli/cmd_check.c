/* heapscope check: recordings against budgets, for CI. */
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/terminal.h"

static const char help[] =
	"Checks recordings against budgets: one line a budget, and below each that is exceeded the\n"
	"lines of the program's own code behind it. Sizes are bytes or have a unit (10MiB, 1.5G;\n"
	"K, M and G are KiB, MiB and GiB). Budgets can stand in a file, also for parts of the\n"
	"program (docs/check.md).\n"
	"\n"
	"A recording that is cut off, damaged or has lost events fails, since its numbers are too\n"
	"low. Blocks that libc and the languages' runtimes keep on purpose are not leaked; what was\n"
	"suppressed is always said.\n"
	"\n"
	"Exit codes: 0 if all budgets are kept; 1 if one is exceeded, or if a file cannot be read or\n"
	"is incomplete; 2 for usage.";

int hs_command_check(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	static const struct hs_example examples[] = {
		{"heapscope check --max-peak 10MiB --max-temporary 5% server.hs.gz",
		 "limits for the whole program"},
		{"heapscope check --max-own-peak 1MiB --site '^cache_' server.hs.gz",
		 "a limit for what some functions hold"},
		{"heapscope check --against server.old.hs.gz --tolerance 2% server.hs.gz",
		 "nothing may have grown by more than 2%"},
		{"heapscope check --budgets heap.budgets --junit heap.xml server.hs.gz",
		 "budgets from a file, verdicts for a CI system"},
		{0},
	};
	struct hs_check_options check = {.rows = 5, .colour = HS_COLOUR_AUTO};
	const struct hs_option options[] = {
		{0, "budgets", HS_OPTION_TEXT, &check.file, 0, "FILE", NULL, "read budgets from FILE"},
		HS_CHECK_OPTIONS(check),
		{'n', "number", HS_OPTION_NUMBER, &check.rows, 0, "N", NULL,
		 "sites below a budget that is exceeded: 5; 0 shows all"},
		{0, "json", HS_OPTION_SET, &check.json, 1, NULL, NULL,
		 "write JSON with raw integers (docs/json.md)"},
		{0, "color", HS_OPTION_CHOICE, &check.colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "check",
		.operands = "FILE...",
		.help = help,
		.options = options,
		.fewest = 1,
		.most = -1,
		.missing = "which recording? e.g. heapscope check --max-leaked 0 server.hs.gz",
		.examples = examples,
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	struct hs_budgets budgets = {0};
	int code = hs_check_budgets(&check, "check", &budgets);
	if (code == 0)
		code = hs_check_recordings(&check, &budgets, argv + first, (size_t)(argc - first), stdout);
	hs_budgets_free(&budgets);
	return code;
}
