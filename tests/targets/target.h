/* What the small test programs share. No stdio here: its buffers are heap blocks and would blur exact
 * totals. */
#ifndef TARGET_H
#define TARGET_H

#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

/* Hides a pointer from the compiler, so that it can neither drop nor merge an allocation. */
static inline void *keep(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

#endif
