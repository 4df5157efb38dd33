/* What sites allocated by thread, by size, by how long blocks lived. Replays the recording again. Pure. */
#ifndef HS_PARTS_H
#define HS_PARTS_H

#include "profile/metrics.h"
#include "profile/profile.h"

enum hs_parts_by { HS_PARTS_BY_THREAD, HS_PARTS_BY_SIZE, HS_PARTS_BY_LIFETIME };

struct hs_site_part {
	uint32_t site;
	struct hs_counts counts;
};

struct hs_parts_row {
	uint32_t key;          /* thread: index in profile.threads (or beyond); else a bucket of hs_replay, or
				* HS_BUCKET_LIVE */
	uint32_t first, count; /* its sites: parts[first .. first + count), most of the metric first */
	struct hs_counts
		counts; /* by lifetime: allocations, allocated_bytes and lifetime_us only; else no maxima */
};

struct hs_parts {
	struct hs_parts_row *rows; /* by key */
	uint32_t row_count;
	struct hs_site_part *parts;
};

/* Sites as made for this profile and filter. Fails, with an error, on a file that tells no single
 * allocations. */
int hs_parts_make(struct hs_parts *parts, struct hs_profile *profile, const struct hs_sites *sites,
		  enum hs_parts_by by, enum hs_metric metric, struct hs_error *error);
void hs_parts_free(struct hs_parts *parts);

#endif
