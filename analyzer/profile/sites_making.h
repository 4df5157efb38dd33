/* Sites in the making. Private to sites*.c. */
#ifndef HS_SITES_MAKING_H
#define HS_SITES_MAKING_H

#include "stacks.h"

struct hs_stack_hash {
	uint64_t low;
	uint16_t high;
};

struct hs_site_slot {
	uint32_t tag;  /* of its hash */
	uint32_t site; /* + 1; 0: free */
};

struct hs_sites_making {
	struct hs_profile *profile;
	size_t site_capacity;
	bool *own_frames;         /* of each frame: it is the user's own code */
	uint16_t *folded_of_call; /* how many of its innermost frames are internal; HS_CALL_FOLDED: all */
	uint32_t *unfolded; /* of each node the innermost one, itself or a caller, that is not folded; NULL:
			     * not needed yet */
	/* while all nodes are grouped, and for hs_sites_finish */
	struct hs_stacks stacks;
	uint32_t group_count;
	uint32_t *group_of_stack;   /* of each folded stack; UINT32_MAX: of no node */
	struct hs_pairs suppressed; /* folded stack, rule + 1: each a group of its own */
	uint32_t *group_of_suppressed;
	size_t suppressed_capacity;
	/* while those are grouped that the replay has met; of the first `mapped` the sites are known */
	uint32_t *texts;      /* of frames */
	uint64_t *hashes_low; /* of nodes' stacks */
	uint16_t *hashes_high;
	struct hs_site_slot *slots; /* by hash, of all sites */
	size_t slot_count;          /* a power of two */
	struct hs_met met;
	uint32_t mapped, *site_of_group;
	size_t site_of_group_capacity;
	void *spare; /* NULL, or hashes_low when all are mapped: see hs_sites_spare */
	size_t suppressed_sites_capacity;
};
enum { HS_CALL_FOLDED = UINT16_MAX };

/* Finds what is known of frames: comes first. */
void hs_sites_know_frames(struct hs_sites_making *making, bool raw);
/* What is left of a node's stack when the innermost run of internal frames goes; all if nothing would. */
struct hs_rest hs_sites_fold_node(struct hs_sites_making *making, uint32_t node);
/* Adds the site of a folded stack, whose counts will be those of the replay's group or sum. */
void hs_sites_add(struct hs_sites_making *making, struct hs_sites *sites, struct hs_rest rest, uint32_t rule,
		  uint32_t group);

static inline struct hs_rest hs_rest_of_site(const struct hs_site *site)
{
	return (struct hs_rest){site->node, site->cut};
}

/* sites_group.c, before the replay. It needs rules, too (hs_suppressions_find). */
void hs_sites_make_stacks(struct hs_sites_making *making);
/* The stack of what is left of a node's, after that. */
uint32_t hs_sites_stack_of(const struct hs_sites_making *making, struct hs_rest rest);
/* The group of each node. The caller frees it. */
uint32_t *hs_sites_group_nodes(struct hs_sites_making *making);

/* sites_met.c, while it goes on: */
/* Hashes the stacks of all nodes, and finds their rules in the same pass: both go from callers to callees. */
void hs_sites_hash_stacks(struct hs_sites_making *making);
/* Finds the sites of the nodes that were met since the last time. */
void hs_sites_map_met(struct hs_sites_making *making, struct hs_sites *sites);
/* Gives back what that needs, after the last time. */
void hs_sites_end_mapping(struct hs_sites_making *making);

void hs_sites_making_free(struct hs_sites_making *making);

#endif
