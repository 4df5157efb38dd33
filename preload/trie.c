/* The trie of stacks: a lock-free, insert-only hash table from a stack's hash to its node. The nodes
 * themselves stand in the shared region, so a killed process has lost none.
 *
 * The table is open-addressing and doubles by being replaced. An insert that races with the replacement may
 * be missing from the new table; then a second node for the same stack arises later. That is harmless:
 * readers compare frames, not nodes. But what is made twice is kept twice: so threads that insert the same
 * node at the same time agree on one. */
#include "trie.h"

enum { ENTRIES_AT_FIRST = 1 << 13 };
_Atomic(struct trie_table *) hs_trie;

static uint64_t table_bytes(uint64_t entries)
{
	return sizeof(struct trie_table) + entries * sizeof(struct trie_entry);
}

static struct trie_table *new_table(uint64_t entries)
{
	struct trie_table *table = hs_table_pages(table_bytes(entries));
	if (table)
		table->mask = entries - 1;
	return table;
}

void hs_trie_begin(void)
{
	struct trie_table *old = hs_trie;
	hs_trie = new_table(ENTRIES_AT_FIRST);
	/* in a fork child nobody else can be reading it */
	if (old && !hs_process.interrupted)
		hs_pages_free(old, table_bytes(old->mask + 1));
}

/* Enters what stands in another table. No other thread can be looking for it yet. */
static void enter(struct trie_table *table, struct trie_entry own)
{
	uint64_t attempt = 0;
	struct trie_entry *entry;
	while ((entry = &table->entries[trie_slot(table, own.path, attempt++)])->path)
		;
	*entry = own;
	table->used++;
}

/* A table of twice the size becomes the current one. The old one stays mapped, because threads may still use
 * it; they find nothing there. */
static void grow(struct trie_table *old)
{
	struct trie_table *table = new_table((old->mask + 1) * 2), *current = old;
	if (!table)
		return;
	for (uint64_t i = 0; i <= old->mask; i++) {
		struct trie_entry own = {.value = load_acquire(&old->entries[i].value)};
		own.path = load_relaxed(&old->entries[i].path);
		if (own.path && own.value)
			enter(table, own);
	}
	if (atomic_compare_exchange_strong(&hs_trie, &current, table))
		hs_pages_clear((char *)old + HS_PAGE_BYTES, table_bytes(old->mask + 1) - HS_PAGE_BYTES);
	else
		hs_pages_free(table, table_bytes(table->mask + 1));
}

static uint32_t new_node(uint32_t parent, uint64_t place, uint32_t epoch)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	uint32_t node = __atomic_fetch_add(&header->node_count, 1, __ATOMIC_RELAXED);
	struct hs_node_record *record =
		node < HS_MAX_NODES ? hs_area_at(&hs_process.nodes, (uint64_t)node * HS_NODE_BYTES) : NULL;
	if (!record || epoch != load_relaxed(&hs_process.epoch))
		return 0;
	record->parent = parent;
	store_release(&record->place, place);
	return node;
}

/* No room for a node: the stack is cut to what is known, and counted. */
static uint32_t give_up(uint32_t parent)
{
	__atomic_add_fetch(&load_relaxed(&hs_process.header)->broken_stacks, 1, __ATOMIC_RELAXED);
	return parent;
}

/* How long an entry may be claimed before its value counts as lost: the claimer was interrupted. */
enum { LOOKS_AT_CLAIMED = 1000 };

/* The node in an entry if it is for this stack, or 0. */
static uint32_t claimed_node(const struct trie_entry *entry, const struct frame *frame)
{
	uint32_t node;
	if (load_relaxed(&entry->path) != frame->path)
		return 0;
	for (int i = 0; i < LOOKS_AT_CLAIMED && !load_acquire(&entry->value); i++)
		arch_pause();
	return trie_match(entry, frame, &node) ? node : 0;
}

uint32_t hs_trie_insert(const struct frame *frame, uint32_t parent)
{
	struct trie_table *table = atomic_load_explicit(&hs_trie, memory_order_acquire);
	uint32_t epoch = load_relaxed(&hs_process.epoch);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* The parent is one of another process, which perhaps has no memory for a table: hs_process_forked.
	 */
	if (!table || parent >= load_relaxed(&hs_process.header->node_count))
		return parent;
	uint32_t node = new_node(parent, place_of(frame), epoch);
	if (!node)
		return epoch == load_relaxed(&hs_process.epoch) ? give_up(parent) : parent;
	if (__atomic_add_fetch(&table->used, 1, __ATOMIC_RELAXED) > table->mask / 8 * 7)
		return node; /* nearly full and no memory for a larger one: this node is not found again */
	struct trie_entry *entry;
	uint64_t empty, own = 0;
	do {
		entry = &table->entries[trie_slot(table, frame->path, own++)];
		empty = 0;
	} while (load_relaxed(&entry->path) ||
		 !__atomic_compare_exchange_n(&entry->path, &empty, frame->path, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	store_release(&entry->value, (uint64_t)frame->check << 32 | node);
	/* Whoever was first counts. */
	for (uint64_t attempt = 0; attempt + 1 < own; attempt++) {
		uint32_t earlier =
			claimed_node(&table->entries[trie_slot(table, frame->path, attempt)], frame);
		if (earlier)
			return earlier;
	}
	if (load_relaxed(&table->used) > table->mask / 2)
		grow(table);
	return node;
}

/* The node of the stack from the outermost frame to this one, or 0. */
static uint32_t look_up(const struct trie_table *table, const struct frame *frame)
{
	for (uint64_t attempt = 0;; attempt++) {
		const struct trie_entry *entry = &table->entries[trie_slot(table, frame->path, attempt)];
		uint32_t node;
		if (!load_acquire(&entry->path))
			return 0;
		if (trie_match(entry, frame, &node))
			return node;
	}
}

uint32_t hs_trie_find(const struct frame *outermost, const struct frame *end, uint32_t root)
{
	const struct trie_table *table = atomic_load_explicit(&hs_trie, memory_order_acquire);
	if (unlikely(!table))
		return give_up(root);
	uint32_t node = 0;
	const struct frame *frame = end;
	while (frame > outermost && !(node = look_up(table, frame - 1)))
		frame--;
	for (node = node ? node : root; frame < end; frame++)
		node = hs_trie_insert(frame, node);
	return node;
}
