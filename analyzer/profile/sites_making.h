/* Sites in the making. Private to sites.c and sites_finish.c. */
#ifndef HS_SITES_MAKING_H
#define HS_SITES_MAKING_H

#include "stacks.h"

struct hs_sites_making {
	struct hs_profile *profile;
	struct hs_stacks stacks;
	size_t site_capacity;
	/* while nodes are grouped */
	uint32_t group_count;
	uint32_t *group_of_stack;   /* of each folded stack; UINT32_MAX: of no node */
	struct hs_pairs suppressed; /* folded stack, rule + 1: each a group of its own */
	uint32_t *group_of_suppressed;
	size_t suppressed_capacity;
};

void hs_sites_making_free(struct hs_sites_making *making);

#endif
