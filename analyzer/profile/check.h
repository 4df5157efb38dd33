/* A recording against budgets, and against a baseline. Pure: no printing. */
#ifndef HS_CHECK_H
#define HS_CHECK_H

#include "profile/budgets.h"
#include "profile/diff.h"

enum hs_verdict {
	HS_WITHIN,
	HS_OVER,
	HS_UNTOLD, /* the file does not tell: it was imported or merged */
};

struct hs_finding {
	uint32_t section; /* in the budgets */
	enum hs_quantity quantity;
	bool growth; /* against the baseline: `asked` is a tolerance */
	enum hs_verdict verdict;
	struct hs_amount asked;
	uint64_t value;
	uint64_t whole;   /* what a percentage is of */
	uint64_t old;     /* growth: the baseline's value */
	uint64_t allowed; /* the value may be that large */
};

struct hs_check_side {
	struct hs_profile *profile;
	const struct hs_sites *sites; /* raw: sections match whole stacks */
};

struct hs_check {
	struct hs_finding *items;
	uint32_t count;
	size_t capacity;
	uint32_t over, untold;
	/* By section: the sites that match, in a list of their own; counts only, no replay. */
	struct hs_sites *new_sites, *old_sites; /* old: NULL without a baseline */
	uint32_t section_count;
};

/* old: the baseline, or NULL. Returns 0, or -1 and an error. */
int hs_check_make(struct hs_check *check, const struct hs_budgets *budgets, const struct hs_check_side *new,
		  const struct hs_check_side *old, struct hs_error *error);
void hs_check_free(struct hs_check *check);

/* A quantity of counts; not for peak-rss. own-peak: the counts' own maximum. */
uint64_t hs_quantity_value(const struct hs_counts *counts, enum hs_quantity quantity);

#endif
