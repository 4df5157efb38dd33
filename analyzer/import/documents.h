/* The JSON members of files that heapscope did not record. Private to import/. */
#ifndef HS_IMPORT_DOCUMENTS_H
#define HS_IMPORT_DOCUMENTS_H

#include "profile/profile.h"

/* Each is malloc'ed. */
char *hs_import_header(const struct hs_facts *facts);
char *hs_import_footer(const struct hs_facts *facts, const struct hs_totals *totals);

#endif
