/* Threads that hand blocks to each other: four make them, four others free them, through a ring that two
 * locks guard; one arena, so that an address that one thread frees is another's in the next instant.
 *
 *   make_block:  4 x 20000 blocks of 1200 + (n mod 7) bytes, all freed by another thread, except every
 *                1000th: 80 blocks
 *   The kept ones are n = 0, 1000, ... 19000 of each maker: 1200 + n mod 7, with n mod 7 = 0 6 5 4 3 2 1
 *   0 6 5 4 3 2 1 0 6 5 4 3 2: sum 62; 4 x (20 x 1200 + 62) = 96248 bytes stay.
 *   allocated: each maker 20000 x 1200 + sum of n mod 7 = 2857 x 21 + 0 = 59997: 4 x 24059997 = 96239988
 *              bytes. */
#include "target.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

enum { MAKERS = 4, BLOCKS = 20000, RING = 64 };

static void *ring[RING];
static unsigned head, tail;
static sem_t filled, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void *make_block(int n)
{
	return keep(malloc(1200 + (size_t)(n % 7)));
}

static void *maker(void *unused)
{
	for (int n = 0; n < BLOCKS; n++) {
		void *block = make_block(n);
		if (n % 1000 == 0)
			continue;
		sem_wait(&room);
		pthread_mutex_lock(&lock);
		ring[head++ % RING] = block;
		pthread_mutex_unlock(&lock);
		sem_post(&filled);
	}
	return unused;
}

static void *freer(void *unused)
{
	for (int n = 0; n < BLOCKS - BLOCKS / 1000; n++) {
		sem_wait(&filled);
		pthread_mutex_lock(&lock);
		void *block = ring[tail++ % RING];
		pthread_mutex_unlock(&lock);
		sem_post(&room);
		free(block);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2 * MAKERS];
	mallopt(M_ARENA_MAX, 1);
	sem_init(&filled, 0, 0);
	sem_init(&room, 0, RING);
	for (int i = 0; i < MAKERS; i++) {
		pthread_create(&threads[2 * i], NULL, maker, NULL);
		pthread_create(&threads[2 * i + 1], NULL, freer, NULL);
	}
	for (int i = 0; i < 2 * MAKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
