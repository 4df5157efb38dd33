/* Address ranges that may nest, flattened so that a look-up is one binary search for the innermost range. */
#ifndef HS_RANGE_MAP_H
#define HS_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_range {
	uint64_t low;
	uint64_t high; /* exclusive */
	uint32_t value;
};

struct hs_range_map {
	struct hs_range *ranges; /* as added; after hs_range_map_build sorted and disjoint */
	size_t count;
	size_t capacity;
};

/* Ranges with high <= low are ignored. */
void hs_range_map_add(struct hs_range_map *map, uint64_t low, uint64_t high, uint32_t value);

/* To be called once, after the last addition. Where ranges overlap the one that begins last wins; of those
 * that begin together the shortest; of equal ones the one with the largest value. */
void hs_range_map_build(struct hs_range_map *map);

bool hs_range_map_find(const struct hs_range_map *map, uint64_t address, uint32_t *value);
void hs_range_map_free(struct hs_range_map *map);

#endif
