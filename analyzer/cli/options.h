/* Options of one command: parsed and explained from one table. */
#ifndef HS_OPTIONS_H
#define HS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum hs_option_kind {
	HS_OPTION_SET = 1, /* no argument: *(int *)value = constant */
	HS_OPTION_TEXT,    /* *(const char **)value = the argument */
	HS_OPTION_NUMBER,  /* *(uint64_t *)value = the argument, a decimal number */
	HS_OPTION_CHOICE,  /* *(int *)value = the argument's index in choices */
};

struct hs_option {
	char letter; /* 0: none */
	const char *name;
	enum hs_option_kind kind;
	void *value;
	int constant;
	const char *argument;       /* its name in the help */
	const char *const *choices; /* NULL-terminated */
	const char *help;
};

struct hs_usage {
	const char *command;
	const char *operands;            /* as in the usage line: "FILE" */
	const char *help;                /* paragraphs above the options */
	const struct hs_option *options; /* ends with name == NULL; --help is added */
	bool stop_at_operand;            /* options after the first operand belong to the operand */
	int fewest, most;                /* operands; most -1: any number */
	const char *missing;             /* the message when there are fewer */
};

enum { HS_OPTIONS_HELPED = -1, HS_OPTIONS_WRONG = -2 };

/* Parses argv (argv[0] is the command's name). Returns the index of the first operand (argv is permuted); or
 * HELPED:
 * --help was asked for and printed; or WRONG: the message was printed. */
int hs_options_parse(const struct hs_usage *usage, int argc, char **argv);

/* For the two failures above: the exit code, 0 or 2. */
int hs_options_exit_code(int result);

void hs_options_help(const struct hs_usage *usage);

#endif
