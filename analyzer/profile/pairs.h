/* A set of distinct pairs of integers, numbered in the order of their coming: the hash table behind stacks,
 * places and texts. Private to profile/ and export/. */
#ifndef HS_PAIRS_H
#define HS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_pair {
	uint64_t first, second;
};

struct hs_pairs {
	struct hs_pair *items;
	uint32_t count;
	size_t capacity;
	uint32_t *slots;   /* index + 1; 0 free */
	size_t slot_count; /* a power of two, or 0 */
};

#define HS_PAIR_NONE UINT32_MAX /* no such pair */

/* An object of zeros is an empty set. */
void hs_pairs_free(struct hs_pairs *pairs);
uint32_t hs_pairs_find(const struct hs_pairs *pairs, uint64_t first, uint64_t second);
/* Finds or adds; *added (may be NULL) tells which. */
uint32_t hs_pairs_add(struct hs_pairs *pairs, uint64_t first, uint64_t second, bool *added);

#endif
