/* Rules: what to do at a return address, compiled once from .eh_frame into 64 bits and kept in one table for
 * all threads. The table is a cache: an entry that a race loses is compiled again. */
#include "rules.h"

#include "cfi.h"

#include <dlfcn.h>

enum { ENTRIES_AT_FIRST = 1 << 12, FORGOTTEN = 1 };
_Atomic(struct rule_table *) hs_rules;

static uint64_t table_bytes(uint64_t entries)
{
	return sizeof(struct rule_table) + entries * sizeof(struct rule_entry);
}

/* A slot is reserved (as forgotten) before its rule is written, and gets its pc last: no reader sees a mixed
 * pair. */
static void put(struct rule_table *table, uint64_t pc, unwind_rule value)
{
	for (uint64_t slot = rule_slot(pc) & table->mask;; slot = (slot + 1) & table->mask) {
		uint64_t empty = 0;
		if (load_relaxed(&table->entries[slot].pc) == pc)
			return;
		if (!__atomic_compare_exchange_n(&table->entries[slot].pc, &empty, FORGOTTEN, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		table->entries[slot].rule = value;
		store_release(&table->entries[slot].pc, pc);
		return;
	}
}

static struct rule_table *new_table(const struct rule_table *old)
{
	uint64_t entries = old ? (old->mask + 1) * 2 : ENTRIES_AT_FIRST;
	struct rule_table *table = hs_table_pages(table_bytes(entries));
	if (!table)
		return NULL;
	table->mask = entries - 1;
	for (uint64_t i = 0; old && i <= old->mask; i++) {
		uint64_t pc = load_acquire(&old->entries[i].pc);
		if (pc <= FORGOTTEN)
			continue;
		put(table, pc, old->entries[i].rule);
		table->used++;
	}
	return table;
}

/* Threads that copy the table now; in a fork child perhaps one that it does not have: that only costs. */
static _Atomic(uint32_t) copying;

static void insert(uint64_t pc, unwind_rule value)
{
	struct rule_table *table = hs_rules;
	if (!table || load_relaxed(&table->used) > table->mask / 2) {
		copying++;
		table = hs_rules;
		struct rule_table *larger = new_table(table);
		if (larger && !atomic_compare_exchange_strong(&hs_rules, &table, larger))
			hs_pages_free(larger, table_bytes(larger->mask + 1));
		else if (larger)
			table = larger; /* the old one stays mapped: others may be reading it */
		copying--;
	}
	if (!table || __atomic_add_fetch(&table->used, 1, __ATOMIC_RELAXED) > table->mask / 8 * 7)
		return;
	put(table, pc, value);
}

static void forget_module_in(struct rule_table *table, uint32_t module)
{
	for (uint64_t i = 0; table && i <= table->mask; i++) {
		uint64_t pc = load_acquire(&table->entries[i].pc);
		if (pc > FORGOTTEN && RULE_MODULE(table->entries[i].rule) == module)
			store_release(&table->entries[i].pc, FORGOTTEN);
	}
}

/* A copy under way may hold what is forgotten here: then the table goes, and the copy cannot replace it. */
void hs_rules_forget_module(uint32_t module)
{
	struct rule_table *table, *seen;
	do {
		table = seen = hs_rules;
		forget_module_in(table, module);
		if (copying && atomic_compare_exchange_strong(&hs_rules, &seen, NULL))
			return;
	} while (table != hs_rules);
}

static bool fits(int64_t value, unsigned bits)
{
	return value >= -(1LL << (bits - 1)) && value < 1LL << (bits - 1);
}

static unwind_rule from_row(const struct cfi_row *row, uint32_t module)
{
	unwind_rule none = RULE_MAKE(RULE_ODD, module, 0, 0);
	if (row->signal_frame)
		return RULE_MAKE(RULE_SIGNAL, module, 0, 0);
	if (row->return_address.where == CFI_UNDEFINED)
		return RULE_MAKE(RULE_END, module, 0, 0);
	if (row->return_address.where != CFI_AT_CFA || row->return_address.offset != -8 ||
	    !fits(row->cfa_offset, 24))
		return none;
	int64_t slot = row->fp.where == CFI_AT_CFA ? row->fp.offset : 0;
	if (slot % 8 || !fits(slot / 8, 21))
		return none;
	if (row->cfa == CFI_CFA_FP_DEREF && row->fp.where == CFI_AT_FP && row->fp.offset == 0)
		return RULE_MAKE(RULE_FP_DEREF, module, row->cfa_offset, 0);
	/* An undefined frame pointer is garbage that nobody outside may use: as good as kept. */
	if (row->cfa != CFI_CFA_REGISTER || row->fp.where == CFI_AT_FP || row->fp.where == CFI_OTHER)
		return none;
	if (row->cfa_register == ARCH_DWARF_SP && row->cfa_offset > 0)
		return RULE_MAKE(RULE_SP, module, row->cfa_offset, slot);
	if (row->cfa_register == ARCH_DWARF_FP)
		return RULE_MAKE(RULE_FP, module, row->cfa_offset, slot);
	return none;
}

static unwind_rule compile(uint64_t pc)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)(pc - 1), &found) != 0)
		return RULE_MAKE(RULE_NONE, HS_MODULE_NONE, 0, 0);
	uint32_t module = hs_module_of(&found);
	struct cfi_row row;
	if (hs_process.unwinder == UNWINDER_FAST && found.dlfo_eh_frame &&
	    hs_cfi_row(found.dlfo_eh_frame, pc - 1, &row))
		return from_row(&row, module);
	/* What has no unwind data in glibc is an entry point that nobody called (_dl_start_user,
	 * __start_context). */
	bool entry = hs_process.unwinder == UNWINDER_FAST &&
		     (in_range(hs_process.loader, pc) || in_range(hs_process.libc, pc));
	return RULE_MAKE(entry ? RULE_END : RULE_NONE, module, 0, 0);
}

unwind_rule hs_rule_find(uint64_t pc)
{
	struct rule_table *table = atomic_load_explicit(&hs_rules, memory_order_acquire);
	if (likely(table))
		for (uint64_t slot = rule_slot(pc) & table->mask;; slot = (slot + 1) & table->mask) {
			uint64_t found = load_acquire(&table->entries[slot].pc);
			if (likely(found == pc))
				return table->entries[slot].rule;
			if (!found)
				break;
		}
	unwind_rule compiled = compile(pc);
	/* Code outside all modules comes and goes unseen: never remembered. */
	if (RULE_MODULE(compiled) != HS_MODULE_NONE)
		insert(pc, compiled);
	return compiled;
}
