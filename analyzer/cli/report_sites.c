/* The tables of the report, and the stacks of the sites in them: first the answers, then where they come
 * from. A site keeps the number of its first row, so a stack is printed once and referred to. */
#include "cli/report.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "profile/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
	const struct hs_report *report;
	struct hs_groups *groups;
	uint32_t *shown; /* groups in the order of their numbers */
	uint32_t shown_count;
};

static const struct table {
	const char *value, *second, *nothing;
	uint32_t told; /* what the second column needs */
} tables[HS_METRICS] = {
	[HS_METRIC_PEAK] = {"peak", "blocks", "the heap was never more than 0 bytes", HS_TOLD_PEAK_BLOCKS},
	[HS_METRIC_ALLOCATED] = {"allocated", "calls", "nothing was allocated", HS_TOLD_ALLOCATIONS},
	[HS_METRIC_CALLS] = {"calls", "allocated", "nothing was allocated", HS_TOLD_ALLOCATED_BYTES},
	[HS_METRIC_TEMPORARY] = {"temporary", "of calls",
				 "no block was freed before its thread allocated again", HS_TOLD_ALLOCATIONS},
	[HS_METRIC_LEAKED] = {"live", "blocks", "nothing was live", HS_TOLD_LIVE_BLOCKS},
	[HS_METRIC_MOVED] = {"moved", "moves", "no realloc had to move a block", HS_TOLD_MOVED},
	[HS_METRIC_LIFETIME] = {"sum", "a block", "no block lived for a microsecond", HS_TOLD_ALLOCATIONS},
};

/* A profiler's samples are calls that allocate nothing. */
static const struct table samples_table = {"samples", "", "there is no sample", 0};

/* ---- frames ---------------------------------------------------------------------------------------------
 */

/* Made once; two threads that make the same at the same time agree on one of them. */
static const char *simple_name(const struct hs_report *report, uint32_t function)
{
	_Atomic(char *) *place = &report->simple_names[function];
	char *name = atomic_load(place);
	if (name)
		return name;
	char *made = hs_name_simple(report->profile->strings.items[function], report->utf8);
	if (atomic_compare_exchange_strong(place, &name, made))
		return made;
	free(made);
	return name;
}

void hs_frame_name(struct hs_text *text, const struct hs_report *report, uint32_t index, size_t columns)
{
	if (index == HS_NO_FRAME) {
		hs_text_add(text, "(no stack)");
		return;
	}
	const struct hs_frame *frame = &report->profile->frames[index];
	const char *function = report->profile->strings.items[frame->function];
	if (frame->function == 0) {
		hs_text_addf(text, "0x%" PRIx64, frame->address);
	} else if (report->simple_names) {
		hs_name_fit(text, simple_name(report, frame->function), columns, report->utf8);
	} else {
		hs_name_short(text, function, columns, report->utf8);
	}
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
		hs_text_add(text, "  ");
		hs_text_add(text, place.bytes);
	} else {
		hs_text_add(text, name.bytes);
	}
	hs_text_free(&name);
	hs_text_free(&place);
}

/* ---- tables ---------------------------------------------------------------------------------------------
 */

static struct hs_number second_value(enum hs_metric metric, const struct hs_counts *counts)
{
	switch (metric) {
	case HS_METRIC_PEAK:
		return hs_count(counts->peak_blocks);
	case HS_METRIC_ALLOCATED:
		return hs_count(counts->allocations);
	case HS_METRIC_CALLS:
		return hs_size(counts->allocated_bytes);
	case HS_METRIC_TEMPORARY:
		return hs_share(counts->temporary, counts->allocations);
	case HS_METRIC_MOVED:
		return hs_count(counts->moved);
	case HS_METRIC_LIFETIME:
		return hs_time(counts->allocations ? counts->lifetime_us / counts->allocations : 0);
	default:
		return hs_count(counts->live_blocks - counts->suppressed_blocks);
	}
}

static struct hs_number table_second(const struct table *table, enum hs_metric metric,
				     const struct hs_report *report, const struct hs_counts *counts)
{
	if (!*table->second)
		return (struct hs_number){""};
	if (report->sites->replay.unknown & table->told)
		return (struct hs_number){"-"};
	return second_value(metric, counts);
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
		work->shown[work->shown_count++] = (uint32_t)(group - work->groups->items);
		group->number = work->shown_count;
		group->frame = hs_group_frame(work->groups, work->report->sites, group);
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
		     enum hs_metric metric, const uint32_t *order, uint32_t rows, uint64_t total)
{
	const struct hs_report *report = work->report;
	size_t value = strlen(table->value), second = strlen(table->second), number = 2, place = 0;
	for (uint32_t row = 0; row < rows; row++) {
		struct hs_group *group = &work->groups->items[order[row]];
		show_group(work, group, metric);
		widen(&value, strlen(hs_amount(metric, hs_metric_value(&group->counts, metric)).text));
		widen(&second, strlen(table_second(table, metric, report, &group->counts).text));
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
		const struct hs_group *group = &work->groups->items[order[row]];
		uint64_t amount = hs_metric_value(&group->counts, metric);
		sum += amount;
		hs_text_right(text, hs_count(group->number).text, number);
		hs_text_add(text, "  " HS_BOLD);
		hs_text_right(text, hs_amount(metric, amount).text, value);
		hs_text_addf(text, HS_PLAIN " %6s %6s  ", hs_share(amount, total).text,
			     hs_share(sum, total).text);
		hs_text_right(text, table_second(table, metric, report, &group->counts).text, second);
		hs_text_add(text, "  ");
		hs_frame_row(text, report, group->frame, name, place);
		hs_text_add(text, "\n");
	}
}

