/* heapscope export: a recording in another tool's format. */
#include "base/names.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/flame_options.h"
#include "cli/hiding.h"
#include "cli/nearest.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/page_file.h"
#include "cli/report.h"
#include "cli/suppress.h"
#include "cli/terminal.h"
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Writes a recording in the format of another tool, for its viewer. Without -o the file is\n"
	"named after the recording and stands in the current directory: server.hs.gz becomes\n"
	"server.dhat.json, or server.peak.folded. It appears when it is complete; until then an\n"
	"older one stays.\n"
	"\n"
	"Exit codes: 0; 1 if the file cannot be read or written; 2 for usage.";

static int list_formats(void)
{
	struct hs_text text = {0};
	for (const struct hs_exporter *exporter = hs_exporters; exporter->name; exporter++)
		hs_text_addf(&text, "%-12s %s (NAME%s%s)\n", exporter->name, exporter->help,
			     exporter->one_metric ? ".METRIC" : "", exporter->suffix);
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

static const struct hs_exporter *choose_exporter(const char *format)
{
	const struct hs_exporter *exporter = format ? hs_exporter_find(format) : NULL;
	if (exporter)
		return exporter;
	struct hs_nearest nearest = {0};
	struct hs_text names = {0};
	for (exporter = hs_exporters; exporter->name; exporter++) {
		hs_text_addf(&names, "%s%s", names.count ? ", " : "", exporter->name);
		if (format)
			hs_nearest_offer(&nearest, format, exporter->name);
	}
	if (format == NULL)
		hs_message("export: which format? --format NAME with one of %s", names.bytes);
	else if (nearest.name)
		hs_message("export: unknown format \"%s\"; did you mean %s?", format, nearest.name);
	else
		hs_message("export: unknown format \"%s\"; there are %s", format, names.bytes);
	hs_message("see \"heapscope export --list\"");
	hs_text_free(&names);
	return NULL;
}

/* NULL: the default. Returns -1, after a message, if there is no such metric or the format has them all. */
static int choose_metric(const char *name, const struct hs_exporter *exporter, enum hs_metric *metric)
{
	*metric = HS_METRIC_PEAK;
	if (name == NULL)
		return 0;
	if (!hs_metric_find(name, metric)) {
		struct hs_nearest nearest = {0};
		struct hs_text names = {0};
		for (unsigned i = 0; i < HS_METRICS; i++) {
			hs_text_addf(&names, "%s%s", i ? ", " : "", hs_metrics[i].name);
			hs_nearest_offer(&nearest, name, hs_metrics[i].name);
		}
		if (nearest.name)
			hs_message("export: unknown metric \"%s\"; did you mean %s?", name, nearest.name);
		else
			hs_message("export: unknown metric \"%s\"; there are %s", name, names.bytes);
		hs_text_free(&names);
		return -1;
	}
	if (!exporter->one_metric) {
		hs_message("export: --metric is for formats that hold one number a stack; %s holds more",
			   exporter->name);
		return -1;
	}
	return 0;
}

/* "dir/server.hs.gz", "peak" and ".folded" give "server.peak.folded". metric may be NULL. malloc'ed. */
static char *default_output(const char *path, const char *metric, const char *suffix)
{
	const char *name = hs_last_component(path);
	size_t length = strlen(name);
	if (length > 6 && strcmp(name + length - 6, ".hs.gz") == 0)
		length -= 6;
	struct hs_text text = {0};
	hs_text_add(&text, "");
	hs_text_add_bytes(&text, name, length);
	if (metric)
		hs_text_addf(&text, ".%s", metric);
	hs_text_add(&text, suffix);
	return text.bytes;
}

static const char *dhat_viewer(void)
{
	static const char *const places[] = {"/usr/libexec/valgrind/dh_view.html",
					     "/usr/lib/valgrind/dh_view.html",
					     "/usr/local/libexec/valgrind/dh_view.html"};
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], R_OK) == 0)
			return places[i];
	}
	return NULL;
}

