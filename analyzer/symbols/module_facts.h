/* What a program or library says about itself: what it needs, where unwind tables and debug information are,
 * whose allocator is in it. Trusts nothing in the file; runs nothing. */
#ifndef HS_MODULE_FACTS_H
#define HS_MODULE_FACTS_H

#include "symbols.h"

struct hs_module_facts {
	bool position_independent;
	char *loader;  /* PT_INTERP; NULL: none */
	char **needed; /* DT_NEEDED, needed_count of them */
	uint32_t needed_count;
	char *rpath, *runpath; /* NULL: none */
	uint8_t build_id[64];
	uint32_t build_id_bytes;
	/* Bytes of executable sections, and how many of them the functions in .eh_frame have; 0 and 0 if the
	 * file has no sections, or tables of an unusual form. */
	uint64_t code_bytes, unwind_bytes;
	char *debug_link;             /* the file's name in .gnu_debuglink; NULL: none */
	enum hs_symbols_found found;  /* own and separate debug information together */
	struct hs_symbol_units units; /* of that debug information */
	bool go;                      /* built by Go */
	const char
		*allocator; /* whose code is in the file: "jemalloc", "mimalloc", ...; NULL: none is known */
	bool allocator_by_text; /* seen by its messages only: the file is stripped */
	uint32_t glibc_minor;   /* of glibc's libc: 36 for 2.36; 0: not known */
};

/* Returns false if it is no readable ELF file; free it in any case. Only what the segments tell (what it
 * needs), or everything. */
bool hs_module_facts_needed(const char *path, struct hs_module_facts *facts);
bool hs_module_facts_read(const char *path, struct hs_module_facts *facts);
void hs_module_facts_free(struct hs_module_facts *facts);

#endif
