/* The importers, one a file. Private to import/. */
#ifndef HS_IMPORT_FORMATS_H
#define HS_IMPORT_FORMATS_H

#include "import/import.h"

#define HS_IMPORTER(name)                                                                                    \
	bool hs_##name##_recognizes(const char *head, size_t count);                                         \
	int hs_##name##_convert(struct hs_source *source, const struct hs_import_options *options, int fd,   \
				struct hs_error *warning, struct hs_error *error)

HS_IMPORTER(heaptrack);
HS_IMPORTER(dhat_import);
HS_IMPORTER(folded_import);

#endif
