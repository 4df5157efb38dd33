/* What the targets of importers share: a file to import in memory, and what its recording has to hold. */
#ifndef FUZZ_IMPORTED_H
#define FUZZ_IMPORTED_H

#include "fuzz.h"

/* Imports the bytes by the importer of that name. Either that fails, with a message; or the recording is
 * whole, its sites sum up, and it can be merged with itself. */
void fuzz_import(const char *importer, const uint8_t *data, size_t size);

#endif
