#include "stacks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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

/* Stacks in the making. What a frame of some key makes of its caller's stack is looked for among the stacks
 * that are there for that caller: mostly none or one, written a moment ago. Those beyond a few are found by a
 * hash table. */
struct making {
	struct hs_stacks *stacks;
	const uint32_t *key_of_frame;
	struct hs_pairs many; /* caller's stack and key of those beyond a few */
	uint32_t *stack_of_many;
	size_t many_capacity;
};
enum { FEW = 4 };

static uint32_t add_stack(struct hs_stacks *stacks, uint32_t parent, uint32_t frame, uint32_t sibling)
{
	if (stacks->count == stacks->capacity)
		stacks->items =
			hs_grow(stacks->items, stacks->count, &stacks->capacity, sizeof *stacks->items);
	stacks->items[stacks->count] = (struct hs_stack){parent, frame, .sibling = sibling};
	return stacks->count++;
}

static uint32_t find_or_add_beyond(struct making *making, uint32_t parent, uint32_t frame)
{
	bool added;
	uint32_t index = hs_pairs_add(&making->many, parent, making->key_of_frame[frame], &added);
	if (added) {
		making->stack_of_many = hs_grow(making->stack_of_many, index, &making->many_capacity,
						sizeof *making->stack_of_many);
		making->stack_of_many[index] = add_stack(making->stacks, parent, frame, 0);
	}
	return making->stack_of_many[index];
}

static inline uint32_t find_or_add(struct making *making, uint32_t parent, uint32_t frame)
{
	struct hs_stacks *stacks = making->stacks;
	uint32_t first = stacks->items[parent].child, child = first, key = making->key_of_frame[frame];
	for (unsigned i = 0; i < FEW; i++) {
		if (!child) {
			uint32_t added = add_stack(stacks, parent, frame, first);
			return stacks->items[parent].child = added;
		}
		if (making->key_of_frame[stacks->items[child].frame] == key)
			return child;
		child = stacks->items[child].sibling;
	}
	return find_or_add_beyond(making, parent, frame);
}

void hs_stacks_make(const struct hs_profile *profile, const uint32_t *key_of_frame, struct hs_stacks *stacks)
{
	struct making making = {.stacks = stacks, .key_of_frame = key_of_frame};
	/* not many more than nodes: only inlined frames come to that */
	*stacks = (struct hs_stacks){.count = 1, .capacity = profile->node_count};
	stacks->items = hs_allocate(stacks->capacity * sizeof *stacks->items);
	stacks->items[0] = (struct hs_stack){0};
	stacks->of_node = hs_allocate_filled(profile->node_count * sizeof *stacks->of_node);
	stacks->of_node[0] = 0;
	for (uint32_t id = 1; id < profile->node_count; id++) {
		const struct hs_node *node = &profile->nodes[id];
		uint32_t stack = stacks->of_node[node->parent];
		struct hs_call call = profile->calls[node->call];
		for (uint32_t i = call.frame_count; i-- > 0;)
			stack = find_or_add(&making, stack, call.first_frame + i);
		stacks->of_node[id] = stack;
	}
	hs_pairs_free(&making.many);
	free(making.stack_of_many);
	stacks->items[0].depth = 0;
	for (uint32_t i = 1; i < stacks->count; i++)
		stacks->items[i].depth = stacks->items[stacks->items[i].parent].depth + 1;
}

void hs_stacks_free(struct hs_stacks *stacks)
{
	free(stacks->items);
	free(stacks->of_node);
	*stacks = (struct hs_stacks){0};
}