/* Where the file is and how to open it. */
static void tell_next(const struct hs_exporter *exporter, const char *output)
{
	if (exporter->next) {
		hs_message("wrote %s; next: %s %s", output, exporter->next, output);
		return;
	}
	if (strcmp(exporter->name, "dhat") != 0) {
		hs_message("wrote %s", output);
		return;
	}
	const char *viewer = dhat_viewer();
	if (viewer)
		hs_message("wrote %s; next: open %s in a browser and load it there", output, viewer);
	else
		hs_message(
			"wrote %s; next: load it in DHAT's viewer, dh_view.html (Debian: package valgrind, "
			"/usr/libexec/valgrind/dh_view.html)",
			output);
}

/* Folded stacks have no place for it. */
static void tell_suppressed(const struct hs_export_options *options)
{
	if (options->totals->suppressed_blocks)
		hs_message("not among what leaked: %s in %s suppressed (\"heapscope suppressions %s\" lists "
			   "the rules)",
			   hs_size(options->totals->suppressed_bytes).text,
			   hs_counted(options->totals->suppressed_blocks, "block").text, options->path);
}

/* The program's own document, the same as "heapscope print --json" writes. */
static int write_json(struct hs_profile *profile, const struct hs_export_options *options,
		      const struct hs_hiding *hiding, FILE *output, struct hs_error *error)
{
	struct hs_sites sites;
	struct hs_text text = {0};
	if (hs_sites_make(profile, options->raw, &sites, error) != 0)
		return -1;
	struct hs_report report = {.profile = profile,
				   .sites = &sites,
				   .hiding = hiding,
				   .path = options->path,
				   .raw = options->raw};
	hs_report_json(&text, &report);
	fwrite(text.bytes, 1, text.count, output);
	hs_text_free(&text);
	hs_sites_free(&sites);
	return 0;
}

