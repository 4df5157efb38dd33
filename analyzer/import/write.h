/* Writes a tally as a recording file (FORMAT.md): counts instead of events. */
#ifndef HS_IMPORT_WRITE_H
#define HS_IMPORT_WRITE_H

#include "profile/tally.h"

/* Appends to the file. Returns 0, or -1 and an error. */
int hs_tally_write(const struct hs_tally *tally, int fd, struct hs_error *error);

#endif
