#include "stacks.h"

#include "base/memory.h"

#include <stdlib.h>

uint32_t *hs_frame_texts(const struct hs_profile *profile)
{
	struct hs_pairs texts = {0};
	uint32_t *keys = hs_allocate_zero(profile->frame_count, sizeof *keys);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		keys[i] = hs_pairs_add(&texts, (uint64_t)frame->function << 32 | frame->file,
				       (uint64_t)frame->line << 32 | frame->module, NULL);
		/* Without a name the address is all that tells one frame from another. */
		if (frame->function == 0 && frame->file == 0)
			keys[i] = hs_pairs_add(&texts, frame->address, 1ULL << 63 | frame->module, NULL);
	}
	hs_pairs_free(&texts);
	return keys;
}

void hs_stacks_make(const struct hs_profile *profile, const uint32_t *key_of_frame, struct hs_stacks *stacks)
{
	struct hs_pairs known = {0}; /* parent stack, key; index + 1 is the stack */
	*stacks = (struct hs_stacks){.count = 1};
	stacks->items = hs_grow(NULL, 0, &stacks->capacity, sizeof *stacks->items);
	stacks->items[0] = (struct hs_stack){0};
	hs_pairs_reserve(&known, profile->node_count);
	stacks->of_node = hs_allocate_zero(profile->node_count, sizeof *stacks->of_node);
	for (uint32_t id = 1; id < profile->node_count; id++) {
		const struct hs_node *node = &profile->nodes[id];
		uint32_t stack = stacks->of_node[node->parent];
		for (uint32_t i = node->frame_count; i-- > 0;) {
			uint32_t frame = node->first_frame + i;
			bool added;
			uint32_t inner = hs_pairs_add(&known, stack, key_of_frame[frame], &added) + 1;
			if (added) {
				stacks->items = hs_grow(stacks->items, inner, &stacks->capacity,
							sizeof *stacks->items);
				stacks->items[inner] =
					(struct hs_stack){stack, frame, stacks->items[stack].depth + 1};
				stacks->count++;
			}
			stack = inner;
		}
		stacks->of_node[id] = stack;
	}
	hs_pairs_free(&known);
}

void hs_stacks_free(struct hs_stacks *stacks)
{
	free(stacks->items);
	free(stacks->of_node);
	*stacks = (struct hs_stacks){0};
}
