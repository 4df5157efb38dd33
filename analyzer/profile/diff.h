/* Two recordings against each other. Sites are the same if the names of all frames of their folded stacks
 * are: module, function, file, each without its folder. Addresses and lines do not count, so a rebuild, or
 * lines that moved within a function, do not make another site. Where an imported profile tells
 * no modules, or no files, the other side's do not count either. Pure: no printing. */
#ifndef HS_DIFF_H
#define HS_DIFF_H

#include "profile/metrics.h"
#include "profile/profile.h"

#define HS_NO_SITE UINT32_MAX

struct hs_diff_side {
	const struct hs_profile *profile;
	const struct hs_sites *sites;
};

enum hs_diff_by {
	HS_DIFF_BY_STACK,    /* all frames are compared */
	HS_DIFF_BY_FUNCTION, /* the site's own frame is: one item a function of the user's code */
};

/* Sums over the sites of each side that have the same names. Maxima do not add up: max_bytes, max_blocks are
 * 0. */
struct hs_diff_item {
	uint32_t old_site, new_site;   /* the first of them in the side's sites; HS_NO_SITE: there is none */
	uint32_t old_count, new_count; /* how many */
	struct hs_counts old, new;
};

struct hs_diff {
	struct hs_diff_item
		*items; /* those of the new side in its order, then those that only the old one has
			 */
	uint32_t count;
	/* Calls and bytes of items that both sides have: how much the two runs did, apart from code that came
	 * or went.
	 */
	uint64_t common_old_calls, common_new_calls, common_old_bytes, common_new_bytes;
	uint64_t appeared_calls, vanished_calls;
	uint32_t appeared, vanished;
};

void hs_diff_make(struct hs_diff *diff, const struct hs_diff_side *old, const struct hs_diff_side *new,
		  enum hs_diff_by by);
void hs_diff_free(struct hs_diff *diff);

/* The number in `names` of what each frame of a profile is called when it is compared with `other`. Frames of
 * the two that have the same number are the same. The caller frees it. */
uint32_t *hs_diff_names(struct hs_strings *names, const struct hs_profile *profile,
			const struct hs_profile *other);

/* Times are no measure of a program that ran twice: the metrics before lifetime. */
enum { HS_DIFF_METRICS = HS_METRIC_LIFETIME };

/* An item is of one kind in one metric; HS_DIFF_SAME if the metric is equal, whichever sides have the site.
 */
enum hs_diff_kind {
	HS_DIFF_GREW,
	HS_DIFF_SHRANK,
	HS_DIFF_APPEARED,
	HS_DIFF_VANISHED,
	HS_DIFF_SAME,
	HS_DIFF_KINDS,
};
enum hs_diff_kind hs_diff_kind(const struct hs_diff_item *item, enum hs_metric metric);

/* All items, those that changed most first (either way); equals as they come in items. malloc'ed. */
uint32_t *hs_diff_sort(const struct hs_diff *diff, enum hs_metric metric);

/* What the calls of sites that both runs have say. */
enum hs_diff_work { HS_WORK_SAME, HS_WORK_MORE, HS_WORK_LESS };
enum hs_diff_work hs_diff_work(const struct hs_diff *diff);

/* Whether the recorded programs have the same name, folders aside. */
bool hs_diff_same_program(const struct hs_diff_side *old, const struct hs_diff_side *new);

#endif
