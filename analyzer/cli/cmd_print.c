/* heapscope print: the report of a recording. */
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hiding.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/report_shown.h"
#include "cli/terminal.h"

#include <unistd.h>

static const char help[] =
	"Shows what a recording holds: how large the heap was and when, then the lines of the\n"
	"program's own code that held the most at the peak, allocated most often, allocated in vain\n"
	"(temporary: freed before the thread allocated again), and never freed; then their stacks.\n"
	"Bytes are those that the program asked for.\n"
	"\n"
	"With filters the values are the selection's share of the whole program's: the peak stays\n"
	"the moment at which the whole heap was largest, and what was left out is shown beside.\n"
	"\n"
	"Works on a recording that is still being written, and on one that was cut off.\n"
	"Exit codes: 0; 1 if the file cannot be read or is no recording; 2 for usage.";

struct arguments {
	int colour, raw, json, pager, list_hidden, sort;
	uint64_t rows, depth;
	unsigned views; /* bits of enum hs_view */
	struct hs_filter_arguments filters;
	struct hs_hiding_arguments hidden;
	struct hs_suppress suppress;
};

static int print(const struct arguments *arguments, const char *path, const struct hs_filter *filter,
		 const struct hs_hiding *hiding)
{
	/* never closed: the process ends, which gives memory back faster */
	static struct hs_opened opened;
	static struct hs_showing showing;
	static struct hs_groups groups;
	struct hs_text text = {0};
	/* the tables of sites and their stacks show few of them, and not all that can be counted */
	bool few = !arguments->json && !arguments->views && arguments->sort != HS_METRIC_LIFETIME;
	int result = few ? hs_open_begin(&opened, path, hiding, filter, &arguments->suppress, arguments->raw,
					 &showing, &groups)
			 : hs_open(&opened, path, hiding, filter, &arguments->suppress, arguments->raw);
	if (result != 0)
		return HS_EXIT_DATA;
	struct hs_report report = {
		.profile = opened.profile,
		.sites = &opened.sites,
		.showing = few ? &showing : NULL,
		.groups = few ? &groups : NULL,
		.hiding = hiding,
		.path = path,
		.depth = arguments->depth,
		.raw = arguments->raw,
		.views = arguments->views,
		.sorted = arguments->sort >= 0,
		.sort = arguments->sort >= 0 ? (enum hs_metric)arguments->sort : HS_METRIC_PEAK,
		.columns = hs_terminal_columns(STDOUT_FILENO),
		.utf8 = hs_terminal_utf8(),
		.rows = arguments->rows != UINT64_MAX ? arguments->rows
			: arguments->json             ? 0
						      : 10,
	};
	if (arguments->json)
		hs_report_json(&text, &report);
	else
		hs_report_text(&text, &report);
	if (arguments->json)
		result = hs_write_out(&text, stdout);
	else
		result = hs_page(&text, arguments->pager, (enum hs_colour)arguments->colour);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

static int make_and_print(const struct arguments *arguments, const char *path)
{
	struct hs_filter filter;
	struct hs_hiding hiding;
	if (hs_hiding_make(&hiding, &arguments->hidden, "print") != 0)
		return HS_EXIT_USAGE;
	int result = HS_EXIT_USAGE;
	if (arguments->list_hidden) {
		result = hs_hiding_list(&hiding);
	} else if (path == NULL) {
		hs_message("print: which recording? e.g. heapscope print server.hs.gz");
		hs_message("see \"heapscope print --help\"");
	} else if (hs_filter_make(&filter, &arguments->filters, "print") == 0) {
		result = print(arguments, path, &filter, &hiding);
		hs_filter_free(&filter);
	}
	hs_hiding_free(&hiding);
	return result;
}

int hs_command_print(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	static const char *const sorts[] = {
		"peak",   "allocated", "calls",    "temporary", /* as enum hs_metric */
		"leaked", "moved",     "lifetime", NULL};
	int views[HS_VIEWS] = {0};
	struct arguments arguments = {
		.pager = 1,
		.sort = -1,
		.rows = UINT64_MAX,
		.depth = 40,
		.filters = HS_FILTER_ARGUMENTS,
	};
	const struct hs_option options[] = {
		{0, "sort", HS_OPTION_CHOICE, &arguments.sort, 0, "METRIC", sorts,
		 "one table, by peak, allocated, calls, temporary, leaked, moved or lifetime; "
		 "the views below go by it too"},
		{'n', "number", HS_OPTION_NUMBER, &arguments.rows, 0, "N", NULL,
		 "rows of each table: 10; 0 shows all"},
		{0, "depth", HS_OPTION_NUMBER, &arguments.depth, 0, "N", NULL,
		 "frames of each stack, levels of a tree: 40; 0 shows all"},
		{0, "raw", HS_OPTION_SET, &arguments.raw, 1, NULL, NULL,
		 "show the frames of allocators and containers, which are folded into their callers "
		 "otherwise"},
		HS_SUPPRESS_OPTIONS(arguments.suppress),
		{0, "json", HS_OPTION_SET, &arguments.json, 1, NULL, NULL,
		 "write JSON with raw integers (docs/json.md): all sites, or the N largest with -n"},
		{0, "color", HS_OPTION_CHOICE, &arguments.colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0, "no-pager", HS_OPTION_SET, &arguments.pager, 0, NULL, NULL,
		 "do not show it in $PAGER (or less) on a terminal"},
		{0, "", HS_OPTION_TITLE, NULL, 0, NULL, NULL, "views, instead of the tables of sites"},
		{0, "tree", HS_OPTION_SET, &views[HS_VIEW_TREE], 1, NULL, NULL,
		 "who calls what, from main down to the allocating functions"},
		{0, "callers", HS_OPTION_SET, &views[HS_VIEW_CALLERS], 1, NULL, NULL,
		 "the allocating functions, and who called them"},
		{0, "threads", HS_OPTION_SET, &views[HS_VIEW_THREADS], 1, NULL, NULL,
		 "which thread allocated how much, and where most of it"},
		{0, "sizes", HS_OPTION_SET, &views[HS_VIEW_SIZES], 1, NULL, NULL,
		 "blocks by size, with the sites that allocate most of them"},
		{0, "lifetimes", HS_OPTION_SET, &views[HS_VIEW_LIFETIMES], 1, NULL, NULL,
		 "blocks by how long they lived, likewise"},
		{0, "functions", HS_OPTION_SET, &views[HS_VIEW_FUNCTIONS], 1, NULL, NULL,
		 "what each function allocated itself, and with all it called"},
		{0, "files", HS_OPTION_SET, &views[HS_VIEW_FILES], 1, NULL, NULL,
		 "likewise each source file"},
		{0, "modules", HS_OPTION_SET, &views[HS_VIEW_MODULES], 1, NULL, NULL,
		 "likewise the program and each library"},
		{0, "crates", HS_OPTION_SET, &views[HS_VIEW_CRATES], 1, NULL, NULL,
		 "likewise each Rust crate"},
		HS_FILTER_OPTIONS(arguments.filters),
		{0, "", HS_OPTION_TITLE, NULL, 0, NULL, NULL, "hidden frames"},
		HS_HIDING_OPTIONS(arguments.hidden),
		{0, "list-hidden", HS_OPTION_SET, &arguments.list_hidden, 1, NULL, NULL,
		 "list the rules that hide frames; no FILE is needed"},
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope print server.hs.gz", "where the bytes went"},
		{"heapscope print -n 0 --json server.hs.gz", "all of it, for programs"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.examples = examples,
		.command = "print",
		.operands = "FILE",
		.help = help,
		.options = options,
		.most = 1,
	};
	int first = hs_options_parse(&usage, argc, argv);
	int result = hs_options_exit_code(first);
	for (unsigned i = 0; i < HS_VIEWS; i++)
		arguments.views |= views[i] ? 1u << i : 0;
	if (first >= 0)
		result = make_and_print(&arguments, first < argc ? argv[first] : NULL);
	hs_filter_arguments_free(&arguments.filters);
	hs_hiding_arguments_free(&arguments.hidden);
	return result;
}
