/* Two threads that take turns: each allocates alone for a while, then gives the word to the other. The second
 * one's are shorter than a tick of the kernel's timer every other time.
 *
 *   large: 2 x TURNS x 1,000,000 bytes, of which at most one lives at a time: who begins a turn first frees
 *          the other's.
 *   small: likewise with 64 bytes, whose address comes back at once.
 *   pair:  (1.5 x TURNS + 1) x PAIRS x 32 bytes, freed at once.
 *   Then main sleeps for half a second with one block of 5,000 bytes (over_night) that it has had just
 * before.
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

enum { TURNS = 8, PAIRS = 15000 };

static sem_t turn[2];
static void *large_block, *small_block;

NOINLINE static void *large(void)
{
	return keep(malloc(1000000));
}

NOINLINE static void *small(void)
{
	return keep(malloc(64));
}

NOINLINE static void pair(void)
{
	free(keep(malloc(32)));
}

NOINLINE static void *over_night(void)
{
	return keep(malloc(5000));
}

static void take_turns(int me)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(&turn[me]);
		free(large_block);
		free(small_block);
		large_block = large();
		small_block = small();
		for (int j = 0; j < PAIRS && (me == 0 || i % 2); j++)
			pair();
		sem_post(&turn[!me]);
	}
}

static void *other(void *unused)
{
	take_turns(1);
	return unused;
}

int main(void)
{
	sem_init(&turn[0], 0, 1);
	sem_init(&turn[1], 0, 0);
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	take_turns(0);
	pthread_join(thread, NULL);
	free(large_block);
	free(small_block);
	for (int i = 0; i < PAIRS; i++)
		pair();
	void *block = over_night();
	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	free(block);
	return 0;
}
