/* What nodes and stacks are read and made with: varints, and callers from which very many others are called.
 */
#include "check.h"
#include "heapscope/varint.h"
#include "profile/stacks.h"

#include <stdlib.h>
#include <string.h>

static void test_varints(void)
{
	/* 300 = 0b10'0101100 */
	uint64_t value = 0;
	CHECK_NUMBER(hs_varint_get_short(0xffff02ac, &value), 2);
	CHECK_NUMBER(value, 300);
	for (unsigned bits = 0; bits < 64; bits++) {
		uint64_t written = 0x5a5a5a5a5a5a5a5a >> (63 - bits);
		uint8_t bytes[HS_VARINT_MOST + 8];
		memset(bytes, 0x81, sizeof bytes);
		uint8_t *end = hs_varint_put(bytes, written);
		uint32_t word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
		unsigned count = hs_varint_get_short(word, &value);
		if (end - bytes > 4) {
			CHECK_NUMBER(count, 0);
			continue;
		}
		CHECK_NUMBER(count, end - bytes);
		CHECK_NUMBER(value, written);
	}
}

/* The root calls 100 places, 25 texts four times each in turn, and from each of them all 100 are called
 * again: so there are 25 stacks of one frame, and 25 x 25 of two. */
static void test_many_children(void)
{
	enum { PLACES = 100, TEXTS = 25, NODES = 1 + PLACES + PLACES * PLACES };
	struct hs_profile profile = {.node_count = NODES, .frame_count = PLACES};
	struct hs_stacks stacks;
	uint32_t keys[PLACES];
	struct hs_call calls[PLACES + 1] = {{0}};
	profile.calls = calls;
	profile.nodes = calloc(NODES, sizeof *profile.nodes);
	for (uint32_t i = 0; i < PLACES; i++) {
		keys[i] = i % TEXTS;
		calls[i + 1] = (struct hs_call){i, 1};
		profile.nodes[i + 1] = (struct hs_node){0, i + 1};
		for (uint32_t k = 0; k < PLACES; k++)
			profile.nodes[1 + PLACES + i * PLACES + k] = (struct hs_node){i + 1, k + 1};
	}
	hs_stacks_make(&profile, keys, &stacks);
	CHECK_NUMBER(stacks.count, 1 + TEXTS + TEXTS * TEXTS);
	CHECK_NUMBER(stacks.of_node[0], 0);
	for (uint32_t id = 1; id < NODES; id++) {
		const struct hs_stack *stack = &stacks.items[stacks.of_node[id]];
		const struct hs_node *node = &profile.nodes[id];
		CHECK_NUMBER(stack->frame, (node->call - 1) % TEXTS); /* the first node's that has the text */
		CHECK_NUMBER(stack->parent, stacks.of_node[node->parent]);
		CHECK_NUMBER(stack->depth, node->parent ? 2 : 1);
	}
	free(profile.nodes);
	hs_stacks_free(&stacks);
}

int main(void)
{
	test_varints();
	test_many_children();
	return check_failures();
}
