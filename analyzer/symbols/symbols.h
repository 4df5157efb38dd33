/* Names for addresses: function, file, line, inlined callers; from ELF symbol tables and DWARF (libdw),
 * demangled (libiberty). Knows nothing of recordings. Not thread-safe: one object a thread. */
#ifndef HS_SYMBOLS_H
#define HS_SYMBOLS_H

#include "base/strings.h"

#include <stdbool.h>
#include <stdint.h>

/* One module's debug information, opened once. */
struct hs_symbolizer;

struct hs_symbolizer_options {
	const char *path; /* of the file; also where .gnu_debuglink and .gnu_debugaltlink look around */
	int fd;           /* already opened file, or -1: open `path`. Not closed by the symbolizer. A deleted
			   * or replaced library can still be read through it */
	const uint8_t *build_id;     /* as recorded; a file with another build-id is not used */
	uint32_t build_id_bytes;     /* 0: not known */
	const char *debug_directory; /* NULL: /usr/lib/debug */
	const char *root;            /* NULL or a prefix for all paths (/proc/PID/root, a sysroot) */
};

/* What is missing, for `heapscope info` and the report's notes. */
enum hs_symbols_found {
	HS_SYMBOLS_NO_FILE = 0, /* not found, or its build-id differs */
	HS_SYMBOLS_DYNSYM_ONLY = 1,
	HS_SYMBOLS_SYMTAB = 2, /* .symtab or minidebuginfo: names, no lines */
	HS_SYMBOLS_DWARF = 3,
};

struct hs_symbol_frame {
	uint32_t function; /* index in the strings, 0 unknown; demangled */
	uint32_t file;     /* full path as the compiler noted it, 0 unknown */
	uint32_t line;     /* 0 unknown */
	bool inlined;      /* into the next frame of the array */
};

/* Never fails: without a file every look-up yields one frame of unknowns. */
struct hs_symbolizer *hs_symbolizer_open(const struct hs_symbolizer_options *options);
enum hs_symbols_found hs_symbolizer_found(const struct hs_symbolizer *symbolizer);
/* The units of the program's debug information. */
struct hs_symbol_units {
	uint32_t all;
	uint32_t runtime; /* of Rust's precompiled libraries, which have it whatever the program is built with
			   */
	uint32_t split, split_missing; /* have theirs in other files (-gsplit-dwarf), which are not there */
};
struct hs_symbol_units hs_symbolizer_units(struct hs_symbolizer *symbolizer);
void hs_symbolizer_close(struct hs_symbolizer *symbolizer);

/* The frames at a return address: a link-time address of the module; the look-up is made at address - 1.
 * Innermost first; at least one frame; the array lives until the next call. */
uint32_t hs_symbolizer_frames(struct hs_symbolizer *symbolizer, uint64_t address, struct hs_strings *strings,
			      const struct hs_symbol_frame **frames);

/* The constant string that the function of that (mangled) name returns, malloc'ed; for
 * __lsan_default_suppressions. */
enum hs_returned {
	HS_RETURNED_NOTHING, /* there is no such function, or it returns NULL */
	HS_RETURNED_STRING,
	HS_RETURNED_UNKNOWN, /* it does more than return a constant */
};
enum hs_returned hs_symbolizer_returned_string(const struct hs_symbolizer *symbolizer, const char *function,
					       char **text);

/* Demangles C++, Rust (legacy, v0) and D names; returns a malloc'ed string, or NULL if `name` is not mangled.
 */
char *hs_demangle(const char *name);

#endif
