/* heapscope view: a recording, or two, as one page for a browser. */
#include "base/names.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hiding.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/page_file.h"
#include "cli/serve.h"
#include "cli/suppress.h"
#include "cli/terminal.h"
#include "export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Writes a page that shows where the memory went: flame graph, timeline, sites, threads,\n"
	"sizes, and what changed if there are two recordings. It is one file that holds its data and\n"
	"asks the network for nothing: it opens offline and can be passed on. Without -o it is named\n"
	"after the recording and stands in the current directory: server.hs.gz becomes server.html.\n"
	"Its path is printed.\n"
	"\n"
	"Without a browser on this machine, --port serves the page on 127.0.0.1 and ::1, for an ssh\n"
	"tunnel, until Ctrl-C; other users of this machine can read it meanwhile.\n"
	"\n"
	"Exit codes: 0; 1 if a file cannot be read or written; 2 for usage.";

static const struct hs_example examples[] = {
	{"heapscope view --open server.hs.gz", "make the page and show it"},
	{"heapscope view --port 8080 server.hs.gz", "no browser here: serve it for an ssh tunnel"},
	{"heapscope view server.old.hs.gz server.hs.gz", "what changed between two runs"},
	{0},
};

struct settings {
	const char *output;
	uint64_t port;
	bool serve, open;
	const struct hs_hiding *hiding;
	const struct hs_filter *filter;
	const struct hs_suppress *suppress;
};

extern char **environ;

/* Starts the desktop's browser and leaves it alone. */
static void open_in_browser(const char *where)
{
	char *arguments[] = {(char[]){"xdg-open"}, (char *)where, NULL};
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t files;
	sigset_t none;
	pid_t pid;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int failure = posix_spawnp(&pid, arguments[0], &files, &attributes, arguments, environ);
	if (failure)
		hs_message("cannot run xdg-open: %s (Debian: package xdg-utils); open %s in a browser",
			   strerror(failure), where);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
}

/* A recording, loaded with what the options say of it. */
struct side {
	const char *path; /* NULL: there is none */
	struct hs_profile *profile;
	struct hs_suppressions suppressions;
};

static int load(struct side *side, const struct settings *settings)
{
	struct hs_error error = {{0}};
	side->profile = hs_open_profile(side->path, settings->hiding);
	if (side->profile == NULL)
		return -1;
	side->profile->filter = settings->filter;
	if (hs_suppress(settings->suppress, side->profile, &side->suppressions, &error) == 0)
		return 0;
	hs_notice(error.text);
	return -1;
}

static void unload(struct side *side)
{
	if (side->profile && side->profile->facts.warning)
		hs_message("warning: %s: %s", side->path, side->profile->facts.warning);
	hs_profile_free(side->profile);
	hs_suppressions_free(&side->suppressions);
}

/* "dir/server.hs.gz" gives "server.html"; malloc'ed. */
static char *default_output(const char *path, bool two)
{
	static const char suffix[] = ".hs.gz";
	const char *name = hs_last_component(path);
	size_t length = strlen(name);
	if (length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0)
		length -= strlen(suffix);
	struct hs_text text = {0};
	hs_text_add_bytes(&text, name, length);
	hs_text_add(&text, two ? ".diff.html" : ".html");
	return text.bytes;
}

static int write_file(struct hs_profile *profile, const struct hs_export_options *options,
		      const struct settings *settings)
{
	struct hs_error error = {{0}};
	struct hs_output output;
	char *named = settings->output ? NULL : default_output(options->path, options->baseline != NULL);
	const char *path = named ? named : settings->output;
	int code = HS_EXIT_DATA;
	if (hs_output_open(&output, path, &error) != 0) {
		hs_notice(error.text);
	} else if (hs_exporter_find("html")->write(profile, options, output.stream, &error) != 0) {
		hs_message("\"%s\" was not written: %s", path, error.text);
		hs_output_discard(&output);
	} else if (hs_output_commit(&output, &error) != 0) {
		hs_notice(error.text);
	} else {
		code = HS_EXIT_OK;
	}
	if (code == HS_EXIT_OK && strcmp(path, "-") != 0) {
		char *whole = realpath(path, NULL);
		struct hs_text text = {0};
		hs_text_addf(&text, "%s\n", whole ? whole : path);
		if (hs_write_out(&text, stdout) != 0)
			code = HS_EXIT_DATA;
		hs_text_free(&text);
		if (settings->open)
			open_in_browser(whole ? whole : path);
		else
			hs_message(
				"open it in a browser (--open does so); where there is none: heapscope view "
				"--port 8080 %s%s%s",
				options->baseline_path ? options->baseline_path : "",
				options->baseline_path ? " " : "", options->path);
		free(whole);
	}
	free(named);
	return code;
}

