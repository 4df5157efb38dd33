/* Requests of no bytes: each is an allocation of 0 bytes (DHAT: of 1 byte).
 *
 *   empties: 7 x malloc(0), 3 x calloc(0, 8), 2 x realloc(NULL, 0): 12 calls; the 7 are freed, 5 blocks
 *            stay
 *   some:    4 x malloc(10) = 40 bytes, kept
 *
 * heapscope: 16 calls, 40 bytes; at the end 9 blocks, 40 bytes. DHAT: 52 bytes in all, 45 at the end;
 * its peak is 52. */
#include "target.h"

NOINLINE static void empties(void)
{
	void *blocks[7];
	for (int i = 0; i < 7; i++)
		blocks[i] = keep(malloc(0));
	for (int i = 0; i < 3; i++)
		keep(calloc(0, 8));
	for (int i = 0; i < 2; i++)
		keep(realloc(NULL, 0));
	for (int i = 0; i < 7; i++)
		free(blocks[i]);
}

NOINLINE static void some(void)
{
	for (int i = 0; i < 4; i++)
		keep(malloc(10));
}

int main(void)
{
	some();
	empties();
	return 0;
}
