/* Options of one command. The table is the only place where they stand: it is what argv is parsed by, and
 * what
 * --help, the manual page (manual.c) and the shells' completion (completion.c) are made from. */
#ifndef HS_OPTIONS_H
#define HS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_option_kind {
	HS_OPTION_SET = 1, /* no argument: *(int *)value = constant */
	HS_OPTION_TEXT,    /* *(const char **)value = the argument */
	HS_OPTION_NUMBER,  /* *(uint64_t *)value = the argument, a decimal number */
	HS_OPTION_CHOICE,  /* *(int *)value = the argument's index in choices */
	HS_OPTION_LIST,    /* adds the argument to *(struct hs_list *)value */
	HS_OPTION_SIZE,    /* *(uint64_t *)value = bytes: "4096", "64k", "1.5MiB" */
	HS_OPTION_TIME, /* *(uint64_t *)value = microseconds: "1.5" and "1.5s" are seconds, "200ms", "2min" */
	HS_OPTION_TITLE, /* no option: a line in the help above those that follow; its name is "" */
};

struct hs_list {
	const char **items;
	uint32_t count;
	size_t capacity;
};
void hs_list_free(struct hs_list *list);

struct hs_option {
	char letter; /* 0: none */
	const char *name;
	enum hs_option_kind kind;
	void *value;
	int constant;
	const char *argument; /* its name in the help; shells complete files for FILE, folders for FOLDER */
	const char *const *choices; /* NULL-terminated; of HS_OPTION_TEXT (or NULL): only what shells offer */
	const char *help;
};

/* What shells complete operands with. */
enum hs_operand {
	HS_OPERAND_RECORDING, /* *.hs.gz */
	HS_OPERAND_FILE,
	HS_OPERAND_PROGRAM, /* a command and its arguments */
	HS_OPERAND_CHOICE,  /* operand_choices; also if there is nothing to complete */
};

struct hs_example {
	const char *command; /* the whole line */
	const char *what;    /* it is for */
};

struct hs_usage {
	const char *command;
	const char *operands; /* as in the usage line: "FILE" */
	/* Paragraphs, with an empty line between; lines that begin with a space stay as they are. A line that
	 * begins with "Exit codes: " has the exit codes, to the end of its paragraph. Variables of the
	 * environment do not stand here but in environment.c. */
	const char *help;
	const struct hs_option *options;    /* ends with name == NULL; --help is added */
	bool stop_at_operand;               /* options after the first operand belong to the operand */
	int fewest, most;                   /* operands; most -1: any number */
	const char *missing;                /* the message when there are fewer */
	enum hs_operand operand;            /* what they are */
	const char *const *operand_choices; /* NULL-terminated, or NULL */
	const struct hs_example *examples;  /* ends with command == NULL; or NULL */
};

enum { HS_OPTIONS_HELPED = -1, HS_OPTIONS_WRONG = -2 };

/* Parses argv (argv[0] is the command's name). Returns the index of the first operand (argv is permuted); or
 * HELPED: --help was asked for and printed; or WRONG: the message was printed. A command calls this before it
 * does anything else, and returns hs_options_exit_code of a negative result: see hs_options_describe. */
int hs_options_parse(const struct hs_usage *usage, int argc, char **argv);

/* For the two failures above: the exit code, 0 or 2. */
int hs_options_exit_code(int result);

void hs_options_help(const struct hs_usage *usage);

/* Gives `see` the usage of a command without running it: the next hs_options_parse hands it over and returns
 * HELPED. */
void hs_options_describe(int (*command)(int argc, char **argv), const char *name,
			 void (*see)(const struct hs_usage *usage, void *context), void *context);

/* The help text of a usage in its parts. A part is malloc'ed, "" if there is none. */
char *hs_usage_description(const struct hs_usage *usage); /* without the exit codes */
char *hs_usage_exit_codes(const struct hs_usage *usage);  /* without the words "Exit codes: " */

#endif