static int serve_page(const char *page, size_t bytes, const struct settings *settings)
{
	struct hs_error error = {{0}};
	struct hs_server *server = hs_serve_start(page, bytes, (uint16_t)settings->port, &error);
	if (server == NULL) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	char host[256] = "HOST", url[64];
	unsigned port = hs_serve_port(server);
	snprintf(url, sizeof(url), "http://localhost:%u/", port);
	if (gethostname(host, sizeof(host) - 1) != 0)
		strcpy(host, "HOST");
	struct hs_text text = {0};
	hs_text_addf(&text, "%s\n", url);
	int code = hs_write_out(&text, stdout) == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
	hs_text_free(&text);
	hs_message("serving the page to this machine until Ctrl-C; from another one:\n"
		   "  ssh -L %u:localhost:%u %s    and open %s there",
		   port, port, host, url);
	if (settings->open)
		open_in_browser(url);
	if (code == HS_EXIT_OK)
		hs_serve_until_signal(server);
	hs_serve_end(server);
	return code;
}

static int serve(struct hs_profile *profile, const struct hs_export_options *options,
		 const struct settings *settings)
{
	struct hs_error error = {{0}};
	char *page = NULL;
	size_t bytes = 0;
	FILE *output = open_memstream(&page, &bytes);
	int result = hs_exporter_find("html")->write(profile, options, output, &error);
	fclose(output);
	if (result != 0)
		hs_notice(error.text);
	int code = result == 0 ? serve_page(page, bytes, settings) : HS_EXIT_DATA;
	free(page);
	return code;
}

static int view(struct hs_export_options *options, const struct settings *settings)
{
	struct hs_error error = {{0}};
	struct side new = {.path = options->path}, old = {.path = options->baseline_path};
	int code = HS_EXIT_DATA;
	char *page = hs_page_read(&options->page_bytes, &error);
	options->page = page;
	if (page == NULL) {
		hs_notice(error.text);
	} else if (load(&new, settings) == 0 && (old.path == NULL || load(&old, settings) == 0)) {
		options->baseline = old.profile;
		if (old.profile && old.profile->facts.subject != new.profile->facts.subject)
			hs_message("view: one of the files counts allocations, the other a profiler's "
				   "samples: they cannot be compared");
		else
			code = settings->serve ? serve(new.profile, options, settings)
					       : write_file(new.profile, options, settings);
	}
	unload(&old);
	unload(&new);
	free(page);
	return code;
}

int hs_command_view(int argc, char **argv)
{
	struct settings settings = {.port = UINT64_MAX};
	int open = 0, sources = 0, raw = 0;
	struct hs_filter_arguments filters = HS_FILTER_ARGUMENTS;
	struct hs_hiding_arguments hidden = {0};
	struct hs_suppress suppress = {0};
	const struct hs_option options[] = {
		{'o', "output", HS_OPTION_TEXT, &settings.output, 0, "FILE", NULL,
		 "write the page to FILE; - is standard output"},
		{0, "open", HS_OPTION_SET, &open, 1, NULL, NULL, "open it in the browser, with xdg-open"},
		{'p', "port", HS_OPTION_NUMBER, &settings.port, 0, "N", NULL,
		 "serve the page at http://localhost:N/ instead of writing it; 0 takes any free port"},
		{0, "sources", HS_OPTION_SET, &sources, 1, NULL, NULL,
		 "put the lines of source around each frame in, as far as they can be read here"},
		{0, "raw", HS_OPTION_SET, &raw, 1, NULL, NULL,
		 "begin with the frames of allocators and containers shown"},
		HS_HIDING_OPTIONS(hidden),
		HS_SUPPRESS_OPTIONS(suppress),
		HS_FILTER_OPTIONS(filters),
		{0},
	};
	const struct hs_usage usage = {
		.command = "view",
		.operands = "FILE | OLD NEW",
		.examples = examples,
		.help = help,
		.options = options,
		.fewest = 1,
		.most = 2,
		.missing = "which recording? e.g. heapscope view server.hs.gz",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	settings.open = open;
	settings.serve = settings.port != UINT64_MAX;
	if (settings.serve && settings.port > UINT16_MAX) {
		hs_message("view: port %llu is too large; there are 65535",
			   (unsigned long long)settings.port);
		return HS_EXIT_USAGE;
	}
	if (settings.serve && settings.output) {
		hs_message("view: --port serves the page and writes none; leave out --port or -o");
		return HS_EXIT_USAGE;
	}
	bool two = first + 2 == argc;
	struct hs_export_options export_options = {
		.raw = raw,
		.sources = sources,
		.path = argv[two ? first + 1 : first],
		.baseline_path = two ? argv[first] : NULL,
	};
	struct hs_filter filter;
	struct hs_hiding hiding;
	int code = HS_EXIT_USAGE;
	if (hs_filter_make(&filter, &filters, "view") == 0) {
		if (hs_hiding_make(&hiding, &hidden, "view") == 0) {
			settings.filter = &filter;
			settings.hiding = &hiding;
			settings.suppress = &suppress;
			code = view(&export_options, &settings);
			hs_hiding_free(&hiding);
		}
		hs_filter_free(&filter);
	}
	hs_filter_arguments_free(&filters);
	hs_hiding_arguments_free(&hidden);
	return code;
}
