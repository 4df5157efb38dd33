/* Readable names of symbols, each demangled once; and the strings of one symbolizer. */
#ifndef HS_NAMES_H
#define HS_NAMES_H

#include "base/strings.h"

struct hs_names {
	struct hs_strings raw;     /* symbol names as they stand in the file */
	uint32_t *readable_of_raw; /* index in `texts` by index in `raw` */
	size_t readable_capacity;
	struct hs_strings texts; /* readable names and file names */
};

void hs_names_init(struct hs_names *names);
void hs_names_free(struct hs_names *names);

/* The index in `texts` of the readable form of a symbol's name: demangled, without version and clone suffix.
 */
uint32_t hs_names_readable(struct hs_names *names, const char *symbol);

/* The same, with the type arguments of a Rust function: a legacy Rust symbol names them only by a hash, but
 * DW_AT_name
 * (`plain`, may be NULL) has them: leak_vec<u64>. Written as in v0: krate::leak_vec::<u64>. */
uint32_t hs_names_with_rust_arguments(struct hs_names *names, const char *symbol, const char *plain);

/* A name that came from outside as it is, cut at a length that a report can bear. */
uint32_t hs_names_plain(struct hs_names *names, const char *text);

/* The length of a symbol's name without what compilers and linkers append: "foo.constprop.0", "foo.cold",
 * "foo@@VERSION_2" are all foo. */
size_t hs_symbol_name_length(const char *symbol);

#endif
