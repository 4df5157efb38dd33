/* A table of distinct strings. Index 0 is the empty string. Strings may hold any byte but NUL. */
#ifndef HS_STRINGS_H
#define HS_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct hs_strings {
	char **items; /* NUL-terminated, owned */
	uint32_t count;
	size_t capacity;
	uint32_t *slots; /* hash table of index + 1 */
	uint32_t slot_count;
};

void hs_strings_init(struct hs_strings *strings);
void hs_strings_free(struct hs_strings *strings);
/* The index of a string, which is added if it is new. */
uint32_t hs_strings_add(struct hs_strings *strings, const char *text, size_t bytes);
uint32_t hs_strings_add_text(struct hs_strings *strings, const char *text);

#endif
