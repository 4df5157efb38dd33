/* The `heapscope` program: a table of commands and the dispatch. */
#include "cli/cli.h"
#include "cli/nearest.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "export/export.h"
#include "heapscope/format.h"
#include "heapscope/region.h"

#include <elfutils/version.h>
#include <jansson.h>
#include <libdeflate.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct command {
	const char *name;
	int (*function)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"run", hs_command_run, "record a program: every allocation with its stack"},
	{"print", hs_command_print, "show where the bytes of a recording went"},
	{"diff", hs_command_diff, "compare two recordings: what grew, shrank, appeared, vanished"},
	{"export", hs_command_export, "write a recording in another tool's format"},
	{"merge", hs_command_merge, "add recordings up to one profile"},
	{"info", hs_command_info, "show what a recording file has and what it lacks"},
	{NULL, NULL, NULL},
};

static void add_help(struct hs_text *text)
{
	hs_text_add(text,
		    "usage: heapscope COMMAND [options] ...\n\n"
		    "heapscope records every heap allocation of a program and shows which lines of its\n"
		    "code hold the memory at the peak, allocate most, allocate in vain, or never free.\n\n"
		    "commands:\n");
	for (const struct command *command = commands; command->name; command++)
		hs_text_addf(text, "  %-8s %s\n", command->name, command->help);
	hs_text_add(text, "  help     explain a command, like \"heapscope COMMAND --help\"\n\n"
			  "start with:\n"
			  "  heapscope run ./server --once     writes server.hs.gz\n"
			  "  heapscope print server.hs.gz\n\n"
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

static int show_version(void)
{
	struct hs_text text = {0};
	hs_text_addf(&text, "heapscope %s\n", HEAPSCOPE_VERSION);
	hs_text_addf(&text, "recording format %d, region %d\n", HS_FORMAT_VERSION, HS_REGION_VERSION);
	hs_text_addf(&text,
		     "built with elfutils %d.%d, libdeflate %s, jansson %s; demangles C++, Rust and D\n",
		     _ELFUTILS_VERSION / 1000, _ELFUTILS_VERSION % 1000, LIBDEFLATE_VERSION_STRING,
		     jansson_version_str());
	hs_text_add(&text, "exports:");
	for (const struct hs_exporter *exporter = hs_exporters; exporter->name; exporter++)
		hs_text_addf(&text, " %s", exporter->name);
	hs_text_add(&text, "\n");
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

static const struct command *find_command(const char *name)
{
	for (const struct command *command = commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	struct hs_nearest nearest = {0};
	for (const struct command *command = commands; command->name; command++)
		hs_nearest_offer(&nearest, name, command->name);
	hs_nearest_offer(&nearest, name, "help");
	const char *what = name[0] == '-' ? "option" : "command";
	if (nearest.name && name[0] != '-')
		hs_message("unknown %s \"%s\"; did you mean \"%s\"?", what, name, nearest.name);
	else
		hs_message("unknown %s \"%s\"", what, name);
	hs_message("see \"heapscope --help\"");
	return NULL;
}

static int help_command(int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0)
		return show_help();
	const struct command *command = find_command(argv[1]);
	if (command == NULL)
		return HS_EXIT_USAGE;
	char *asked[] = {argv[1], (char[]){"--help"}, NULL};
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
	if (strcmp(name, "help") == 0)
		return help_command(argc - 1, argv + 1);
	const struct command *command = find_command(name);
	return command ? command->function(argc - 1, argv + 1) : HS_EXIT_USAGE;
}
