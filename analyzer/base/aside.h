/* Work that goes on in a thread of its own while the caller does something else. */
#ifndef HS_ASIDE_H
#define HS_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

/* A thread that gets no signals: they are for the program's own. false: there can be none. */
bool hs_thread_begin(pthread_t *thread, void *(*work)(void *context), void *context);

struct hs_aside {
	void (*work)(void *context);
	void *context;
	bool runs; /* in a thread */
	pthread_t thread;
};

/* Begins the work, or does it all if there can be no thread. `aside` stays where it is until the end. */
void hs_aside_begin(struct hs_aside *aside, void (*work)(void *context), void *context);
/* Waits until it is done. */
void hs_aside_end(struct hs_aside *aside);

#endif
