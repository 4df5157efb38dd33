/* heapscope run: records a program. The target owns the standard streams; all our words go to standard error.
 */
#include "base/format.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"Runs PROGRAM and records every allocation of it, and of the processes it starts, with the\n"
	"full stack. Its streams and its exit status are passed through. Writes NAME.hs.gz in the\n"
	"current directory (an older one is kept as NAME.old.hs.gz), and NAME.PID.CHILD.hs.gz for\n"
	"each child process. While it runs, \"heapscope print\" shows what is there so far.\n"
	"\n"
	"With budgets (--check, --max-..., --against) the recording of the program, not of its\n"
	"children, is checked at the end, and the verdicts go to standard error.\n"
	"\n"
	"Exit codes: the program's own (killed by the same signal if it was killed), and if that is\n"
	"0, 1 if a budget is exceeded; 125 if it cannot be recorded, 126 if it is not executable,\n"
	"127 if it was not found, 2 for usage.";

/* Ends this process the way the target ended, so that a shell sees no difference. */
static void die_like_target(int signal_number)
{
	struct rlimit no_core = {0, 0};
	sigset_t set;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), signal_number);
}

static void no_progress(const char *phase, unsigned long long done, unsigned long long total)
{
}

/* The recording of what the program became in the end: a script that runs `exec server` is the server. */
static char *find_last_image(const struct hs_record_result *result)
{
	char *found = result->files[0];
	uint32_t pid = 0;
	for (char **file = result->files; result->files[1] && *file; file++) {
		struct hs_error error;
		struct hs_profile *profile = hs_profile_load(*file, &error);
		bool is_it = profile && (file == result->files || profile->facts.pid == pid);
		bool went_on = is_it && profile->facts.end == HS_END_EXEC;
		if (is_it) {
			found = *file;
			pid = profile->facts.pid;
		}
		hs_profile_free(profile);
		if (is_it && !went_on)
			break;
	}
	return found;
}

static void tell_result(const struct hs_record_result *result)
{
	size_t count = 0;
	while (result->files && result->files[count])
		count++;
	if (count == 0)
		return; /* the recorder said why */
	struct hs_text text = {0};
	hs_text_addf(&text, "wrote %s", result->files[0]);
	if (count > 1)
		hs_text_addf(&text, " (and %s more, of children and of programs that they became)",
			     hs_count(count - 1).text);
	struct stat status;
	/* what went into a pipe or a device cannot be printed from there */
	if (stat(result->files[0], &status) == 0 && S_ISREG(status.st_mode)) {
		const char *last = find_last_image(result);
		hs_text_addf(&text, "; next%s: heapscope print ",
			     last == result->files[0] ? "" : ", for what it became in the end");
		hs_text_shell_word(&text, last);
	}
	hs_notice(text.bytes);
	hs_text_free(&text);
}

static int check_result(const struct hs_check_options *check, const struct hs_budgets *budgets,
			const struct hs_record_result *result)
{
	if (!result->files[0]) {
		hs_message("nothing was recorded, so there is nothing to check");
		return HS_EXIT_DATA;
	}
	char *path = find_last_image(result);
	return hs_check_recordings(check, budgets, &path, 1, stderr);
}

int hs_command_run(int argc, char **argv)
{
	static const char *const follow_names[] = {"all", "exec", "none", NULL};
	static const enum hs_follow follow_values[] = {HS_FOLLOW_ALL, HS_FOLLOW_EXEC, HS_FOLLOW_NONE};
	const char *output = NULL;
	int follow = 0, quiet = 0, symbols = 1;
	struct hs_check_options check = {.rows = 5, .colour = HS_COLOUR_AUTO};
	struct hs_budgets budgets = {0};
	const struct hs_option options[] = {
		{'o', "output", HS_OPTION_TEXT, &output, 0, "FILE", NULL, "write the recording to FILE"},
		{0, "follow", HS_OPTION_CHOICE, &follow, 0, "all|exec|none", follow_names,
		 "record all child processes (the default), only those that run another program, or none"},
		{0, "no-follow", HS_OPTION_SET, &follow, 2, NULL, NULL, "the same as --follow none"},
		{0, "no-symbols", HS_OPTION_SET, &symbols, 0, NULL, NULL,
		 "do not look up names: reports show addresses"},
		{'q', "quiet", HS_OPTION_SET, &quiet, 1, NULL, NULL, "say nothing but errors"},
		{0, "check", HS_OPTION_TEXT, &check.file, 0, "FILE", NULL,
		 "check the recording against the budgets in FILE at the end, as \"heapscope check\" does"},
		HS_CHECK_OPTIONS(check),
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope run ./server --once", "writes server.hs.gz"},
		{"heapscope run -o /tmp/s.hs.gz --no-follow -- make -j4",
		 "to another place, without the processes that it starts"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.examples = examples,
		.command = "run",
		.operands = "[--] PROGRAM [ARGUMENTS...]",
		.help = help,
		.options = options,
		.stop_at_operand = true,
		.operand = HS_OPERAND_PROGRAM,
		.fewest = 1,
		.most = -1,
		.missing = "which program? e.g. heapscope run ./server --once",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);

	check.quiet = quiet;
	if (hs_check_asked(&check)) {
		int wrong = hs_check_budgets(&check, "run", &budgets);
		if (wrong) {
			hs_budgets_free(&budgets);
			return wrong == HS_EXIT_USAGE ? HS_EXIT_USAGE : HS_EXIT_OWN_FAILURE;
		}
	}
	struct hs_error error = {{0}};
	char *library = hs_library_find(&error);
	if (library == NULL) {
		hs_notice(error.text);
		return HS_EXIT_OWN_FAILURE;
	}
	struct hs_record_options record = {
		.command = argv + first,
		.output = output,
		.library = library,
		.follow = follow_values[follow],
		.quiet = quiet,
		.symbols = symbols,
		.is_last = true,
		.notice = hs_notice,
		.progress = quiet ? no_progress : hs_progress,
	};
	struct hs_record_result result = {0};
	int failed = hs_record(&record, &result, &error);
	hs_progress_end();
	free(library);
	if (failed) {
		hs_notice(error.text);
		return failed;
	}
	if (!quiet)
		tell_result(&result);
	int status = result.exit_status, killed_by = result.exit_signal;
	if (hs_check_asked(&check)) {
		int verdict = check_result(&check, &budgets, &result);
		status = status ? status : verdict;
		hs_budgets_free(&budgets);
	}
	hs_record_result_free(&result);
	if (killed_by) {
		die_like_target(killed_by);
		return 128 + killed_by;
	}
	return status;
}
