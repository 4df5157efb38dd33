/* heapscope diff: two recordings against each other. */
#include "cli/cli.h"

#include "base/memory.h"
#include "cli/diff_report.h"
#include "cli/filters.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/suppress.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Compares two recordings: the totals, then which functions of the program's own code grew,\n"
	"appeared, shrank or vanished, most first. One NAME stands for NAME.old.hs.gz and\n"
	"NAME.hs.gz, which \"heapscope run\" leaves after two runs.\n"
	"\n"
	"What is the same is told by names (module, function, file), so that a rebuild, or lines\n"
	"that moved, change nothing. With --stacks all frames of a stack have to agree.\n"
	"\n"
	"Exit codes: 0; 1 if a file cannot be read or is no recording; 2 for usage.";

struct side {
	char *path;
	struct hs_opened opened;
};

static char *make_path(const char *name, const char *tail)
{
	static const char suffix[] = ".hs.gz";
	struct hs_text text = {0};
	size_t count = strlen(name);
	if (count > strlen(suffix) && strcmp(name + count - strlen(suffix), suffix) == 0)
		count -= strlen(suffix);
	hs_text_add_bytes(&text, name, count);
	hs_text_add(&text, tail);
	return text.bytes;
}

static struct hs_report make_report(const struct side *side, uint64_t depth, bool raw)
{
	return (struct hs_report){
		.profile = side->opened.profile,
		.sites = &side->opened.sites,
		.path = side->path,
		.depth = depth,
		.columns = hs_terminal_columns(STDOUT_FILENO),
		.raw = raw,
		.utf8 = hs_terminal_utf8(),
	};
}

/* sort: of enum hs_metric, or -1: the first that both files tell. Returns -1 after a message. */
static int choose_metric(struct hs_diff_report *report, int sort)
{
	uint32_t unknown = hs_diff_unknown(report);
	int first = 0;
	if (report->old.profile->facts.subject != report->new.profile->facts.subject) {
		hs_message("diff: one of the files counts allocations, the other a profiler's samples: they "
			   "cannot "
			   "be compared");
		return -1;
	}
	while (first < HS_DIFF_METRICS && unknown & hs_metrics[first].told)
		first++;
	if (first == HS_DIFF_METRICS) {
		hs_message("diff: the two files tell nothing that can be compared");
		return -1;
	}
	if (sort >= 0 && unknown & hs_metrics[sort].told) {
		hs_message("diff: --sort %s is not known of both files; %s is", hs_metrics[sort].name,
			   hs_metrics[first].name);
		return -1;
	}
	report->metric = (enum hs_metric)(sort >= 0 ? sort : first);
	return 0;
}

static int show(struct hs_diff_report *report, bool json, bool pager, enum hs_colour colour)
{
	struct hs_diff functions, stacks = {0};
	struct hs_text text = {0};
	hs_diff_make(&functions, &report->old_side, &report->new_side, HS_DIFF_BY_FUNCTION);
	if (report->stacks)
		hs_diff_make(&stacks, &report->old_side, &report->new_side, HS_DIFF_BY_STACK);
	report->work = &functions;
	report->diff = report->stacks ? &stacks : &functions;
	if (json)
		hs_diff_json(&text, report);
	else
		hs_diff_text(&text, report);
	int result = json ? hs_write_out(&text, stdout) : hs_page(&text, pager, colour);
	hs_text_free(&text);
	hs_diff_free(&functions);
	hs_diff_free(&stacks);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

int hs_command_diff(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	static const char *const sorts[] = {"peak",      "allocated", "calls", /* as enum hs_metric */
					    "temporary", "leaked",    "moved", NULL};
	int colour = HS_COLOUR_AUTO, raw = 0, json = 0, stacks = 0, sort = -1;
	int pager = 1;
	uint64_t rows = UINT64_MAX, depth = 40;
	struct hs_filter_arguments filters = HS_FILTER_ARGUMENTS;
	struct hs_hiding_arguments hidden = {0};
	struct hs_suppress suppress = {0};
	const struct hs_option options[] = {
		{0, "sort", HS_OPTION_CHOICE, &sort, 0, "METRIC", sorts,
		 "what is compared: peak (the default; of files that do not tell it, the first that they "
		 "tell), "
		 "allocated, calls, temporary, leaked, moved"},
		{'n', "number", HS_OPTION_NUMBER, &rows, 0, "N", NULL, "rows of each table: 10; 0 shows all"},
		{0, "stacks", HS_OPTION_SET, &stacks, 1, NULL, NULL,
		 "compare whole stacks and show them, not functions of the program's own code"},
		{0, "depth", HS_OPTION_NUMBER, &depth, 0, "N", NULL, "frames of each stack: 40; 0 shows all"},
		{0, "raw", HS_OPTION_SET, &raw, 1, NULL, NULL,
		 "keep the frames of allocators and containers, which are folded into their callers "
		 "otherwise"},
		HS_HIDING_OPTIONS(hidden),
		HS_SUPPRESS_OPTIONS(suppress),
		{0, "json", HS_OPTION_SET, &json, 1, NULL, NULL,
		 "write JSON with raw integers (docs/json.md): all, or the N that changed most with -n"},
		{0, "color", HS_OPTION_CHOICE, &colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0, "no-pager", HS_OPTION_SET, &pager, 0, NULL, NULL,
		 "do not show it in $PAGER (or less) on a terminal"},
		HS_FILTER_OPTIONS(filters),
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope diff server", "the last run of ./server against the one before"},
		{"heapscope diff --sort calls old.hs.gz new.hs.gz", "what is allocated more often"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.examples = examples,
		.command = "diff",
		.operands = "OLD NEW | NAME",
		.help = help,
		.options = options,
		.fewest = 1,
		.most = 2,
		.missing = "which recordings? e.g. heapscope diff server.old.hs.gz server.hs.gz",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	struct hs_filter filter;
	struct hs_hiding hiding;
	int wrong = hs_filter_make(&filter, &filters, "diff");
	if (wrong == 0 && hs_hiding_make(&hiding, &hidden, "diff") != 0) {
		hs_filter_free(&filter);
		wrong = -1;
	}
	hs_filter_arguments_free(&filters);
	hs_hiding_arguments_free(&hidden);
	if (wrong)
		return HS_EXIT_USAGE;
	bool one = first + 1 == argc;
	struct side old = {.path = one ? make_path(argv[first], ".old.hs.gz") : hs_copy_string(argv[first])};
	struct side new = {.path = one ? make_path(argv[first], ".hs.gz") : hs_copy_string(argv[first + 1])};
	int code = HS_EXIT_DATA;
	if (hs_open(&old.opened, old.path, &hiding, &filter, &suppress, raw) == 0 &&
	    hs_open(&new.opened, new.path, &hiding, &filter, &suppress, raw) == 0) {
		struct hs_diff_report report = {
			.old = make_report(&old, depth, raw),
			.new = make_report(&new, depth, raw),
			.old_side = {old.opened.profile, &old.opened.sites},
			.new_side = {new.opened.profile, &new.opened.sites},
			.rows = rows != UINT64_MAX ? rows
				: json             ? 0
						   : 10,
			.stacks = stacks,
		};
		if (choose_metric(&report, sort) == 0)
			code = show(&report, json, pager, (enum hs_colour)colour);
	}
	hs_open_close(&old.opened);
	hs_open_close(&new.opened);
	free(old.path);
	free(new.path);
	hs_filter_free(&filter);
	hs_hiding_free(&hiding);
	return code;
}
