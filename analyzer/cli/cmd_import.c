/* heapscope import: another tool's file as a recording. */
#include "base/names.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Makes a recording of a file of heaptrack, of DHAT (valgrind's or dhat-rs's), or of folded\n"
	"stacks, such as a CPU profile's, for all the other commands. The format is told by the\n"
	"file's contents, which may be compressed by gzip or zstd. Without -o the recording is named\n"
	"after the file and stands in the current directory: heaptrack.server.42.zst becomes\n"
	"heaptrack.server.42.hs.gz. What a format does not hold is unknown in the recording, and not\n"
	"0. \"-\" is standard input.\n"
	"\n"
	"The numbers of folded stacks are taken for a profiler's samples, unless --metric, or a name\n"
	"like server.peak.folded, which \"heapscope export\" gives, says otherwise.\n"
	"\n"
	"Exit codes: 0; 1 if the file cannot be read or written; 2 for usage.";

static const struct hs_importer *choose_importer(const char *format)
{
	const struct hs_importer *importer = hs_importer_find(format);
	if (importer)
		return importer;
	struct hs_nearest nearest = {0};
	struct hs_text names = {0};
	for (importer = hs_importers; importer->name; importer++) {
		hs_text_addf(&names, "%s%s", names.count ? ", " : "", importer->name);
		hs_nearest_offer(&nearest, format, importer->name);
	}
	if (nearest.name)
		hs_message("import: unknown format \"%s\"; did you mean %s?", format, nearest.name);
	else
		hs_message("import: unknown format \"%s\"; there are %s", format, names.bytes);
	hs_text_free(&names);
	return NULL;
}

static int find_metric(const char *name, struct hs_import_options *options)
{
	options->samples = strcmp(name, "samples") == 0;
	if (options->samples || hs_metric_find(name, &options->metric))
		return 0;
	struct hs_nearest nearest = {0};
	struct hs_text names = {0};
	hs_text_add(&names, "samples");
	hs_nearest_offer(&nearest, name, "samples");
	for (unsigned i = 0; i < HS_METRICS; i++) {
		hs_text_addf(&names, ", %s", hs_metrics[i].name);
		hs_nearest_offer(&nearest, name, hs_metrics[i].name);
	}
	if (nearest.name)
		hs_message("import: unknown metric \"%s\"; did you mean %s?", name, nearest.name);
	else
		hs_message("import: unknown metric \"%s\"; there are %s", name, names.bytes);
	hs_text_free(&names);
	return -1;
}

static size_t without(const char *name, size_t length, const char *end)
{
	size_t bytes = strlen(end);
	return length > bytes && memcmp(name + length - bytes, end, bytes) == 0 ? length - bytes : length;
}

/* The name without what tells the format. */
static size_t stem_length(const char *name)
{
	static const char *const ends[] = {".gz", ".zst", ".json", ".folded", ".txt", ".out"};
	size_t length = strlen(name);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		length = without(name, length, ends[i]);
	return length;
}

/* "server.peak.folded" counts what "heapscope export --metric peak" does. */
static void guess_metric(const char *path, struct hs_import_options *options)
{
	const char *name = hs_last_component(path);
	size_t length = stem_length(name);
	options->samples = true;
	if (strstr(name + length, ".folded") == NULL)
		return;
	for (unsigned i = 0; i < HS_METRICS; i++) {
		struct hs_text end = {0};
		hs_text_addf(&end, ".%s", hs_metrics[i].name);
		if (without(name, length, end.bytes) < length) {
			options->samples = false;
			options->metric = (enum hs_metric)i;
		}
		hs_text_free(&end);
	}
}

static char *default_output(const char *path)
{
	const char *name = hs_last_component(path);
	struct hs_text text = {0};
	hs_text_add_bytes(&text, name, stem_length(name));
	hs_text_add(&text, ".hs.gz");
	return text.bytes;
}

static int convert(struct hs_source *source, const struct hs_importer *importer,
		   const struct hs_import_options *options, const char *from, const char *to)
{
	struct hs_error error = {{0}}, warning = {{0}};
	struct hs_output output;
	if (hs_output_open(&output, to, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (importer->convert(source, options, fileno(output.stream), &warning, &error) != 0) {
		hs_message("\"%s\" cannot be imported as %s: %s", from, importer->name, error.text);
		hs_output_discard(&output);
		return HS_EXIT_DATA;
	}
	if (hs_output_commit(&output, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (warning.text[0])
		hs_message("warning: %s: %s", from, warning.text);
	if (strcmp(to, "-") == 0)
		return HS_EXIT_OK;
	if (importer->one_metric)
		hs_message("wrote %s, the numbers taken for %s; next: heapscope print %s", to,
			   options->samples ? "samples" : hs_metrics[options->metric].name, to);
	else
		hs_message("wrote %s; next: heapscope print %s", to, to);
	return HS_EXIT_OK;
}

static int import(const char *from, const char *to, const struct hs_importer *importer,
		  const struct hs_import_options *options)
{
	struct hs_error error = {{0}};
	struct hs_source *source = hs_source_open(from, &error);
	if (source == NULL) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	int result = HS_EXIT_DATA;
	if (importer == NULL)
		importer = hs_importer_guess(source, &error);
	if (importer == NULL)
		hs_message("\"%s\" cannot be imported: %s\nsee \"heapscope import --help\"", from,
			   error.text);
	else
		result = convert(source, importer, options, from, to);
	hs_source_close(source);
	return result;
}

int hs_command_import(int argc, char **argv)
{
	const char *format = NULL, *path = NULL, *metric = NULL, *formats[16] = {0};
	for (size_t i = 0; i + 1 < sizeof(formats) / sizeof(formats[0]) && hs_importers[i].name; i++)
		formats[i] = hs_importers[i].name;
	const struct hs_option import_options[] = {
		{'o', "output", HS_OPTION_TEXT, &path, 0, "FILE", NULL,
		 "write to FILE; - is standard output"},
		{'f', "format", HS_OPTION_TEXT, &format, 0, "NAME", formats,
		 "heaptrack, dhat or folded; by default what the contents look like"},
		{'m', "metric", HS_OPTION_TEXT, &metric, 0, "NAME", NULL,
		 "what the numbers of folded stacks are: samples, or as in \"heapscope export\" peak, "
		 "allocated, calls, temporary, leaked, moved, lifetime"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "import",
		.operands = "FILE",
		.help = help,
		.options = import_options,
		.fewest = 1,
		.most = 1,
		.operand = HS_OPERAND_FILE,
		.missing = "which file? e.g. heapscope import heaptrack.server.42.zst",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	const char *from = argv[first];
	struct hs_import_options options = {0};
	const struct hs_importer *importer = format ? choose_importer(format) : NULL;
	if (format && importer == NULL)
		return HS_EXIT_USAGE;
	guess_metric(from, &options);
	if (metric && find_metric(metric, &options) != 0)
		return HS_EXIT_USAGE;
	if (path == NULL && strcmp(from, "-") == 0) {
		hs_message("import: which output? name it with -o");
		return HS_EXIT_USAGE;
	}
	if (path && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
		hs_message(
			"import: a recording is binary and standard output is a terminal; name a file with "
			"-o, or pipe it");
		return HS_EXIT_USAGE;
	}
	char *named = path ? NULL : default_output(from);
	if (named && access(named, F_OK) == 0) {
		hs_message("import: \"%s\" is there already; name another output with -o, or remove it",
			   named);
		free(named);
		return HS_EXIT_USAGE;
	}
	int result = import(from, path ? path : named, importer, &options);
	free(named);
	return result;
}
