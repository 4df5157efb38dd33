/* The recorded stacks as a trie of what people see: nodes whose frames have the same key, from the root on,
 * are one stack. Made for any key of a frame (its text for sites, its line in an export). Private to profile/
 * and export/. */
#ifndef HS_STACKS_H
#define HS_STACKS_H

#include "pairs.h"
#include "profile.h"

struct hs_stack {
	uint32_t parent; /* stack without the innermost frame */
	uint32_t frame;  /* innermost, in profile.frames: of the first node that has it */
	union {
		uint32_t depth;   /* frames */
		uint32_t sibling; /* while they are made: another one of the same parent; 0 none */
	};
	uint32_t child; /* while they are made: one whose parent it is; 0 none */
};

struct hs_stacks {
	struct hs_stack *items; /* [0]: no frames. A parent stands before its children */
	uint32_t count;
	size_t capacity;
	uint32_t *of_node; /* of each node of the profile */
};

/* key_of_frame: equal for frames that are to be the same. */
void hs_stacks_make(const struct hs_profile *profile, const uint32_t *key_of_frame, struct hs_stacks *stacks);
void hs_stacks_free(struct hs_stacks *stacks);

/* A key for each frame: equal if function, file, line and module are. The caller frees it. */
uint32_t *hs_frame_texts(const struct hs_profile *profile);

#endif
