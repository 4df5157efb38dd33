/* Starts the target with the recorder preloaded. */
#ifndef HS_RECORD_LAUNCH_H
#define HS_RECORD_LAUNCH_H

#include "base/error.h"
#include "record/signals.h"

struct hs_launch {
	const char *path;
	char *const *arguments;
	const char *library;
	const char *directory; /* private; for a link to a library whose path LD_PRELOAD cannot hold */
	const char *socket, *token, *follow;
	const struct hs_signals *signals;
};

/* Returns 0 and the pid; or 125, 126 or 127 and the error. */
int hs_launch(const struct hs_launch *launch, pid_t *pid, struct hs_error *error);

#endif
