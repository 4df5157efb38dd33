/* Files that appear whole or not at all. */
#include "check.h"
#include "cli/output.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/heapscope-test-XXXXXX";

static unsigned files(void)
{
	unsigned count = 0;
	DIR *directory = opendir(".");
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static void check_content(const char *path, const char *wanted)
{
	char content[256] = "";
	FILE *file = fopen(path, "r");
	CHECK(file);
	content[fread(content, 1, sizeof(content) - 1, file)] = 0;
	fclose(file);
	CHECK_TEXT(content, wanted);
}

static void write_file(const char *path, const char *content)
{
	struct hs_output output;
	struct hs_error error;
	CHECK(hs_output_open(&output, path, &error) == 0);
	fputs(content, output.stream);
	CHECK(hs_output_commit(&output, &error) == 0);
}

static void test_commit(void)
{
	struct stat status;
	umask(027);
	write_file("a", "one");
	check_content("a", "one");
	CHECK(stat("a", &status) == 0 && (status.st_mode & 0777) == 0640);
	CHECK(chmod("a", 0600) == 0);
	write_file("a", "two");
	check_content("a", "two");
	CHECK(stat("a", &status) == 0 && (status.st_mode & 0777) == 0600);
	CHECK(symlink("a", "link") == 0);
	write_file("link", "three");
	check_content("a", "three");
	CHECK(lstat("link", &status) == 0 && S_ISLNK(status.st_mode));
	write_file("/dev/null", "gone");
	CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
	CHECK(files() == 2);
}

static void test_discard(void)
{
	struct hs_output output;
	struct hs_error error;
	CHECK(hs_output_open(&output, "a", &error) == 0);
	fputs("half", output.stream);
	fflush(output.stream);
	check_content("a", "three"); /* until it is complete */
	hs_output_discard(&output);
	check_content("a", "three");
	CHECK(files() == 2);
}

static void test_failures(void)
{
	struct hs_output output;
	struct hs_error error;
	CHECK(hs_output_open(&output, "missing/a", &error) == -1);
	CHECK_TEXT(error.text,
		   "cannot write \"missing/a\": No such file or directory\nchoose another place with -o");
	CHECK(hs_output_open(&output, "/tmp", &error) == -1);
	CHECK_TEXT(error.text, "cannot write \"/tmp\": it is a directory\nname a file with -o");
	CHECK(hs_output_open(&output, "/dev/full", &error) == 0); /* a device that never has room */
	fputs("x", output.stream);
	CHECK(hs_output_commit(&output, &error) == -1);
	CHECK_TEXT(error.text, "cannot write \"/dev/full\": No space left on device");
	CHECK(files() == 2);
}

int main(void)
{
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	test_commit();
	test_discard();
	test_failures();
	CHECK(unlink("a") == 0 && unlink("link") == 0 && rmdir(folder) == 0);
	return 0;
}
