/* A buffer that doubles, one that grows by steps, one that shrinks; each is reallocated where it was
 * allocated, so that DHAT, which books a grown block on the stack that first allocated it, has the same
 * sums for each function.
 *
 *   doubling: 64 + 128 + ... + 65536 = 131008 bytes in 11 calls, freed
 *   stepping: 100 + 200 + ... + 5000 = 127500 bytes in 50 calls, the last of 5000 stays
 *   shrinking: 40000 + 30000 + 20000 + 10 = 90010 bytes in 4 calls, 10 bytes stay
 *
 * Largest heap: 65536 while doubling ends (nothing else is live then). */
#include "target.h"

NOINLINE static void doubling(void)
{
	void *buffer = NULL;
	for (size_t size = 64; size <= 65536; size *= 2)
		buffer = keep(realloc(buffer, size));
	free(buffer);
}

NOINLINE static void stepping(void)
{
	void *buffer = NULL;
	for (size_t size = 100; size <= 5000; size += 100)
		buffer = keep(realloc(buffer, size));
}

NOINLINE static void shrinking(void)
{
	void *buffer = keep(malloc(40000));
	buffer = keep(realloc(buffer, 30000));
	buffer = keep(realloc(buffer, 20000));
	keep(realloc(buffer, 10));
}

int main(void)
{
	doubling();
	stepping();
	shrinking();
	return 0;
}
