/* The data of the page (viewer/README.md): the tree of stacks of one or two recordings, pruned to what can be
 * seen, and its document. Private to export/.
 *
 *   page_tree.c     loads the stacks and counts of both sides into one tree, weighs its nodes
 *   page_prune.c    chooses what is kept, numbers it
 *   page_parts.c    the threads' parts of the stacks
 *   page_sources.c  lines of source around the frames
 *   page.c          the document
 */
#ifndef HS_EXPORT_PAGE_H
#define HS_EXPORT_PAGE_H

#include "columns.h"
#include "export.h"
#include "profile/bins.h"
#include "profile/diff.h"
#include "profile/profile.h"

enum { HS_PAGE_NEW, HS_PAGE_OLD, HS_PAGE_SIDES };

/* What bounds the page's size. */
struct hs_page_limits {
	uint32_t nodes_most;
	uint32_t parts_most;
	uint32_t changes_most;
	uint32_t buckets_most;
	size_t source_bytes_most;
};

/* ---- page_tree.c ----------------------------------------------------------------------------------------
 */

/* A node of the tree of both sides' whole stacks. A parent stands before its children. */
struct hs_page_node {
	uint32_t parent;
	uint32_t key; /* of its frame */
	uint32_t depth;
	uint32_t folded; /* itself, or where the node is when the internal frames at its inner end are left
			    out */
	uint32_t own; /* innermost node of the user's own code on the way to it, itself included; 0: none */
	float weight; /* the largest share that it and its callees have of any of the totals */
	bool used;    /* allocations end here */
	bool kept;
};

/* What frames of the same key look like: those of the first side that has one. */
struct hs_page_key {
	const struct hs_frame *frame; /* NULL: no frame has the key */
	uint8_t side;
	bool own;
};

struct hs_page_side {
	struct hs_profile *profile;            /* NULL: there is no such side */
	struct hs_replay replay;               /* groups (and parts) by stack of this side */
	uint32_t stack_count, suppressed_from; /* stacks from there on are suppressed */
	uint32_t *node_of_stack;               /* the tree's node of each stack */
	uint32_t *stack_of_node;               /* the stack of each node of the profile */
	uint32_t site_count;
};

struct hs_page_tree {
	struct hs_page_side sides[HS_PAGE_SIDES];
	struct hs_page_node *nodes; /* [0] is the root */
	uint32_t node_count;
	size_t node_capacity;
	struct hs_page_key *keys;
	uint32_t key_count;
};

/* Replays both; old may be NULL. raw: what site_count counts. Returns 0, or -1 and an error. */
int hs_page_tree_make(struct hs_page_tree *tree, struct hs_profile *new, struct hs_profile *old, bool raw,
		      struct hs_error *error);
void hs_page_tree_free(struct hs_page_tree *tree);

/* The stack, and the node of the tree, that the counts of a side's group (or part) belong to. */
static inline uint32_t hs_page_stack_of_group(const struct hs_page_side *side, uint32_t group)
{
	return side->replay.parts ? side->replay.parts[group].group : group;
}

static inline uint32_t hs_page_node_of_group(const struct hs_page_side *side, uint32_t group)
{
	return side->node_of_stack[hs_page_stack_of_group(side, group)];
}

/* ---- page_prune.c ---------------------------------------------------------------------------------------
 */

enum { /* flags of frames */
       HS_PAGE_INLINED = 1,
       HS_PAGE_INTERNAL = 2,
       HS_PAGE_OWN = 4,
       HS_PAGE_OTHER = 8,
};

struct hs_page_frame {
	uint32_t function, file, line, module; /* strings of the page; module + 1 */
	uint32_t flags;
	float weight; /* of its heaviest node */
	uint64_t address;
};

struct hs_page_stack {
	uint32_t node, own, folded; /* as in the columns */
	float weight;               /* of itself alone */
	struct hs_counts counts[HS_PAGE_SIDES];
};

/* What the page shows, in its own numbers. */
struct hs_page_view {
	struct hs_strings strings;
	bool cut_strings;
	struct hs_page_frame *frames;
	uint32_t frame_count;
	size_t frame_capacity;
	uint32_t *depths, *node_frames; /* of nodes */
	uint32_t node_count;
	struct hs_page_stack *stacks;
	uint32_t stack_count;
	uint32_t *stack_of_node; /* of each used node of the tree */
	uint32_t *module_of_old; /* of each module of the old side: its number in the page */
	json_t *modules;
	uint32_t pruned_stacks;
	struct hs_counts pruned; /* of the new side */
};

/* Marks what is kept, at most nodes_most nodes, and makes the view of it. */
void hs_page_view_make(struct hs_page_view *view, struct hs_page_tree *tree, uint32_t nodes_most);
void hs_page_view_free(struct hs_page_view *view);

/* Text of unknown origin as a string of the page. */
uint32_t hs_page_string(struct hs_page_view *view, const char *text);

/* ---- page_parts.c ---------------------------------------------------------------------------------------
 */

/* Adds thread.* and part.*. Returns how many threads had to be summed up. */
uint32_t hs_page_parts_add(struct hs_columns *columns, struct hs_page_view *view,
			   const struct hs_page_tree *tree, uint32_t parts_most);

/* count.* of hs_counts under "PREFIX.", but those that are not told, and the maxima. */
void hs_page_counts_add(struct hs_columns *columns, const char *prefix, const struct hs_counts *first,
			size_t stride, size_t count, uint32_t unknown);

/* ---- page_sources.c -------------------------------------------------------------------------------------
 */

/* The list of sources; adds to the notes what was not found. */
json_t *hs_page_sources(struct hs_page_view *view, const struct hs_page_tree *tree, size_t bytes_most,
			json_t *notes);

/* ---- page.c ---------------------------------------------------------------------------------------------
 */

struct hs_page_bytes {
	uint8_t *bytes;
	size_t count;
};

/* The data of the page, not packed. `baseline` may be NULL. */
int hs_page_data(struct hs_page_tree *tree, const struct hs_export_options *options,
		 const struct hs_page_limits *limits, struct hs_page_bytes *data, struct hs_error *error);

#endif
