/* heapscope export: a recording in another tool's format. */
#include "base/names.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hiding.h"
#include "cli/nearest.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/page_file.h"
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

static int export_profile(struct hs_profile *profile, const struct hs_exporter *exporter,
			  const struct hs_export_options *options, const char *path)
{
	struct hs_error error = {{0}};
	struct hs_output output;
	if (hs_output_open(&output, path, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		profile->progress = NULL; /* it would stand in the middle of it */
	int failed = exporter->write(profile, options, output.stream, &error);
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
	if (strcmp(path, "-") != 0)
		tell_next(exporter, path);
	return HS_EXIT_OK;
}

int hs_command_export(int argc, char **argv)
{
	const char *format = NULL, *path = NULL, *metric_name = NULL;
	const char *formats[32] = {0}, *metrics[HS_METRICS + 1] = {0};
	for (size_t i = 0; i + 1 < sizeof(formats) / sizeof(formats[0]) && hs_exporters[i].name; i++)
		formats[i] = hs_exporters[i].name;
	for (size_t i = 0; i < HS_METRICS; i++)
		metrics[i] = hs_metrics[i].name;
	int raw = 0, list = 0;
	struct hs_filter_arguments filters = HS_FILTER_ARGUMENTS;
	struct hs_hiding_arguments hidden = {0};
	const struct hs_option options[] = {
		{'f', "format", HS_OPTION_TEXT, &format, 0, "NAME", formats, "the format; --list shows them"},
		{'o', "output", HS_OPTION_TEXT, &path, 0, "FILE", NULL,
		 "write to FILE; - is standard output"},
		{'m', "metric", HS_OPTION_TEXT, &metric_name, 0, "NAME", metrics,
		 "what folded counts: peak (the default), allocated, calls, temporary, leaked, moved, "
		 "lifetime"},
		{0, "raw", HS_OPTION_SET, &raw, 1, NULL, NULL,
		 "keep the frames of allocators and containers"},
		{0, "list", HS_OPTION_SET, &list, 1, NULL, NULL, "list the formats"},
		HS_HIDING_OPTIONS(hidden),
		HS_FILTER_OPTIONS(filters),
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope export --format dhat server.hs.gz", "for DHAT's viewer; writes server.dhat.json"},
		{"heapscope export --format folded -o - server.hs.gz | flamegraph.pl > server.svg",
		 "a flame graph of the peak"},
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
	if (first < 0)
		return hs_options_exit_code(first);
	if (list)
		return list_formats();
	if (first == argc) {
		hs_message("export: which recording? e.g. heapscope export --format dhat server.hs.gz");
		return HS_EXIT_USAGE;
	}
	const struct hs_exporter *exporter = choose_exporter(format);
	if (exporter == NULL)
		return HS_EXIT_USAGE;
	struct hs_export_options export_options = {.raw = raw};
	if (choose_metric(metric_name, exporter, &export_options.metric) != 0)
		return HS_EXIT_USAGE;
	if (path && strcmp(path, "-") == 0 && exporter->binary && isatty(STDOUT_FILENO)) {
		hs_message("export: %s is binary and standard output is a terminal; name a file with -o, or "
			   "pipe it",
			   exporter->name);
		return HS_EXIT_USAGE;
	}

	struct hs_filter filter;
	struct hs_hiding hiding;
	struct hs_error error = {{0}};
	if (hs_filter_make(&filter, &filters, "export") != 0)
		return HS_EXIT_USAGE;
	if (hs_hiding_make(&hiding, &hidden, "export") != 0) {
		hs_filter_free(&filter);
		return HS_EXIT_USAGE;
	}
	hs_filter_arguments_free(&filters);
	hs_hiding_arguments_free(&hidden);
	struct hs_profile *profile = hs_open_profile(argv[first], &hiding);
	hs_hiding_free(&hiding);
	if (profile == NULL) {
		hs_filter_free(&filter);
		return HS_EXIT_DATA;
	}
	profile->filter = &filter;
	if (exporter->one_metric && metric_name == NULL)
		export_options.metric = hs_metric_first(&profile->facts);
	if (hs_export_check(exporter, profile, &export_options, &error) != 0) {
		hs_message("export: \"%s\": %s", argv[first], error.text);
		hs_profile_free(profile);
		hs_filter_free(&filter);
		return HS_EXIT_DATA;
	}
	struct hs_suppressions suppressions = {0};
	char *page = NULL;
	if (exporter->needs_page) {
		page = hs_page_read(&export_options.page_bytes, &error);
		if (page == NULL ||
		    hs_suppress(&(struct hs_suppress){0}, profile, &suppressions, &error) != 0) {
			hs_notice(error.text);
			free(page);
			hs_suppressions_free(&suppressions);
			hs_profile_free(profile);
			hs_filter_free(&filter);
			return HS_EXIT_DATA;
		}
	}
	export_options.page = page;
	export_options.path = argv[first];
	const char *metric = exporter->one_metric ? hs_metrics[export_options.metric].name : NULL;
	char *named = path ? NULL : default_output(argv[first], metric, exporter->suffix);
	int result = export_profile(profile, exporter, &export_options, path ? path : named);
	free(named);
	free(page);
	hs_profile_free(profile);
	hs_suppressions_free(&suppressions);
	hs_filter_free(&filter);
	return result;
}
