/* A long random but reproducible walk: 100000 steps over 3000 slots, each step frees, allocates, callocs
 * or reallocs (through one of sixteen call paths), so that the peak is a moment nobody chose. */
#include "target.h"

#include <stdint.h>
#include <string.h>

static uint64_t state = 88172645463325252ULL;

static uint32_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static struct {
	void *block;
	int owner;
} slots[3000];

NOINLINE static void *make(size_t size)
{
	return size & 1 ? keep(malloc(size)) : keep(calloc(1, size));
}

NOINLINE static void *path_a(size_t size)
{
	return keep(make(size + 8));
}

NOINLINE static void *path_b(size_t size)
{
	return size % 3 ? path_a(size) : keep(malloc(size));
}

NOINLINE static void *path_c(size_t size)
{
	return size % 5 ? path_b(size) : keep(make(size));
}

/* Grows or shrinks the blocks that it allocated itself, so that DHAT and we book them on the same
 * function. */
NOINLINE static void *resizer(void *block, size_t size)
{
	return keep(realloc(block, size));
}

static void step(void)
{
	uint32_t r = next_random();
	unsigned slot = r % 3000;
	size_t size = next_random() % 2000 + 1;
	int owner = (int)(r >> 20) % 4;
	if (slots[slot].block != NULL && slots[slot].owner == 3 && owner == 3) {
		slots[slot].block = resizer(slots[slot].block, size);
		return;
	}
	free(slots[slot].block);
	slots[slot].block = NULL;
	slots[slot].owner = owner;
	if (r & 1 << 18)
		return;
	switch (owner) {
	case 0:
		slots[slot].block = path_a(size);
		break;
	case 1:
		slots[slot].block = path_b(size);
		break;
	case 2:
		slots[slot].block = path_c(size);
		break;
	default:
		slots[slot].block = resizer(NULL, size);
		break;
	}
}

int main(void)
{
	for (int i = 0; i < 100000; i++)
		step();
	return 0;
}
