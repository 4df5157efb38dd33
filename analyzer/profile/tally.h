/* A profile without events in the making: counts by stack. What an import fills in, and what a merge adds
 * recordings to. Its memory follows the stacks, however much they have counted. */
#ifndef HS_TALLY_H
#define HS_TALLY_H

#include "pairs.h"
#include "profile.h"

struct hs_tally_module {
	uint32_t path; /* string index */
	uint8_t build_id[64];
	uint32_t build_id_bytes;
	uint32_t flags; /* of FORMAT.md */
};

struct hs_tally_frame {
	uint32_t function, file, line; /* string indices; 0 unknown */
	uint32_t module;               /* index + 1; 0 none */
	uint64_t address;              /* of the call, as in hs_frame; 0 unknown */
	bool inlined;
};

struct hs_tally {
	struct hs_facts facts; /* owned, as those of a profile */
	uint64_t events, frees, peak_us;
	struct hs_strings strings;
	struct hs_tally_module *modules;
	uint32_t module_count;
	struct hs_tally_frame *frames;
	uint32_t frame_count;
	struct hs_pairs
		nodes; /* parent's id, frame; index + 1 is the id: a parent stands before its children */
	uint32_t *counts_of_node; /* by id: index in counts + 1; 0: none of its own */
	struct hs_counts *counts;
	uint32_t count_count;
	size_t module_capacity, frame_capacity, node_capacity, count_capacity;
	struct hs_strings module_keys; /* of a merge: modules, then paths alone, by their text */
	uint32_t *module_of_key;       /* + 1 */
	size_t key_capacity;
	struct hs_pairs frame_texts; /* of a merge: index is a text's frame */
};

void hs_tally_init(struct hs_tally *tally);
void hs_tally_free(struct hs_tally *tally);

/* Each returns the index of what it adds. */
uint32_t hs_tally_add_module(struct hs_tally *tally, const struct hs_tally_module *module);
uint32_t hs_tally_add_frame(struct hs_tally *tally, const struct hs_tally_frame *frame);
/* The node of a stack: its parent's (0: it is the outermost) and its innermost frame. 0, and an error, if
 * there are more than a file can hold. */
uint32_t hs_tally_node(struct hs_tally *tally, uint32_t parent, uint32_t frame, struct hs_error *error);
/* Adds to the counts of a node (0: those without a stack), maxima included. */
void hs_tally_add(struct hs_tally *tally, uint32_t node, const struct hs_counts *counts);
/* What all of them sum up to, maxima apart. Returns -1 and an error if a file cannot hold the sums. */
int hs_tally_totals(const struct hs_tally *tally, struct hs_counts *totals, struct hs_error *error);

/* merge.c: adds a recording, which it replays. Stacks that look the same (function, file, line and path of
 * the module of every frame) are one. Returns -1 and an error if the two cannot be added. */
int hs_tally_merge(struct hs_tally *tally, struct hs_profile *profile, struct hs_error *error);

#endif
