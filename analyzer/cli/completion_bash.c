/* Completion for bash. Needs nothing but bash; the package bash-completion, if it is there, completes the
 * arguments of the program that is to be recorded. */
#include "cli/cli.h"
#include "cli/completion.h"

static const char head[] =
	"# bash completion for heapscope, written by \"heapscope completion bash\"\n"
	"\n"
	"_heapscope_words()\n"
	"{\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"# _heapscope_files folders|recordings|all\n"
	"_heapscope_files()\n"
	"{\n"
	"\tlocal IFS=$'\\n'\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tcase $1 in\n"
	"\tfolders) mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -d -- \"$cur\") ;;\n"
	"\trecordings)\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\"; compgen -f -X '!*.hs.gz' -- \"$cur\")\n"
	"\t\t;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -f -- \"$cur\") ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# The program that is to be recorded, or an argument of it; $1: its place in COMP_WORDS.\n"
	"_heapscope_program()\n"
	"{\n"
	"\tif (($1 < COMP_CWORD)) && declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif (($1 < COMP_CWORD)); then\n"
	"\t\t_heapscope_files all\n"
	"\telse\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <([[ $cur == */* ]] || compgen -c -- \"$cur\"; compgen -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_heapscope()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prefix= waiting= ended= word i\n"
	"\tlocal options= with_argument= stop=\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n";

static const char scan[] = "\tesac\n"
			   "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
			   "\t\tword=${COMP_WORDS[i]}\n"
			   "\t\tif [[ $waiting && $word == = ]]; then\n"
			   "\t\t\t: # \"--option=value\" comes as three words\n"
			   "\t\telif [[ $waiting ]]; then\n"
			   "\t\t\twaiting=\n"
			   "\t\telif [[ ! $ended && $word == -- ]]; then\n"
			   "\t\t\tended=1\n"
			   "\t\telif [[ ! $ended && $word == -?* ]]; then\n"
			   "\t\t\t[[ \" $with_argument \" != *\" $word \"* ]] || waiting=$word\n"
			   "\t\telif [[ $stop ]]; then\n"
			   "\t\t\t_heapscope_program \"$i\"\n"
			   "\t\t\treturn\n"
			   "\t\tfi\n"
			   "\tdone\n"
			   "\tif [[ $waiting && $cur == = ]]; then\n"
			   "\t\tcur=\n"
			   "\telif [[ ! $waiting && ! $ended && $cur == --*=* ]]; then\n"
			   "\t\twaiting=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}\n"
			   "\tfi\n"
			   "\tif [[ ! $waiting && ! $ended && $cur == -* ]]; then\n"
			   "\t\t_heapscope_words \"$options\"\n"
			   "\t\treturn\n"
			   "\tfi\n"
			   "\tcase \"${COMP_WORDS[1]} $waiting\" in\n";

static const char tail[] = "\tesac\n"
			   "}\n"
			   "\n"
			   "complete -F _heapscope heapscope\n";

static void add_choices(struct hs_text *text, const char *const *choices)
{
	hs_text_add(text, "_heapscope_words '");
	for (size_t i = 0; choices && choices[i]; i++)
		hs_text_addf(text, "%s%s", i ? " " : "", choices[i]);
	hs_text_add(text, "'");
}

static void add_names(struct hs_text *text, const struct hs_usage *usage, bool only_with_argument)
{
	const char *space = "";
	for (const struct hs_option *option = usage->options; option->name; option++) {
		if (only_with_argument && option->kind == HS_OPTION_SET)
			continue;
		hs_text_addf(text, "%s--%s", space, option->name);
		space = " ";
		if (option->letter && only_with_argument)
			hs_text_addf(text, " -%c", option->letter);
	}
	if (!only_with_argument)
		hs_text_addf(text, "%s--help", space);
}

static void add_command(const struct hs_usage *usage, void *context)
{
	struct hs_text *text = context;
	hs_text_addf(text, "\t%s)\n\t\toptions='", usage->command);
	add_names(text, usage, false);
	hs_text_add(text, "'\n\t\twith_argument='");
	add_names(text, usage, true);
	hs_text_addf(text, "'\n%s\t\t;;\n", usage->stop_at_operand ? "\t\tstop=1\n" : "");
}

static void add_values(const struct hs_usage *usage, void *context)
{
	struct hs_text *text = context;
	for (const struct hs_option *option = usage->options; option->name; option++) {
		enum hs_completed completed = hs_option_completed(option);
		if (completed == HS_COMPLETED_NOTHING)
			continue;
		hs_text_addf(text, "\t'%s --%s'", usage->command, option->name);
		if (option->letter)
			hs_text_addf(text, " | '%s -%c'", usage->command, option->letter);
		hs_text_add(text, ") ");
		if (completed == HS_COMPLETED_CHOICE)
			add_choices(text, option->choices);
		else
			hs_text_addf(text, "_heapscope_files %s",
				     completed == HS_COMPLETED_FOLDER ? "folders" : "all");
		hs_text_add(text, " ;;\n");
	}
	hs_text_addf(text, "\t'%s ') ", usage->command);
	if (usage->operand == HS_OPERAND_CHOICE)
		add_choices(text, usage->operand_choices);
	else
		hs_text_add(text, usage->operand == HS_OPERAND_PROGRAM ? "_heapscope_program \"$COMP_CWORD\""
				  : usage->operand == HS_OPERAND_FILE  ? "_heapscope_files all"
								       : "_heapscope_files recordings");
	hs_text_add(text, " ;;\n");
}

void hs_completion_bash(struct hs_text *text)
{
	hs_text_add(text, head);
	hs_text_add(text, "\t\t_heapscope_words '");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_text_addf(text, "%s ", command->name);
	hs_text_add(text, "--help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_options_describe(command->function, command->name, add_command, text);
	hs_text_add(text, scan);
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_options_describe(command->function, command->name, add_values, text);
	hs_text_add(text, tail);
}
