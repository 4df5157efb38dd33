/* The manual pages, from the tables of commands, options and variables: man(7) macros. */
#include "cli/manual.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct page {
	const struct hs_command *command;
	struct hs_text text;
};

/* Adds words so that troff shows them as they are; `start`: they begin a line. */
static void add_escaped(struct hs_text *text, const char *words, size_t count, bool start)
{
	for (size_t i = 0; i < count; i++) {
		if (start && (words[i] == '.' || words[i] == '\''))
			hs_text_add(text, "\\&");
		start = words[i] == '\n';
		if (words[i] == '\\')
			hs_text_add(text, "\\e");
		else if (words[i] == '-')
			hs_text_add(text, "\\-");
		else if (words[i] == '~' || words[i] == '^')
			hs_text_add(text, words[i] == '~' ? "\\(ti" : "\\(ha");
		else
			hs_text_add_bytes(text, &words[i], 1);
	}
}

static void add_line(struct hs_text *text, const char *words)
{
	add_escaped(text, words, strlen(words), true);
	hs_text_add(text, "\n");
}

/* Paragraphs as in hs_usage.help. */
static void add_paragraphs(struct hs_text *text, const char *words)
{
	bool as_it_is = false;
	while (*words) {
		size_t length = strcspn(words, "\n");
		bool wanted = *words == ' ';
		if (length == 0) {
			hs_text_add(text, as_it_is ? ".EE\n" : "");
			hs_text_add(text, ".PP\n");
			as_it_is = false;
		} else {
			if (wanted != as_it_is)
				hs_text_add(text, wanted ? ".EX\n" : ".EE\n");
			as_it_is = wanted;
			add_escaped(text, words, length, true);
			hs_text_add(text, "\n");
		}
		words += length + (words[length] != 0);
	}
	hs_text_add(text, as_it_is ? ".EE\n" : "");
}

static void add_title(struct hs_text *text, const char *name, const char *help)
{
	struct hs_text upper = {0};
	for (const char *letter = name; *letter; letter++)
		hs_text_addf(&upper, "%c", toupper((unsigned char)*letter));
	hs_text_add(text, ".TH \"");
	add_escaped(text, upper.bytes, upper.count, false);
	hs_text_addf(text, "\" 1 \"\" \"heapscope %s\" \"User Commands\"\n.SH NAME\n", HEAPSCOPE_VERSION);
	add_escaped(text, name, strlen(name), true);
	hs_text_add(text, " \\- ");
	add_line(text, help);
	hs_text_free(&upper);
}

static void add_option(struct hs_text *text, char letter, const char *name, const char *argument,
		       const char *help)
{
	hs_text_add(text, ".TP\n");
	if (letter)
		hs_text_addf(text, "\\fB\\-%c\\fR, ", letter);
	hs_text_add(text, "\\fB\\-\\-");
	add_escaped(text, name, strlen(name), false);
	hs_text_add(text, "\\fR");
	if (argument) {
		hs_text_add(text, " \\fI");
		add_escaped(text, argument, strlen(argument), false);
		hs_text_add(text, "\\fR");
	}
	hs_text_add(text, "\n");
	add_line(text, help);
}

static void add_variable(struct hs_text *text, const struct hs_variable *variable)
{
	hs_text_addf(text, ".TP\n.B %s\n", variable->name);
	add_line(text, variable->help);
}

static void add_environment(struct hs_text *text, const struct hs_usage *usage)
{
	bool first = true;
	for (const struct hs_variable *variable = hs_variables; variable->name; variable++) {
		if (!hs_variable_concerns(variable, usage))
			continue;
		hs_text_add(text, first ? ".SH ENVIRONMENT\n" : "");
		first = false;
		add_variable(text, variable);
	}
}

static void add_example(struct hs_text *text, const char *command, const char *what)
{
	hs_text_add(text, ".TP\n.B ");
	add_escaped(text, command, strlen(command), false);
	hs_text_add(text, "\n");
	add_line(text, what);
}

