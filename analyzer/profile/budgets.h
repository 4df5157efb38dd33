/* Budgets: how much a recording may hold, leak, allocate. From a file (docs/check.md) or one by one from the
 * command line. Pure: no printing. */
#ifndef HS_BUDGETS_H
#define HS_BUDGETS_H

#include "profile/patterns.h"

enum hs_quantity {
	HS_QUANTITY_PEAK,
	HS_QUANTITY_OWN_PEAK, /* of a section's sites: the most they held together, whenever that was */
	HS_QUANTITY_BLOCKS,   /* at the peak */
	HS_QUANTITY_LEAKED,
	HS_QUANTITY_LEAKED_BLOCKS,
	HS_QUANTITY_ALLOCATED,
	HS_QUANTITY_CALLS,
	HS_QUANTITY_TEMPORARY,
	HS_QUANTITY_MOVED,
	HS_QUANTITY_PEAK_RSS,
	HS_QUANTITIES,
};

struct hs_quantity_name {
	const char *name;
	bool bytes;
	enum hs_quantity whole; /* what a percentage is of; HS_QUANTITIES: there are none */
	bool compared;          /* against a baseline, even if nobody names it */
	uint32_t told;          /* the HS_TOLD_... that it needs */
	const char *help;       /* what is limited */
};
extern const struct hs_quantity_name hs_quantities[HS_QUANTITIES];

enum { HS_PERCENT = 10000 }; /* percentages have four decimals: 5% is 50000 */

struct hs_amount {
	enum { HS_AMOUNT_NONE, HS_AMOUNT_VALUE, HS_AMOUNT_PERCENT, HS_AMOUNT_OFF } kind;
	uint64_t value; /* bytes or a count; in HS_PERCENTs */
};

/* Budgets for one set of sites. */
struct hs_budget_section {
	struct hs_patterns site; /* at most one pattern; none: all sites */
	struct hs_amount limits[HS_QUANTITIES];
	struct hs_amount tolerance; /* of growth against a baseline, for what has none of its own */
	struct hs_amount tolerances[HS_QUANTITIES];
};

/* An object of zeros has none. */
struct hs_budgets {
	struct hs_budget_section *sections; /* [0]: the whole program, once anything was added */
	uint32_t count;
	size_t capacity;
};

void hs_budgets_free(struct hs_budgets *budgets);

/* Finds or adds the section for sites that match an expression; NULL: the whole program. Returns its index,
 * or -1 and an error. */
int hs_budgets_section(struct hs_budgets *budgets, const char *site, struct hs_error *error);
/* "10MiB", "1.5G", "300", "5%". Each returns 0, or -1 and an error. */
int hs_budgets_limit(struct hs_budgets *budgets, uint32_t section, enum hs_quantity quantity,
		     const char *amount, struct hs_error *error);
/* "2%" or "2%, leaked=0, calls=off". */
int hs_budgets_tolerate(struct hs_budgets *budgets, uint32_t section, const char *amounts,
			struct hs_error *error);
/* A whole file; name: for messages. */
int hs_budgets_read(struct hs_budgets *budgets, const char *name, const char *text, size_t count,
		    struct hs_error *error);

/* Whether there is a limit anywhere. */
bool hs_budgets_any(const struct hs_budgets *budgets);

/* How much is allowed: of a whole (VALUE does not need it). */
uint64_t hs_amount_of(const struct hs_amount *amount, uint64_t whole);

#endif
