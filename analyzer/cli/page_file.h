/* The built page that was installed with this program. */
#ifndef HS_PAGE_FILE_H
#define HS_PAGE_FILE_H

#include "base/error.h"

#include <stddef.h>

/* Finds and reads it. malloc'ed; NULL and an error if it is missing or unreadable. */
char *hs_page_read(size_t *bytes, struct hs_error *error);

#endif
