/* The table of rules, and the look-up that every fresh frame makes. */
#ifndef HS_RULES_H
#define HS_RULES_H

#include "../shim.h"

struct rule_entry {
	uint64_t pc; /* 0 empty, 1 forgotten; stored after the rule, with release */
	unwind_rule rule;
};

struct rule_table {
	uint64_t mask;
	uint64_t used;
	struct rule_entry entries[];
};

extern _Atomic(struct rule_table *) hs_rules;

static inline uint64_t rule_slot(uint64_t pc)
{
	/* Return addresses are random enough, and a product takes longer. Without the low bits those that are
	 * near each other share cache lines. */
	return pc >> 3 ^ pc >> 12;
}

/* Finds or compiles the rule of a pc that the table does not hold where it is looked for first. */
unwind_rule hs_rule_find(uint64_t pc);

static inline unwind_rule hs_rule_of(uint64_t pc)
{
	const struct rule_table *table = atomic_load_explicit(&hs_rules, memory_order_acquire);
	if (likely(table)) {
		const struct rule_entry *entry = &table->entries[rule_slot(pc) & table->mask];
		if (likely(load_acquire(&entry->pc) == pc))
			return entry->rule;
	}
	return hs_rule_find(pc);
}

#endif
