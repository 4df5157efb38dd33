/* Nodes of stacks that differ from the remembered one in nothing but which calls its innermost RUN frames
 * were called from, as where a loop calls one function or another that need the same room: such a stack is
 * told by RUN words, and what is remembered stays as it is. */
#ifndef HS_VARIANTS_H
#define HS_VARIANTS_H

#include "remembered.h"

enum { VARIANT_BITS = 9, VARIANTS = 1 << VARIANT_BITS };

/* Of one thread. All that is known in one era is about stacks with the same frames outside of the run, the
 * same innermost pc, and all frames at the same places (thread->shape); what begins a new one is a change of
 * any of these. Then each rule, and so the place of each return address, follows from the calls further in:
 * the words that stand there now tell the stack. */
struct variants {
	uint64_t era, shape, pc, path; /* path: of the first frame outside of the run */
	struct {
		uint64_t era; /* another one: nothing is known */
		uint32_t node;
	} known[VARIANTS];
	uint64_t calls[VARIANTS][RUN];
};

/* The node of the stack that is there now, from `start` (which holds) and its run outwards, or 0. Of the
 * frames outside of the run all hold. */
uint32_t hs_variant_node(const struct variants *variants, uint64_t shape, const struct frame *start);

/* Takes note of what the run is now; its node is for the caller to fill in, unless NULL: no memory. */
uint32_t *hs_variant_add(struct thread *thread, const struct frame *start);

#endif
