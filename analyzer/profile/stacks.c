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

/* Which stack a frame of some key makes of its caller's: a hash table of stacks alone, which know both. */
struct known {
	uint32_t *slots; /* 0 free */
	size_t slot_count;
	const uint32_t *key_of_frame;
};

static size_t slot_of(const struct known *known, uint32_t parent, uint32_t key)
{
	uint64_t sum = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ULL;
	return (size_t)(sum ^ sum >> 32) & (known->slot_count - 1);
}

/* Room for so many stacks. */
static void widen(struct known *known, const struct hs_stacks *stacks, uint32_t count)
{
	if ((size_t)count * 2 <= known->slot_count)
		return;
	free(known->slots);
	for (known->slot_count = 64; known->slot_count < (size_t)count * 2;)
		known->slot_count *= 2;
	/* written at once: a page of zeros that is read first costs a second fault when it is written */
	known->slots = hs_allocate(known->slot_count * sizeof *known->slots);
	memset(known->slots, 0, known->slot_count * sizeof *known->slots);
	for (uint32_t stack = 1; stack < stacks->count; stack++) {
		const struct hs_stack *item = &stacks->items[stack];
		size_t slot = slot_of(known, item->parent, known->key_of_frame[item->frame]);
		while (known->slots[slot])
			slot = (slot + 1) & (known->slot_count - 1);
		known->slots[slot] = stack;
	}
}

static uint32_t find_or_add(struct known *known, struct hs_stacks *stacks, uint32_t parent, uint32_t frame)
{
	uint32_t key = known->key_of_frame[frame];
	widen(known, stacks, stacks->count);
	size_t slot = slot_of(known, parent, key);
	for (; known->slots[slot]; slot = (slot + 1) & (known->slot_count - 1)) {
		const struct hs_stack *item = &stacks->items[known->slots[slot]];
		if (item->parent == parent && known->key_of_frame[item->frame] == key)
			return known->slots[slot];
	}
	stacks->items = hs_grow(stacks->items, stacks->count, &stacks->capacity, sizeof *stacks->items);
	stacks->items[stacks->count] = (struct hs_stack){parent, frame, stacks->items[parent].depth + 1};
	return known->slots[slot] = stacks->count++;
}

void hs_stacks_make(const struct hs_profile *profile, const uint32_t *key_of_frame, struct hs_stacks *stacks)
{
	struct known known = {.key_of_frame = key_of_frame};
	*stacks = (struct hs_stacks){.count = 1};
	stacks->items = hs_grow(NULL, 0, &stacks->capacity, sizeof *stacks->items);
	stacks->items[0] = (struct hs_stack){0};
	stacks->of_node = hs_allocate_zero(profile->node_count, sizeof *stacks->of_node);
	widen(&known, stacks, profile->node_count);
	for (uint32_t id = 1; id < profile->node_count; id++) {
		const struct hs_node *node = &profile->nodes[id];
		uint32_t stack = stacks->of_node[node->parent];
		struct hs_call call = profile->calls[node->call];
		for (uint32_t i = call.frame_count; i-- > 0;)
			stack = find_or_add(&known, stacks, stack, call.first_frame + i);
		stacks->of_node[id] = stack;
	}
	free(known.slots);
}

void hs_stacks_free(struct hs_stacks *stacks)
{
	free(stacks->items);
	free(stacks->of_node);
	*stacks = (struct hs_stacks){0};
}
