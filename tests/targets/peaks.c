/* Three equal peaks of different make: the last one counts.
 *
 *   early:  1000 x 100 bytes, freed (first peak, 100000)
 *   middle: 100 x 1000 bytes, freed (second peak, 100000)
 *   late:   10 x 10000 bytes (third peak, 100000, in 10 blocks), half of them freed: 50000 in 5 stay
 *   after:  99 x 500 = 49500 bytes: the heap rises again, to 99500 only; kept
 *
 * Peak 100000 bytes in 10 blocks, all of late; at the end 99500 in 104. */
#include "target.h"

#define PART(name, count, size, freed)                                                                       \
	NOINLINE static void name(void)                                                                      \
	{                                                                                                    \
		static void *blocks[count];                                                                  \
		for (int i = 0; i < (count); i++)                                                            \
			blocks[i] = keep(malloc(size));                                                      \
		for (int i = 0; i < (freed); i++)                                                            \
			free(blocks[i]);                                                                     \
	}

PART(early, 1000, 100, 1000)
PART(middle, 100, 1000, 100)
PART(late, 10, 10000, 5)
PART(after, 99, 500, 0)

int main(void)
{
	early();
	middle();
	late();
	after();
	return 0;
}
