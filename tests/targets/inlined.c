/* Inlined callers in C: main calls outer, into which middle and innermost are inlined. The tests look
 * for the lines marked "here".
 *
 *   innermost: 10 x malloc(100); report: 3 x realloc from NULL of 1000, through a chain of its own */
#include "target.h"

static inline __attribute__((always_inline)) void *innermost(size_t size)
{
	return keep(malloc(size)); /* here: innermost */
}

static inline __attribute__((always_inline)) void *middle(size_t size)
{
	void *block = innermost(size); /* here: middle */
	return keep(block);
}

NOINLINE static void outer(void)
{
	for (int i = 0; i < 10; i++)
		middle(100); /* here: outer */
	keep(NULL);
}

NOINLINE static void *report(void *rows)
{
	void *more = realloc(rows, 1000); /* here: report */
	return keep(more);
}

int main(void)
{
	outer(); /* here: main outer */
	for (int i = 0; i < 3; i++)
		report(NULL); /* here: main report */
	return 0;
}