static int export_profile(struct hs_profile *profile, const struct hs_exporter *exporter,
			  const struct hs_export_options *options, const struct hs_hiding *hiding,
			  const char *path)
{
	struct hs_error error = {{0}};
	struct hs_output output;
	if (hs_output_open(&output, path, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		profile->progress = NULL; /* it would stand in the middle of it */
	int failed = exporter->write ? exporter->write(profile, options, output.stream, &error)
				     : write_json(profile, options, hiding, output.stream, &error);
	hs_progress_end();
	if (failed) {
		hs_message("\"%s\" was not written: %s", path, error.text);
		hs_output_discard(&output);
		return HS_EXIT_DATA;
	}
	if (hs_output_commit(&output, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (profile->facts.warning)
		hs_message("warning: %s", profile->facts.warning);
	tell_suppressed(options);
	if (strcmp(path, "-") != 0)
		tell_next(exporter, path);
	return HS_EXIT_OK;
}

struct arguments {
	const char *format, *output, *metric, *against;
	int raw, list;
	struct hs_filter_arguments filters;
	struct hs_hiding_arguments hidden;
	struct hs_flame_arguments flame;
	struct hs_suppress suppress;
};

/* A recording to be exported: both of them, if two are compared. */
struct input {
	struct hs_profile *profile;
	struct hs_suppressions suppressions;
};

static void unload(struct input *input)
{
	hs_profile_free(input->profile);
	hs_suppressions_free(&input->suppressions);
}

/* Whether what is suppressed is told apart: other tools' formats hold what is live, whatever it is. */
static bool knows_suppressions(const struct hs_exporter *exporter, const struct hs_export_options *options)
{
	bool leaks = exporter->one_metric && options->metric == HS_METRIC_LEAKED;
	return leaks || exporter->needs_page || !exporter->write;
}

/* Loads a recording that tells what the export needs. Returns 0, or -1 after a message. */
static int load(struct input *input, const char *path, const struct hs_exporter *exporter,
		const struct arguments *arguments, const struct hs_hiding *hiding,
		const struct hs_filter *filter, struct hs_export_options *options)
{
	struct hs_error error = {{0}};
	struct hs_profile *profile = input->profile = hs_open_profile(path, hiding);
	if (profile == NULL)
		return -1;
	profile->filter = filter;
	if (exporter->one_metric && arguments->metric == NULL && path == options->path)
		options->metric = hs_metric_first(&profile->facts);
	if (hs_export_check(exporter, profile, options, &error) != 0) {
		hs_message("export: \"%s\": %s", path, error.text);
		return -1;
	}
	if (knows_suppressions(exporter, options) &&
	    hs_suppress(&arguments->suppress, profile, &input->suppressions, &error) != 0) {
		hs_notice(error.text);
		return -1;
	}
	return 0;
}

static int export_loaded(struct hs_profile *profile, const struct hs_exporter *exporter,
			 const struct arguments *arguments, const struct hs_hiding *hiding,
			 const struct hs_filter *filter, struct hs_export_options *options)
{
	struct hs_error error = {{0}};
	struct hs_text selection = {0};
	char *page = exporter->needs_page ? hs_page_read(&options->page_bytes, &error) : NULL;
	if (page == NULL && exporter->needs_page) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	options->page = page;
	if (!hs_filter_selects_all(filter)) {
		hs_filter_describe(&selection, filter);
		options->selection = selection.bytes;
	}
	const char *metric = exporter->one_metric ? hs_metrics[options->metric].name : NULL;
	char *named = default_output(options->path, metric, exporter->suffix);
	int result = export_profile(profile, exporter, options, hiding,
				    arguments->output ? arguments->output : named);
	free(named);
	free(page);
	hs_text_free(&selection);
	return result;
}

static int export_file(const struct hs_exporter *exporter, const struct arguments *arguments,
		       const struct hs_hiding *hiding, const struct hs_filter *filter,
		       struct hs_export_options *options)
{
	struct input new = {0}, old = {0};
	int result = HS_EXIT_DATA;
	if (load(&new, options->path, exporter, arguments, hiding, filter, options) == 0 &&
	    (!arguments->against ||
	     load(&old, arguments->against, exporter, arguments, hiding, filter, options) == 0)) {
		options->baseline = old.profile;
		result = export_loaded(new.profile, exporter, arguments, hiding, filter, options);
	}
	unload(&old);
	unload(&new);
	return result;
}

/* What can be said before a file is read. Returns 0, or -1 after a message. */
static int check_usage(const struct arguments *arguments, const struct hs_exporter *exporter,
		       struct hs_export_options *options)
{
	const char *output = arguments->output;
	if (choose_metric(arguments->metric, exporter, &options->metric) != 0 ||
	    hs_flame_options_make(&options->flame, &arguments->flame, exporter, arguments->against) != 0)
		return -1;
	if (arguments->against && !exporter->compares) {
		hs_message("export: --against is for svg and html; %s holds one recording", exporter->name);
		return -1;
	}
	if ((arguments->suppress.file || arguments->suppress.off) && !knows_suppressions(exporter, options)) {
		hs_message("export: suppressions are for html, json, and svg and folded with --metric "
			   "leaked; here %s holds what is live, suppressed or not",
			   exporter->name);
		return -1;
	}
	if (output && strcmp(output, "-") == 0 && exporter->binary && isatty(STDOUT_FILENO)) {
		hs_message("export: %s is binary and standard output is a terminal; name a file with -o, or "
			   "pipe it",
			   exporter->name);
		return -1;
	}
	return 0;
}

static int export_with(const struct arguments *arguments, const char *path)
{
	struct hs_filter filter;
	struct hs_hiding hiding;
	struct hs_counts totals = {0};
	struct hs_export_options options = {
		.raw = arguments->raw, .path = path, .baseline_path = arguments->against, .totals = &totals};
	if (arguments->list)
		return list_formats();
	if (path == NULL) {
		hs_message("export: which recording? e.g. heapscope export --format dhat server.hs.gz");
		return HS_EXIT_USAGE;
	}
	const struct hs_exporter *exporter = choose_exporter(arguments->format);
	if (exporter == NULL || check_usage(arguments, exporter, &options) != 0 ||
	    hs_filter_make(&filter, &arguments->filters, "export") != 0)
		return HS_EXIT_USAGE;
	int result = HS_EXIT_USAGE;
	if (hs_hiding_make(&hiding, &arguments->hidden, "export") == 0) {
		result = export_file(exporter, arguments, &hiding, &filter, &options);
		hs_hiding_free(&hiding);
	}
	hs_filter_free(&filter);
	return result;
}

int hs_command_export(int argc, char **argv)
{
	struct arguments arguments = {.filters = HS_FILTER_ARGUMENTS};
	const char *formats[32] = {0}, *metrics[HS_METRICS + 1] = {0};
	for (size_t i = 0; i + 1 < sizeof(formats) / sizeof(formats[0]) && hs_exporters[i].name; i++)
		formats[i] = hs_exporters[i].name;
	for (size_t i = 0; i < HS_METRICS; i++)
		metrics[i] = hs_metrics[i].name;
	const struct hs_option options[] = {
		{'f', "format", HS_OPTION_TEXT, &arguments.format, 0, "NAME", formats,
		 "the format; --list shows them"},
		{'o', "output", HS_OPTION_TEXT, &arguments.output, 0, "FILE", NULL,
		 "write to FILE; - is standard output"},
		{'m', "metric", HS_OPTION_TEXT, &arguments.metric, 0, "NAME", metrics,
		 "what svg and folded count: peak (the default), allocated, calls, temporary, leaked, moved, "
		 "lifetime"},
		{'a', "against", HS_OPTION_TEXT, &arguments.against, 0, "OLD", NULL,
		 "svg and html: compare with this older recording; svg is a differential flame graph then"},
		{0, "raw", HS_OPTION_SET, &arguments.raw, 1, NULL, NULL,
		 "keep the frames of allocators and containers"},
		{0, "list", HS_OPTION_SET, &arguments.list, 1, NULL, NULL, "list the formats"},
		{0, "", HS_OPTION_TITLE, NULL, 0, NULL, NULL, "flame graphs (svg)"},
		{0, "widths", HS_OPTION_CHOICE, &arguments.flame.widths, 0, "WHICH", hs_flame_widths,
		 "with --against: a box is as wide as it is now (new, the default), was (old), or larger"},
		{0, "chart", HS_OPTION_SET, &arguments.flame.chart, 1, NULL, NULL,
		 "stacks in the order of time: a flame chart; best with --thread if there are several"},
		{0, "reverse", HS_OPTION_SET, &arguments.flame.reverse, 1, NULL, NULL,
		 "from the allocating functions to their callers"},
		{0, "inverted", HS_OPTION_SET, &arguments.flame.inverted, 1, NULL, NULL,
		 "the first row on top: an icicle graph"},
		{0, "min-width", HS_OPTION_TEXT, &arguments.flame.min_width, 0, "PERCENT", NULL,
		 "join boxes that are narrower, of the whole: 0.01 if not given"},
		{0, "palette", HS_OPTION_CHOICE, &arguments.flame.palette, 0, "NAME", hs_flame_palettes,
		 "what colours tell: code (own or library, the default), module, rust (crates); mem and hot "
		 "tell nothing"},
		{0, "title", HS_OPTION_TEXT, &arguments.flame.title, 0, "TEXT", NULL, "another title"},
		{0, "no-javascript", HS_OPTION_SET, &arguments.flame.no_javascript, 1, NULL, NULL,
		 "a picture only, without zoom and search"},
		HS_FILTER_OPTIONS(arguments.filters),
		{0, "", HS_OPTION_TITLE, NULL, 0, NULL, NULL, "leaks (html, json, --metric leaked)"},
		HS_SUPPRESS_OPTIONS(arguments.suppress),
		{0, "", HS_OPTION_TITLE, NULL, 0, NULL, NULL, "hidden frames"},
		HS_HIDING_OPTIONS(arguments.hidden),
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope export --format dhat server.hs.gz", "for DHAT's viewer; writes server.dhat.json"},
		{"heapscope export --format svg server.hs.gz", "a flame graph of the peak: server.peak.svg"},
		{"heapscope export --format svg --against server.old.hs.gz server.hs.gz", "what changed"},
		{"heapscope export --format svg --chart --metric leaked server.hs.gz",
		 "when the leaks came about, and where"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.examples = examples,
		.command = "export",
		.operands = "--format NAME FILE",
		.help = help,
		.options = options,
		.most = 1,
	};
	int first = hs_options_parse(&usage, argc, argv);
	int result = hs_options_exit_code(first);
	if (first >= 0)
		result = export_with(&arguments, first < argc ? argv[first] : NULL);
	hs_filter_arguments_free(&arguments.filters);
	hs_hiding_arguments_free(&arguments.hidden);
	return result;
}
