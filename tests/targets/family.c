/* Every entry of the malloc family at its edges. Each function is a fact; the program itself checks results,
 * errno and alignment. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

#define HUGE_SIZE ((size_t)PTRDIFF_MAX - 100)
#define SOME_ERRNO 77 /* what calls that succeed must leave alone */

/* NAME: a function of one kept block that `expression` gives. */
#define ONE(name, size, expression)                                                                          \
	__attribute__((noinline, noclone)) static void name(void)                                            \
	{                                                                                                    \
		errno = SOME_ERRNO;                                                                          \
		void *block = keep(expression);                                                              \
		CHECK(block &&errno == SOME_ERRNO && malloc_usable_size(block) >= (size));                   \
	}

static void *hidden_null;

static void *by_posix_memalign(size_t alignment, size_t size)
{
	void *block = NULL;
	CHECK(posix_memalign(&block, alignment, size) == 0 && (uintptr_t)block % alignment == 0);
	return block;
}

static size_t at(const void *block, size_t alignment)
{
	return (uintptr_t)block % alignment;
}

ONE(one_malloc, 101, malloc(101))
ONE(one_malloc_zero, 0, malloc(0))
ONE(one_calloc, 91, calloc(13, 7))
ONE(one_calloc_zero, 0, calloc(0, 7))
ONE(one_realloc, 103, realloc(hidden_null, 103))
ONE(one_reallocarray, 105, reallocarray(hidden_null, 15, 7))
ONE(one_aligned_alloc, 128, aligned_alloc(64, 128))
ONE(one_posix_memalign, 107, by_posix_memalign(4096, 107))
ONE(one_memalign, 109, memalign(32, 109))
ONE(one_valloc, 111, valloc(111))
ONE(one_pvalloc, 113, pvalloc(113))
ONE(one_strdup, 15, strdup("fourteen chars"))
ONE(one_strndup, 11, strndup("more than ten characters", 10))
ONE(one_wcsdup, 44, wcsdup(L"ten chars!"))

NOINLINE static void aligned_well(void)
{
	void *blocks[] = {aligned_alloc(4096, 8192), memalign(1 << 16, 10),  valloc(0), pvalloc(0),
			  memalign(48, 100),         by_posix_memalign(8, 0)};
	CHECK(at(blocks[0], 4096) == 0 && at(blocks[1], 1 << 16) == 0 && at(blocks[2], 4096) == 0 &&
	      at(blocks[3], 4096) == 0 && at(blocks[4], 64) == 0);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		free(blocks[i]);
}

#define FAILS(expression)                                                                                    \
	do {                                                                                                 \
		errno = 0;                                                                                   \
		CHECK(keep(expression) == NULL && errno == ENOMEM);                                          \
	} while (0)

/* None of this gives a block. */
NOINLINE static void failing(void)
{
	volatile size_t huge = HUGE_SIZE, more = SIZE_MAX, half = SIZE_MAX / 2 + 1;
	FAILS(malloc(huge));
	FAILS(malloc(more));
	FAILS(calloc(huge, 1));
	FAILS(calloc(half, 2));
	FAILS(calloc(2, half));
	FAILS(calloc(more, more));
	FAILS(reallocarray(hidden_null, half, 2));
	FAILS(realloc(hidden_null, huge));
	FAILS(aligned_alloc(64, huge));
	FAILS(memalign(64, huge));
	FAILS(memalign(64, more));
	FAILS(valloc(huge));
	FAILS(valloc(more));
	FAILS(pvalloc(huge));
	FAILS(pvalloc(more));
	void *untouched = &hidden_null, *place = untouched;
	errno = SOME_ERRNO;
	CHECK(posix_memalign(&place, 64, huge) == ENOMEM && place == untouched);
	CHECK(posix_memalign(&place, 3, 100) == EINVAL && place == untouched);
	CHECK(posix_memalign(&place, 0, 100) == EINVAL && place == untouched);
	CHECK(posix_memalign(&place, 4, 100) == EINVAL && place == untouched);
	CHECK(posix_memalign(&place, 24, 100) == EINVAL && place == untouched);
	volatile size_t absurd = half;
	errno = 0;
	CHECK(aligned_alloc(absurd + 1, 100) == NULL && errno == EINVAL);
}

