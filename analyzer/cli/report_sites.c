/* The tables of the report, and the stacks of the sites in them: first the answers, then where they come
 * from. A site keeps the number of its first row, so a stack is printed once and referred to. */
#include "cli/report.h"

#include "base/memory.h"
#include "cli/format.h"
#include "cli/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS_A_ROW = 3, INDENT = 4 };

struct work {
	const struct hs_report *report;
	struct hs_groups groups;
	uint32_t *shown; /* groups in the order of their numbers */
	uint32_t shown_count;
	uint8_t *metric_of_shown; /* in which table each was met first */
	bool *print_site;         /* by site: its stack is to be printed */
};

static const struct table {
	enum hs_metric metric;
	const char *title, *value, *second, *noun, *nothing;
} tables[HS_METRICS] = {
	{HS_METRIC_PEAK, "TOP SITES BY PEAK", "peak", "blocks", "", "the heap was never more than 0 bytes"},
	{HS_METRIC_CALLS, "TOP SITES BY CALLS", "calls", "allocated", " calls", "nothing was allocated"},
	{HS_METRIC_TEMPORARY, "TOP SITES BY TEMPORARY ALLOCATIONS", "temporary", "of calls", " temporary",
	 "no block was freed before its thread allocated again"},
	{HS_METRIC_LEAKED, "TOP SITES BY LEAK", "live", "blocks", "", "nothing was live"},
};

/* ---- frames ---------------------------------------------------------------------------------------------
 */

void hs_frame_name(struct hs_text *text, const struct hs_report *report, uint32_t index, size_t columns)
{
	if (index == HS_NO_FRAME) {
		hs_text_add(text, "(no stack)");
		return;
	}
	const struct hs_frame *frame = &report->profile->frames[index];
	if (frame->function)
		hs_name_short(text, report->profile->strings.items[frame->function], columns, report->utf8);
	else
		hs_text_addf(text, "0x%" PRIx64, frame->address);
}

void hs_frame_place(struct hs_text *text, const struct hs_report *report, uint32_t index, size_t columns)
{
	if (index == HS_NO_FRAME)
		return;
	const struct hs_profile *profile = report->profile;
	const struct hs_frame *frame = &profile->frames[index];
	if (frame->file)
		hs_place_short(text, profile->strings.items[frame->file], frame->line, profile->facts.cwd,
			       columns, report->utf8);
	else if (frame->module < profile->module_count)
		hs_place_short(
			text, hs_last_component(profile->strings.items[profile->modules[frame->module].path]),
			0, NULL, columns, report->utf8);
}

static size_t place_columns(const struct hs_report *report, uint32_t frame, size_t most)
{
	struct hs_text place = {0};
	hs_text_add(&place, "");
	hs_frame_place(&place, report, frame, most);
	size_t columns = hs_text_columns(place.bytes);
	hs_text_free(&place);
	return columns;
}

/* Adds name and place in two columns that end at name_columns and before the end of the line. */
static void add_frame(struct hs_text *text, const struct hs_report *report, uint32_t frame,
		      size_t name_columns, size_t most_place)
{
	struct hs_text name = {0};
	hs_text_add(&name, "");
	hs_frame_name(&name, report, frame, name_columns);
	struct hs_text place = {0};
	hs_text_add(&place, "");
	hs_frame_place(&place, report, frame, most_place);
	if (place.count) {
		hs_text_left(text, name.bytes, name_columns);
		hs_text_addf(text, "  %s", place.bytes);
	} else {
		hs_text_add(text, name.bytes);
	}
	hs_text_free(&name);
	hs_text_free(&place);
}

/* ---- tables ---------------------------------------------------------------------------------------------
 */

static struct hs_number table_value(const struct table *table, const struct hs_counts *counts)
{
	uint64_t value = hs_metric(counts, table->metric);
	return table->metric == HS_METRIC_PEAK || table->metric == HS_METRIC_LEAKED ? hs_size(value)
										    : hs_count(value);
}

