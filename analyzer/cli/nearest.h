/* The name that a mistyped one was probably meant to be. */
#ifndef HS_NEAREST_H
#define HS_NEAREST_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap neighbours) that turn one word into the other; counted up to 32
 * characters. */
unsigned hs_edit_distance(const char *a, const char *b);

/* Keeps the best of several candidates: start with {0}, offer each, read `name` (NULL: none is near enough).
 */
struct hs_nearest {
	const char *name;
	unsigned distance;
};
void hs_nearest_offer(struct hs_nearest *nearest, const char *typed, const char *candidate);

#endif
