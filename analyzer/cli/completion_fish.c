/* Completion for fish: one "complete" a command and option. */
#include "cli/cli.h"
#include "cli/completion.h"

/* Adds a word in quotes: fish knows only \\ and \' in them. */
static void add_quoted(struct hs_text *text, const char *words)
{
	hs_text_add(text, "'");
	for (; *words; words++) {
		if (*words == '\'' || *words == '\\')
			hs_text_add(text, "\\");
		hs_text_add_bytes(text, words, 1);
	}
	hs_text_add(text, "'");
}

static void add_described(struct hs_text *text, const char *help)
{
	struct hs_text brief = {0};
	hs_add_brief(&brief, help);
	hs_text_add(text, " -d ");
	add_quoted(text, brief.bytes);
	hs_text_free(&brief);
}

static void add_choices(struct hs_text *text, const char *const *choices)
{
	struct hs_text words = {0};
	hs_text_add(&words, "");
	for (size_t i = 0; choices && choices[i]; i++)
		hs_text_addf(&words, "%s%s", i ? " " : "", choices[i]);
	hs_text_add(text, " -xa ");
	add_quoted(text, words.bytes);
	hs_text_free(&words);
}

static void add_beginning(struct hs_text *text, const struct hs_usage *usage)
{
	hs_text_addf(text, "complete -c heapscope -n '%s %s'",
		     usage->stop_at_operand ? "__heapscope_before_program" : "__heapscope_in",
		     usage->command);
}

static void add_operands(struct hs_text *text, const struct hs_usage *usage)
{
	switch (usage->operand) {
	case HS_OPERAND_PROGRAM:
		hs_text_addf(text,
			     "complete -c heapscope -n '__heapscope_in %s' -xa "
			     "'(__heapscope_program)'\n",
			     usage->command);
		return;
	case HS_OPERAND_CHOICE:
		add_beginning(text, usage);
		add_choices(text, usage->operand_choices);
		break;
	case HS_OPERAND_FILE:
		add_beginning(text, usage);
		hs_text_add(text, " -F");
		break;
	case HS_OPERAND_RECORDING:
		add_beginning(text, usage);
		hs_text_add(text, " -xa '(__fish_complete_suffix .hs.gz)'");
		break;
	}
	hs_text_add(text, "\n");
}

static void add_command(const struct hs_usage *usage, void *context)
{
	struct hs_text *text = context;
	hs_text_addf(text, "\n");
	for (const struct hs_option *option = usage->options; option->name; option++) {
		enum hs_completed completed = hs_option_completed(option);
		add_beginning(text, usage);
		if (option->letter)
			hs_text_addf(text, " -s %c", option->letter);
		hs_text_addf(text, " -l %s", option->name);
		add_described(text, option->help);
		if (completed == HS_COMPLETED_CHOICE)
			add_choices(text, option->choices);
		else if (completed == HS_COMPLETED_FILE)
			hs_text_add(text, " -rF");
		else if (completed == HS_COMPLETED_FOLDER)
			hs_text_add(text, " -xa '(__fish_complete_directories)'");
		else if (option->kind != HS_OPTION_SET)
			hs_text_add(text, " -x");
		hs_text_add(text, "\n");
	}
	add_beginning(text, usage);
	hs_text_add(text, " -s h -l help -d 'show help'\n");
	add_operands(text, usage);
}

/* The words of options that take an argument, for the functions that look for the program's place. */
static void add_with_argument(const struct hs_usage *usage, void *context)
{
	struct hs_text *text = context;
	for (const struct hs_option *option = usage->options; usage->stop_at_operand && option->name;
	     option++) {
		if (option->kind == HS_OPTION_SET)
			continue;
		hs_text_addf(text, " --%s", option->name);
		if (option->letter)
			hs_text_addf(text, " -%c", option->letter);
	}
}

void hs_completion_fish(struct hs_text *text)
{
	hs_text_add(text,
		    "# fish completion for heapscope, written by \"heapscope completion fish\"\n"
		    "\n"
		    "function __heapscope_in\n"
		    "\tset -l words (commandline -opc)\n"
		    "\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
		    "end\n"
		    "\n"
		    "# Where the program to record stands among the words; nothing: it is still to come.\n"
		    "function __heapscope_program_place\n"
		    "\tset -l words (commandline -opc)\n"
		    "\tset -l skip\n"
		    "\tset -l ended\n"
		    "\tfor i in (seq 3 (count $words))\n"
		    "\t\tif test -n \"$skip\"\n"
		    "\t\t\tset skip\n"
		    "\t\telse if test -z \"$ended\" -a \"$words[$i]\" = --\n"
		    "\t\t\tset ended 1\n"
		    "\t\telse if test -z \"$ended\"; and string match -q -- '-?*' $words[$i]\n"
		    "\t\t\tcontains -- $words[$i]");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_options_describe(command->function, command->name, add_with_argument, text);
	hs_text_add(text,
		    "; and set skip 1\n"
		    "\t\telse\n"
		    "\t\t\techo $i\n"
		    "\t\t\treturn 0\n"
		    "\t\tend\n"
		    "\tend\n"
		    "\treturn 1\n"
		    "end\n"
		    "\n"
		    "function __heapscope_before_program\n"
		    "\t__heapscope_in $argv[1]; and not __heapscope_program_place >/dev/null\n"
		    "end\n"
		    "\n"
		    "function __heapscope_program\n"
		    "\tset -l words (commandline -opc)\n"
		    "\tset -l token (commandline -ct)\n"
		    "\tif set -l place (__heapscope_program_place)\n"
		    "\t\tcomplete \"--do-complete=$(string join ' ' -- (string escape -- "
		    "$words[$place..-1])) $token\"\n"
		    "\telse if not string match -q -- '-*' $token\n"
		    "\t\tcomplete \"--do-complete=$token\"\n"
		    "\tend\n"
		    "end\n"
		    "\n"
		    "complete -c heapscope -f\n"
		    "complete -c heapscope -n __fish_use_subcommand -s h -l help -d 'show the commands'\n"
		    "complete -c heapscope -n __fish_use_subcommand -s V -l version -d 'show the version, "
		    "formats and features'\n");
	for (const struct hs_command *command = hs_commands; command->name; command++) {
		hs_text_addf(text, "complete -c heapscope -n __fish_use_subcommand -a %s", command->name);
		add_described(text, command->help);
		hs_text_add(text, "\n");
	}
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_options_describe(command->function, command->name, add_command, text);
}
