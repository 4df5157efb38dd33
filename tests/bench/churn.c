/* churn T N D: T threads; each does N malloc+free pairs at the bottom of a fixed tower of D frames under
 * which six more frames change from call to call (64 paths); 1,024 blocks of 16 to 527 bytes are live.
 * The hard case for a heap profiler: allocation is all the program does. Prints ns per pair. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIVE = 1024, MAX_THREADS = 64 };
struct state {
	void *live[LIVE];
	uint64_t rng;
	long done;
};
static long pairs;
static int tower_depth;
#define KEEP_FRAME() __asm__ volatile("")

static uint64_t next(struct state *s)
{
	s->rng ^= s->rng << 13;
	s->rng ^= s->rng >> 7;
	s->rng ^= s->rng << 17;
	return s->rng;
}
__attribute__((noinline)) static void leaf(struct state *s)
{
	uint64_t r = next(s);
	int slot = r & (LIVE - 1);
	free(s->live[slot]);
	s->live[slot] = malloc(16 + ((r >> 10) & 511));
	s->done++;
	KEEP_FRAME();
}
__attribute__((noinline)) static void left(struct state *s, int depth);
__attribute__((noinline)) static void right(struct state *s, int depth)
{
	if (depth <= 0)
		leaf(s);
	else if (next(s) & 1)
		left(s, depth - 1);
	else
		right(s, depth - 1);
	KEEP_FRAME();
}
__attribute__((noinline)) static void left(struct state *s, int depth)
{
	if (depth <= 0)
		leaf(s);
	else if (next(s) & 1)
		right(s, depth - 1);
	else
		left(s, depth - 1);
	KEEP_FRAME();
}
__attribute__((noinline)) static void tower(struct state *s, int depth)
{
	if (depth > 0)
		tower(s, depth - 1);
	else
		for (int i = 0; i < 64; i++)
			left(s, 5);
	KEEP_FRAME();
}
static void *worker(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	s->rng = 88172645463325252ull + (uintptr_t)arg * 7919;
	for (long i = 0; i < pairs; i += 64)
		tower(s, tower_depth);
	for (int i = 0; i < LIVE; i++)
		free(s->live[i]);
	long done = s->done;
	free(s);
	return (void *)done;
}
int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pairs = argc > 2 ? atol(argv[2]) : 1000000;
	tower_depth = argc > 3 ? atoi(argv[3]) : 10;
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pthread_t tid[MAX_THREADS];
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long i = 0; i < threads; i++)
		pthread_create(&tid[i], NULL, worker, (void *)(i + 1));
	long total = 0;
	for (int i = 0; i < threads; i++) {
		void *done;
		pthread_join(tid[i], &done);
		total += (long)done;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	printf("%ld pairs %.3f s %.1f ns/pair\n", total, s, s * 1e9 * threads / (double)total);
}
