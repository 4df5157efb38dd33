/* What reports, exports and comparisons sort by and show. */
#include "profile/metrics.h"

#include <string.h>

const struct hs_metric_name hs_metrics[HS_METRICS] = {
	[HS_METRIC_PEAK] = {"peak", "Live at the peak", HS_UNIT_BYTES, HS_TOLD_PEAK_BYTES},
	[HS_METRIC_ALLOCATED] = {"allocated", "Allocated", HS_UNIT_BYTES, HS_TOLD_ALLOCATED_BYTES},
	[HS_METRIC_CALLS] = {"calls", "Allocation calls", HS_UNIT_CALLS, HS_TOLD_ALLOCATIONS},
	[HS_METRIC_TEMPORARY] = {"temporary", "Temporary allocations", HS_UNIT_CALLS, HS_TOLD_TEMPORARY},
	[HS_METRIC_LEAKED] = {"leaked", "Live at the end", HS_UNIT_BYTES, HS_TOLD_LIVE_BYTES},
	[HS_METRIC_MOVED] = {"moved", "Moved by realloc", HS_UNIT_BYTES, HS_TOLD_MOVED_BYTES},
	[HS_METRIC_LIFETIME] = {"lifetime", "Lifetime of blocks", HS_UNIT_TIME, HS_TOLD_LIFETIME_US},
};

const char *hs_metric_title(const struct hs_facts *facts, enum hs_metric metric)
{
	bool samples = facts->subject == HS_SUBJECT_SAMPLES && metric == HS_METRIC_CALLS;
	return samples ? "Samples" : hs_metrics[metric].title;
}

enum hs_metric hs_metric_first(const struct hs_facts *facts)
{
	for (unsigned i = 0; i < HS_METRICS; i++)
		if (!(facts->unknown & hs_metrics[i].told))
			return (enum hs_metric)i;
	return HS_METRIC_PEAK;
}

bool hs_metric_find(const char *name, enum hs_metric *metric)
{
	for (unsigned i = 0; i < HS_METRICS; i++) {
		if (strcmp(hs_metrics[i].name, name) != 0)
			continue;
		*metric = (enum hs_metric)i;
		return true;
	}
	return false;
}

void hs_counts_add(struct hs_counts *sum, const struct hs_counts *counts)
{
	sum->allocated_bytes += counts->allocated_bytes;
	sum->allocations += counts->allocations;
	sum->peak_bytes += counts->peak_bytes;
	sum->peak_blocks += counts->peak_blocks;
	sum->live_bytes += counts->live_bytes;
	sum->live_blocks += counts->live_blocks;
	sum->suppressed_bytes += counts->suppressed_bytes;
	sum->suppressed_blocks += counts->suppressed_blocks;
	sum->temporary_bytes += counts->temporary_bytes;
	sum->temporary += counts->temporary;
	sum->moved_bytes += counts->moved_bytes;
	sum->moved += counts->moved;
	sum->reallocations += counts->reallocations;
	sum->lifetime_us += counts->lifetime_us;
}
