/* What libc allocates on a caller's behalf: stdio buffers, qsort's scratch space, tsearch, hcreate,
 * regcomp.
 *
 *   by_tsearch: 1000 nodes of libc's tree (40 bytes each asked for by libc 2.36), all kept: 1000 calls
 *   by_qsort:   an array of 40000 bytes: its own block and libc's scratch of the same size, both freed */
#include "target.h"

#include <regex.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int compare_pointers(const void *a, const void *b)
{
	return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

NOINLINE static void by_qsort(void)
{
	uint32_t *numbers = keep(malloc(40000));
	for (uint32_t i = 0; i < 10000; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, 10000, 4, compare);
	free(numbers);
}

NOINLINE static void by_tsearch(void)
{
	static void *root;
	for (uintptr_t i = 1; i <= 1000; i++)
		tsearch((void *)(i * 48271 % 65537), &root, compare_pointers);
}

NOINLINE static void by_stdio(void)
{
	FILE *stream = fopen("/dev/null", "w");
	if (stream == NULL)
		abort();
	fprintf(stream, "%d\n", 42);
	fclose(stream);
	printf("a line\n");
}

NOINLINE static void by_regcomp(void)
{
	regex_t pattern;
	if (regcomp(&pattern, "^(a|b)*[[:digit:]]{2,5}x+(foo|bar)$", REG_EXTENDED) != 0)
		abort();
	if (regexec(&pattern, "abab123xxbar", 0, NULL, 0) != 0)
		abort();
	regfree(&pattern);
}

NOINLINE static void by_hcreate(void)
{
	if (!hcreate(500))
		abort();
}

int main(void)
{
	by_qsort();
	by_tsearch();
	by_stdio();
	by_regcomp();
	by_hcreate();
	return 0;
}
