/* What cost.c measures, and the frames below which it does. */
#ifndef PRELOAD_COST_H
#define PRELOAD_COST_H

#include <stdbool.h>
#include <stdint.h>

void counted_malloc(uint64_t size);
void counted_free(void);

extern bool cost_changes; /* which frames: from pair to pair */
void cost_tower(int depth, long pairs);

#endif
