/* Checks of a program before it is started: what cannot be recorded is refused with the reason and a remedy.
 */
#ifndef HS_RECORD_TARGET_H
#define HS_RECORD_TARGET_H

#include "base/error.h"

#include <stdbool.h>

enum { HS_REFUSALS_MOST = 6 }; /* there are not as many that go together */

struct hs_target {
	char *path;    /* as execvp would find it; NULL: it does not, or not to run it */
	char *program; /* the ELF program that then runs: path, or the interpreter of a script; NULL: none */
	char *by_env;  /* what a script is for that goes by /usr/bin/env: the name to look for; NULL: it does
			  not */
	/* Why it cannot be recorded: each reason with its check ("found", "kind", "linking", "libc",
	 * "sanitizer", "rights") and the exit code that it leads to: 125, 126 (not executable), 127 (not
	 * found). The first is the first that stands in the way. */
	struct hs_refusal {
		const char *check;
		int code;
		struct hs_error why, remedy;
	} refusals[HS_REFUSALS_MOST];
	unsigned refusal_count;
	/* What the user should know although the program can run; or "". */
	struct hs_error notice, notice_remedy;
};

void hs_target_inspect(const char *command, struct hs_target *target);
void hs_target_free(struct hs_target *target);
/* Whether a check is among the reasons. */
bool hs_target_refused(const struct hs_target *target, const char *check);

/* The same for whoever starts it. Returns 0 and its path (malloc'ed); or 125, 126 or 127 and the first
 * reason. notice: something that the user should know although the program can run, or "". */
int hs_target_check(const char *command, char **path, struct hs_error *notice, struct hs_error *error);
/* The library that is to be preloaded. */
int hs_target_check_library(const char *library, struct hs_error *error);

#endif
