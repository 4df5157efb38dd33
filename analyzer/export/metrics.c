/* What an export can be about. */
#include "export.h"

#include <string.h>

const struct hs_metric_name hs_metrics[HS_METRICS] = {
	[HS_METRIC_PEAK] = {"peak", "Live at the peak", true},
	[HS_METRIC_ALLOCATED] = {"allocated", "Allocated", true},
	[HS_METRIC_CALLS] = {"calls", "Allocation calls", false},
	[HS_METRIC_TEMPORARY] = {"temporary", "Temporary allocations", false},
	[HS_METRIC_LEAKED] = {"leaked", "Live at the end", true},
	[HS_METRIC_MOVED] = {"moved", "Moved by realloc", true},
};

uint64_t hs_metric_value(const struct hs_counts *counts, enum hs_metric metric)
{
	switch (metric) {
	case HS_METRIC_ALLOCATED:
		return counts->allocated_bytes;
	case HS_METRIC_CALLS:
		return counts->allocations;
	case HS_METRIC_TEMPORARY:
		return counts->temporary;
	case HS_METRIC_LEAKED:
		return counts->live_bytes;
	case HS_METRIC_MOVED:
		return counts->moved_bytes;
	default:
		return counts->peak_bytes;
	}
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
