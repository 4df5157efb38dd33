/* How groups of stacks change over time, in bins of equal width, and of what sizes and lifetimes their blocks
 * are: what a page needs to answer for any range of time. */
#ifndef HS_BINS_H
#define HS_BINS_H

#include "profile/profile.h"

/* What began and ended in one bin; ends are those of the group's own blocks, whoever ended them. */
struct hs_change {
	uint32_t group;
	uint64_t allocated_bytes, allocations, freed_bytes, frees;
};

/* Blocks of a group in one bucket of a histogram (hs_replay says which values a bucket has). */
struct hs_bucket {
	uint32_t group, bucket;
	uint64_t blocks, bytes;
};

struct hs_bins {
	uint64_t bin_us; /* bin b is [b * bin_us, (b + 1) * bin_us); 0: the file does not tell */
	uint32_t *ends;  /* of each bin, where its changes end */
	uint32_t bin_count;
	struct hs_change *changes; /* by bin, then group */
	uint32_t change_count;
	struct hs_bucket *sizes, *lifetimes; /* by group, then bucket; NULL: there were too many */
	uint32_t size_count, lifetime_count;
};

struct hs_bins_limits {
	uint32_t bins_most, bins_least; /* powers of two: halved until the changes fit */
	uint32_t changes_most;
	uint32_t buckets_most; /* of each of the two */
};

/* Replays the recording, which must have been replayed before (its duration is known then). Returns 0; 1 if
 * the changes do not fit even in bins_least bins (bins is empty then); -1 and an error. */
int hs_bins_make(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		 const struct hs_bins_limits *limits, struct hs_bins *bins, struct hs_error *error);
void hs_bins_free(struct hs_bins *bins);

#endif
