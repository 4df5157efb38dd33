/* heapscope merge: recordings added up to one profile, one after the other. */
#include "base/format.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "import/write.h"
#include "profile/tally.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"Adds recordings up to one profile: the processes of one run, the ranks of an MPI job, the\n"
	"files of many machines. Sites are the same if the functions, files, lines and module paths\n"
	"of their stacks are. All numbers are sums; the peak is the sum of what each recording held at\n"
	"its own peak, which is not one moment. There is no timeline. A recording that is cut or\n"
	"damaged counts as far as it is whole. What was merged can be merged again.\n"
	"\n"
	"Memory follows the sites, not the files: these are read one after the other.\n"
	"\n"
	"Exit codes: 0; 1 if a file cannot be read or written; 2 for usage.";

/* "all.hs.gz" if that names the same file as an input. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;
	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static int check_files(char **files, const char *path)
{
	for (char **file = files; *file; file++) {
		if (is_same_file(*file, path)) {
			hs_message(
				"merge: \"%s\" is an input and the output: it would count what it has from "
				"before once more; leave it out, or name another output",
				*file);
			return -1;
		}
		for (char **other = files; other < file; other++) {
			if (!is_same_file(*file, *other))
				continue;
			hs_message("merge: \"%s\" and \"%s\" are the same file, which would count twice",
				   *other, *file);
			return -1;
		}
	}
	return 0;
}

/* "server.old.hs.gz", which `heapscope run` leaves of the run before, next to "server.hs.gz": hardly meant,
 * but caught by server.*.hs.gz. */
static void warn_of_old(char **files)
{
	static const char old[] = ".old.hs.gz", new[] = ".hs.gz";
	for (char **file = files; *file; file++) {
		size_t length = strlen(*file), stem = length - strlen(old);
		if (length < strlen(old) || strcmp(*file + stem, old) != 0)
			continue;
		for (char **other = files; *other; other++) {
			if (strncmp(*file, *other, stem) == 0 && strcmp(*other + stem, new) == 0)
				hs_message("warning: \"%s\" is the run before that of \"%s\": both count; "
					   "leave it out if one run is meant",
					   *file, *other);
		}
	}
}

static int add_file(struct hs_tally *tally, const char *path)
{
	struct hs_error error = {{0}};
	struct hs_profile *profile = hs_profile_load(path, &error);
	if (profile == NULL) {
		hs_notice(error.text);
		return -1;
	}
	profile->progress = hs_progress;
	int result = hs_tally_merge(tally, profile, &error);
	hs_progress_end();
	if (result != 0)
		hs_message("\"%s\" cannot be merged: %s", path, error.text);
	else if (profile->facts.warning)
		hs_message("warning: %s: %s", path, profile->facts.warning);
	hs_profile_free(profile);
	return result;
}

static int write_tally(const struct hs_tally *tally, const char *path)
{
	struct hs_error error = {{0}};
	struct hs_output output;
	if (hs_output_open(&output, path, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	if (hs_tally_write(tally, fileno(output.stream), &error) != 0) {
		hs_message("\"%s\" was not written: %s", path, error.text);
		hs_output_discard(&output);
		return HS_EXIT_DATA;
	}
	if (hs_output_commit(&output, &error) != 0) {
		hs_notice(error.text);
		return HS_EXIT_DATA;
	}
	return HS_EXIT_OK;
}

static void tell_next(const struct hs_tally *tally, const char *path)
{
	const struct hs_merged *merged = &tally->facts.merged;
	struct hs_text words = {0};
	hs_text_addf(&words, "merged %s", hs_counted(merged->recordings, "recording").text);
	if (merged->incomplete)
		hs_text_addf(&words, ", %s of them incomplete", hs_count(merged->incomplete).text);
	hs_message("%s; next: heapscope print %s", words.bytes, path);
	hs_text_free(&words);
}

int hs_command_merge(int argc, char **argv)
{
	const char *path = NULL;
	const struct hs_option options[] = {
		{'o', "output", HS_OPTION_TEXT, &path, 0, "FILE", NULL,
		 "write the profile to FILE; - is standard output"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "merge",
		.operands = "FILE... -o OUTPUT",
		.help = help,
		.options = options,
		.fewest = 1,
		.most = -1,
		.missing = "which recordings? e.g. heapscope merge server.hs.gz server.[0-9]*.hs.gz -o "
			   "all.hs.gz",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	if (path == NULL) {
		hs_message("merge: which output? e.g. -o all.hs.gz");
		return HS_EXIT_USAGE;
	}
	bool to_stdout = strcmp(path, "-") == 0;
	if (to_stdout && isatty(STDOUT_FILENO)) {
		hs_message("merge: a recording is binary and standard output is a terminal; name a file with "
			   "-o, or pipe it");
		return HS_EXIT_USAGE;
	}
	if (check_files(argv + first, path) != 0)
		return HS_EXIT_USAGE;
	warn_of_old(argv + first);

	struct hs_tally tally;
	int result = HS_EXIT_OK;
	hs_tally_init(&tally);
	for (int i = first; i < argc && result == HS_EXIT_OK; i++)
		result = add_file(&tally, argv[i]) == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
	if (result == HS_EXIT_OK)
		result = write_tally(&tally, path);
	if (result == HS_EXIT_OK && !to_stdout)
		tell_next(&tally, path);
	hs_tally_free(&tally);
	return result;
}
