/* The table of the trie, and the look-up that every walk makes: of a whole stack. */
#ifndef HS_TRIE_H
#define HS_TRIE_H

#include "shim.h"

/* A stack is known by 96 bits of hash of all its places, so that one look at the table finds its node,
 * however many frames are new. (Of a million stacks, two have the same with a probability of 10^-17.) */
struct trie_entry {
	uint64_t path;  /* 0: empty; claimed by compare-and-swap */
	uint64_t value; /* check << 32 | node; 0 while the claimer has not stored it yet */
};

struct trie_table {
	uint64_t mask;
	uint64_t used;
	struct trie_entry entries[] __attribute__((aligned(64)));
};

extern _Atomic(struct trie_table *) hs_trie;

/* The two parts of the hash of a stack, from those of the stack without its innermost frame; 0: no frame. */
static inline uint64_t trie_path(uint64_t outer, uint64_t place)
{
	uint64_t path = (outer + place) * 0x9e3779b97f4a7c15ULL;
	return path ^ path >> 32;
}

static inline uint32_t trie_check(uint32_t outer, uint64_t place)
{
	return (outer + (uint32_t)(place * 0xd6e8feb86659fd93ULL >> 32)) * 0x9e3779b1u;
}

/* (A pc outside of the 48 bits of a place is in no module: then all of its upper bits are set.) */
static inline uint64_t place_of(const struct frame *frame)
{
	return (uint64_t)RULE_MODULE(frame->rule) << 48 | frame->pc;
}

/* Gives a frame its hash; those of the next one outwards, or 0. */
static inline void trie_hash(struct frame *frame, uint64_t outer_path, uint32_t outer_check)
{
	uint64_t place = place_of(frame);
	frame->path = trie_path(outer_path, place);
	frame->check = trie_check(outer_check, place);
}

/* Finds or makes the node that the table does not hold where it is looked for first. */
uint32_t hs_trie_find(const struct frame *outermost, const struct frame *end, uint32_t root);

/* Inserts the node of the stack from the outermost frame to this one, unless another thread has just done so.
 */
uint32_t hs_trie_insert(const struct frame *frame, uint32_t parent);

/* Where a path is looked for first, second and so on: two places in the same cache line, then the next two.
 */
static inline uint64_t trie_slot(const struct trie_table *table, uint64_t path, uint64_t attempt)
{
	return ((path & ~1ull) + (attempt & ~1ull) + ((path ^ attempt) & 1)) & table->mask;
}

static inline bool trie_match(const struct trie_entry *entry, const struct frame *frame, uint32_t *node)
{
	uint64_t value = load_acquire(&entry->value);
	*node = (uint32_t)value;
	return load_relaxed(&entry->path) == frame->path && value >> 32 == frame->check && value;
}

/* The node of a stack, of which the frames from `outermost` to `end` have their hashes; there is one at
 * least. root: the node that their hashes begin with. Never fails: without memory it is that of some frames
 * further out. */
static inline uint32_t hs_trie_node(const struct frame *outermost, const struct frame *end, uint32_t root)
{
	const struct trie_table *table = atomic_load_explicit(&hs_trie, memory_order_acquire);
	const struct frame *frame = end - 1;
	uint32_t node;
	if (likely(table) &&
	    (likely(trie_match(&table->entries[trie_slot(table, frame->path, 0)], frame, &node)) ||
	     trie_match(&table->entries[trie_slot(table, frame->path, 1)], frame, &node)))
		return node;
	return hs_trie_find(outermost, end, root);
}

#endif
