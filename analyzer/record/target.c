/* Whether a program can be recorded. */
#include "record/target.h"

#include "base/memory.h"
#include "record/elf_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	CANNOT_RECORD = 125,
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
	INTERPRETERS_MOST = 5,
	SCRIPT_LINE_MOST = 256
};

/* ---- finding ------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Looks through PATH. Returns 0; or NOT_FOUND, or NOT_EXECUTABLE if there is only one that may not be run. */
static int search_path(const char *command, char **found)
{
	const char *path = getenv("PATH");
	char place[PATH_MAX], *refused = NULL;
	if (!path)
		path = "/bin:/usr/bin"; /* as execvp has it */
	for (const char *end; *found == NULL; path = end + 1) {
		end = strchrnul(path, ':');
		int length = snprintf(place, sizeof place, "%.*s%s%s", (int)(end - path), path,
				      end == path ? "" : "/", command);
		if (length > 0 && (size_t)length < sizeof place) {
			if (is_program(place))
				*found = hs_copy_string(place);
			else if (!refused && access(place, F_OK) == 0)
				refused = hs_copy_string(place);
		}
		if (!*end)
			break;
	}
	if (*found || !refused) {
		free(refused);
		return *found ? 0 : NOT_FOUND;
	}
	*found = refused;
	return NOT_EXECUTABLE;
}

static int find_program(const char *command, char **path, struct hs_error *error)
{
	struct stat status;
	*path = NULL;
	if (!*command) {
		hs_fail(error, "the program's name is empty: write heapscope run PROGRAM [ARGUMENTS...]");
		return NOT_FOUND;
	}
	if (!strchr(command, '/')) {
		int code = search_path(command, path);
		if (code == NOT_FOUND) {
			const char *here = is_program(command) ? "./" : "";
			hs_fail(error,
				*here ? "'%s' was not found in PATH; there is one here, try './%s'"
				      : "'%s' was not found in PATH; check the spelling or give its path",
				command, command);
		} else if (code == NOT_EXECUTABLE) {
			hs_fail(error,
				"'%s' cannot be executed: it is a directory or lacks the permission; try "
				"'chmod +x'",
				*path);
		}
		return code;
	}
	*path = hs_copy_string(command);
	if (stat(command, &status) != 0) {
		int reason = errno;
		hs_fail(error, "cannot run '%s': %s; check the spelling", command, strerror(reason));
		return reason == ENOENT || reason == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
	}
	if (S_ISDIR(status.st_mode))
		hs_fail(error, "cannot run '%s': it is a directory; name a program in it", command);
	else if (!S_ISREG(status.st_mode))
		hs_fail(error, "cannot run '%s': it is not a regular file", command);
	else if (access(command, X_OK) != 0)
		hs_fail(error, "cannot run '%s': %s; try 'chmod +x %s'", command, strerror(errno), command);
	else
		return 0;
	return NOT_EXECUTABLE;
}

/* ---- rights -------------------------------------------------------------------------------------------- */

/* The kernel starts a program in secure mode, in which the loader ignores LD_PRELOAD, if that changes its
 * user, group or capabilities against those of whoever starts it. */
