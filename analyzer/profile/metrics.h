/* What reports, exports and comparisons sort by and show: one number of a hs_counts. */
#ifndef HS_METRICS_H
#define HS_METRICS_H

#include "profile/profile.h"

enum hs_metric {
	HS_METRIC_PEAK, /* bytes live at the peak */
	HS_METRIC_ALLOCATED,
	HS_METRIC_CALLS,
	HS_METRIC_TEMPORARY, /* allocations, not bytes */
	HS_METRIC_LEAKED,    /* bytes live at the end and not suppressed */
	HS_METRIC_MOVED,
	HS_METRIC_LIFETIME, /* sum over blocks, in microseconds */
	HS_METRICS,
};

enum hs_metric_unit { HS_UNIT_BYTES, HS_UNIT_CALLS, HS_UNIT_TIME };

struct hs_metric_name {
	const char *name;  /* on the command line */
	const char *title; /* for people */
	enum hs_metric_unit unit;
	enum hs_told told; /* its bit in what a file may not tell */
};
extern const struct hs_metric_name hs_metrics[HS_METRICS];

/* hs_metrics[metric].title, or what stands for it in a profile of samples. */
const char *hs_metric_title(const struct hs_facts *facts, enum hs_metric metric);
/* The first one that a file tells. */
enum hs_metric hs_metric_first(const struct hs_facts *facts);
bool hs_metric_find(const char *name, enum hs_metric *metric);
/* Inline: it is wanted of many. */
static inline uint64_t hs_metric_value(const struct hs_counts *counts, enum hs_metric metric)
{
	switch (metric) {
	case HS_METRIC_ALLOCATED:
		return counts->allocated_bytes;
	case HS_METRIC_CALLS:
		return counts->allocations;
	case HS_METRIC_TEMPORARY:
		return counts->temporary;
	case HS_METRIC_LEAKED:
		return counts->live_bytes - counts->suppressed_bytes;
	case HS_METRIC_MOVED:
		return counts->moved_bytes;
	case HS_METRIC_LIFETIME:
		return counts->lifetime_us;
	default:
		return counts->peak_bytes;
	}
}

/* Adds up all but max_bytes and max_blocks: maxima do not add up. */
void hs_counts_add(struct hs_counts *sum, const struct hs_counts *counts);

/* The order of rows, for qsort: the larger value first; of equals the one whose place comes first in the
 * order that the rows have by themselves. */
static inline int hs_larger_first(uint64_t value, uint64_t place, uint64_t other_value, uint64_t other_place)
{
	if (value != other_value)
		return value > other_value ? -1 : 1;
	return (place > other_place) - (place < other_place);
}

#endif
