/* heapscope completion: the script that makes a shell complete our commands and options. */
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <string.h>

static const char help[] =
	"Writes the script that makes a shell complete heapscope's commands, their options and the\n"
	"values of those, and recordings. An installed heapscope brings the scripts along, where the\n"
	"shells look for them; this is for one that is not installed.\n"
	"\n"
	"Exit codes: 0; 1 if the output cannot be written; 2 for usage.";

enum hs_completed hs_option_completed(const struct hs_option *option)
{
	if (option->choices)
		return HS_COMPLETED_CHOICE;
	if (option->kind == HS_OPTION_SET || option->argument == NULL)
		return HS_COMPLETED_NOTHING;
	return strncmp(option->argument, "FILE", 4) == 0     ? HS_COMPLETED_FILE
	       : strncmp(option->argument, "FOLDER", 6) == 0 ? HS_COMPLETED_FOLDER
							     : HS_COMPLETED_NOTHING;
}

void hs_add_brief(struct hs_text *text, const char *words)
{
	static const char *const ends[] = {"; ", ": ", " (", "\n"};
	size_t length = strlen(words);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *end = strstr(words, ends[i]);
		if (end && (size_t)(end - words) < length)
			length = (size_t)(end - words);
	}
	hs_text_add_bytes(text, words, length);
}

int hs_command_completion(int argc, char **argv)
{
	static const struct hs_option none[] = {{0}};
	static const char *const shells[] = {"bash", "zsh", "fish", NULL};
	static void (*const writers[])(struct hs_text * text) = {hs_completion_bash, hs_completion_zsh,
								 hs_completion_fish};
	static const struct hs_example examples[] = {
		{"source <(heapscope completion bash)", "for this bash; in ~/.bashrc: for every one"},
		{"source <(heapscope completion zsh)", "for this zsh, after compinit"},
		{"heapscope completion fish | source", "for this fish"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.command = "completion",
		.operands = "bash|zsh|fish",
		.help = help,
		.options = none,
		.fewest = 1,
		.most = 1,
		.missing = "which shell? bash, zsh or fish",
		.operand = HS_OPERAND_CHOICE,
		.operand_choices = shells,
		.examples = examples,
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	struct hs_nearest nearest = {0};
	for (unsigned i = 0; shells[i]; i++) {
		hs_nearest_offer(&nearest, argv[first], shells[i]);
		if (strcmp(shells[i], argv[first]) != 0)
			continue;
		struct hs_text text = {0};
		writers[i](&text);
		int result = hs_write_out(&text, stdout);
		hs_text_free(&text);
		return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
	}
	hs_message("completion: unknown shell \"%s\"; %s%s%s", argv[first],
		   nearest.name ? "did you mean " : "there are bash, zsh and fish",
		   nearest.name ? nearest.name : "", nearest.name ? "?" : "");
	hs_message("see \"heapscope completion --help\"");
	return HS_EXIT_USAGE;
}
