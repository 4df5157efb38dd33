/* Eight threads exchange blocks through 32 shared slots without a lock; each takes what is in a slot and
 * frees it, reallocates it (mostly moving: sizes jump between 900 and 6000, none of them thread-cached),
 * or puts it back. One arena. Addresses come back in another thread while the first is still inside free
 * or realloc.
 *
 *   fresh: 8 x 10000 x malloc; regrow: as many reallocs as the program prints; at the end main empties
 *          the slots, then puts 32 x 1000 bytes (main_kept) there: 32000 bytes in 32 blocks are all that
 *          stays. */
#include "target.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 8, ROUNDS = 10000, SLOTS = 32 };

static _Atomic(void *) slots[SLOTS];
static atomic_long regrown;

NOINLINE static void *fresh(size_t size)
{
	return keep(malloc(size));
}

NOINLINE static void *regrow(void *block, size_t size)
{
	return keep(realloc(block, size));
}

static void *worker(void *argument)
{
	uint64_t state = (uintptr_t)argument * 0x9e3779b97f4a7c15ULL + 1;
	long count = 0;
	for (int i = 0; i < ROUNDS; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		unsigned random = (unsigned)(state >> 33);
		void *block = atomic_exchange(&slots[random % SLOTS], fresh(1100 + random % 700));
		if (block != NULL && random & 1 << 20) {
			block = regrow(block, random & 1 << 21 ? 6000 - random % 1000 : 900);
			count++;
			block = atomic_exchange(&slots[random / SLOTS % SLOTS], block);
		}
		free(block);
	}
	atomic_fetch_add(&regrown, count);
	return NULL;
}

NOINLINE static void main_kept(void)
{
	for (int i = 0; i < SLOTS; i++) {
		free(slots[i]);
		slots[i] = keep(malloc(1000));
	}
}

int main(void)
{
	static char buffer[64];
	pthread_t threads[THREADS];
	mallopt(M_ARENA_MAX, 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	main_kept();
	setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
	printf("%ld\n", (long)regrown);
	return 0;
}
