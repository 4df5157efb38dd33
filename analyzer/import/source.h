/* A file to import, unpacked as it is read: plain, gzip or zstd, told by its first bytes. Private to import/.
 */
#ifndef HS_IMPORT_SOURCE_H
#define HS_IMPORT_SOURCE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_source;

/* path "-": standard input. Returns NULL and an error if it cannot be opened. */
struct hs_source *hs_source_open(const char *path, struct hs_error *error);
void hs_source_close(struct hs_source *source);

/* The first bytes of what it unpacks to, up to some thousand; they stay to be read. */
const char *hs_source_head(struct hs_source *source, size_t *count);

/* The next line without its end, NUL-terminated (it may have NULs inside, too), valid until the next call;
 * NULL at the end, or where the file is damaged. */
const char *hs_source_line(struct hs_source *source, size_t *length);
uint64_t hs_source_line_number(const struct hs_source *source);

/* Up to `most` next bytes; 0 at the end, or where the file is damaged. */
size_t hs_source_read(struct hs_source *source, void *buffer, size_t most);

/* NULL, or why the end came early: the file is cut, damaged, unreadable, or a line is endless. */
const char *hs_source_wrong(const struct hs_source *source);

#endif
