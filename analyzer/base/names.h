/* Function names and places in source, made short enough for a column. */
#ifndef HS_BASE_NAMES_H
#define HS_BASE_NAMES_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds a demangled name without what does not help to find it: template arguments become <...> (an ellipsis
 * in UTF-8), parameters, return type and "[clone ...]" go. If it is still wider than `columns`, outer scopes
 * go, then the middle of the rest. The name may be hostile. */
void hs_name_short(struct hs_text *text, const char *name, size_t columns, bool utf8);

/* The same in two steps, for names that are shown more than once. What does not depend on the columns:
 * malloc'ed. */
char *hs_name_simple(const char *name, bool utf8);
/* Adds what hs_name_simple made of a name. */
void hs_name_fit(struct hs_text *text, const char *simple, size_t columns, bool utf8);

/* Adds "table.c:118": of the path as much as fits in `columns`, the last component at least in part; the line
 * always. `directory` (or NULL): a path below it is shown relative to it. line 0: none. */
void hs_place_short(struct hs_text *text, const char *path, uint32_t line, const char *directory,
		    size_t columns, bool utf8);

/* Adds `words`, cut in the middle if it is wider than `columns`. */
void hs_middle_short(struct hs_text *text, const char *words, size_t columns, bool utf8);

/* The last component of a path. */
const char *hs_last_component(const char *path);

#endif
