/* The calls below which cost.c allocates, compiled as programs are: without frame pointers. */
#include "cost.h"

#include <stdint.h>

#define KEEP_FRAME() __asm__ volatile("")

bool cost_changes;
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static __attribute__((noinline)) void leaf(void)
{
	counted_malloc(100);
	counted_free();
	KEEP_FRAME();
}

static __attribute__((noinline)) void left(int depth);
static __attribute__((noinline)) void right(int depth)
{
	if (depth == 0)
		leaf();
	else if (cost_changes && (next() & 1))
		left(depth - 1);
	else
		right(depth - 1);
	KEEP_FRAME();
}

static __attribute__((noinline)) void left(int depth)
{
	if (depth == 0)
		leaf();
	else if (cost_changes && (next() & 1))
		right(depth - 1);
	else
		left(depth - 1);
	KEEP_FRAME();
	KEEP_FRAME();
}

void cost_tower(int depth, long pairs)
{
	if (depth > 0)
		cost_tower(depth - 1, pairs);
	else
		for (long i = 0; i < pairs; i++)
			right(5);
	KEEP_FRAME();
}