static struct hs_number table_second(const struct table *table, const struct hs_counts *counts)
{
	switch (table->metric) {
	case HS_METRIC_PEAK:
		return hs_count(counts->peak_blocks);
	case HS_METRIC_CALLS:
		return hs_size(counts->allocated_bytes);
	case HS_METRIC_TEMPORARY:
		return hs_share(counts->temporary, counts->allocations);
	default:
		return hs_count(counts->live_blocks);
	}
}

static void widen(size_t *columns, size_t least)
{
	if (*columns < least)
		*columns = least;
}

/* Gives a group its number, and picks those of its stacks that make up most of the metric. */
static void show_group(struct work *work, struct hs_group *group, enum hs_metric metric)
{
	if (group->number == 0) {
		work->metric_of_shown[work->shown_count] = (uint8_t)metric;
		work->shown[work->shown_count++] = (uint32_t)(group - work->groups.items);
		group->number = work->shown_count;
	}
	hs_group_sort_sites(&work->groups, group, work->report->sites, metric);
	uint64_t all = hs_metric(&group->counts, metric), covered = 0;
	for (uint32_t i = 0; i < group->count && i < STACKS_A_ROW && covered < all - all / 5; i++) {
		uint32_t site = work->groups.sites[group->first + i];
		work->print_site[site] = true;
		covered += hs_metric(&work->report->sites->items[site].counts, metric);
	}
}

static void add_title(struct hs_text *text, const struct hs_report *report, const char *title,
		      const char *right)
{
	size_t used = hs_text_columns(title) + hs_text_columns(right);
	hs_text_addf(text, "\n" HS_BOLD "%s" HS_PLAIN, title);
	if (used + 2 > report->columns)
		hs_text_add(text, "\n  ");
	else if (*right)
		hs_text_repeat(text, " ", report->columns - used);
	hs_text_addf(text, HS_DIM "%s" HS_PLAIN "\n", right);
}

static void add_rows(struct hs_text *text, struct work *work, const struct table *table,
		     const uint32_t *order, uint32_t rows, uint64_t total)
{
	const struct hs_report *report = work->report;
	size_t value = strlen(table->value), second = strlen(table->second), number = 2, place = 0;
	for (uint32_t row = 0; row < rows; row++) {
		struct hs_group *group = &work->groups.items[order[row]];
		show_group(work, group, table->metric);
		widen(&value, strlen(table_value(table, &group->counts).text));
		widen(&second, strlen(table_second(table, &group->counts).text));
		widen(&number, strlen(hs_count(group->number).text));
		widen(&place, place_columns(report, group->frame, 24));
	}
	/* number, value, share, cumulative share, second value: the rest is for the site */
	size_t left = number + 2 + value + 1 + 6 + 1 + 6 + 2 + second + 2;
	size_t rest = report->columns > left + 20 ? report->columns - left : 20;
	if (place > rest / 2)
		place = rest / 2;
	size_t name = rest - place - 2;
	hs_text_add(text, HS_DIM);
	hs_text_right(text, "#", number);
	hs_text_add(text, "  ");
	hs_text_right(text, table->value, value);
	hs_text_addf(text, " %6s %6s  ", "%", "cum%");
	hs_text_right(text, table->second, second);
	hs_text_add(text, "  site" HS_PLAIN "\n");
	uint64_t sum = 0;
	for (uint32_t row = 0; row < rows; row++) {
		const struct hs_group *group = &work->groups.items[order[row]];
		uint64_t metric = hs_metric(&group->counts, table->metric);
		sum += metric;
		hs_text_right(text, hs_count(group->number).text, number);
		hs_text_add(text, "  " HS_BOLD);
		hs_text_right(text, table_value(table, &group->counts).text, value);
		hs_text_addf(text, HS_PLAIN " %6s %6s  ", hs_share(metric, total).text,
			     hs_share(sum, total).text);
		hs_text_right(text, table_second(table, &group->counts).text, second);
		hs_text_add(text, "  ");
		add_frame(text, report, group->frame, name, place);
		hs_text_add(text, "\n");
	}
}

