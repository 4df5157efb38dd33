/* The tables of the report, and the stacks of the sites in them: first the answers, then where they come
 * from. A site keeps the number of its first row, so a stack is printed once and referred to. */
#include "cli/report.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
	const struct hs_report *report;
	struct hs_groups groups;
	uint32_t *shown; /* groups in the order of their numbers */
	uint32_t shown_count;
};

static const struct table {
	enum hs_metric metric;
	const char *title, *value, *second, *noun, *nothing;
} tables[] = {
	{HS_METRIC_PEAK, "TOP SITES BY PEAK", "peak", "blocks", "", "the heap was never more than 0 bytes"},
	{HS_METRIC_CALLS, "TOP SITES BY CALLS", "calls", "allocated", " calls", "nothing was allocated"},
	{HS_METRIC_TEMPORARY, "TOP SITES BY TEMPORARY ALLOCATIONS", "temporary", "of calls", " temporary",
	 "no block was freed before its thread allocated again"},
	{HS_METRIC_LEAKED, "TOP SITES BY LEAK", "live", "blocks", "", "nothing was live"},
};

/* Of imported files that tell nothing else. */
static const struct table samples_table = {HS_METRIC_CALLS, "TOP SITES BY SAMPLES", "samples", "",
					   " samples",      "there is no sample"};
static const struct table bytes_tables[] = {
	{HS_METRIC_ALLOCATED, "TOP SITES BY ALLOCATED BYTES", "allocated", "", "", "nothing was allocated"},
	{HS_METRIC_MOVED, "TOP SITES BY MOVED BYTES", "moved", "", "", "nothing was moved"},
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

size_t hs_frame_place_columns(const struct hs_report *report, uint32_t frame, size_t most)
{
	struct hs_text place = {0};
	hs_text_add(&place, "");
	hs_frame_place(&place, report, frame, most);
	size_t columns = hs_text_columns(place.bytes);
	hs_text_free(&place);
	return columns;
}

/* Adds name and place in two columns that end at name_columns and before the end of the line. */
void hs_frame_row(struct hs_text *text, const struct hs_report *report, uint32_t frame, size_t name_columns,
		  size_t most_place)
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
	uint64_t value = hs_metric_value(counts, table->metric);
	return hs_metrics[table->metric].unit == HS_UNIT_BYTES ? hs_size(value) : hs_count(value);
}

static struct hs_number table_second(const struct table *table, const struct hs_report *report,
				     const struct hs_counts *counts)
{
	static const uint32_t told[HS_METRICS] = {
		[HS_METRIC_PEAK] = HS_TOLD_PEAK_BLOCKS,
		[HS_METRIC_CALLS] = HS_TOLD_ALLOCATED_BYTES,
		[HS_METRIC_TEMPORARY] = HS_TOLD_ALLOCATIONS,
		[HS_METRIC_LEAKED] = HS_TOLD_LIVE_BLOCKS,
	};
	if (!*table->second)
		return (struct hs_number){""};
	if (report->sites->replay.unknown & told[table->metric])
		return (struct hs_number){"-"};
	switch (table->metric) {
	case HS_METRIC_PEAK:
		return hs_count(counts->peak_blocks);
	case HS_METRIC_CALLS:
		return hs_size(counts->allocated_bytes);
	case HS_METRIC_TEMPORARY:
		return hs_share(counts->temporary, counts->allocations);
	default:
		return hs_count(counts->live_blocks - counts->suppressed_blocks);
	}
}

static void widen(size_t *columns, size_t least)
{
	if (*columns < least)
		*columns = least;
}

/* Gives a group its number and notes the table that it stands in. */
static void show_group(struct work *work, struct hs_group *group, enum hs_metric metric)
{
	if (group->number == 0) {
		work->shown[work->shown_count++] = (uint32_t)(group - work->groups.items);
		group->number = work->shown_count;
	}
	group->tables |= 1u << metric;
}

