/* A file that appears whole or not at all: written beside its place, then renamed over it. */
#ifndef HS_OUTPUT_H
#define HS_OUTPUT_H

#include "base/error.h"

#include <stdio.h>

struct hs_output {
	FILE *stream;
	char *path;      /* where it will stand */
	char *temporary; /* where it stands now; NULL: path is written directly */
};

/* "-" is standard output. A path that is a device or pipe is written directly. Returns 0, or -1 and an error.
 */
int hs_output_open(struct hs_output *output, const char *path, struct hs_error *error);
/* Puts the finished file in its place; on failure nothing is left and what was there before stays. */
int hs_output_commit(struct hs_output *output, struct hs_error *error);
void hs_output_discard(struct hs_output *output);

#endif
