/* Completion for zsh: _arguments does the work. */
#include "cli/cli.h"
#include "cli/completion.h"

/* Adds an explanation inside of '...': in [brackets], or between colons. */
static void add_explained(struct hs_text *text, const char *help)
{
	struct hs_text brief = {0};
	hs_add_brief(&brief, help);
	for (size_t i = 0; i < brief.count; i++) {
		char letter = brief.bytes[i];
		if (letter == '\'')
			hs_text_add(text, "'\\''");
		else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\')
			hs_text_addf(text, "\\%c", letter);
		else
			hs_text_add_bytes(text, &letter, 1);
	}
	hs_text_free(&brief);
}

static void add_choices(struct hs_text *text, const char *const *choices)
{
	hs_text_add(text, "(");
	for (size_t i = 0; choices && choices[i]; i++)
		hs_text_addf(text, "%s%s", i ? " " : "", choices[i]);
	hs_text_add(text, ")");
}

static void add_option(struct hs_text *text, const struct hs_option *option)
{
	bool plain = option->kind == HS_OPTION_SET;
	hs_text_add(text, " \\\n\t\t\t'*'");
	if (option->letter)
		hs_text_addf(text, "{-%c%s,--%s%s}", option->letter, plain ? "" : "+", option->name,
			     plain ? "" : "=");
	else
		hs_text_addf(text, "--%s%s", option->name, plain ? "" : "=");
	hs_text_add(text, "'[");
	add_explained(text, option->help);
	hs_text_add(text, "]");
	if (!plain) {
		enum hs_completed completed = hs_option_completed(option);
		hs_text_add(text, ":");
		add_explained(text, option->argument);
		hs_text_add(text, ":");
		if (completed == HS_COMPLETED_CHOICE)
			add_choices(text, option->choices);
		else
			hs_text_add(text, completed == HS_COMPLETED_FILE     ? "_files"
					  : completed == HS_COMPLETED_FOLDER ? "_files -/"
									     : " ");
	}
	hs_text_add(text, "'");
}

static void add_command(const struct hs_usage *usage, void *context)
{
	struct hs_text *text = context;
	hs_text_addf(text, "\t%s)\n\t\t_arguments -s -S%s", usage->command,
		     usage->stop_at_operand ? " -A '-*'" : "");
	for (const struct hs_option *option = usage->options; option->name; option++)
		add_option(text, option);
	hs_text_add(text, " \\\n\t\t\t'(- *)'{-h,--help}'[show help]' \\\n\t\t\t");
	switch (usage->operand) {
	case HS_OPERAND_PROGRAM:
		hs_text_add(text, "'1:program:{_command_names -e || _files}' '*:: :_normal'");
		break;
	case HS_OPERAND_CHOICE:
		hs_text_add(text, usage->most == 1 ? "'1: :" : "'*: :");
		add_choices(text, usage->operand_choices);
		hs_text_add(text, "'");
		break;
	case HS_OPERAND_FILE:
		hs_text_add(text, "'*:file:_files'");
		break;
	case HS_OPERAND_RECORDING:
		hs_text_add(text, "'*:recording:_files -g \"*.hs.gz(-.)\"'");
		break;
	}
	hs_text_add(text, " && result=0\n\t\t;;\n");
}

void hs_completion_zsh(struct hs_text *text)
{
	hs_text_add(text, "#compdef heapscope\n"
			  "# zsh completion for heapscope, written by \"heapscope completion zsh\"\n"
			  "\n"
			  "_heapscope() {\n"
			  "\tlocal context state state_descr line result=1\n"
			  "\ttypeset -A opt_args\n"
			  "\t_arguments -C -A '-*' \\\n"
			  "\t\t'(- *)'{-h,--help}'[show the commands]' \\\n"
			  "\t\t'(- *)'{-V,--version}'[show the version, formats and features]' \\\n"
			  "\t\t'1: :->command' '*:: :->arguments' && result=0\n"
			  "\tcase $state in\n"
			  "\tcommand)\n"
			  "\t\tlocal -a commands=(\n");
	for (const struct hs_command *command = hs_commands; command->name; command++) {
		hs_text_addf(text, "\t\t\t'%s:", command->name);
		add_explained(text, command->help);
		hs_text_add(text, "'\n");
	}
	hs_text_add(text, "\t\t)\n"
			  "\t\t_describe -t commands command commands && result=0\n"
			  "\t\treturn result\n"
			  "\t\t;;\n"
			  "\targuments) ;;\n"
			  "\t*) return result ;;\n"
			  "\tesac\n"
			  "\tlocal curcontext=\"${curcontext%:*}-$line[1]:\"\n"
			  "\tcase $line[1] in\n");
	for (const struct hs_command *command = hs_commands; command->name; command++)
		hs_options_describe(command->function, command->name, add_command, text);
	hs_text_add(text, "\tesac\n"
			  "\treturn result\n"
			  "}\n"
			  "\n"
			  "if [[ $funcstack[1] == _heapscope ]]; then\n"
			  "\t_heapscope \"$@\"\n"
			  "else\n"
			  "\tcompdef _heapscope heapscope\n"
			  "fi\n");
}
