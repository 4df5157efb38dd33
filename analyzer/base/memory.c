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

void *hs_allocate_lines(size_t bytes)
{
	const size_t line = 64;
	return checked(aligned_alloc(line, (bytes + line - 1) / line * line));
}

void *hs_allocate_filled(size_t bytes)
{
	enum { WORTH_A_CALL = 64 << 10 };
	const uintptr_t page = 4096;
	char *block = hs_allocate(bytes);
	uintptr_t first = ((uintptr_t)block + page - 1) & -page, end = ((uintptr_t)block + bytes) & -page;
	/* where the system does not know that it is as if it had not been asked */
	if (bytes >= WORTH_A_CALL)
		madvise((void *)first, end - first, MADV_POPULATE_WRITE);
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
