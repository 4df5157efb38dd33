/* What the report shows of a site's stack. */
#ifndef HS_REPORT_SHOWN_H
#define HS_REPORT_SHOWN_H

#include "base/aside.h"
#include "cli/report.h"

struct hs_shown {
	uint32_t *frames, *room; /* innermost first: within room, which is its own */
	size_t capacity;
	uint32_t count;
	uint32_t own;  /* position of the own line; count: none */
	uint32_t hash; /* the same if the frames look the same */
};

/* What is known of frames and stacks meanwhile. */
struct hs_showing {
	const struct hs_profile *profile;
	const struct hs_sites *sites;
	bool raw;
	struct hs_looks *looks; /* of each frame */
	uint32_t *hashes;       /* of each node: of what is shown of it as a caller; or NULL. The sites' */
	struct hs_aside aside;  /* finds them */
};

/* Where there are many sites it goes on in another thread, until hs_showing_wait: `showing` stays where it
 * is. Counts need not be there yet (hs_meanwhile.replayed). */
void hs_showing_start(struct hs_showing *showing, const struct hs_profile *profile,
		      const struct hs_sites *sites, bool raw);
void hs_showing_wait(struct hs_showing *showing);
void hs_showing_free(struct hs_showing *showing);

/* Fills in `shown` (zeros at first) for the site with that index; only_hash: of all but the hash nothing is
 * wanted. */
void hs_show(const struct hs_showing *showing, uint32_t site, bool only_hash, struct hs_shown *shown);
/* Asks for what that reads: of many sites that lie anywhere in memory each would be waited for. */
void hs_show_soon(const struct hs_showing *showing, uint32_t site);
void hs_shown_free(struct hs_shown *shown);
bool hs_shown_look_same(const struct hs_showing *showing, const struct hs_shown *a, const struct hs_shown *b);

#endif
