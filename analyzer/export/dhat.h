/* The DHAT export: what stands in the file (dhat_points.c) and how it is written (dhat.c). Private to
 * export/. */
#ifndef HS_DHAT_H
#define HS_DHAT_H

#include "export.h"

/* One program point: the counts of one stack. */
struct hs_dhat_point {
	uint32_t *lines; /* indices in hs_dhat.lines, innermost first; in hs_dhat.pool */
	uint32_t line_count;
	struct hs_counts counts;
};

struct hs_dhat {
	struct hs_strings lines;      /* frames as text; 0 is the root's */
	struct hs_dhat_point *points; /* largest first; no two have the same lines */
	uint32_t point_count;
	uint32_t small_points; /* that one point stands for; 0 none */
	bool recursion_folded, stacks_cut;
	uint32_t *pool;
	struct hs_totals totals;
};

/* Replays the recording into program points that the viewer can show in reasonable time. */
int hs_dhat_make(struct hs_profile *profile, struct hs_dhat *dhat, struct hs_error *error);
void hs_dhat_free(struct hs_dhat *dhat);

int hs_dhat_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		  struct hs_error *error);

#endif
