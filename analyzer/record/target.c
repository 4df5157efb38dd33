/* Whether a program can be recorded. */
#include "record/target.h"

#include "base/memory.h"
#include "record/elf_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
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

/* Notes a reason why the target is refused; returns the code. The remedy is a sentence without its stop;
 * hs_fail can replace it, in last_remedy(). */
static int refuse(struct hs_target *target, int code, const char *check, const char *remedy,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
static int refuse(struct hs_target *target, int code, const char *check, const char *remedy,
		  const char *format, ...)
{
	va_list arguments;
	if (target->refusal_count == HS_REFUSALS_MOST)
		return code;
	struct hs_refusal *refusal = &target->refusals[target->refusal_count++];
	va_start(arguments, format);
	vsnprintf(refusal->why.text, sizeof refusal->why.text, format, arguments);
	va_end(arguments);
	hs_fail(&refusal->remedy, "%s", remedy);
	refusal->check = check;
	return refusal->code = code;
}

static struct hs_error *last_remedy(struct hs_target *target)
{
	return &target->refusals[target->refusal_count - 1].remedy;
}

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

static int find_program(const char *command, struct hs_target *target)
{
	static const char check[] = "found";
	struct stat status;
	if (!*command)
		return refuse(target, NOT_FOUND, check, "write heapscope run PROGRAM [ARGUMENTS...]",
			      "the program's name is empty");
	if (!strchr(command, '/')) {
		int code = search_path(command, &target->path);
		if (code == NOT_EXECUTABLE)
			return refuse(target, code, check,
				      "give it the permission with 'chmod +x', or name another",
				      "'%s' cannot be executed: it is a directory or lacks the permission",
				      target->path);
		if (code == NOT_FOUND && is_program(command)) {
			refuse(target, code, check, "", "'%s' was not found in PATH; there is one here",
			       command);
			hs_fail(last_remedy(target), "try './%s'", command);
		} else if (code == NOT_FOUND) {
			refuse(target, code, check, "check the spelling or give its path",
			       "'%s' was not found in PATH", command);
		}
		return code;
	}
	target->path = hs_copy_string(command);
	if (stat(command, &status) != 0)
		return refuse(target, errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE, check,
			      "check the spelling", "cannot run '%s': %s", command, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return refuse(target, NOT_EXECUTABLE, check, "name a program in it",
			      "cannot run '%s': it is a directory", command);
	if (!S_ISREG(status.st_mode))
		return refuse(target, NOT_EXECUTABLE, check, "name a program",
			      "cannot run '%s': it is not a regular file", command);
	if (access(command, X_OK) != 0)
		return refuse(target, NOT_EXECUTABLE, check, "give it the permission with 'chmod +x'",
			      "cannot run '%s': %s", command, strerror(errno));
	return 0;
}

/* ---- rights -------------------------------------------------------------------------------------------- */

/* The kernel starts a program in secure mode, in which the loader ignores LD_PRELOAD, if that changes its
 * user, group or capabilities against those of whoever starts it. */
static void check_rights(int fd, const char *path, struct hs_target *target)
{
	static const char check[] = "rights";
	struct stat status;
	struct statvfs system;
	if (getuid() != geteuid() || getgid() != getegid())
		refuse(target, CANNOT_RECORD, check, "run it as an ordinary user",
		       "heapscope itself runs with changed rights (setuid or setgid), so the loader would "
		       "ignore the recorder");
	if (fstat(fd, &status) != 0 || (fstatvfs(fd, &system) == 0 && (system.f_flag & ST_NOSUID)) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return; /* the bits have no effect */
	bool other_user = (status.st_mode & S_ISUID) && status.st_uid != getuid();
	bool other_group =
		(status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid();
	if (other_user || other_group)
		refuse(target, CANNOT_RECORD, check,
		       "record a copy without the bit ('cp' makes one), or run heapscope as the user it "
		       "switches to",
		       "'%s' is %s: for safety the loader ignores the recorder in such a program", path,
		       other_user ? "setuid" : "setgid");
	else if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		refuse(target, CANNOT_RECORD, check,
		       "record a copy without them ('cp' makes one), or run heapscope as root",
		       "'%s' has file capabilities: for safety the loader ignores the recorder in such a "
		       "program",
		       path);
}

/* ---- kind of file -------------------------------------------------------------------------------------- */

static void check_elf(const char *path, const struct hs_elf_facts *facts, struct hs_target *target)
{
	static const char kind[] = "kind";
	const char *name = strrchr(path, '/');
	bool loader = strncmp(name ? name + 1 : path, "ld-", 3) == 0 ||
		      strncmp(name ? name + 1 : path, "ld.so", 5) == 0;
	if (facts->other_class)
		refuse(target, CANNOT_RECORD, kind, "build it for this machine",
		       "'%s' is a 32-bit program; heapscope records 64-bit programs", path);
	else if (facts->other_machine)
		refuse(target, CANNOT_RECORD, kind, "build it for this one",
		       "'%s' is built for another kind of machine", path);
	else if (facts->damaged)
		refuse(target, CANNOT_RECORD, kind, "build or install it again", "'%s' is a damaged ELF file",
		       path);
	else if (!facts->executable)
		refuse(target, CANNOT_RECORD, kind, "link it first",
		       "'%s' is an ELF file, but not a program (an object file or a core dump)", path);
	if (hs_target_refused(target, kind))
		return; /* the rest was not read */
	if (!facts->interpreted && !loader)
		refuse(target, CANNOT_RECORD, "linking",
		       "link it dynamically (without -static and -static-pie)",
		       "'%s' is statically linked: there is no loader that could load the recorder", path);
	else if (facts->musl)
		refuse(target, CANNOT_RECORD, "libc", "build it for glibc",
		       "'%s' is linked with musl; heapscope's library needs glibc", path);
	if (facts->sanitizer[0])
		refuse(target, CANNOT_RECORD, "sanitizer", "build it without -fsanitize",
		       "'%s' is built with %s, which replaces malloc by its own", path, facts->sanitizer);
	if (facts->own_malloc && !facts->sanitizer[0] && !hs_target_refused(target, "linking")) {
		hs_fail(&target->notice,
			"'%s' defines a malloc of its own: allocations that go to it are not recorded", path);
		hs_fail(&target->notice_remedy, "link it without the built-in allocator to see them");
	}
}

/* Reads the interpreter of a script, absolute or not, as the kernel does, and its argument; false: it is no
 * script. */
static bool script_interpreter(int fd, char interpreter[SCRIPT_LINE_MOST], char argument[SCRIPT_LINE_MOST])
{
	char line[SCRIPT_LINE_MOST];
	ssize_t bytes = pread(fd, line, sizeof line - 1, 0);
	if (bytes < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[bytes] = 0;
	line[strcspn(line, "\n")] = 0;
	char *start = line + 2 + strspn(line + 2, " \t"), *end = start + strcspn(start, " \t");
	char *rest = end + strspn(end, " \t");
	snprintf(argument, SCRIPT_LINE_MOST, "%s", rest);
	*end = 0;
	snprintf(interpreter, SCRIPT_LINE_MOST, "%s", start);
	return true;
}

/* "env python3", "env -S python3 -u": what env starts then; malloc'ed, NULL if it is not to be seen. */
static char *started_by_env(const char *interpreter, const char *argument)
{
	const char *slash = strrchr(interpreter, '/');
	if (strcmp(slash ? slash + 1 : interpreter, "env") != 0)
		return NULL;
	if (strncmp(argument, "-S", 2) == 0)
		argument += 2 + strspn(argument + 2, " \t");
	size_t length = strcspn(argument, " \t");
	bool plain = length && argument[0] != '-' && !memchr(argument, '=', length);
	return plain ? strndup(argument, length) : NULL;
}

static void not_a_program(const char *path, struct hs_target *target)
{
	refuse(target, CANNOT_RECORD, "kind", "",
	       "'%s' is neither an ELF program nor a script with a #! line", path);
	hs_fail(last_remedy(target), "if it is a shell script, record 'sh %s'", path);
}

/* Follows #! lines down to an ELF program. */
static void check_file(const char *path, unsigned depth, struct hs_target *target)
{
	char interpreter[SCRIPT_LINE_MOST], argument[SCRIPT_LINE_MOST];
	struct hs_elf_facts facts;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return; /* may be run, not read: the kernel knows more */
	if (script_interpreter(fd, interpreter, argument)) {
		close(fd);
		free(target->by_env);
		target->by_env = started_by_env(interpreter, argument);
		if (!*interpreter || depth == INTERPRETERS_MOST)
			not_a_program(path, target);
		else if (is_program(interpreter))
			check_file(interpreter, depth + 1, target);
		else
			refuse(target, NOT_EXECUTABLE, "kind", "correct its #! line",
			       "'%s' is a script for '%s', which is not there or cannot be executed", path,
			       interpreter);
		return;
	}
	hs_elf_check(fd, &facts);
	if (!facts.elf) {
		not_a_program(path, target);
	} else {
		target->program = hs_copy_string(path);
		check_elf(path, &facts, target);
		check_rights(fd, path, target);
	}
	close(fd);
}

void hs_target_inspect(const char *command, struct hs_target *target)
{
	struct stat status;
	*target = (struct hs_target){0};
	int code = find_program(command, target);
	/* one that lacks the permission may have more against it */
	if (code == 0 ||
	    (code == NOT_EXECUTABLE && stat(target->path, &status) == 0 && S_ISREG(status.st_mode)))
		check_file(target->path, 0, target);
}

bool hs_target_refused(const struct hs_target *target, const char *check)
{
	for (unsigned i = 0; i < target->refusal_count; i++) {
		if (strcmp(target->refusals[i].check, check) == 0)
			return true;
	}
	return false;
}

void hs_target_free(struct hs_target *target)
{
	free(target->path);
	free(target->program);
	free(target->by_env);
	target->path = target->program = target->by_env = NULL;
}

int hs_target_check(const char *command, char **path, struct hs_error *notice, struct hs_error *error)
{
	struct hs_target target;
	hs_target_inspect(command, &target);
	notice->text[0] = 0;
	*path = NULL;
	if (target.notice.text[0])
		hs_fail(notice, "%s; %s", target.notice.text, target.notice_remedy.text);
	int code = target.refusal_count ? target.refusals[0].code : 0;
	if (code) {
		hs_fail(error, "%s; %s", target.refusals[0].why.text, target.refusals[0].remedy.text);
	} else {
		*path = target.path;
		target.path = NULL;
	}
	hs_target_free(&target);
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
