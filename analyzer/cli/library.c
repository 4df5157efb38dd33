/* Where the injected library is. HEAPSCOPE_LIBRARY_FROM_PROGRAM (relative to the program's folder) and
 * HEAPSCOPE_LIBRARY_DIRECTORY (absolute) come from the build. */
#include "cli/library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char file_name[] = "libheapscope.so";

static char *readable(const char *path)
{
	return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

char *hs_library_find(struct hs_error *error)
{
	const char *named = getenv("HEAPSCOPE_LIBRARY");
	if (named && *named) {
		char *found = readable(named);
		if (found == NULL)
			hs_fail(error,
				"cannot read the library \"%s\" that HEAPSCOPE_LIBRARY names: %s\n"
				"unset HEAPSCOPE_LIBRARY, or set it to a path of %s",
				named, strerror(errno), file_name);
		return found;
	}
	char program[PATH_MAX], path[PATH_MAX + 256];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[length > 0 ? length : 0] = 0;
	char *slash = strrchr(program, '/');
	if (slash) {
		static const char *const places[] = {HEAPSCOPE_LIBRARY_FROM_PROGRAM, "../../preload"};
		*slash = 0;
		for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s/%s", program, places[i], file_name);
			char *found = readable(path);
			if (found)
				return found;
		}
	}
	snprintf(path, sizeof(path), "%s/%s", HEAPSCOPE_LIBRARY_DIRECTORY, file_name);
	char *found = readable(path);
	if (found == NULL)
		hs_fail(error,
			"%s is missing: it is neither at %s/%s nor in %s\n"
			"install heapscope again, or set HEAPSCOPE_LIBRARY to its path",
			file_name, slash ? program : "", HEAPSCOPE_LIBRARY_FROM_PROGRAM,
			HEAPSCOPE_LIBRARY_DIRECTORY);
	return found;
}
