/* Names for addresses of one module: puts together its own file, a separate debug file, and minidebuginfo. */
#include "symbols.h"

#include "base/memory.h"
#include "debug_files.h"
#include "die_scan.h"
#include "dwarf_frames.h"
#include "elf_file.h"
#include "names.h"
#include "returned_string.h"
#include "symbol_table.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hs_symbolizer {
	enum hs_symbols_found found;
	struct hs_elf_file module;
	struct hs_elf_file debug;     /* separate debug file */
	struct hs_elf_file alternate; /* what dwz moved out of several debug files */
	struct hs_elf_file mini;      /* minidebuginfo */
	Dwarf *dwarf;
	Dwarf *alternate_dwarf;
	struct hs_units units;
	struct hs_symbol_table symbols;
	struct hs_names names;
	struct hs_dwarf_frame dwarf_frames[HS_MOST_INLINED];
	struct hs_symbol_frame frames[HS_MOST_INLINED];
};

static bool open_module(struct hs_symbolizer *symbolizer, const struct hs_symbolizer_options *options,
			const struct hs_debug_places *places)
{
	char *path = NULL;
	if (options->path && asprintf(&path, "%s%s", places->root, options->path) < 0)
		path = NULL;
	bool good = options->fd >= 0 ? hs_elf_open_fd(&symbolizer->module, options->fd, path)
				     : path && hs_elf_open_path(&symbolizer->module, path);
	free(path);
	if (good && options->build_id && options->build_id_bytes &&
	    !hs_elf_has_build_id(symbolizer->module.elf, options->build_id, options->build_id_bytes)) {
		hs_elf_close(&symbolizer->module);
		good = false;
	}
	return good;
}

/* NULL if there is none, or none that libdw can read safely. */
static Dwarf *begin_dwarf(struct hs_elf_file *file, bool partly)
{
	hs_inflate_debug(&file->inflated, file->elf, partly);
	Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (dwarf && hs_elf_debug_strings_end(file->elf))
		return dwarf;
	dwarf_end(dwarf);
	return NULL;
}

/* Opens the DWARF of a file; false if there is no unit that libdw can read (all may be compressed in a way it
 * does not know). */
static bool open_dwarf(struct hs_symbolizer *symbolizer, struct hs_elf_file *file,
		       const struct hs_debug_places *places)
{
	if (!hs_elf_has_debug_info(file->elf))
		return false;
	symbolizer->dwarf = begin_dwarf(file, true);
	Dwarf_CU *first = NULL;
	if (!symbolizer->dwarf ||
	    dwarf_get_units(symbolizer->dwarf, NULL, &first, NULL, NULL, NULL, NULL) != 0) {
		dwarf_end(symbolizer->dwarf);
		symbolizer->dwarf = NULL;
		return false;
	}
	if (hs_alternate_file_find(places, file, &symbolizer->alternate))
		symbolizer->alternate_dwarf = begin_dwarf(&symbolizer->alternate, false);
	if (symbolizer->alternate_dwarf)
		dwarf_setalt(symbolizer->dwarf, symbolizer->alternate_dwarf);
	hs_units_init(&symbolizer->units, symbolizer->dwarf, file, symbolizer->module.elf);
	return true;
}

/* The full table of the file itself, else of its debug file, else the public functions and minidebuginfo. */
static void read_symbols(struct hs_symbolizer *symbolizer)
{
	struct hs_symbol_table *symbols = &symbolizer->symbols;
	if (hs_symbol_table_add(symbols, symbolizer->module.elf, SHT_SYMTAB) ||
	    (symbolizer->debug.elf && hs_symbol_table_add(symbols, symbolizer->debug.elf, SHT_SYMTAB))) {
		symbolizer->found = HS_SYMBOLS_SYMTAB;
	} else {
		symbolizer->found = HS_SYMBOLS_DYNSYM_ONLY;
		hs_symbol_table_add(symbols, symbolizer->module.elf, SHT_DYNSYM);
		if (hs_elf_open_minidebuginfo(&symbolizer->mini, symbolizer->module.elf) &&
		    hs_symbol_table_add(symbols, symbolizer->mini.elf, SHT_SYMTAB))
			symbolizer->found = HS_SYMBOLS_SYMTAB;
	}
	hs_symbol_table_build(symbols);
}

struct hs_symbolizer *hs_symbolizer_open(const struct hs_symbolizer_options *options)
{
	struct hs_symbolizer *symbolizer = hs_allocate_zero(1, sizeof *symbolizer);
	struct hs_debug_places places = {
		.root = options->root ? options->root : "",
		.debug_directory = options->debug_directory ? options->debug_directory : "/usr/lib/debug"};
	symbolizer->module.fd = symbolizer->debug.fd = symbolizer->alternate.fd = symbolizer->mini.fd = -1;
	hs_names_init(&symbolizer->names);
	if (!open_module(symbolizer, options, &places))
		return symbolizer;

