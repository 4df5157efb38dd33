/* The rows of the report: sites grouped by the user's own line. */
#include "cli/groups.h"

#include "base/memory.h"
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

uint32_t hs_site_own_frame(const struct hs_site *site)
{
	return site->own_frame < site->frame_count ? site->frames[site->own_frame] : HS_NO_FRAME;
}

struct context {
	const struct hs_groups *groups;
	const struct own_line *lines; /* by site */
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

static struct own_line make_line(const struct hs_profile *profile, const struct hs_site *site,
				 struct hs_strings *names, uint32_t *name_of_function)
{
	uint32_t index = hs_site_own_frame(site);
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

static int compare_sites_by_line(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	uint32_t a_site = *(const uint32_t *)a, b_site = *(const uint32_t *)b;
	int order = compare_lines(&context->lines[a_site], &context->lines[b_site]);
	return order ? order : (a_site > b_site) - (a_site < b_site);
}

void hs_groups_make(struct hs_groups *groups, const struct hs_profile *profile, const struct hs_sites *sites)
{
	struct own_line *lines = hs_allocate_zero((size_t)sites->count + 1, sizeof(*lines));
	uint32_t *name_of_function = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof(uint32_t));
	struct context context = {.lines = lines};
	struct hs_strings names;
	size_t capacity = 0;
	hs_strings_init(&names);
	*groups = (struct hs_groups){.sites = hs_allocate_zero((size_t)sites->count + 1, sizeof(uint32_t))};
	for (uint32_t i = 0; i < sites->count; i++) {
		groups->sites[i] = i;
		lines[i] = make_line(profile, &sites->items[i], &names, name_of_function);
	}
	qsort_r(groups->sites, sites->count, sizeof(uint32_t), compare_sites_by_line, &context);
	for (uint32_t i = 0; i < sites->count; i++) {
		uint32_t index = groups->sites[i];
		if (i == 0 || compare_lines(&lines[groups->sites[i - 1]], &lines[index]) != 0) {
			groups->items =
				hs_grow(groups->items, groups->count, &capacity, sizeof(*groups->items));
			groups->items[groups->count++] = (struct hs_group){
				.frame = hs_site_own_frame(&sites->items[index]), .first = i};
		}
		struct hs_group *group = &groups->items[groups->count - 1];
		group->count++;
		hs_counts_add(&group->counts, &sites->items[index].counts);
	}
	hs_strings_free(&names);
	free(name_of_function);
	free(lines);
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
