/* What each function, file, module or crate allocated: itself, and with everything that it called. Pure. */
#ifndef HS_SHARES_H
#define HS_SHARES_H

#include "profile/metrics.h"
#include "profile/profile.h"

enum hs_share_by { HS_BY_FUNCTION, HS_BY_FILE, HS_BY_MODULE, HS_BY_CRATE };

struct hs_share_item {
	/* Function, path of the file or module, crate; "" of a function that has no name. What has no file
	 * or is no Rust stands under its module. Owned by hs_shares. */
	const char *name;
	bool other;             /* the name is a module's because there was no file, or no crate */
	uint32_t frame;         /* one of its frames; UINT32_MAX: stacks without frames */
	struct hs_counts self;  /* of stacks whose innermost frame (that is not internal) is one of its */
	struct hs_counts total; /* of stacks with any such frame; each stack once. No maxima in both */
};

struct hs_shares {
	struct hs_share_item *items; /* by the metric: most of its own first, then most in all */
	uint32_t count;
	struct hs_strings names;
};

/* raw: internal frames count like others. */
void hs_shares_make(struct hs_shares *shares, const struct hs_profile *profile, const struct hs_sites *sites,
		    enum hs_share_by by, enum hs_metric metric, bool raw);
void hs_shares_free(struct hs_shares *shares);

#endif
