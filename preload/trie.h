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
	struct trie_entry entries[];
};

extern _Atomic(struct trie_table *) hs_trie;

/* Along a stack each look-up waits for the parent that the one before yields: it enters by the cheapest sum
 * there is. For one place, the dense ids of its parents spread well all the same. */
static inline uint64_t trie_slot(const struct trie_table *table, uint32_t parent, uint64_t place)
{
	return ((place * 0xd6e8feb86659fd93ULL >> 32) + parent * 9ULL) & table->mask;
}

/* Finds or makes the node that the table does not hold where it is looked for first. */
uint32_t hs_trie_find(uint32_t parent, uint64_t place);

/* The node of a stack one frame longer. Never fails: without memory it is the parent. */
static inline uint32_t hs_trie_child(uint32_t parent, uint64_t place)
{
	const struct trie_table *table = atomic_load_explicit(&hs_trie, memory_order_acquire);
	if (likely(table)) {
		const struct trie_entry *entry = &table->entries[trie_slot(table, parent, place)];
		uint64_t value = load_acquire(&entry->value);
		if (likely(load_relaxed(&entry->place) == place && value >> 32 == parent && value))
			return (uint32_t)value;
	}
	return hs_trie_find(parent, place);
}

#endif
