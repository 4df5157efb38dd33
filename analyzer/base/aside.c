#include "base/aside.h"

#include <signal.h>

static void *run(void *argument)
{
	struct hs_aside *aside = argument;
	aside->work(aside->context);
	return NULL;
}

bool hs_thread_begin(pthread_t *thread, void *(*work)(void *context), void *context)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	bool begun = pthread_create(thread, NULL, work, context) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return begun;
}

void hs_aside_begin(struct hs_aside *aside, void (*work)(void *context), void *context)
{
	aside->work = work;
	aside->context = context;
	aside->runs = hs_thread_begin(&aside->thread, run, aside);
	if (!aside->runs)
		work(context);
}

void hs_aside_end(struct hs_aside *aside)
{
	if (aside->runs)
		pthread_join(aside->thread, NULL);
	aside->runs = false;
}
