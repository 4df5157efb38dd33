/* Functions of the ELF symbol tables, by address. */
#ifndef HS_SYMBOL_TABLE_H
#define HS_SYMBOL_TABLE_H

#include "range_map.h"

#include <gelf.h>

struct hs_symbol {
	uint64_t address;
	uint64_t end;     /* exclusive */
	const char *name; /* in the file's string table: valid while the file is open */
	bool sized;       /* false: `end` was guessed */
	bool local;
};

struct hs_symbol_table {
	struct hs_symbol *symbols;
	size_t count;
	size_t capacity;
	struct hs_range_map map;
};

/* Adds the functions of a file's tables of one type (SHT_SYMTAB or SHT_DYNSYM); returns how many. */
size_t hs_symbol_table_add(struct hs_symbol_table *table, Elf *elf, uint32_t section_type);

/* To be called once, after the last addition. */
void hs_symbol_table_build(struct hs_symbol_table *table);

/* The function that covers an address; of several names the public, sized, shortest. NULL if there is none.
 */
const struct hs_symbol *hs_symbol_table_find(const struct hs_symbol_table *table, uint64_t address);
void hs_symbol_table_free(struct hs_symbol_table *table);

#endif
