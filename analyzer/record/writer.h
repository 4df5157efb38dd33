/* Writes members of a recording (FORMAT.md). A member reaches the file whole or not at all, as far as the
 * file system lets us; after the first error nothing more is written. */
#ifndef HS_RECORD_WRITER_H
#define HS_RECORD_WRITER_H

#include "heapscope/format.h"
#include "record/bytes.h"

#include <stdbool.h>

/* Deflates; one a thread of the collector. */
struct hs_packer;

struct hs_packer *hs_packer_new(void);
void hs_packer_free(struct hs_packer *packer);
/* From now on: what deflate would make little smaller is stored. */
void hs_packer_hurry(struct hs_packer *packer, bool hurried);
bool hs_packer_is_hurried(const struct hs_packer *packer);

struct hs_writer {
	struct hs_packer *packer; /* not owned */
	int fd;
	struct hs_bytes *memory; /* not owned; NULL, or where members go instead of to the file */
	uint64_t offset;         /* end of the last whole member */
	int error;               /* errno of what failed, or 0 */
};

void hs_writer_init(struct hs_writer *writer, struct hs_packer *packer, int fd);
/* Returns 0, or -1: not written, writer->error says why. */
int hs_writer_member(struct hs_writer *writer, enum hs_member_kind kind, const struct hs_bytes *payload,
		     uint32_t items);

/* Where a payload's pieces begin, but for the first one's: ascending. Each gets codes of its own. */
enum { HS_WRITER_CUTS_MOST = 31 };
struct hs_writer_cuts {
	size_t at[HS_WRITER_CUTS_MOST];
	uint8_t about[HS_WRITER_CUTS_MOST + 1]; /* what each piece is: below HS_WRITER_ABOUT_MOST. One is much
						   like the other in the last payload that is the same */
	unsigned count;
};
enum { HS_WRITER_ABOUT_MOST = 32 };
/* Likewise. */
int hs_writer_pieces(struct hs_writer *writer, enum hs_member_kind kind, const struct hs_bytes *payload,
		     const struct hs_writer_cuts *cuts, uint32_t items);
/* Writes whole members that another writer left in memory. Returns 0 or -1. */
int hs_writer_copy(struct hs_writer *writer, const struct hs_bytes *members);
/* After an error: goes back to the last whole member, so that smaller ones may still find room. */
void hs_writer_retry(struct hs_writer *writer);

#endif
