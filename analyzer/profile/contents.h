/* What a recording file consists of, and how well its modules are named. Pure: no printing. */
#ifndef HS_CONTENTS_H
#define HS_CONTENTS_H

#include "heapscope/format.h"
#include "profile/profile.h"

enum {
	HS_CONTENTS_KINDS = HS_MEMBER_COUNTS + 2
}; /* the last: members of kinds that this version does not know */

struct hs_contents {
	struct {
		uint64_t members, items, packed_bytes, raw_bytes;
	} kinds[HS_CONTENTS_KINDS]; /* by enum hs_member_kind; [0] is not used */
	uint64_t members, file_bytes;
	uint64_t whole_bytes; /* of the file, from its start, are whole members */
	bool footer;          /* the recorder finished the file */
	/* By module (same_as of a library that was loaded again): distinct frames, those whose function or
	 * line is not known. */
	struct hs_contents_module {
		uint32_t frames, unnamed, without_line;
		/* Without the insides of allocators and containers, which may come with lines of their own
		 * (Rust's std), and without start-up code, which never has any. */
		uint32_t own, own_without_line;
	} * modules;
};

void hs_contents_make(struct hs_contents *contents, const struct hs_profile *profile);
void hs_contents_free(struct hs_contents *contents);

#endif
