/* The trie, with threads that look up the same stacks at the same time while the table and the region grow:
 * each answer is a node whose record says just that stack; none is lost. */
#include "trie.h"
#include "world.h"

#include <string.h>

enum { THREADS = 4, DEPTH = 7, FAN_OUT = 5, WALKS = 30000 };

/* The stack of a node, told by its own record. */
static struct hs_node_record *record_of(uint32_t node)
{
	return hs_area_at(&hs_process.nodes, (uint64_t)node * HS_NODE_BYTES);
}

/* A stack under way: the frames of it, outermost first. Its name has its frames as digits; the place of a
 * frame follows from the name of the stack that ends there. */
struct stack {
	struct frame frames[DEPTH + 1];
	unsigned depth;
};

static void push(struct stack *stack, uint64_t name)
{
	struct frame *frame = &stack->frames[stack->depth++];
	bool root = stack->depth == 1;
	frame->pc = 0x1000 + name * 16;
	frame->rule = RULE_MAKE(RULE_SP, name % 5, 0, 0);
	trie_hash(frame, root ? 0 : frame[-1].path, root ? 0 : frame[-1].check);
}

static uint32_t look_up(const struct stack *stack)
{
	uint32_t found = hs_trie_node(stack->frames, stack->frames + stack->depth, 0), node = found;
	CHECK(node < __atomic_load_n(&hs_process.header->node_count, __ATOMIC_RELAXED));
	for (unsigned depth = stack->depth; depth-- > 0; node = record_of(node)->parent) {
		CHECK(node != 0);
		CHECK(__atomic_load_n(&record_of(node)->place, __ATOMIC_ACQUIRE) ==
		      place_of(&stack->frames[depth]));
	}
	CHECK(node == 0);
	return found;
}

static void *walk(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15u;
	for (unsigned i = 0; i < WALKS; i++) {
		struct stack stack = {.depth = 0};
		uint64_t name = 1, looks = world_random(&random);
		for (unsigned depth = 0; depth < DEPTH; depth++) {
			name = name * FAN_OUT + world_random(&random) % FAN_OUT;
			push(&stack, name);
			if (looks >> depth & 1 || depth + 1 == DEPTH)
				look_up(&stack); /* of several new frames at once, too */
		}
	}
	return NULL;
}

/* All stacks there can be, in order. */
static void walk_all(struct stack *stack, uint64_t name)
{
	for (uint64_t i = 0; stack->depth < DEPTH && i < FAN_OUT; i++) {
		push(stack, name * FAN_OUT + i);
		look_up(stack);
		walk_all(stack, name * FAN_OUT + i);
		stack->depth--;
	}
}

/* What a thread does that looked for a node just before another one has inserted it. */
static void insert_late(uint64_t name)
{
	struct stack stack = {.depth = 0};
	push(&stack, name);
	uint32_t first = look_up(&stack);
	CHECK(hs_trie_insert(stack.frames, 0) == first);
	CHECK(look_up(&stack) == first);
}

/* One that was claimed by a thread that does not come to say more is not waited for: there are two then. */
static void insert_beside_claimed(uint64_t name)
{
	struct stack stack = {.depth = 0};
	push(&stack, name);
	uint64_t path = stack.frames[0].path, attempt = 0;
	struct trie_entry *entry;
	do
		entry = &hs_trie->entries[trie_slot(hs_trie, path, attempt++)];
	while (entry->path);
	entry->path = path;
	uint32_t own = look_up(&stack);
	CHECK(look_up(&stack) == own);
}

/* Half of the hash is not enough. */
static void tell_apart(uint64_t name)
{
	struct stack one = {.depth = 0}, two = {.depth = 0};
	push(&one, name);
	push(&two, name + 1);
	two.frames[0].path = one.frames[0].path;
	uint32_t first = look_up(&one), second = look_up(&two);
	CHECK(first != second && look_up(&one) == first && look_up(&two) == second);
}

int main(void)
{
	struct hs_view view;
	pthread_t threads[THREADS];
	world_begin(&view, 8);
	insert_late(1000000);
	insert_beside_claimed(1000001);
	tell_apart(1000002);
	uint32_t before = hs_process.header->node_count - 1;
	for (uint64_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, walk, (void *)(i + 1)) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	uint32_t raced = hs_process.header->node_count;
	for (uint32_t node = 1; node < raced; node++) {
		CHECK(record_of(node)->place != 0);
		CHECK(record_of(node)->parent < node);
	}
	/* What a race left out arises once more, then all stacks stand. */
	walk_all(&(struct stack){.depth = 0}, 1);
	uint32_t all = hs_process.header->node_count;
	walk_all(&(struct stack){.depth = 0}, 1);
	CHECK(hs_process.header->node_count == all);
	uint64_t stacks = 0, level = 1;
	for (unsigned depth = 0; depth < DEPTH; depth++)
		stacks += level *= FAN_OUT;
	CHECK(all - 1 - before >= stacks);
	CHECK(hs_process.header->broken_stacks == 0);
	printf("%u nodes for %llu stacks\n", all - 1 - before, (unsigned long long)stacks);
	return 0;
}
