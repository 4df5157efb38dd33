/* The name that a mistyped one was probably meant to be: optimal string alignment distance. */
#include "cli/nearest.h"

#include <string.h>

enum { LONGEST = 32 };

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned hs_edit_distance(const char *a, const char *b)
{
	unsigned rows[LONGEST + 1][LONGEST + 1];
	unsigned a_length = (unsigned)strnlen(a, LONGEST), b_length = (unsigned)strnlen(b, LONGEST);
	for (unsigned i = 0; i <= a_length; i++) {
		for (unsigned j = 0; j <= b_length; j++) {
			if (i == 0 || j == 0) {
				rows[i][j] = i + j;
				continue;
			}
			unsigned best = smaller(rows[i - 1][j], rows[i][j - 1]) + 1;
			best = smaller(best, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = smaller(best, rows[i - 2][j - 2] + 1);
			rows[i][j] = best;
		}
	}
	return rows[a_length][b_length];
}

void hs_nearest_offer(struct hs_nearest *nearest, const char *typed, const char *candidate)
{
	size_t length = strlen(typed);
	unsigned distance = hs_edit_distance(typed, candidate);
	if (length >= 2 && strncmp(candidate, typed, length) == 0)
		distance = 0; /* a beginning of it */
	/* a third of the word may be wrong, one letter at least */
	unsigned allowed = length < 6 ? 1 : (unsigned)(length / 3);
	if (distance <= allowed && (nearest->name == NULL || distance < nearest->distance)) {
		nearest->name = candidate;
		nearest->distance = distance;
	}
}
