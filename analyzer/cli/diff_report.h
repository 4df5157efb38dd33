/* What `heapscope diff` shows: as text for people (diff_text.c) and as JSON for programs (diff_json.c). */
#ifndef HS_DIFF_REPORT_H
#define HS_DIFF_REPORT_H

#include "cli/report.h"
#include "profile/diff.h"

struct hs_diff_report {
	struct hs_report old, new; /* profile, sites, path, columns, utf8, raw of each side */
	struct hs_diff_side old_side, new_side;
	const struct hs_diff *diff; /* what the rows are: functions, or stacks */
	const struct hs_diff *work; /* by function, for the amount of work */
	enum hs_metric metric;
	uint64_t rows; /* of each table; 0: all */
	bool stacks;   /* a row is a stack, and shown */
};

/* HS_TOLD_...: what one of the two does not tell. */
uint32_t hs_diff_unknown(const struct hs_diff_report *report);

void hs_diff_text(struct hs_text *text, const struct hs_diff_report *report);
void hs_diff_json(struct hs_text *text, const struct hs_diff_report *report);

#endif