void hs_report_title(struct hs_text *text, const struct hs_report *report, const char *title,
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
		widen(&second, strlen(table_second(table, report, &group->counts).text));
		widen(&number, strlen(hs_count(group->number).text));
		widen(&place, hs_frame_place_columns(report, group->frame, 24));
	}
	/* number, value, share, cumulative share, second value: the rest is for the site */
	size_t left = number + 2 + value + 1 + 6 + 1 + 6 + 2 + second + 2;
	size_t rest = report->columns > left + 20 ? report->columns - left : 20;
	size_t most_place = rest * 2 / 5 > 16 ? rest * 2 / 5 : 16; /* the name is what people look for */
	if (place > most_place && place > rest / 4)
		place = most_place < rest - 12 ? most_place : rest / 2;
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
		uint64_t metric = hs_metric_value(&group->counts, table->metric);
		sum += metric;
		hs_text_right(text, hs_count(group->number).text, number);
		hs_text_add(text, "  " HS_BOLD);
		hs_text_right(text, table_value(table, &group->counts).text, value);
		hs_text_addf(text, HS_PLAIN " %6s %6s  ", hs_share(metric, total).text,
			     hs_share(sum, total).text);
		hs_text_right(text, table_second(table, report, &group->counts).text, second);
		hs_text_add(text, "  ");
		hs_frame_row(text, report, group->frame, name, place);
		hs_text_add(text, "\n");
	}
}

static void add_table(struct hs_text *text, struct work *work, const struct table *table)
{
	const struct hs_report *report = work->report;
	const struct hs_facts *facts = &report->profile->facts;
	const struct hs_counts *totals = &report->sites->replay.totals.counts;
	uint64_t total = hs_metric_value(totals, table->metric), sum = 0;
	uint32_t *order, count = hs_groups_sort(&work->groups, table->metric, &order);
	uint32_t rows = report->rows && report->rows < count ? (uint32_t)report->rows : count;
	for (uint32_t row = 0; row < rows; row++)
		sum += hs_metric_value(&work->groups.items[order[row]].counts, table->metric);
	struct hs_number all = table_value(table, totals);
	struct hs_text right = {0};
	hs_text_addf(&right, "%s of %s", hs_count(rows).text, hs_counted(count, "site").text);
	if (count)
		hs_text_addf(&right, ", %s of %s%s", hs_share(sum, total).text, all.text, table->noun);
	if (table->metric == HS_METRIC_LEAKED)
		hs_text_addf(&right, " live %s%s", hs_end_words(facts),
			     totals->suppressed_bytes || totals->suppressed_blocks ? ", not suppressed" : "");
	hs_report_title(text, report, table->title, count ? right.bytes : "");
	hs_text_free(&right);
	if (count == 0 && table->metric == HS_METRIC_LEAKED) {
		hs_text_addf(text, "  %s %s%s\n", table->nothing, hs_end_words(facts),
			     totals->suppressed_bytes || totals->suppressed_blocks
				     ? ", but for what is suppressed"
				     : "");
	} else if (count == 0) {
		hs_text_addf(text, "  %s\n", table->nothing);
	} else {
		add_rows(text, work, table, order, rows, total);
	}
	if (rows < count) {
		bool bytes = hs_metrics[table->metric].unit == HS_UNIT_BYTES;
		hs_text_addf(text, "    %s more site%s, %s (%s); -n 0 shows all\n",
			     hs_count(count - rows).text, count - rows == 1 ? "" : "s",
			     bytes ? hs_size(total - sum).text : hs_count(total - sum).text,
			     hs_share(total - sum, total).text);
	}
	free(order);
}

/* Those of what the file tells. */
static void add_tables(struct hs_text *text, struct work *work)
{
	uint32_t unknown = work->report->sites->replay.unknown;
	unsigned added = 0;
	if (work->report->profile->facts.subject == HS_SUBJECT_SAMPLES) {
		add_table(text, work, &samples_table);
		return;
	}
	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (unknown & hs_metrics[tables[i].metric].told)
			continue;
		add_table(text, work, &tables[i]);
		added++;
	}
	for (unsigned i = 0; added == 0 && i < sizeof(bytes_tables) / sizeof(*bytes_tables); i++) {
		if (!(unknown & hs_metrics[bytes_tables[i].metric].told))
			add_table(text, work, &bytes_tables[i]);
	}
}

void hs_report_sites(struct hs_text *text, const struct hs_report *report)
{
	struct work work = {.report = report};
	hs_groups_make(&work.groups, report->profile, report->sites);
	work.shown = hs_allocate_zero((size_t)work.groups.count + 1, sizeof(*work.shown));
	add_tables(text, &work);
	hs_report_title(text, report, "STACKS", "innermost frame first; > is your own line");
	for (uint32_t i = 0; i < work.shown_count; i++)
		hs_report_stacks(text, report, &work.groups, &work.groups.items[work.shown[i]]);
	free(work.shown);
	hs_groups_free(&work.groups);
}
