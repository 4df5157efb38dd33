/* Small text files that the user wrote: rules, budgets. */
#ifndef HS_INPUT_H
#define HS_INPUT_H

#include "base/error.h"

#include <stddef.h>

enum { HS_INPUT_MOST = 1 << 20 };

/* The whole file, malloc'ed and NUL-terminated; NULL and an error if it cannot be read or is larger than
 * HS_INPUT_MOST. */
char *hs_input_read(const char *path, size_t *count, struct hs_error *error);

#endif
