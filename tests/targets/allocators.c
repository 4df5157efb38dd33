/* Uses each part of the malloc family a little, for runs with another allocator in the process. Usage:
 * allocators [program that is executed with an empty argument list] */
#define _GNU_SOURCE
#include "check.h"

#include <malloc.h>
#include <stdint.h>

NOINLINE static void plain(void)
{
	void *blocks[400];
	for (int i = 0; i < 400; i++)
		CHECK(blocks[i] = keep(malloc(100)));
	for (int i = 0; i < 300; i++)
		free(blocks[i]);
}

NOINLINE static void aligned(void)
{
	void *block, *blocks[3] = {aligned_alloc(64, 640), memalign(128, 640), valloc(640)};
	CHECK(posix_memalign(&block, 256, 640) == 0 && (uintptr_t)block % 256 == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(blocks[i] && malloc_usable_size(blocks[i]) >= 640);
		free(blocks[i]);
	}
	free(block);
}

NOINLINE static void grown(void)
{
	char *block = keep(calloc(10, 10));
	for (size_t size = 200; size <= 1000; size += 100) {
		CHECK(block && block[0] == 0);
		block = keep(realloc(block, size));
	}
	CHECK(block = keep(reallocarray(block, 3, 7000)));
	CHECK(block[99] == 0);
}

int main(void)
{
	plain();
	aligned();
	grown();
	return 0;
}
