/* The memalign family.
 *
 *   by_posix:   posix_memalign of 100, 200, ... 1000 = 5500 bytes in 10 calls, the last kept (1000)
 *   by_aligned: aligned_alloc(4096, 8192) x 3 = 24576 bytes, kept
 *   by_memalign: memalign(256, 77) x 4 = 308 bytes, freed
 *   by_valloc:  valloc(5000) = 5000 bytes, kept
 *   by_pvalloc: pvalloc(10) = 10 bytes asked for, kept; only if an argument is given (valgrind stops at
 *               pvalloc)
 *   refused:    posix_memalign with a bad alignment: nothing */
#include "target.h"

#include <errno.h>
#include <malloc.h>

NOINLINE static void by_posix(void)
{
	for (int i = 1; i <= 10; i++) {
		void *block;
		if (posix_memalign(&block, 64, (size_t)i * 100) != 0)
			abort();
		keep(block);
		if (i < 10)
			free(block);
	}
}

NOINLINE static void by_aligned(void)
{
	for (int i = 0; i < 3; i++)
		keep(aligned_alloc(4096, 8192));
}

NOINLINE static void by_memalign(void)
{
	for (int i = 0; i < 4; i++)
		free(keep(memalign(256, 77)));
}

NOINLINE static void by_valloc(void)
{
	keep(valloc(5000));
}

NOINLINE static void by_pvalloc(void)
{
	keep(pvalloc(10));
}

NOINLINE static void refused(void)
{
	void *block = NULL;
	volatile size_t odd = 24;
	if (posix_memalign(&block, odd, 100) != EINVAL)
		abort();
}

int main(int argc, char **argv)
{
	(void)argv;
	by_posix();
	by_aligned();
	by_memalign();
	by_valloc();
	if (argc > 1)
		by_pvalloc();
	refused();
	return 0;
}
