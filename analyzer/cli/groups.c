/* The rows of the report: sites grouped by the user's own line. */
#include "cli/groups.h"

#include "base/memory.h"
#include "base/names.h"
#include "profile/own.h"

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

struct hs_groups_making {
	const struct hs_own_frames *own; /* the sites', or: */
	struct hs_own_frames numbered;   /* where these are finished */
	struct hs_counts *counts;        /* of each own frame */
	uint32_t *order;                 /* own frames' numbers, line by line */
	uint32_t *line;                  /* of each: the place of its line among all lines */
};

static struct hs_groups_making *start(const struct hs_profile *profile, const struct hs_sites *sites)
{
	struct hs_groups_making *making = hs_allocate_zero(1, sizeof(*making));
	making->own = &sites->own;
	if (sites->own.site_count != sites->count) {
		for (uint32_t i = 0; i < sites->count; i++)
			hs_own_frames_add(&making->numbered, profile, sites->items[i].own);
		making->own = &making->numbered;
	}
	size_t room = (size_t)making->own->count + 1;
	making->counts = hs_allocate_zero(room, sizeof(*making->counts));
	making->order = hs_allocate_zero(room, sizeof(*making->order));
	making->line = hs_allocate_zero(room, sizeof(*making->line));
	return making;
}

static void end(struct hs_groups_making *making)
{
	if (!making)
		return;
	hs_own_frames_free(&making->numbered);
	free(making->counts);
	free(making->order);
	free(making->line);
	free(making);
}

/* Sorts own frames by their lines. Returns how many lines there are. */
static uint32_t find_lines(struct hs_groups_making *making, const struct hs_profile *profile)
{
	const struct hs_own_frames *own = making->own;
	uint32_t rank = 0;
	struct own_line *lines = hs_allocate_zero((size_t)own->count + 1, sizeof(*lines));
	uint32_t *name_of_function = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof(uint32_t));
	struct hs_strings names;
	hs_strings_init(&names);
	for (uint32_t i = 0; i < own->count; i++) {
		making->order[i] = i;
		lines[i] = make_line(profile, own->frames[i], &names, name_of_function);
	}
	qsort_r(making->order, own->count, sizeof(*making->order), compare_known_lines, lines);
	for (uint32_t i = 0; i < own->count; i++) {
		rank += i && compare_lines(&lines[making->order[i - 1]], &lines[making->order[i]]) != 0;
		making->line[making->order[i]] = rank;
	}
	hs_strings_free(&names);
	free(name_of_function);
	free(lines);
	return own->count ? rank + 1 : 0;
}

/* Whether two frames of one line look the same in a row: without a file a line is a name or an address. */
static bool look_same(const struct hs_profile *profile, uint32_t a, uint32_t b)
{
	if (a == HS_NO_FRAME || b == HS_NO_FRAME)
		return a == b;
	return !profile->frames[a].file || hs_frames_compare(profile, a, b) == 0;
}

static void find_mixed(struct hs_groups *groups, const struct hs_profile *profile)
{
	const struct hs_groups_making *making = groups->making;
	const struct hs_own_frames *own = making->own;
	for (uint32_t i = 1; i < own->count; i++) {
		uint32_t before = making->order[i - 1], after = making->order[i], line = making->line[after];
		if (making->line[before] == line &&
		    !look_same(profile, own->frames[before], own->frames[after]))
			groups->items[line].mixed = true;
	}
}

/* Lists the sites of each group. */
static void list_sites(struct hs_groups *groups, const struct hs_sites *sites)
{
	const struct hs_groups_making *making = groups->making;
	const struct hs_own_frames *own = making->own;
	uint32_t first = 0;
	groups->sites = hs_allocate(((size_t)sites->count + 1) * sizeof(*groups->sites));
	for (uint32_t i = 0; i < sites->count; i++)
		groups->items[making->line[own->of_site[i]]].count++;
	for (uint32_t g = 0; g < groups->count; g++) {
		groups->items[g].first = first;
		first += groups->items[g].count;
		groups->items[g].count = 0;
	}
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_group *group = &groups->items[making->line[own->of_site[i]]];
		groups->sites[group->first + group->count++] = i;
	}
	for (uint32_t g = 0; g < groups->count; g++)
		groups->items[g].frame = sites->items[groups->sites[groups->items[g].first]].own;
}

uint32_t hs_group_frame(const struct hs_groups *groups, const struct hs_sites *sites,
			const struct hs_group *group)
{
	const uint32_t *of_group = &groups->sites[group->first];
	uint32_t first = of_group[0];
	if (!group->mixed)
		return group->frame;
	for (uint32_t i = 1; i < group->count; i++)
		if (hs_site_is_before(sites, of_group[i], first))
			first = of_group[i];
	return sites->items[first].own;
}

struct hs_site_sums hs_groups_begin(struct hs_groups *groups, const struct hs_profile *profile,
				    const struct hs_sites *sites)
{
	*groups = (struct hs_groups){.making = start(profile, sites)};
	return (struct hs_site_sums){groups->making->own->of_site, groups->making->counts};
}

void hs_groups_finish(struct hs_groups *groups, const struct hs_profile *profile,
		      const struct hs_sites *sites)
{
	struct hs_groups_making *making = groups->making;
	groups->count = find_lines(making, profile);
	groups->items = hs_allocate_zero((size_t)groups->count + 1, sizeof(*groups->items));
	list_sites(groups, sites);
	find_mixed(groups, profile);
	for (uint32_t i = 0; i < making->own->count; i++)
		hs_counts_add(&groups->items[making->line[i]].counts, &making->counts[i]);
	end(making);
	groups->making = NULL;
}

void hs_groups_make(struct hs_groups *groups, const struct hs_profile *profile, const struct hs_sites *sites)
{
	struct hs_site_sums sums = hs_groups_begin(groups, profile, sites);
	hs_sites_add_up(sites, &sums);
	hs_groups_finish(groups, profile, sites);
}

void hs_groups_free(struct hs_groups *groups)
{
	free(groups->items);
	free(groups->sites);
	end(groups->making);
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

/* Brings the first `rows`, which are few, to the front. */
static void sort_first(uint32_t *order, uint32_t count, uint32_t rows, struct context *context)
{
	for (uint32_t i = 1; i < count; i++) {
		uint32_t group = order[i], place = i < rows ? i : rows;
		for (; place && compare_groups(&group, &order[place - 1], context) < 0; place--)
			order[place] = order[place - 1];
		order[place] = group;
	}
}

uint32_t hs_groups_sort(const struct hs_groups *groups, enum hs_metric metric, uint64_t rows,
			uint32_t **order)
{
	enum { FEW = 64 };
	struct context context = {.groups = groups, .metric = metric};
	uint32_t count = 0;
	*order = hs_allocate_zero((size_t)groups->count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < groups->count; i++) {
		if (hs_metric_value(&groups->items[i].counts, metric))
			(*order)[count++] = i;
	}
	if (rows && rows <= FEW)
		sort_first(*order, count, (uint32_t)rows, &context);
	else
		qsort_r(*order, count, sizeof(uint32_t), compare_groups, &context);
	return count;
}
