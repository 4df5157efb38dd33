/* The rows of the report: sites grouped by the user's own line. */
#include "cli/groups.h"

#include "base/memory.h"
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

struct context {
	const struct hs_groups *groups;
	enum hs_metric metric;
};

/* What makes sites one row. A line is one, whichever instance of a template it stands in; where lines are not
 * known, the function is, likewise without its template's arguments; an address where that is not known
 * either. */
struct own_line {
	const char *file, *name; /* name: NULL if the file is known */
	uint32_t line, module;
	uint64_t address; /* 0 if there is a file or a name */
};

static struct own_line make_line(const struct hs_profile *profile, uint32_t index, struct hs_strings *names,
				 uint32_t *name_of_function)
{
	if (index == HS_NO_FRAME)
		return (struct own_line){.file = "", .name = "", .module = UINT32_MAX};
	const struct hs_frame *frame = &profile->frames[index];
	struct own_line line = {.file = profile->strings.items[frame->file], .module = frame->module};
	if (frame->file) {
		line.line = frame->line;
	} else if (frame->function) {
		if (name_of_function[frame->function] == 0) {
			struct hs_text name = {0};
			hs_name_short(&name, profile->strings.items[frame->function], SIZE_MAX / 2, false);
			name_of_function[frame->function] = hs_strings_add_text(names, name.bytes);
			hs_text_free(&name);
		}
		line.name = names->items[name_of_function[frame->function]];
	} else {
		line.name = "";
		line.address = frame->address;
	}
	return line;
}

static int compare_lines(const struct own_line *a, const struct own_line *b)
{
	int order = strcmp(a->file, b->file);
	if (order == 0 && a->name != b->name)
		order = strcmp(a->name ? a->name : "", b->name ? b->name : "");
	if (order == 0 && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	if (order == 0 && a->module != b->module)
		order = a->module < b->module ? -1 : 1;
	if (order == 0 && a->address != b->address)
		order = a->address < b->address ? -1 : 1;
	return order;
}

static int compare_known_lines(const void *a, const void *b, void *lines)
{
	return compare_lines((struct own_line *)lines + *(const uint32_t *)a,
			     (struct own_line *)lines + *(const uint32_t *)b);
}

/* Finds the line of each site's own frame, once for each frame: line_of[frame] is the place of its line among
 * all, and the last one that of sites without frames. own_of: the frame of each site, or profile.frame_count.
 * Returns how many lines there are. */
static uint32_t find_lines(const struct hs_profile *profile, const uint32_t *own_of, uint32_t site_count,
			   uint32_t *line_of)
{
	uint32_t none = profile->frame_count, count = 0, rank = 0;
	struct own_line *lines = hs_allocate_zero((size_t)none + 1, sizeof(*lines));
	uint32_t *order = hs_allocate_zero((size_t)none + 1, sizeof(*order));
	uint32_t *name_of_function = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof(uint32_t));
	struct hs_strings names;
	hs_strings_init(&names);
	for (uint32_t i = 0; i < site_count; i++) {
		uint32_t own = own_of[i];
		if (line_of[own])
			continue;
		line_of[own] = 1;
		order[count++] = own;
		lines[own] = make_line(profile, own == none ? HS_NO_FRAME : own, &names, name_of_function);
	}
	qsort_r(order, count, sizeof(*order), compare_known_lines, lines);
	for (uint32_t i = 0; i < count; i++) {
		rank += i && compare_lines(&lines[order[i - 1]], &lines[order[i]]) != 0;
		line_of[order[i]] = rank;
	}
	hs_strings_free(&names);
	free(name_of_function);
	free(order);
	free(lines);
	return count ? rank + 1 : 0;
}

/* Lists the sites of each group; its frame is the own line of the first one. */
static void list_sites(struct hs_groups *groups, const struct hs_profile *profile,
		       const struct hs_sites *sites, const uint32_t *own_of, const uint32_t *line_of)
{
	uint32_t first = 0;
	for (uint32_t i = 0; i < groups->count; i++) {
		groups->items[i].first = first;
		first += groups->items[i].count;
		groups->items[i].count = 0;
	}
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_group *group = &groups->items[line_of[own_of[i]]];
		groups->sites[group->first + group->count++] = i;
	}
	for (uint32_t g = 0; g < groups->count; g++) {
		struct hs_group *group = &groups->items[g];
		const uint32_t *of_group = &groups->sites[group->first];
		uint32_t best = of_group[0];
		bool mixed = false; /* most are not: their frames look the same */
		for (uint32_t i = 1; i < group->count && !mixed; i++)
			mixed = own_of[of_group[i]] != own_of[best] &&
				hs_frames_compare(profile, own_of[of_group[i]], own_of[best]) != 0;
		for (uint32_t i = 1; i < group->count && mixed; i++)
			if (hs_site_is_before(sites, of_group[i], best))
				best = of_group[i];
		group->frame = own_of[best] == profile->frame_count ? HS_NO_FRAME : own_of[best];
	}
}

/* What is wanted of counts that are needed soon. */
enum { AHEAD = 8 };
static inline void prefetch(const struct hs_counts *counts)
{
	__builtin_prefetch(&counts->allocated_bytes);
	__builtin_prefetch(&counts->temporary_bytes);
}

void hs_groups_make(struct hs_groups *groups, const struct hs_profile *profile, const struct hs_sites *sites)
{
	uint32_t *line_of = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*line_of));
	uint32_t *own_of = hs_allocate(((size_t)sites->count + 1) * sizeof(*own_of));
	for (uint32_t i = 0; i < sites->count; i++) {
		uint32_t own = sites->items[i].own;
		own_of[i] = own == HS_NO_FRAME ? profile->frame_count : own;
	}
	*groups = (struct hs_groups){.count = find_lines(profile, own_of, sites->count, line_of)};
	groups->sites = hs_allocate_zero((size_t)sites->count + 1, sizeof(*groups->sites));
	groups->items = hs_allocate_zero((size_t)groups->count + 1, sizeof(*groups->items));
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_group *group = &groups->items[line_of[own_of[i]]];
		if (i + AHEAD < sites->count)
			prefetch(sites->items[i + AHEAD].counts);
		group->count++;
		hs_counts_add(&group->counts, sites->items[i].counts);
	}
	list_sites(groups, profile, sites, own_of, line_of);
	free(own_of);
	free(line_of);
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
	uint64_t a_value = hs_metric_value(&context->groups->items[a_group].counts, context->metric);
	uint64_t b_value = hs_metric_value(&context->groups->items[b_group].counts, context->metric);
	return hs_larger_first(a_value, a_group, b_value, b_group);
}

uint32_t hs_groups_sort(const struct hs_groups *groups, enum hs_metric metric, uint32_t **order)
{
	struct context context = {.groups = groups, .metric = metric};
	uint32_t count = 0;
	*order = hs_allocate_zero(groups->count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < groups->count; i++) {
		if (hs_metric_value(&groups->items[i].counts, metric))
			(*order)[count++] = i;
	}
	qsort_r(*order, count, sizeof(uint32_t), compare_groups, &context);
	return count;
}
