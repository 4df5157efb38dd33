/* Sites in the making. Private to sites.c, sites_group.c and sites_finish.c. */
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
	bool *own_frames;  /* of each frame: it is the user's own code */
	struct hs_met met; /* the nodes that the replay met; of the first `mapped` the sites are known */
	uint32_t mapped, *site_of_group;
	size_t site_of_group_capacity;
};

/* Makes stacks of the nodes, and what is needed to group them. What follows needs rules, too
 * (hs_suppressions_find). */
void hs_sites_make_stacks(struct hs_sites_making *making, bool raw);
/* The group of each node. The caller frees it. */
uint32_t *hs_sites_group_nodes(struct hs_sites_making *making);
/* Adds the site of a node, whose counts will be those of the replay's group. */
void hs_sites_add(struct hs_sites_making *making, struct hs_sites *sites, uint32_t node, uint32_t group);
/* Finds the sites of the nodes that were met since the last time. The replay may still go on. */
void hs_sites_map_met(struct hs_sites_making *making, struct hs_sites *sites);

void hs_sites_making_free(struct hs_sites_making *making);

#endif