/* A block that cannot grow stays what it is. */
NOINLINE static void keeps_its_block(void)
{
	volatile size_t huge = HUGE_SIZE, half = SIZE_MAX / 2 + 1;
	char *block = keep(malloc(77));
	memset(block, 'x', 77);
	FAILS(realloc(block, huge));
	FAILS(reallocarray(block, half, 2));
	FAILS(reallocarray(block, huge, 1));
	CHECK(block[0] == 'x' && block[76] == 'x');
}

NOINLINE static void realloc_to_nothing(void)
{
	void *first = keep(malloc(50)), *second = keep(malloc(60));
	errno = SOME_ERRNO;
	CHECK(keep(realloc(first, 0)) == NULL && keep(reallocarray(second, 0, 8)) == NULL);
	CHECK(errno == SOME_ERRNO);
	CHECK(keep(realloc(hidden_null, 0)) != NULL); /* a block of 0 bytes, as malloc(0) gives */
}

/* 10, 20, ... 1000 bytes: 100 blocks, each ended by the next. */
NOINLINE static void realloc_chain(void)
{
	char *block = keep(malloc(10));
	block[0] = 1;
	for (size_t size = 20; size <= 1000; size += 10) {
		block = keep(realloc(block, size));
		CHECK(block && block[0] == 1);
	}
	block = keep(realloc(block, 5)); /* and one that shrinks */
	CHECK(block[0] == 1);
	free(block);
}

NOINLINE static void realloc_aligned(void)
{
	char *block = by_posix_memalign(4096, 100);
	block[99] = 7;
	CHECK((block = keep(realloc(block, 100000))) && block[99] == 7);
	char *other = keep(memalign(64, 64));
	other[0] = 9;
	CHECK((other = keep(realloc(other, 32))) && other[0] == 9);
	free(block);
	free(other);
}

NOINLINE static void free_keeps_errno(void)
{
	void *small = keep(malloc(100)), *mapped = keep(malloc(10 << 20));
	errno = SOME_ERRNO;
	free(small);
	free(mapped);
	free(hidden_null);
	CHECK(errno == SOME_ERRNO);
}

/* By the names that older programs have, and newer ones. */
NOINLINE static void freed_by_other_names(void)
{
	void (*sized)(void *, size_t), (*aligned_sized)(void *, size_t, size_t);
	*(void **)&sized = dlsym(RTLD_DEFAULT, "free_sized");
	*(void **)&aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	for (int i = 0; i < 10; i++) {
		void *block = keep(malloc(144)), *lined_up = keep(aligned_alloc(64, 192));
		if (sized && aligned_sized) {
			sized(block, 144);
			aligned_sized(lined_up, 64, 192);
			sized(NULL, 0);
			aligned_sized(NULL, 64, 0);
		} else {
			free(block);
			free(lined_up);
		}
	}
}

NOINLINE static void questions(void)
{
	void *block = keep(malloc(5000));
	struct mallinfo2 info = mallinfo2();
	CHECK(info.uordblks >= 5000);
	CHECK(mallopt(M_MMAP_THRESHOLD, 64 << 20) == 1);
	CHECK(malloc_usable_size(NULL) == 0 && malloc_usable_size(block) >= 5000);
	free(block);
	malloc_trim(0);
	struct mallinfo2 after = mallinfo2();
	CHECK(after.uordblks <= info.uordblks - 5000);
}

NOINLINE static void by_stdio(void)
{
	char *text = NULL, *line = NULL;
	size_t room = 0;
	CHECK(asprintf(&text, "%0150d", 7) == 150);
	FILE *stream = open_memstream(&line, &room);
	CHECK(stream && fputs("some words", stream) >= 0 && fclose(stream) == 0 &&
	      strcmp(line, "some words") == 0);
	free(text);
	free(line);
}

int main(void)
{
	one_malloc(), one_malloc_zero(), one_calloc(), one_calloc_zero(), one_realloc(), one_reallocarray();
	one_aligned_alloc(), one_posix_memalign(), one_memalign(), one_valloc(), one_pvalloc();
	one_strdup(), one_strndup(), one_wcsdup();
	aligned_well();
	failing();
	keeps_its_block();
	realloc_to_nothing();
	realloc_chain();
	realloc_aligned();
	free_keeps_errno();
	freed_by_other_names();
	questions();
	by_stdio();
	return 0;
}
