/* Sites as a tree of functions: top-down from the outermost caller, or bottom-up from the allocating function
 * to its callers. Only what is wanted is built. Pure. */
#ifndef HS_TREE_H
#define HS_TREE_H

#include "profile/metrics.h"
#include "profile/profile.h"

struct hs_tree_wanted {
	bool bottom_up, raw; /* raw: with internal frames, which are skipped otherwise */
	enum hs_metric metric;
	uint64_t least;         /* of the metric; branches below are left out; those of 0 always are */
	uint32_t children_most; /* of a node; 0: all */
	uint32_t depth_most;    /* levels; 0: all */
};

struct hs_tree_node {
	uint32_t frame;          /* one of those that it stands for; UINT32_MAX: stacks without frames */
	uint32_t parent;         /* index in nodes; UINT32_MAX: none */
	uint32_t depth;          /* 0: no parent */
	uint32_t children;       /* that are nodes */
	bool one_line;           /* all its frames are on the frame's line */
	bool last;               /* of its parent's children */
	struct hs_counts counts; /* of all stacks through it; no maxima */
	struct hs_counts self; /* of those that end here, being allocated here (bottom-up: that begin here) */
	uint32_t left_out;     /* branches below that are no nodes: fewer than wanted, or too deep */
	uint64_t left_out_value;
	bool cut; /* left out for being too deep */
};

struct hs_tree {
	struct hs_tree_node *nodes; /* a parent stands before its children, which stand together with all
				     * below them, largest first */
	uint32_t count;
	uint32_t left_out; /* roots */
	uint64_t left_out_value;
};

void hs_tree_make(struct hs_tree *tree, const struct hs_profile *profile, const struct hs_sites *sites,
		  const struct hs_tree_wanted *wanted);
void hs_tree_free(struct hs_tree *tree);

/* By frame: equal for frames of the same function (by its name, file and module; by the address of those
 * without a name). malloc'ed. */
uint32_t *hs_function_keys(const struct hs_profile *profile);

#endif
