/* The signals of `heapscope run`: they arrive by a descriptor, and most are meant for the target. */
#ifndef HS_RECORD_SIGNALS_H
#define HS_RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hs_signals {
	int descriptor; /* signalfd, not blocking */
	sigset_t old_mask;
	struct sigaction old_pipe, old_size, old_child;
};

/* Blocks and redirects; returns 0 or -1. */
int hs_signals_take(struct hs_signals *signals);
/* Puts everything back: in the forked child before exec, and at the end. */
void hs_signals_give_back(const struct hs_signals *signals);

struct hs_signals_news {
	bool child; /* SIGCHLD */
	bool stop;  /* SIGINT, SIGQUIT, SIGTERM or SIGHUP */
};
/* Reads what arrived; forwards to the target (0: it is gone) what a process sent to us alone. What the
 * terminal sent has reached the target already. */
struct hs_signals_news hs_signals_read(const struct hs_signals *signals, pid_t target);

#endif