static void add_table(struct hs_text *text, struct work *work, const struct table *table)
{
	const struct hs_report *report = work->report;
	const struct hs_facts *facts = &report->profile->facts;
	const struct hs_counts *totals = &report->sites->replay.totals.counts;
	uint64_t total = hs_metric(totals, table->metric), sum = 0;
	uint32_t *order, count = hs_groups_sort(&work->groups, report->profile, table->metric, &order);
	uint32_t rows = report->rows && report->rows < count ? (uint32_t)report->rows : count;
	for (uint32_t row = 0; row < rows; row++)
		sum += hs_metric(&work->groups.items[order[row]].counts, table->metric);
	struct hs_number all = table_value(table, totals);
	struct hs_text right = {0};
	hs_text_addf(&right, "%s of %s", hs_count(rows).text, hs_counted(count, "site").text);
	if (count)
		hs_text_addf(&right, ", %s of %s%s", hs_share(sum, total).text, all.text, table->noun);
	if (table->metric == HS_METRIC_LEAKED)
		hs_text_addf(&right, " live %s", hs_end_words(facts));
	add_title(text, report, table->title, count ? right.bytes : "");
	hs_text_free(&right);
	if (count == 0 && table->metric == HS_METRIC_LEAKED) {
		hs_text_addf(text, "  %s %s\n", table->nothing, hs_end_words(facts));
	} else if (count == 0) {
		hs_text_addf(text, "  %s\n", table->nothing);
	} else {
		add_rows(text, work, table, order, rows, total);
	}
	if (rows < count) {
		bool bytes = table->metric == HS_METRIC_PEAK || table->metric == HS_METRIC_LEAKED;
		hs_text_addf(text, "    %s more site%s, %s (%s); -n 0 shows all\n",
			     hs_count(count - rows).text, count - rows == 1 ? "" : "s",
			     bytes ? hs_size(total - sum).text : hs_count(total - sum).text,
			     hs_share(total - sum, total).text);
	}
	free(order);
}

/* ---- stacks ---------------------------------------------------------------------------------------------
 */

/* What a site or a group has done, without what it has not. */
static void add_doings(struct hs_text *text, const struct hs_report *report, const char *head,
		       const struct hs_counts *counts)
{
	struct hs_text words = {0};
	if (counts->peak_bytes)
		hs_text_addf(&words, "peak %s in %s, ", hs_size(counts->peak_bytes).text,
			     hs_counted(counts->peak_blocks, "block").text);
	hs_text_addf(&words, "allocated %s in %s", hs_size(counts->allocated_bytes).text,
		     hs_counted(counts->allocations, "call").text);
	if (counts->temporary)
		hs_text_addf(&words, ", %s temporary", hs_share(counts->temporary, counts->allocations).text);
	if (counts->moved)
		hs_text_addf(&words, ", %s moved", hs_size(counts->moved_bytes).text);
	if (counts->live_blocks)
		hs_text_addf(&words, ", %s in %s live %s", hs_size(counts->live_bytes).text,
			     hs_counted(counts->live_blocks, "block").text,
			     hs_end_words(&report->profile->facts));
	hs_report_paragraph(text, report, head, words.bytes);
	hs_text_free(&words);
}

/* Frames that two stacks have in common, from the outermost inwards. */
static uint32_t common_frames(const struct hs_site *a, const struct hs_site *b)
{
	uint32_t common = 0;
	while (common < a->frame_count && common < b->frame_count &&
	       a->frames[a->frame_count - 1 - common] == b->frames[b->frame_count - 1 - common])
		common++;
	return common;
}

