/* The files of a session: their names, and the first one's place, which is secured before the target starts.
 */
#ifndef HS_RECORD_OUTPUTS_H
#define HS_RECORD_OUTPUTS_H

#include "base/aside.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hs_outputs {
	int directory;
	char *directory_path; /* as the user would type it: "" or "some/where/" */
	char *name;           /* of the first file, without directory */
	char *stem;           /* the name without .hs.gz */
	char *temporary;      /* under which it waits for the first process */
	int fd;               /* of the first file; -1 once it is given away */
	int replaced; /* descriptor of a file that has no name any more, or -1: closing it may take long */
	struct hs_aside letting_go;
	bool special; /* a device or a pipe: written in place */
	char **files; /* made so far, the target's own first; NULL-terminated */
	size_t count, capacity;
};

/* path: NULL for PROGRAM.hs.gz in the current directory. Returns 0, or -1 and the error. */
int hs_outputs_open(struct hs_outputs *output, const char *path, const char *program, struct hs_error *error);
/* The target's own file, with an older one moved out of the way; or -1 and the error. The caller closes it.
 */
int hs_outputs_own(struct hs_outputs *output, struct hs_error *error);
/* The file of another process, or of a later image of the same one. */
int hs_outputs_other(struct hs_outputs *output, pid_t pid, const char *program, struct hs_error *error);
/* Forgets the list of files (the caller may have taken it) and removes what was not used. */
void hs_outputs_close(struct hs_outputs *output);

#endif
