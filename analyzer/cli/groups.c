/* The rows of the report: sites grouped by the user's own line. */
#include "cli/groups.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

uint32_t hs_site_own_frame(const struct hs_site *site)
{
	return site->own_frame < site->frame_count ? site->frames[site->own_frame] : HS_NO_FRAME;
}

uint64_t hs_metric(const struct hs_counts *counts, enum hs_metric metric)
{
	switch (metric) {
	case HS_METRIC_PEAK:
		return counts->peak_bytes;
	case HS_METRIC_CALLS:
		return counts->allocations;
	case HS_METRIC_TEMPORARY:
		return counts->temporary;
	default:
		return counts->live_bytes;
	}
}

int hs_frames_compare(const struct hs_profile *profile, uint32_t a_index, uint32_t b_index)
{
	if (a_index == HS_NO_FRAME || b_index == HS_NO_FRAME)
		return (a_index != HS_NO_FRAME) - (b_index != HS_NO_FRAME);
	const struct hs_frame *a = &profile->frames[a_index], *b = &profile->frames[b_index];
	char *const *strings = profile->strings.items;
	int order = a->function == b->function ? 0 : strcmp(strings[a->function], strings[b->function]);
	if (order == 0 && a->file != b->file)
		order = strcmp(strings[a->file], strings[b->file]);
	if (order == 0 && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	if (order == 0 && a->module != b->module)
		order = a->module < b->module ? -1 : 1;
	if (order == 0 && a->function == 0 && a->address != b->address)
		order = a->address < b->address ? -1 : 1;
	return order;
}

struct context {
	const struct hs_profile *profile;
	const struct hs_sites *sites;
	const struct hs_groups *groups;
	enum hs_metric metric;
};

static int compare_sites_by_line(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	uint32_t a_site = *(const uint32_t *)a, b_site = *(const uint32_t *)b;
	int order = hs_frames_compare(context->profile, hs_site_own_frame(&context->sites->items[a_site]),
				      hs_site_own_frame(&context->sites->items[b_site]));
	return order ? order : (a_site > b_site) - (a_site < b_site);
}

void hs_counts_add(struct hs_counts *sum, const struct hs_counts *counts)
{
	sum->allocated_bytes += counts->allocated_bytes;
	sum->allocations += counts->allocations;
	sum->peak_bytes += counts->peak_bytes;
	sum->peak_blocks += counts->peak_blocks;
	sum->live_bytes += counts->live_bytes;
	sum->live_blocks += counts->live_blocks;
	sum->temporary_bytes += counts->temporary_bytes;
	sum->temporary += counts->temporary;
	sum->moved_bytes += counts->moved_bytes;
	sum->moved += counts->moved;
	sum->reallocations += counts->reallocations;
	sum->lifetime_us += counts->lifetime_us;
}

void hs_groups_make(struct hs_groups *groups, const struct hs_profile *profile, const struct hs_sites *sites)
{
	struct context context = {.profile = profile, .sites = sites};
	size_t capacity = 0;
	*groups = (struct hs_groups){.sites = hs_allocate_zero(sites->count + 1, sizeof(uint32_t))};
	for (uint32_t i = 0; i < sites->count; i++)
		groups->sites[i] = i;
	qsort_r(groups->sites, sites->count, sizeof(uint32_t), compare_sites_by_line, &context);
	for (uint32_t i = 0; i < sites->count; i++) {
		const struct hs_site *site = &sites->items[groups->sites[i]];
		uint32_t frame = hs_site_own_frame(site);
		struct hs_group *group = groups->count ? &groups->items[groups->count - 1] : NULL;
		if (group == NULL || hs_frames_compare(profile, group->frame, frame) != 0) {
			groups->items =
				hs_grow(groups->items, groups->count, &capacity, sizeof(*groups->items));
			group = &groups->items[groups->count++];
			*group = (struct hs_group){.frame = frame, .first = i};
		}
		group->count++;
		hs_counts_add(&group->counts, &site->counts);
	}
}

void hs_groups_free(struct hs_groups *groups)
{
	free(groups->items);
	free(groups->sites);
	*groups = (struct hs_groups){0};
}

/* Groups are made in the order of their lines, so an index breaks ties. */
static int compare_groups(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	uint32_t a_group = *(const uint32_t *)a, b_group = *(const uint32_t *)b;
	uint64_t a_value = hs_metric(&context->groups->items[a_group].counts, context->metric);
	uint64_t b_value = hs_metric(&context->groups->items[b_group].counts, context->metric);
	if (a_value != b_value)
		return a_value > b_value ? -1 : 1;
	return (a_group > b_group) - (a_group < b_group);
}

uint32_t hs_groups_sort(const struct hs_groups *groups, const struct hs_profile *profile,
			enum hs_metric metric, uint32_t **order)
{
	struct context context = {.profile = profile, .groups = groups, .metric = metric};
	uint32_t count = 0;
	*order = hs_allocate_zero(groups->count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < groups->count; i++) {
		if (hs_metric(&groups->items[i].counts, metric))
			(*order)[count++] = i;
	}
	qsort_r(*order, count, sizeof(uint32_t), compare_groups, &context);
	return count;
}
