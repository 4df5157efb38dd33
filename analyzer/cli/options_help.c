/* The text of "heapscope COMMAND --help", from the command's table. */
#include "base/text.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 26, COLUMNS = 80 };

static const char exit_codes[] = "Exit codes: ";

/* Where the line with the exit codes begins; NULL: there is none. */
static const char *find_exit_codes(const char *help)
{
	for (const char *line = help; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, exit_codes, strlen(exit_codes)) == 0)
			return line;
	}
	return NULL;
}

static size_t paragraph_length(const char *text)
{
	const char *end = strstr(text, "\n\n");
	return end ? (size_t)(end - text) : strlen(text);
}

char *hs_usage_description(const struct hs_usage *usage)
{
	struct hs_text text = {0};
	const char *codes = find_exit_codes(usage->help);
	hs_text_add_bytes(&text, usage->help, codes ? (size_t)(codes - usage->help) : strlen(usage->help));
	if (codes) {
		const char *rest = codes + paragraph_length(codes);
		hs_text_add(&text, rest + (text.count ? 0 : strspn(rest, "\n")));
	}
	while (text.count && text.bytes[text.count - 1] == '\n')
		text.bytes[--text.count] = 0;
	return text.bytes;
}

char *hs_usage_exit_codes(const struct hs_usage *usage)
{
	struct hs_text text = {0};
	const char *codes = find_exit_codes(usage->help);
	hs_text_add(&text, "");
	if (codes)
		hs_text_add_bytes(&text, codes + strlen(exit_codes),
				  paragraph_length(codes) - strlen(exit_codes));
	return text.bytes;
}

/* Adds words, broken into lines that start in column `indent`; the first is already there. A line that begins
 * with a space stands for itself. */
static void add_wrapped(struct hs_text *text, const char *words, size_t indent)
{
	size_t column = indent;
	bool line_start = true;
	while (*words) {
		bool as_it_is = line_start && *words == ' ';
		size_t length = strcspn(words, as_it_is ? "\n" : " \n");
		if (column > indent && (as_it_is || column + 1 + length > COLUMNS)) {
			hs_text_add(text, "\n");
			hs_text_repeat(text, " ", indent);
			column = indent;
		} else if (column > indent) {
			hs_text_add(text, " ");
			column++;
		}
		hs_text_add_bytes(text, words, length);
		column = as_it_is ? COLUMNS : column + length;
		words += length;
		line_start = *words == '\n';
		words += *words != 0;
	}
	hs_text_add(text, "\n");
}

static void add_paragraphs(struct hs_text *text, const char *words)
{
	while (*words) {
		struct hs_text paragraph = {0};
		size_t length = paragraph_length(words);
		hs_text_add_bytes(&paragraph, words, length);
		add_wrapped(text, paragraph.bytes, 0);
		hs_text_add(text, "\n");
		hs_text_free(&paragraph);
		words += length;
		words += strspn(words, "\n");
	}
}

/* A term in the left column, its explanation in the right one. */
static void add_term(struct hs_text *text, const char *term, const char *help)
{
	if (strlen(term) > INDENT - 2) {
		hs_text_addf(text, "%s\n", term);
		hs_text_repeat(text, " ", INDENT);
	} else {
		hs_text_left(text, term, INDENT);
	}
	add_wrapped(text, help, INDENT);
}

static void add_options(struct hs_text *text, const struct hs_usage *usage)
{
	bool own_part = false; /* the first part of the list, which has --help at its end, is over */
	hs_text_add(text, "options:\n");
	for (const struct hs_option *option = usage->options; option->name; option++) {
		struct hs_text left = {0};
		if (option->kind == HS_OPTION_TITLE) {
			if (!own_part)
				add_term(text, "  -h, --help", "show this help");
			own_part = true;
			hs_text_add(text, "\n");
			hs_text_addf(text, "%s:\n", option->help);
			continue;
		}
		if (option->letter)
			hs_text_addf(&left, "  -%c, --%s", option->letter, option->name);
		else
			hs_text_addf(&left, "      --%s", option->name);
		if (option->kind != HS_OPTION_SET)
			hs_text_addf(&left, " %s", option->argument);
		add_term(text, left.bytes, option->help);
		hs_text_free(&left);
	}
	if (!own_part)
		add_term(text, "  -h, --help", "show this help");
}

static void add_environment(struct hs_text *text, const struct hs_usage *usage)
{
	bool first = true;
	for (const struct hs_variable *variable = hs_variables; variable->name; variable++) {
		if (!hs_variable_concerns(variable, usage))
			continue;
		hs_text_add(text, first ? "\nenvironment:\n" : "");
		first = false;
		struct hs_text left = {0};
		hs_text_addf(&left, "  %s", variable->name);
		add_term(text, left.bytes, variable->help);
		hs_text_free(&left);
	}
}

static void add_examples(struct hs_text *text, const struct hs_usage *usage)
{
	if (usage->examples == NULL)
		return;
	hs_text_add(text, "\nexamples:\n");
	for (const struct hs_example *example = usage->examples; example->command; example++) {
		hs_text_addf(text, "  %s\n      ", example->command);
		add_wrapped(text, example->what, 6);
	}
}

void hs_options_help(const struct hs_usage *usage)
{
	struct hs_text text = {0};
	char *description = hs_usage_description(usage), *codes = hs_usage_exit_codes(usage);
	hs_text_addf(&text, "usage: heapscope %s [options]%s%s\n\n", usage->command,
		     *usage->operands ? " " : "", usage->operands);
	add_paragraphs(&text, description);
	add_options(&text, usage);
	add_environment(&text, usage);
	add_examples(&text, usage);
	if (*codes) {
		struct hs_text words = {0};
		hs_text_addf(&words, "%s%s", exit_codes, codes);
		hs_text_add(&text, "\n");
		add_wrapped(&text, words.bytes, 0);
		hs_text_free(&words);
	}
	hs_write_out(&text, stdout);
	hs_text_free(&text);
	free(description);
	free(codes);
}
