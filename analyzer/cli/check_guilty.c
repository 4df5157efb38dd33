/* The sites that make a quantity too large. */
#include "base/memory.h"
#include "cli/check.h"
#include "cli/groups.h"

#include <stdlib.h>

static int heavier_first(const void *left, const void *right)
{
	const struct hs_guilty *a = left, *b = right;
	return hs_larger_first(a->weight, a->place, b->weight, b->place);
}

/* By line of the program's own code. */
static struct hs_guilty *find_lines(const struct hs_checked *checked, const struct hs_finding *finding,
				    uint32_t *count)
{
	const struct hs_sites *sites = &checked->check.new_sites[finding->section];
	struct hs_groups groups;
	hs_groups_make(&groups, checked->opened.profile, sites);
	struct hs_guilty *list = hs_allocate_zero((size_t)groups.count + 1, sizeof(*list));
	*count = 0;
	for (uint32_t i = 0; i < groups.count; i++) {
		const struct hs_group *group = &groups.items[i];
		uint64_t value = hs_quantity_value(&group->counts, finding->quantity);
		if (finding->quantity == HS_QUANTITY_OWN_PEAK) /* the sum of maxima says nothing */
			value = group->counts.peak_bytes;
		if (value == 0)
			continue;
		list[(*count)++] = (struct hs_guilty){.site = &sites->items[groups.sites[group->first]],
						      .profile = checked->opened.profile,
						      .value = value,
						      .weight = value,
						      .place = i};
	}
	hs_groups_free(&groups);
	return list;
}

/* By function: lines move from build to build. */
static struct hs_guilty *find_growth(const struct hs_check_report *report, const struct hs_checked *checked,
				     const struct hs_finding *finding, uint32_t *count)
{
	const struct hs_sites *sites = &checked->check.new_sites[finding->section];
	const struct hs_diff_side new = {checked->opened.profile, sites};
	const struct hs_diff_side old = {report->baseline->opened.profile,
					 &checked->check.old_sites[finding->section]};
	struct hs_diff diff;
	hs_diff_make(&diff, &old, &new, HS_DIFF_BY_FUNCTION);
	struct hs_guilty *list = hs_allocate_zero((size_t)diff.count + 1, sizeof(*list));
	*count = 0;
	for (uint32_t i = 0; i < diff.count; i++) {
		const struct hs_diff_item *item = &diff.items[i];
		uint64_t before = hs_quantity_value(&item->old, finding->quantity);
		uint64_t now = hs_quantity_value(&item->new, finding->quantity);
		if (now > before)
			list[(*count)++] = (struct hs_guilty){.site = &sites->items[item->new_site],
							      .profile = checked->opened.profile,
							      .value = now,
							      .old = before,
							      .weight = now - before,
							      .place = i};
	}
	hs_diff_free(&diff);
	return list;
}

struct hs_guilty *hs_guilty_find(const struct hs_check_report *report, const struct hs_checked *checked,
				 const struct hs_finding *finding, uint32_t *count)
{
	struct hs_guilty *list;
	*count = 0;
	if (finding->verdict != HS_OVER || finding->quantity == HS_QUANTITY_PEAK_RSS ||
	    (finding->growth && finding->quantity == HS_QUANTITY_OWN_PEAK))
		return NULL;
	list = finding->growth ? find_growth(report, checked, finding, count)
			       : find_lines(checked, finding, count);
	qsort(list, *count, sizeof(*list), heavier_first);
	return list;
}