	bool has_dwarf = open_dwarf(symbolizer, &symbolizer->module, &places);
	if (!has_dwarf && hs_debug_file_find(&places, &symbolizer->module, &symbolizer->debug))
		has_dwarf = open_dwarf(symbolizer, &symbolizer->debug, &places);
	read_symbols(symbolizer);
	if (has_dwarf)
		symbolizer->found = HS_SYMBOLS_DWARF;
	return symbolizer;
}

enum hs_symbols_found hs_symbolizer_found(const struct hs_symbolizer *symbolizer)
{
	return symbolizer->found;
}

/* Where those who build Rust's toolchains have its source: the project itself, Debian. */
static bool is_of_rust_runtime(Dwarf_Die *unit)
{
	static const char *const places[] = {"/rustc/", "/rust/deps/", "/usr/src/rustc-"};
	Dwarf_Attribute attribute;
	const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	for (size_t i = 0; folder && i < sizeof places / sizeof *places; i++) {
		if (strncmp(folder, places[i], strlen(places[i])) == 0)
			return true;
	}
	return false;
}

struct hs_symbol_units hs_symbolizer_units(struct hs_symbolizer *symbolizer)
{
	enum { UNITS_MOST = 1 << 16 };
	struct hs_symbol_units units = {0};
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, inner;
	uint8_t type;
	while (symbolizer->dwarf && units.all < UNITS_MOST &&
	       dwarf_get_units(symbolizer->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		units.all++;
		/* libdw takes it for granted that strings end */
		if (!die.addr || !hs_die_strings_end(&die))
			continue;
		units.runtime += is_of_rust_runtime(&die);
		if (type != DW_UT_skeleton)
			continue;
		units.split++;
		units.split_missing +=
			dwarf_cu_info(unit, NULL, NULL, NULL, &inner, NULL, NULL, NULL) != 0 || !inner.addr;
	}
	return units;
}

void hs_symbolizer_close(struct hs_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	hs_units_free(&symbolizer->units);
	hs_symbol_table_free(&symbolizer->symbols);
	hs_names_free(&symbolizer->names);
	dwarf_end(symbolizer->dwarf);
	dwarf_end(symbolizer->alternate_dwarf);
	hs_elf_close(&symbolizer->mini);
	hs_elf_close(&symbolizer->alternate);
	hs_elf_close(&symbolizer->debug);
	hs_elf_close(&symbolizer->module);
	free(symbolizer);
}

uint32_t hs_symbolizer_frames(struct hs_symbolizer *symbolizer, uint64_t address, struct hs_strings *strings,
			      const struct hs_symbol_frame **frames)
{
	struct hs_dwarf_frame *sources = symbolizer->dwarf_frames;
	uint64_t inside = address - 1; /* of the call, which may be the last instruction of its function */
	uint32_t count = symbolizer->dwarf && address
				 ? hs_dwarf_frames(&symbolizer->units, &symbolizer->names, inside, sources)
				 : 0;
	if (count == 0)
		sources[count++] = (struct hs_dwarf_frame){0};
	/* The symbol tells the name that linkers and debuggers know, for functions that DWARF has only a
	 * plain name of. */
	struct hs_dwarf_frame *outermost = &sources[count - 1];
	if (!outermost->has_linkage_name) {
		const struct hs_symbol *symbol =
			address ? hs_symbol_table_find(&symbolizer->symbols, inside) : NULL;
		if (symbol)
			outermost->function = hs_names_readable(&symbolizer->names, symbol->name);
	}
	char **texts = symbolizer->names.texts.items;
	for (uint32_t i = 0; i < count; i++)
		symbolizer->frames[i] = (struct hs_symbol_frame){
			.function = hs_strings_add_text(strings, texts[sources[i].function]),
			.file = hs_strings_add_text(strings, texts[sources[i].file]),
			.line = sources[i].line,
			.inlined = i + 1 < count,
		};
	*frames = symbolizer->frames;
	return count;
}

enum hs_returned hs_symbolizer_returned_string(const struct hs_symbolizer *symbolizer, const char *function,
					       char **text)
{
	const struct hs_symbol_table *table = &symbolizer->symbols;
	for (size_t i = 0; symbolizer->module.elf && i < table->count; i++) {
		if (strcmp(table->symbols[i].name, function) == 0)
			return hs_elf_returned_string(symbolizer->module.elf, table->symbols[i].address,
						      text);
	}
	return HS_RETURNED_NOTHING;
}
