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

/* What the stack of a node is called here: its digits. The place of a frame follows from it. */
static uint64_t place_of(uint64_t stack)
{
	return HS_PLACE(stack % 5, 0x1000 + stack * 16);
}

struct trie_place {
	uint32_t node, path;
};

static struct trie_place look_up(struct trie_place parent, uint64_t stack)
{
	uint32_t path = trie_path(parent.path, place_of(stack));
	struct trie_place found = {hs_trie_child(trie_table(), parent.node, place_of(stack), path), path};
	uint32_t node = found.node;
	CHECK(node > parent.node && node < __atomic_load_n(&hs_process.header->node_count, __ATOMIC_RELAXED));
	struct hs_node_record *record = record_of(node);
	CHECK(__atomic_load_n(&record->place, __ATOMIC_ACQUIRE) == place_of(stack));
	CHECK(record->parent == parent.node);
	return found;
}

static void *walk(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15u;
	for (unsigned i = 0; i < WALKS; i++) {
		struct trie_place place = {0};
		uint64_t stack = 1;
		for (unsigned depth = 0; depth < DEPTH; depth++) {
			stack = stack * FAN_OUT + world_random(&random) % FAN_OUT;
			place = look_up(place, stack);
		}
	}
	return NULL;
}

/* All stacks there can be, in order. */
static void walk_all(struct trie_place parent, uint64_t stack, unsigned depth)
{
	for (uint64_t i = 0; depth < DEPTH && i < FAN_OUT; i++)
		walk_all(look_up(parent, stack * FAN_OUT + i), stack * FAN_OUT + i, depth + 1);
}

/* What a thread does that looked for a node just before another one has inserted it. */
static void insert_late(uint64_t stack)
{
	struct trie_place first = look_up((struct trie_place){0}, stack);
	CHECK(hs_trie_insert(hs_trie, 0, place_of(stack), first.path, 0) == first.node);
	CHECK(look_up((struct trie_place){0}, stack).node == first.node);
}

/* One that was claimed by a thread that does not come to say more is not waited for: there are two then. */
static void insert_beside_claimed(uint64_t stack)
{
	uint32_t path = trie_path(0, place_of(stack));
	uint64_t attempt = 0;
	struct trie_entry *entry;
	do
		entry = &hs_trie->entries[trie_slot(hs_trie, path, attempt++)];
	while (entry->place);
	entry->place = place_of(stack);
	struct trie_place own = look_up((struct trie_place){0}, stack);
	CHECK(look_up((struct trie_place){0}, stack).node == own.node);
}

int main(void)
{
	struct hs_view view;
	pthread_t threads[THREADS];
	world_begin(&view, 8);
	insert_late(1000000);
	insert_beside_claimed(1000001);
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
	walk_all((struct trie_place){0}, 1, 0);
	uint32_t all = hs_process.header->node_count;
	walk_all((struct trie_place){0}, 1, 0);
	CHECK(hs_process.header->node_count == all);
	uint64_t stacks = 0, level = 1;
	for (unsigned depth = 0; depth < DEPTH; depth++)
		stacks += level *= FAN_OUT;
	CHECK(all - 1 - before >= stacks);
	CHECK(hs_process.header->broken_stacks == 0);
	printf("%u nodes for %llu stacks\n", all - 1 - before, (unsigned long long)stacks);
	return 0;
}
