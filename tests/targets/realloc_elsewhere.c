/* Blocks that one function allocates and another one grows, shrinks or ends with realloc: the documented
 * difference.
 *
 *   first:  200 x malloc(100) = 20000 bytes, 200 calls
 *   second: realloc of each to 300 = 60000 bytes, 200 calls: at most 60000 live
 *   third:  realloc of the first 150 to 50 = 7500 bytes, 150 calls; realloc(p, 0) of the other 50:
 *           freed, no calls
 *   refused: a realloc that cannot succeed: no call, the block of 24 bytes lives on
 *
 * heapscope books a block on its latest realloc: at the end first and second have nothing, third has
 * 7500 in 150. DHAT books all of it on first. */
#include "target.h"

#include <stdint.h>

static void *blocks[200];

NOINLINE static void first(void)
{
	for (int i = 0; i < 200; i++)
		blocks[i] = keep(malloc(100));
}

NOINLINE static void second(void)
{
	for (int i = 0; i < 200; i++)
		blocks[i] = keep(realloc(blocks[i], 300));
}

NOINLINE static void third(void)
{
	for (int i = 0; i < 200; i++)
		blocks[i] = keep(realloc(blocks[i], i < 150 ? 50 : 0));
}

NOINLINE static void refused(void)
{
	volatile size_t too_much = PTRDIFF_MAX;
	void *block = keep(malloc(24));
	if (realloc(block, too_much) != NULL || reallocarray(block, too_much, 16) != NULL)
		abort();
}

int main(void)
{
	first();
	second();
	third();
	refused();
	return 0;
}
