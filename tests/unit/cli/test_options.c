/* Option parsing: what is stored, what is refused with which message (read back from standard error). */
#include "check.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

static int flag, choice;
static const char *text;
static uint64_t number;
static char **arguments;

static const char *const choices[] = {"auto", "always", "never", NULL};
static const struct hs_option options[] = {
	{'f', "flag", HS_OPTION_SET, &flag, 7, NULL, NULL, "set"},
	{'o', "output", HS_OPTION_TEXT, &text, 0, "FILE", NULL, "text"},
	{'n', "number", HS_OPTION_NUMBER, &number, 0, "N", NULL, "number"},
	{0, "color", HS_OPTION_CHOICE, &choice, 0, "WHEN", choices, "choice"},
	{0, "colour-blind", HS_OPTION_SET, &flag, 8, NULL, NULL, "shares a beginning"},
	{0},
};

/* Parses a copy of the words and gives what was written to standard error. */
static const char *messages;
static int parse(bool stop, int fewest, int most, const char *const *words)
{
	static char *copies[16];
	static char written[4096];
	const struct hs_usage usage = {
		.command = "print",
		.operands = "FILE",
		.help = "Help.",
		.options = options,
		.stop_at_operand = stop,
		.fewest = fewest,
		.most = most,
		.missing = "which recording?",
	};
	int count = 1, saved = dup(STDERR_FILENO);
	copies[0] = (char[]){"print"};
	for (; words[count - 1]; count++)
		copies[count] = (char *)words[count - 1];
	copies[count] = NULL;
	arguments = copies;
	flag = choice = 0;
	text = NULL;
	number = 0;
	FILE *file = tmpfile();
	CHECK(file && saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	int result = hs_options_parse(&usage, count, copies);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	written[fread(written, 1, sizeof(written) - 1, file)] = 0;
	fclose(file);
	messages = written;
	return result;
}

#define PARSE(stop, fewest, most, ...) parse(stop, fewest, most, (const char *const[]){__VA_ARGS__, NULL})

static void test_accepted(void)
{
	CHECK(PARSE(false, 1, 1, "a.hs.gz") == 1);
	CHECK(PARSE(false, 1, 1, "a.hs.gz", "-f", "--number", "12", "--color=never") == 5);
	CHECK(flag == 7 && number == 12 && choice == 2);
	int first =
		PARSE(false, 1, 1, "a.hs.gz", "-n", "0", "--out", "x y"); /* after the operand, abbreviated */
	CHECK_TEXT(arguments[first], "a.hs.gz");
	CHECK_TEXT(text, "x y");
	first = PARSE(false, 1, 1, "--", "-n");
	CHECK_TEXT(arguments[first], "-n");
	/* run: the program's options are its own */
	first = PARSE(true, 1, -1, "-f", "./server", "-n", "--unknown");
	CHECK(first == 2 && flag == 7 && number == 0);
	CHECK_TEXT(arguments[first + 2], "--unknown");
	CHECK_TEXT(messages, "");
}

static void check_refused(int result, const char *wanted)
{
	CHECK(result == HS_OPTIONS_WRONG && hs_options_exit_code(result) == 2);
	char whole[1024];
	snprintf(whole, sizeof(whole), "heapscope: print: %s\nheapscope: see \"heapscope print --help\"\n",
		 wanted);
	CHECK_TEXT(messages, whole);
}

static void test_refused(void)
{
	check_refused(PARSE(false, 1, 1, "--nubmer", "3"),
		      "unknown option \"--nubmer\"; did you mean --number?");
	check_refused(PARSE(false, 1, 1, "--frobnicate"), "unknown option \"--frobnicate\"");
	check_refused(PARSE(false, 1, 1, "-fx"), "unknown option \"-x\"");
	check_refused(PARSE(false, 1, 1, "--flag=1"), "option --flag takes no argument");
	check_refused(PARSE(false, 1, 1, "--colo", "never"),
		      "option \"--colo\" could be any of --color, --colour-blind");
	check_refused(PARSE(false, 1, 1, "a", "-o"), "option --output needs an argument: FILE");
	check_refused(PARSE(false, 1, 1, "a", "--output"), "option --output needs an argument: FILE");
	check_refused(PARSE(false, 1, 1, "-n", "-1"), "--number wants a number, not \"-1\"");
	check_refused(PARSE(false, 1, 1, "-n", "12x"), "--number wants a number, not \"12x\"");
	check_refused(PARSE(false, 1, 1, "-n", ""), "--number wants a number, not \"\"");
	check_refused(PARSE(false, 1, 1, "-n", "99999999999999999999"),
		      "--number wants a number, not \"99999999999999999999\"");
	check_refused(PARSE(false, 1, 1, "--color", "blue"),
		      "--color wants one of auto, always, never, not \"blue\"");
	check_refused(PARSE(false, 1, 1, "-f"), "which recording?");
	check_refused(PARSE(false, 1, 1, "a", "b"), "\"b\" is one operand too many");
	check_refused(PARSE(false, 1, 1, "--\033[31m"), "unknown option \"--?[31m\"");
}

int main(void)
{
	test_accepted();
	test_refused();
	return 0;
}
