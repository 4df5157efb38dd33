/* The table of the trie, and the look-up that every fresh frame makes. */
#ifndef HS_TRIE_H
#define HS_TRIE_H

#include "shim.h"

struct trie_entry {
	uint64_t place; /* 0: empty; claimed by compare-and-swap */
	uint64_t value; /* parent << 32 | node; 0 while the claimer has not stored it yet */
};

struct trie_table {
	uint64_t mask;
	uint64_t used;
	struct trie_entry entries[] __attribute__((aligned(64)));
};

extern _Atomic(struct trie_table *) hs_trie;

/* The hash of a stack: by it the table is entered. It is one of all its places, not of the parent's node and
 * a place: so where all look-ups along a stack go is known before the first of them has waited for memory. 0:
 * no frame. */
static inline uint32_t trie_path(uint32_t path, uint64_t place)
{
	return (path + (uint32_t)(place * 0xd6e8feb86659fd93ULL >> 32)) * 0x9e3779b1u;
}

/* Finds or makes the node that the table does not hold where it is looked for first. */
uint32_t hs_trie_find(uint32_t parent, uint64_t place, uint32_t path);

/* Inserts it, from that attempt on. */
uint32_t hs_trie_insert(struct trie_table *table, uint32_t parent, uint64_t place, uint32_t path,
			uint64_t attempt);

/* Where a path is looked for first, second and so on: two places in the same cache line, then the next two.
 */
static inline uint64_t trie_slot(const struct trie_table *table, uint32_t path, uint64_t attempt)
{
	return ((path & ~1u) + (attempt & ~1ull) + ((path ^ attempt) & 1)) & table->mask;
}

static inline bool trie_match(const struct trie_entry *entry, uint32_t parent, uint64_t place, uint32_t *node)
{
	uint64_t value = load_acquire(&entry->value);
	*node = (uint32_t)value;
	return load_relaxed(&entry->place) == place && value >> 32 == parent && value;
}

/* NULL: none. */
static inline const struct trie_table *trie_table(void)
{
	return atomic_load_explicit(&hs_trie, memory_order_acquire);
}

/* The node of the stack with that path, which is one frame longer than the parent's. Never fails: without
 * memory it is the parent. */
static inline uint32_t hs_trie_child(const struct trie_table *table, uint32_t parent, uint64_t place,
				     uint32_t path)
{
	uint32_t node;
	if (likely(table) &&
	    (likely(trie_match(&table->entries[trie_slot(table, path, 0)], parent, place, &node)) ||
	     trie_match(&table->entries[trie_slot(table, path, 1)], parent, place, &node)))
		return node;
	return hs_trie_find(parent, place, path);
}

#endif