static int check_rights(int fd, const char *path, struct hs_error *error)
{
	struct stat status;
	struct statvfs system;
	if (getuid() != geteuid() || getgid() != getegid())
		return hs_fail(
			error,
			"heapscope itself runs with changed rights (setuid or setgid), so the loader would "
			"ignore the recorder: run it as an ordinary user");
	if (fstat(fd, &status) != 0 || (fstatvfs(fd, &system) == 0 && (system.f_flag & ST_NOSUID)) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return 0; /* the bits have no effect */
	bool other_user = (status.st_mode & S_ISUID) && status.st_uid != getuid();
	bool other_group =
		(status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid();
	if (other_user || other_group)
		return hs_fail(
			error,
			"'%s' is %s: for safety the loader ignores the recorder in such a program. Record a "
			"copy "
			"without the bit ('cp' makes one), or run heapscope as the user it switches to",
			path, other_user ? "setuid" : "setgid");
	if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return hs_fail(
			error,
			"'%s' has file capabilities: for safety the loader ignores the recorder in such a "
			"program. Record a copy without them ('cp' makes one), or run heapscope as root",
			path);
	return 0;
}

/* ---- kind of file -------------------------------------------------------------------------------------- */

static int check_elf(const char *path, const struct hs_elf_facts *facts, struct hs_error *notice,
		     struct hs_error *error)
{
	const char *name = strrchr(path, '/');
	bool loader = strncmp(name ? name + 1 : path, "ld-", 3) == 0 ||
		      strncmp(name ? name + 1 : path, "ld.so", 5) == 0;
	if (facts->other_class)
		return hs_fail(error,
			       "'%s' is a 32-bit program; heapscope records 64-bit programs: build it for "
			       "this machine",
			       path);
	if (facts->other_machine)
		return hs_fail(error, "'%s' is built for another kind of machine: build it for this one",
			       path);
	if (facts->damaged)
		return hs_fail(error, "'%s' is a damaged ELF file: build or install it again", path);
	if (!facts->executable)
		return hs_fail(error,
			       "'%s' is an ELF file, but not a program (an object file or a core dump): link "
			       "it first",
			       path);
	if (!facts->interpreted && !loader)
		return hs_fail(
			error,
			"'%s' is statically linked: there is no loader that could load the recorder. Link it "
			"dynamically (without -static and -static-pie)",
			path);
	if (facts->musl)
		return hs_fail(
			error,
			"'%s' is linked with musl; heapscope's library needs glibc: build it for glibc",
			path);
	if (facts->sanitizer[0])
		return hs_fail(error,
			       "'%s' is built with %s, which replaces malloc by its own: build it without "
			       "-fsanitize",
			       path, facts->sanitizer);
	if (facts->own_malloc)
		hs_fail(notice,
			"'%s' defines a malloc of its own: allocations that go to it are not recorded. Link "
			"it without "
			"the built-in allocator to see them",
			path);
	return 0;
}

/* Reads the interpreter of a script, absolute or not, as the kernel does; false: it is no script. */
static bool script_interpreter(int fd, char interpreter[SCRIPT_LINE_MOST])
{
	char line[SCRIPT_LINE_MOST];
	ssize_t bytes = pread(fd, line, sizeof line - 1, 0);
	if (bytes < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[bytes] = 0;
	line[strcspn(line, "\n")] = 0;
	char *start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t")] = 0;
	snprintf(interpreter, SCRIPT_LINE_MOST, "%s", start);
	return true;
}

static int not_a_program(const char *path, struct hs_error *error)
{
	hs_fail(error,
		"'%s' is neither an ELF program nor a script with a #! line; if it is a shell script, record "
		"'sh %s'",
		path, path);
	return CANNOT_RECORD;
}

/* Follows #! lines down to an ELF program. */
static int check_file(const char *path, unsigned depth, struct hs_error *notice, struct hs_error *error)
{
	char interpreter[SCRIPT_LINE_MOST];
	struct hs_elf_facts facts;
	int code = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0; /* may be run, not read: the kernel knows more */
	if (script_interpreter(fd, interpreter)) {
		close(fd);
		if (!*interpreter || depth == INTERPRETERS_MOST)
			return not_a_program(path, error);
		if (is_program(interpreter))
			return check_file(interpreter, depth + 1, notice, error);
		hs_fail(error,
			"'%s' is a script for '%s', which is not there or cannot be executed: correct its #! "
			"line",
			path, interpreter);
		return NOT_EXECUTABLE;
	}
	hs_elf_check(fd, &facts);
	if (!facts.elf)
		code = not_a_program(path, error);
	else if (check_elf(path, &facts, notice, error) != 0 || check_rights(fd, path, error) != 0)
		code = CANNOT_RECORD;
	close(fd);
	return code;
}

int hs_target_check(const char *command, char **path, struct hs_error *notice, struct hs_error *error)
{
	notice->text[0] = 0;
	int code = find_program(command, path, error);
	if (code == 0)
		code = check_file(*path, 0, notice, error);
	if (code) {
		free(*path);
		*path = NULL;
	}
	return code;
}

int hs_target_check_library(const char *library, struct hs_error *error)
{
	struct hs_elf_facts facts;
	int fd = open(library, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		hs_fail(error,
			"cannot read the recorder's library '%s': %s; install heapscope again, or set "
			"HEAPSCOPE_LIBRARY to its path",
			library, strerror(errno));
		return CANNOT_RECORD;
	}
	hs_elf_check(fd, &facts);
	close(fd);
	if (facts.elf && facts.executable && !facts.damaged)
		return 0;
	hs_fail(error,
		"the recorder's library '%s' is not a shared library of this machine; install heapscope "
		"again, or set "
		"HEAPSCOPE_LIBRARY to its path",
		library);
	return CANNOT_RECORD;
}