static void add_stack(struct hs_text *text, const struct hs_report *report, const struct hs_site *site,
		      const struct hs_site *above)
{
	uint32_t common = above ? common_frames(site, above) : 0;
	uint32_t count =
		common >= 4 && common < site->frame_count ? site->frame_count - common : site->frame_count;
	uint32_t head = count, tail = count;
	if (report->depth && count > report->depth) { /* the outermost quarter stays too */
		tail = (uint32_t)report->depth / 4;
		head = (uint32_t)report->depth - tail;
		tail = count - tail;
	}
	size_t place = 0, columns = report->columns - INDENT - 2, name = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct hs_text words = {0};
		hs_text_add(&words, "");
		hs_frame_name(&words, report, site->frames[i], columns);
		widen(&name, hs_text_columns(words.bytes));
		widen(&place, place_columns(report, site->frames[i], 34));
		hs_text_free(&words);
	}
	if (name + 2 + place + 10 > columns) /* 10: " (inlined)" */
		name = columns - place - 12;
	for (uint32_t i = 0; i < count; i++) {
		if (i == head && tail > head) {
			hs_text_repeat(text, " ", INDENT + 2);
			hs_text_addf(text, HS_DIM "%s %s more; --depth 0 shows all" HS_PLAIN "\n",
				     report->utf8 ? "…" : "...", hs_counted(tail - head, "frame").text);
			i = tail;
			if (i >= count)
				break;
		}
		bool own = i == site->own_frame;
		hs_text_repeat(text, " ", INDENT);
		hs_text_add(text, own ? "> " HS_BOLD : "  ");
		add_frame(text, report, site->frames[i], name, place);
		if (own)
			hs_text_add(text, HS_PLAIN);
		if (report->profile->frames[site->frames[i]].inlined)
			hs_text_add(text, " (inlined)");
		hs_text_add(text, "\n");
	}
	if (count < site->frame_count) {
		hs_text_repeat(text, " ", INDENT + 2);
		hs_text_addf(text, HS_DIM "%s the %s further out as in the stack above" HS_PLAIN "\n",
			     report->utf8 ? "…" : "...", hs_counted(site->frame_count - count, "frame").text);
	}
}

static void add_group_stacks(struct hs_text *text, struct work *work, const struct hs_group *group,
			     enum hs_metric metric)
{
	const struct hs_report *report = work->report;
	const struct hs_site *above = NULL;
	uint32_t printed = 0;
	char head[32];
	hs_text_addf(text, "\n" HS_BOLD "#%s" HS_PLAIN "  ", hs_count(group->number).text);
	hs_text_add(text, HS_BOLD);
	hs_frame_name(text, report, group->frame, report->columns - 40);
	hs_text_add(text, HS_PLAIN "  ");
	hs_frame_place(text, report, group->frame, 32);
	hs_text_add(text, "\n");
	add_doings(text, report, "    ", &group->counts);
	hs_group_sort_sites(&work->groups, group, report->sites, metric);
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t index = work->groups.sites[group->first + i];
		const struct hs_site *site = &report->sites->items[index];
		if (!work->print_site[index])
			continue;
		printed++;
		if (group->count > 1) {
			snprintf(head, sizeof(head), "  stack %u of %u: ", printed, group->count);
			add_doings(text, report, head, &site->counts);
		}
		add_stack(text, report, site, above);
		above = site;
	}
	if (printed < group->count)
		hs_text_addf(text, "  %s more with this line; -n 0 --json shows all\n",
			     hs_counted(group->count - printed, "stack").text);
}

void hs_report_sites(struct hs_text *text, const struct hs_report *report)
{
	struct work work = {.report = report};
	hs_groups_make(&work.groups, report->profile, report->sites);
	work.shown = hs_allocate_zero((size_t)work.groups.count + 1, sizeof(*work.shown));
	work.metric_of_shown = hs_allocate_zero((size_t)work.groups.count + 1, 1);
	work.print_site = hs_allocate_zero((size_t)report->sites->count + 1, sizeof(bool));
	for (unsigned i = 0; i < HS_METRICS; i++)
		add_table(text, &work, &tables[i]);
	add_title(text, report, "STACKS", "innermost frame first; > is your own line");
	for (uint32_t i = 0; i < work.shown_count; i++)
		add_group_stacks(text, &work, &work.groups.items[work.shown[i]],
				 (enum hs_metric)work.metric_of_shown[i]);
	free(work.shown);
	free(work.metric_of_shown);
	free(work.print_site);
	hs_groups_free(&work.groups);
}