static void add_command_page(const struct hs_usage *usage, void *context)
{
	struct page *page = context;
	struct hs_text *text = &page->text, name = {0};
	char *description = hs_usage_description(usage), *codes = hs_usage_exit_codes(usage);
	hs_text_addf(&name, "heapscope-%s", usage->command);
	add_title(text, name.bytes, page->command->help);
	hs_text_addf(text, ".SH SYNOPSIS\n\\fBheapscope %s\\fR [\\fIoptions\\fR] ", usage->command);
	add_line(text, usage->operands);
	hs_text_add(text, ".SH DESCRIPTION\n");
	add_paragraphs(text, description);
	hs_text_add(text, ".SH OPTIONS\n");
	for (const struct hs_option *option = usage->options; option->name; option++)
		add_option(text, option->letter, option->name,
			   option->kind == HS_OPTION_SET ? NULL : option->argument, option->help);
	add_option(text, 'h', "help", NULL, "show the options and what they do");
	if (*codes) {
		hs_text_add(text, ".SH EXIT STATUS\n");
		add_paragraphs(text, codes);
	}
	add_environment(text, usage);
	if (usage->examples)
		hs_text_add(text, ".SH EXAMPLES\n");
	for (const struct hs_example *example = usage->examples; example && example->command; example++)
		add_example(text, example->command, example->what);
	hs_text_add(text, ".SH SEE ALSO\n.BR heapscope (1)\n");
	hs_text_free(&name);
	free(description);
	free(codes);
}

static void add_main_page(struct hs_text *text)
{
	add_title(text, "heapscope", "record and explain the heap allocations of a program");
	hs_text_add(text,
		    ".SH SYNOPSIS\n\\fBheapscope\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] ...\n"
		    ".SH DESCRIPTION\n"
		    "heapscope records every heap allocation of a program with its full stack, and shows\n"
		    "which lines of its code hold the memory at the peak, allocate most, allocate in vain,\n"
		    "or never free. It works on programs as they are (C, C++, Rust, and whatever else calls\n"
		    "malloc), with threads and child processes; nothing has to be recompiled or linked.\n"
		    ".SH COMMANDS\n");
	for (const struct hs_command *command = hs_commands; command->name; command++) {
		hs_text_addf(text, ".TP\n.BR heapscope\\-%s (1)\n", command->name);
		add_line(text, command->help);
	}
	hs_text_add(text, ".SH OPTIONS\n");
	add_option(text, 'h', "help", NULL, "show the commands");
	add_option(text, 'V', "version", NULL, "show the version, formats and features");
	hs_text_add(text,
		    ".SH EXIT STATUS\n"
		    ".TP\n.B 0\nThe command did what it was asked for.\n"
		    ".TP\n.B 1\nA file cannot be read or written, is no recording, or the answer is no.\n"
		    ".TP\n.B 2\nThe command line is wrong.\n"
		    ".PP\n.B heapscope run\n"
		    "ends as the recorded program does; 125, 126 and 127 say that it was not recorded,\n"
		    "cannot be executed, or was not found.\n"
		    ".SH ENVIRONMENT\n");
	for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
		add_variable(text, variable);
	hs_text_add(text, ".SH FILES\n"
			  ".TP\n.I NAME.hs.gz\nThe recording of the program NAME, in the current directory.\n"
			  ".TP\n.I NAME.old.hs.gz\nThe one before it.\n"
			  ".TP\n.I NAME.PID.CHILD.hs.gz\nThe recording of a child process.\n"
			  ".SH EXAMPLES\n");
	add_example(text, "heapscope run ./server --once", "record a program; writes server.hs.gz");
	add_example(text, "heapscope print server.hs.gz", "where the bytes went");
	add_example(text, "heapscope diff server", "the last run against the one before");
	hs_text_add(text, ".SH SEE ALSO\n");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_text_addf(text, ".BR heapscope\\-%s (1)%s\n", command->name, command[1].name ? "," : "");
}

static int write_page(const char *folder, const char *name, const struct hs_text *text)
{
	struct hs_error error = {{0}};
	struct hs_output output;
	struct hs_text path = {0};
	hs_text_addf(&path, "%s/heapscope%s%s.1", folder, *name ? "-" : "", name);
	int result = hs_output_open(&output, path.bytes, &error);
	hs_text_free(&path);
	if (result == 0) {
		fwrite(text->bytes, 1, text->count, output.stream);
		result = hs_output_commit(&output, &error);
	}
	if (result != 0)
		hs_notice(error.text);
	return result;
}

int hs_manual_write(const char *folder)
{
	struct page page = {0};
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		hs_message("cannot make the folder \"%s\": %s", folder, strerror(errno));
		return HS_EXIT_DATA;
	}
	add_main_page(&page.text);
	int result = write_page(folder, "", &page.text);
	hs_text_free(&page.text);
	for (page.command = hs_commands; page.command->name && result == 0; page.command++) {
		hs_options_describe(page.command->function, page.command->name, add_command_page, &page);
		result = write_page(folder, page.command->name, &page.text);
		hs_text_free(&page.text);
	}
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}
