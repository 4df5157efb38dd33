/* Temporary allocations, and others that only look like them. No realloc here.
 *
 *   at_once:    1000 x malloc, free: 1000 temporary
 *   nested:     500 x (malloc a, malloc b, free b, free a): b is temporary, a is not: 500 temporary of
 *               1000
 *   queue:      100 blocks freed in the order of allocation, after all are made: only the last one was
 *               the latest allocation when it was freed: 1 temporary by the definition "freed before its
 *               thread allocates again", and none by "freed by the very next event": so one more is
 *               allocated at the end, and kept
 *   kept:       50 blocks, never freed
 *
 * calls 1000 + 1000 + 101 + 50 = 2151; temporary 1500. */
#include "target.h"

NOINLINE static void at_once(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc(24)));
}

NOINLINE static void nested_outer(void **outer)
{
	*outer = keep(malloc(100));
}

NOINLINE static void nested(void)
{
	for (int i = 0; i < 500; i++) {
		void *outer;
		nested_outer(&outer);
		free(keep(malloc(200)));
		free(outer);
	}
}

NOINLINE static void queue(void)
{
	static void *blocks[100];
	for (int i = 0; i < 100; i++)
		blocks[i] = keep(malloc(300 + (size_t)i));
	keep(malloc(4000));
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
}

NOINLINE static void kept(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(40));
}

int main(void)
{
	kept();
	at_once();
	nested();
	queue();
	return 0;
}
