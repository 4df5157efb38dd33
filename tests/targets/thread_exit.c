/* The process ends while four threads, two of them detached, are in the middle of malloc and free: what main
 * did must be whole and nothing may be counted twice.
 *
 *   main_kept: 50 x malloc(200) = 10000 bytes in 50 blocks, kept
 *   churn:     malloc(64), free, for ever: at most one block live in each of the four threads */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int running;

NOINLINE static void churn(void)
{
	free(keep(malloc(64)));
}

static void *thread(void *unused)
{
	atomic_fetch_add(&running, 1);
	for (;;)
		churn();
	return unused;
}

NOINLINE static void main_kept(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(200));
}

int main(int argc, char **argv)
{
	pthread_t id;
	(void)argv;
	for (int i = 0; i < 4; i++) {
		pthread_create(&id, NULL, thread, NULL);
		if (i % 2)
			pthread_detach(id);
	}
	while (running < 4)
		usleep(100);
	main_kept();
	if (argc > 1)
		_exit(0);
	return 0;
}
