/* Where the files are that were installed with this program. */
#ifndef HS_LIBRARY_H
#define HS_LIBRARY_H

#include "base/error.h"

/* The absolute path of libheapscope.so: $HEAPSCOPE_LIBRARY, else beside this program as installed (wherever
 * the tree was moved to), else in the build tree, else where it was to be installed. malloc'ed; NULL and an
 * error if none is there. */
char *hs_library_find(struct hs_error *error);

/* Likewise the page of `heapscope view`; $HEAPSCOPE_VIEWER. */
char *hs_page_find(struct hs_error *error);

#endif
