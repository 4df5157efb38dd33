/* The rows of the report: sites whose own line (function, file, line, module of the user's innermost frame)
 * is the same are one row; its stacks stand below it. */
#ifndef HS_GROUPS_H
#define HS_GROUPS_H

#include "profile/metrics.h"
#include "profile/profile.h"

struct hs_group {
	uint32_t frame;          /* the own line of a site; HS_NO_FRAME: sites without frames */
	bool mixed;              /* own lines of its sites are not all of the same function */
	uint32_t first, count;   /* its sites: hs_groups.sites[first .. first + count) */
	struct hs_counts counts; /* sums; max_bytes and max_blocks are not (maxima do not add up): 0 */
	uint32_t number;         /* in the report, from 1; 0: not shown (yet) */
	uint32_t tables;         /* that show it: a bit each, 1 << metric */
};

struct hs_groups {
	struct hs_group *items;
	uint32_t count;
	uint32_t *sites;                 /* indices of sites, ascending */
	struct hs_groups_making *making; /* not NULL: only begun; private */
};

/* So many sites are worth a thread. */
enum { HS_MANY_SITES = 4096 };

/* The two halves of it, between which the sites' counts are added up. */
struct hs_site_sums hs_groups_begin(struct hs_groups *groups, const struct hs_profile *profile,
				    const struct hs_sites *sites);
void hs_groups_finish(struct hs_groups *groups, const struct hs_profile *profile,
		      const struct hs_sites *sites);
void hs_groups_make(struct hs_groups *groups, const struct hs_profile *profile, const struct hs_sites *sites);
/* The own line of its first site, in the order of sites that are finished. */
uint32_t hs_group_frame(const struct hs_groups *groups, const struct hs_sites *sites,
			const struct hs_group *group);
void hs_groups_free(struct hs_groups *groups);

/* The groups whose metric is not 0, largest first; equals by their own line: of them the first `rows`, or if
 * that is 0 all. *order is malloc'ed; returns how many there are. */
uint32_t hs_groups_sort(const struct hs_groups *groups, enum hs_metric metric, uint64_t rows,
			uint32_t **order);

#endif
