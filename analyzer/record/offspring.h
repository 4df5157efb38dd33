/* Descendants that are to be recorded, but have not said hello yet. */
#ifndef HS_RECORD_OFFSPRING_H
#define HS_RECORD_OFFSPRING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hs_offspring {
	int *regions; /* of images that have ended, while others still map them */
	size_t count, capacity;
};

/* Takes the descriptor of a region that we do not map any more. */
void hs_offspring_keep(struct hs_offspring *offspring, int region);
/* A fork child that has not allocated yet has its parent's region mapped: is there one? */
bool hs_offspring_waits(struct hs_offspring *offspring);
/* A program that has just been executed has the token in its environment: one with a pid above `after`; 0:
 * none. */
pid_t hs_offspring_starts(const char *token, pid_t after);
void hs_offspring_free(struct hs_offspring *offspring);

#endif
