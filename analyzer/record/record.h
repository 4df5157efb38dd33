/* Recording a program: everything behind `heapscope run`. Library code: prints nothing by itself; notices go
 * through `notice`. */
#ifndef HS_RECORD_H
#define HS_RECORD_H

#include "base/error.h"

#include <stdbool.h>

enum hs_follow { HS_FOLLOW_ALL, HS_FOLLOW_EXEC, HS_FOLLOW_NONE };

struct hs_record_options {
	char *const *command; /* argv of the target, NULL-terminated */
	const char *output;   /* NULL: NAME.hs.gz in the current directory */
	const char *library;  /* path of the shim */
	enum hs_follow follow;
	bool quiet;
	bool symbols; /* false: leave the naming of addresses to another time */
	bool is_last; /* the process ends soon: what takes milliseconds to take apart goes with it */
	/* Progress (phase, done, total; on a terminal) and messages for the user, without prefix or newline.
	 */
	void (*notice)(const char *text);
	void (*progress)(const char *phase, unsigned long long done, unsigned long long total);
};

struct hs_record_result {
	int exit_status; /* of the target, if it exited */
	int exit_signal; /* or the signal that killed it, else 0 */
	char **files;    /* of the recordings, NULL-terminated; the target's own first, if it has one */
};

/* Starts the target, records it and its children, writes their files. Returns 0 when the target was started,
 * however it ended. Otherwise fills in error and returns 125 (own failure or a program that cannot be
 * recorded), 126 (not executable), 127 (not found). */
int hs_record(const struct hs_record_options *options, struct hs_record_result *result,
	      struct hs_error *error);
/* Whether the limits of this process (ulimit) allow it: 0, or -1 and the error. */
int hs_record_check_limits(struct hs_error *error);
void hs_record_result_free(struct hs_record_result *result);

#endif
