#include "base/aside.h"

#include <signal.h>

static void *run(void *argument)
{
	struct hs_aside *aside = argument;
	aside->work(aside->context);
	return NULL;
}

void hs_aside_begin(struct hs_aside *aside, void (*work)(void *context), void *context)
{
	sigset_t all, old;
	aside->work = work;
	aside->context = context;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	aside->runs = pthread_create(&aside->thread, NULL, run, aside) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!aside->runs)
		work(context);
}

void hs_aside_end(struct hs_aside *aside)
{
	if (aside->runs)
		pthread_join(aside->thread, NULL);
	aside->runs = false;
}
