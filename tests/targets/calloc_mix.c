/* calloc in its forms.
 *
 *   rows:     30 x calloc(10, 8) = 2400 bytes in 30 calls, every third one kept: 10 blocks, 800 bytes
 *   matrix:   calloc(100, 100) = 10000 bytes, freed
 *   overflow: fails: nothing
 *   large:    calloc(1, 1 << 20), freed: the peak is there, 1048576 + 800 = 1049376 bytes in 11 blocks */
#include "target.h"

#include <stdint.h>

NOINLINE static void rows(void)
{
	for (int i = 0; i < 30; i++) {
		void *row = keep(calloc(10, 8));
		if (i % 3 != 0)
			free(row);
	}
}

NOINLINE static void matrix(void)
{
	free(keep(calloc(100, 100)));
}

NOINLINE static void overflow(void)
{
	volatile size_t many = SIZE_MAX / 4;
	if (calloc(many, 16) != NULL)
		abort();
}

NOINLINE static void large(void)
{
	free(keep(calloc(1, 1 << 20)));
}

int main(void)
{
	rows();
	matrix();
	overflow();
	large();
	return 0;
}
