/* The `heapscope` program: a table of commands and the dispatch. */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/manual.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "export/export.h"
#include "heapscope/format.h"
#include "heapscope/region.h"
#include "import/import.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <libdeflate.h>
#include <locale.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int help_command(int argc, char **argv);

/* Its own usage is all that a command has to say: help, manual pages and completion follow from it. */
const struct hs_command hs_commands[] = {
	{"run", hs_command_run, "record a program: every allocation with its stack"},
	{"print", hs_command_print, "show where the bytes of a recording went"},
	{"diff", hs_command_diff, "compare two recordings: what grew, shrank, appeared, vanished"},
	{"view", hs_command_view, "make a page for the browser: flame graph, timeline, sites, changes"},
	{"check", hs_command_check, "hold a recording to budgets, for CI"},
	{"export", hs_command_export, "write a recording in another tool's format"},
	{"import", hs_command_import, "make a recording of a file of heaptrack, DHAT, or of folded stacks"},
	{"merge", hs_command_merge, "add recordings up to one profile"},
	{"info", hs_command_info, "show what a recording file has and what it lacks"},
	{"doctor", hs_command_doctor, "check whether a program, and this machine, will record well"},
	{"suppressions", hs_command_suppressions, "list the rules for what is no leak"},
	{"help", help_command, "explain a command, like \"heapscope COMMAND --help\""},
	{"completion", hs_command_completion, "write the completion of commands and options for a shell"},
	{NULL, NULL, NULL},
};

static void add_help(struct hs_text *text)
{
	hs_text_add(text,
		    "usage: heapscope COMMAND [options] ...\n\n"
		    "heapscope records every heap allocation of a program and shows which lines of its\n"
		    "code hold the memory at the peak, allocate most, allocate in vain, or never free.\n\n"
		    "commands:\n");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_text_addf(text, "  %-12s %s\n", command->name, command->help);
	hs_text_add(text, "\n"
			  "start with:\n"
			  "  heapscope run ./server --once     writes server.hs.gz\n"
			  "  heapscope print server.hs.gz\n"
			  "  heapscope view --open server.hs.gz\n\n"
			  "options:\n"
			  "  -h, --help     show this help\n"
			  "  -V, --version  show the version, formats and features\n");
}

static int show_help(void)
{
	struct hs_text text = {0};
	add_help(&text);
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

/* A line for bug reports: which parts are in, and which of the optional ones are found on this machine. */
static int show_version(void)
{
	struct hs_text text = {0};
	struct hs_error error = {{0}};
	char *library = hs_library_find(&error);
	void *libunwind = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
	hs_text_addf(&text, "heapscope %s\n", HEAPSCOPE_VERSION);
	hs_text_addf(&text, "recording format %d, region %d\n", HS_FORMAT_VERSION, HS_REGION_VERSION);
	hs_text_addf(&text, "libraries: elfutils %s, libdeflate %s, liblzma %s, jansson %s, glibc %s\n",
		     dwfl_version(NULL), LIBDEFLATE_VERSION_STRING, lzma_version_string(),
		     jansson_version_str(), gnu_get_libc_version());
	hs_text_addf(&text, "unwinder: own (.eh_frame), frame pointers, libunwind.so.8 (%s)\n",
		     libunwind ? "found" : "not found");
	hs_text_add(
		&text,
		"names: DWARF 2 to 5, split (.dwo), dwz, separate and mini debug files; demangles C++, Rust "
		"and D\n");
	hs_text_addf(&text, "preloads: %s\n", library ? library : "libheapscope.so was not found");
	hs_text_add(&text, "exports:");
	for (const struct hs_exporter *exporter = hs_exporters; exporter->name; exporter++)
		hs_text_addf(&text, " %s", exporter->name);
	hs_text_add(&text, "\nimports:");
	for (const struct hs_importer *importer = hs_importers; importer->name; importer++)
		hs_text_addf(&text, " %s", importer->name);
	hs_text_add(&text, "\n");
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	if (libunwind)
		dlclose(libunwind);
	free(library);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

/* What other tools call our commands. */
static const char *other_word(const char *name)
{
	static const char *const words[][2] = {
		{"record", "run"},     {"report", "print"},  {"show", "print"},   {"compare", "diff"},
		{"convert", "export"}, {"analyze", "print"}, {"analyse", "print"}};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i][0], name) == 0)
			return words[i][1];
	}
	return NULL;
}

static const struct hs_command *find_command(const char *name)
{
	for (const struct hs_command *command = hs_commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	struct hs_nearest nearest = {0};
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_nearest_offer(&nearest, name, command->name);
	if (name[0] == '-') {
		hs_nearest_offer(&nearest, name, "--help");
		hs_nearest_offer(&nearest, name, "--version");
	}
	const char *what = name[0] == '-' ? "option" : "command";
	if (nearest.name == NULL)
		nearest.name = other_word(name);
	if (nearest.name)
		hs_message("unknown %s \"%s\"; did you mean \"%s\"?", what, name, nearest.name);
	else
		hs_message("unknown %s \"%s\"", what, name);
	hs_message("see \"heapscope --help\"");
	return NULL;
}

static int help_command(int argc, char **argv)
{
	static const char text[] =
		"Explains a command and its options, or the program as a whole. \"man heapscope\" and\n"
		"\"man heapscope-COMMAND\" have the same as manual pages.\n"
		"\n"
		"Exit codes: 0; 2 for an unknown command.";
	static const struct hs_option none[] = {{0}};
	const char *names[64] = {0};
	for (size_t i = 0; i + 1 < sizeof(names) / sizeof(names[0]) && hs_commands[i].name; i++)
		names[i] = hs_commands[i].name;
	const struct hs_usage usage = {
		.command = "help",
		.operands = "[COMMAND]",
		.help = text,
		.options = none,
		.most = 1,
		.operand = HS_OPERAND_CHOICE,
		.operand_choices = names,
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	if (first == argc)
		return show_help();
	const struct hs_command *command = find_command(argv[first]);
	if (command == NULL)
		return HS_EXIT_USAGE;
	char *asked[] = {argv[first], (char[]){"--help"}, NULL};
	return command->function(2, asked);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		struct hs_text text = {0};
		add_help(&text);
		fwrite(text.bytes, 1, text.count, stderr);
		hs_text_free(&text);
		return HS_EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return show_help();
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return show_version();
	if (strcmp(name, "__manual") == 0) /* for the build */
		return hs_manual_write(argc > 2 ? argv[2] : ".");
	const struct hs_command *command = find_command(name);
	return command ? command->function(argc - 1, argv + 1) : HS_EXIT_USAGE;
}
