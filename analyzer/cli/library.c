/* Where the files are that were installed with this program. HEAPSCOPE_*_FROM_PROGRAM (relative to the
 * program's folder) and HEAPSCOPE_*_DIRECTORY (absolute) come from the build. */
#include "cli/library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct installed {
	const char *file, *variable;
	const char *what;         /* for people */
	const char *from_program; /* folders */
	const char *from_program_in_build;
	const char *directory;
	const char *remedy; /* what else to do but to set the variable */
};

static const struct installed library = {
	.file = "libheapscope.so",
	.variable = "HEAPSCOPE_LIBRARY",
	.what = "library",
	.from_program = HEAPSCOPE_LIBRARY_FROM_PROGRAM,
	.from_program_in_build = "../../preload",
	.directory = HEAPSCOPE_LIBRARY_DIRECTORY,
	.remedy = "install heapscope again",
};

static const struct installed page = {
	.file = "viewer.html",
	.variable = "HEAPSCOPE_VIEWER",
	.what = "page",
	.from_program = HEAPSCOPE_PAGE_FROM_PROGRAM,
	.from_program_in_build = "../../viewer",
	.directory = HEAPSCOPE_PAGE_DIRECTORY,
	.remedy = HEAPSCOPE_PAGE_BUILT ? "install heapscope again"
				       : "heapscope was built without it: build it again with npm there "
					 "(Debian: package npm)",
};

static char *readable(const char *path)
{
	return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

static char *find_named(const struct installed *wanted, const char *named, struct hs_error *error)
{
	char *found = readable(named);
	if (found == NULL)
		hs_fail(error,
			"cannot read the %s \"%s\" that %s names: %s\n"
			"unset %s, or set it to a path of %s",
			wanted->what, named, wanted->variable, strerror(errno), wanted->variable,
			wanted->file);
	return found;
}

static char *find(const struct installed *wanted, struct hs_error *error)
{
	const char *named = getenv(wanted->variable);
	if (named && *named)
		return find_named(wanted, named, error);
	char program[PATH_MAX], path[PATH_MAX + 256];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[length > 0 ? length : 0] = 0;
	char *slash = strrchr(program, '/');
	if (slash) {
		const char *const places[] = {wanted->from_program, wanted->from_program_in_build};
		*slash = 0;
		for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s/%s", program, places[i], wanted->file);
			char *found = readable(path);
			if (found)
				return found;
		}
	}
	snprintf(path, sizeof(path), "%s/%s", wanted->directory, wanted->file);
	char *found = readable(path);
	if (found == NULL)
		hs_fail(error,
			"%s is missing: it is neither at %s/%s nor in %s\n"
			"%s, or set %s to its path",
			wanted->file, slash ? program : "", wanted->from_program, wanted->directory,
			wanted->remedy, wanted->variable);
	return found;
}

char *hs_library_find(struct hs_error *error)
{
	return find(&library, error);
}

char *hs_page_find(struct hs_error *error)
{
	return find(&page, error);
}
