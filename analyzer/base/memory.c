#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *checked(void *block)
{
	if (!block) {
		fputs("heapscope: out of memory\n", stderr);
		_Exit(125);
	}
	return block;
}

void *hs_allocate(size_t bytes)
{
	return checked(malloc(bytes ? bytes : 1));
}

void *hs_allocate_filled(size_t bytes)
{
	enum { HUGE_PAGE = 2 << 20 };
	if (bytes < HUGE_PAGE)
		return hs_allocate(bytes);
	char *block = checked(aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1)));
	/* where there are none it is as if it had not been asked */
	madvise(block, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
	return block;
}

void *hs_allocate_zero(size_t count, size_t bytes)
{
	return checked(calloc(count ? count : 1, bytes ? bytes : 1));
}

void *hs_reallocate(void *block, size_t count, size_t bytes)
{
	return checked(reallocarray(block, count ? count : 1, bytes ? bytes : 1));
}

char *hs_copy_string(const char *text)
{
	return checked(strdup(text));
}

void *hs_grow(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 16;
	return hs_reallocate(array, *capacity, item_bytes);
}