static void add_title(struct hs_text *text, const struct hs_report *report, enum hs_metric metric,
		      const char *right)
{
	struct hs_text title = {0};
	hs_text_add(&title, "TOP SITES ");
	hs_report_by(&title, report, metric);
	hs_report_title(text, report, title.bytes, right);
	hs_text_free(&title);
}

static void add_table(struct hs_text *text, struct work *work, const struct table *table,
		      enum hs_metric metric)
{
	const struct hs_report *report = work->report;
	const char *end = metric == HS_METRIC_LEAKED ? hs_end_words(&report->profile->facts) : "";
	uint64_t total = hs_metric_value(&report->sites->replay.totals.counts, metric), sum = 0;
	uint32_t *order, count = hs_groups_sort(work->groups, metric, report->rows, &order);
	uint32_t rows = report->rows && report->rows < count ? (uint32_t)report->rows : count;
	for (uint32_t row = 0; row < rows; row++)
		sum += hs_metric_value(&work->groups->items[order[row]].counts, metric);
	struct hs_text right = {0};
	hs_text_addf(&right, "%s of %s, %s of ", hs_count(rows).text, hs_counted(count, "site").text,
		     hs_share(sum, total).text);
	if (table == &samples_table)
		hs_text_addf(&right, "%s samples", hs_count(total).text);
	else
		hs_report_whole(&right, report, metric);
	add_title(text, report, metric, count ? right.bytes : "");
	hs_text_free(&right);
	if (count == 0)
		hs_text_addf(text, "  %s%s%s%s%s\n", table->nothing, *end ? " " : "", end,
			     *end && hs_report_is_suppressed(report) ? ", but for what is suppressed" : "",
			     hs_report_is_filtered(report) ? ", of what is selected" : "");
	else
		add_rows(text, work, table, metric, order, rows, total);
	if (rows < count)
		hs_text_addf(text, "    %s more site%s, %s (%s); -n 0 shows all\n",
			     hs_count(count - rows).text, count - rows == 1 ? "" : "s",
			     hs_amount(metric, total - sum).text, hs_share(total - sum, total).text);
	free(order);
}

/* A table that was asked for; else those that most people want, of what the file tells. */
static void add_tables(struct hs_text *text, struct work *work)
{
	static const enum hs_metric wanted[] = {HS_METRIC_PEAK, HS_METRIC_CALLS, HS_METRIC_TEMPORARY,
						HS_METRIC_LEAKED};
	static const enum hs_metric else_wanted[] = {HS_METRIC_ALLOCATED, HS_METRIC_MOVED};
	const struct hs_report *report = work->report;
	uint32_t unknown = report->sites->replay.unknown;
	unsigned added = 0;
	if (report->profile->facts.subject == HS_SUBJECT_SAMPLES) {
		add_table(text, work, &samples_table, HS_METRIC_CALLS);
		return;
	}
	if (report->sorted) {
		enum hs_metric metric = report->sort;
		if (!(unknown & hs_metrics[metric].told)) {
			add_table(text, work, &tables[metric], metric);
			return;
		}
		add_title(text, report, metric, "");
		hs_text_add(text, "  not known from this file\n");
		return;
	}
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (unknown & hs_metrics[wanted[i]].told)
			continue;
		add_table(text, work, &tables[wanted[i]], wanted[i]);
		added++;
	}
	for (unsigned i = 0; added == 0 && i < sizeof(else_wanted) / sizeof(*else_wanted); i++) {
		if (!(unknown & hs_metrics[else_wanted[i]].told))
			add_table(text, work, &tables[else_wanted[i]], else_wanted[i]);
	}
}

void hs_report_sites(struct hs_text *text, const struct hs_report *report, struct hs_groups *groups,
		     struct hs_showing *showing)
{
	struct work work = {.report = report, .groups = groups};
	work.shown = hs_allocate_zero((size_t)groups->count + 1, sizeof(*work.shown));
	add_tables(text, &work);
	if (work.shown_count) {
		hs_report_title(text, report, "STACKS", "innermost frame first; > is your own line");
		hs_report_stacks(text, report, groups, work.shown, work.shown_count, showing);
	}
	free(work.shown);
}
