/* The views by thread, by size and by lifetime: rows with a bar, and below each the sites that make up most
 * of it. */
#include "cli/report.h"

#include "base/memory.h"
#include "base/names.h"
#include "profile/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_SITES = 3, LABEL = 24 };

/* "16 to 31 B", "1.0 to 2.0 KiB"; lifetimes likewise. A bucket b holds [2^(b-1), 2^b). */
static void bucket_words(struct hs_text *text, enum hs_parts_by by, uint32_t bucket)
{
	struct hs_number (*words)(uint64_t) = by == HS_PARTS_BY_SIZE ? hs_size : hs_time;
	const char *unit = by == HS_PARTS_BY_SIZE ? "B" : "us";
	if (bucket >= HS_BUCKET_LIVE) {
		hs_text_add(text, "never freed");
		return;
	}
	uint64_t least = bucket ? 1ULL << (bucket - 1) : 0;
	uint64_t most = bucket ? least - 1 + least : 0; /* the last that is in it */
	if (bucket == 0 && by == HS_PARTS_BY_LIFETIME)
		hs_text_add(text, "under 1 us");
	else if (bucket < 2)
		hs_text_addf(text, "%" PRIu64 " %s", least, unit);
	else if (most < 1000)
		hs_text_addf(text, "%" PRIu64 " to %" PRIu64 " %s", least, most, unit);
	else
		hs_text_addf(text, "%s to %s", words(least).text, words(most + 1).text);
}

static void add_bar(struct hs_text *text, const struct hs_report *report, uint64_t value, uint64_t most,
		    size_t columns)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	uint64_t length = most ? (uint64_t)((unsigned __int128)value * columns * 8 / most) : 0;
	if (!report->utf8) {
		hs_text_repeat(text, "#", (length + 7) / 8);
		return;
	}
	if (length == 0 && value)
		length = 1;
	hs_text_repeat(text, "█", length / 8);
	hs_text_add(text, eighths[length % 8]);
}

/* What the sites of a row allocated, by their own lines. */
struct line {
	uint32_t group;
	uint64_t value;
};

static int larger_first(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

struct view {
	const struct hs_report *report;
	enum hs_parts_by by;
	enum hs_metric metric;
	struct hs_parts parts;
	struct hs_groups groups;
	uint32_t *group_of_site;
	uint64_t *sums;       /* of each group; 0 between rows */
	uint64_t total, most; /* of all rows; of one */
};

/* Those that make up at least a tenth of the row. */
static void add_top_sites(struct hs_text *text, const struct view *view, const struct hs_parts_row *row)
{
	uint64_t all = hs_metric_value(&row->counts, view->metric);
	struct line *lines = hs_allocate_zero((size_t)row->count + 1, sizeof(*lines));
	uint32_t count = 0;
	for (uint32_t i = row->first; i < row->first + row->count; i++) {
		uint32_t group = view->group_of_site[view->parts.parts[i].site];
		if (view->sums[group] == 0)
			lines[count++].group = group;
		view->sums[group] += hs_metric_value(&view->parts.parts[i].counts, view->metric);
	}
	for (uint32_t i = 0; i < count; i++) {
		lines[i].value = view->sums[lines[i].group];
		view->sums[lines[i].group] = 0;
	}
	qsort(lines, count, sizeof(*lines), larger_first);
	for (uint32_t i = 0; i < count && i < TOP_SITES && lines[i].value > all / 10; i++) {
		uint32_t frame = view->groups.items[lines[i].group].frame;
		hs_text_repeat(text, " ", LABEL + 3);
		hs_text_addf(text, HS_DIM "%6s  ", hs_share(lines[i].value, all).text);
		size_t rest = view->report->columns - LABEL - 11;
		size_t place = hs_frame_place_columns(view->report, frame, rest / 2);
		hs_frame_row(text, view->report, frame, rest - place - 2, place);
		hs_text_add(text, HS_PLAIN "\n");
	}
	free(lines);
}

static void add_row(struct hs_text *text, const struct view *view, const struct hs_parts_row *row,
		    const char *label)
{
	uint64_t value = hs_metric_value(&row->counts, view->metric);
	bool calls = view->metric == HS_METRIC_CALLS;
	hs_text_left(text, label, LABEL);
	hs_text_add(text, HS_BOLD);
	hs_text_right(text, hs_amount(view->metric, value).text, 12);
	hs_text_addf(text, HS_PLAIN " %6s", hs_share(value, view->total).text);
	hs_text_right(text,
		      calls ? hs_size(row->counts.allocated_bytes).text
			    : hs_count(row->counts.allocations).text,
		      13);
	hs_text_add(text, "  ");
	add_bar(text, view->report, value, view->most, view->report->columns - LABEL - 12 - 7 - 13 - 2 - 1);
	hs_text_add(text, "\n");
	if (value >= view->total / 100 || view->by == HS_PARTS_BY_THREAD)
		add_top_sites(text, view, row);
}

static void add_bucket_rows(struct hs_text *text, const struct view *view)
{
	for (uint32_t i = 0; i < view->parts.row_count; i++) {
		const struct hs_parts_row *row = &view->parts.rows[i];
		struct hs_text label = {0};
		if (hs_metric_value(&row->counts, view->metric) == 0)
			continue;
		hs_text_add(&label, "  ");
		bucket_words(&label, view->by, row->key);
		add_row(text, view, row, label.bytes);
		hs_text_free(&label);
	}
}

struct sorted {
	uint64_t value;
	uint32_t row;
};

static int sorted_first(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static void add_thread_rows(struct hs_text *text, const struct view *view)
{
	const struct hs_profile *profile = view->report->profile;
	uint32_t count = view->parts.row_count;
	struct sorted *sorted = hs_allocate_zero((size_t)count + 1, sizeof(*sorted));
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct sorted){hs_metric_value(&view->parts.rows[i].counts, view->metric), i};
	qsort(sorted, count, sizeof(*sorted), sorted_first);
	uint64_t rows = view->report->rows && view->report->rows < count ? view->report->rows : count,
		 shown = 0;
	for (uint32_t i = 0; i < rows; i++) {
		const struct hs_parts_row *row = &view->parts.rows[sorted[i].row];
		struct hs_text label = {0}, name = {0};
		const struct hs_thread *thread =
			row->key < profile->thread_count ? &profile->threads[row->key] : NULL;
		hs_text_clean(&name,
			      thread && thread->name ? profile->strings.items[thread->name] : "(no name)");
		hs_text_addf(&label, "%3" PRIu32 " ", row->key);
		hs_middle_short(&label, name.bytes, 10, view->report->utf8);
		if (thread) {
			struct hs_text tid = {0};
			hs_text_addf(&tid, "%" PRIu32, thread->tid);
			hs_text_repeat(&label, " ", 14 - hs_text_columns(label.bytes));
			hs_text_right(&label, tid.bytes, 8);
			hs_text_free(&tid);
		}
		shown += sorted[i].value;
		add_row(text, view, row, label.bytes);
		hs_text_free(&label);
		hs_text_free(&name);
	}
	if (rows < count)
		hs_text_addf(text, "    %s more, %s (%s); -n 0 shows all\n",
			     hs_counted(count - rows, "thread").text,
			     hs_amount(view->metric, view->total - shown).text,
			     hs_share(view->total - shown, view->total).text);
	free(sorted);
}

/* How long blocks lived is known of blocks and their sizes only. */
enum hs_metric hs_report_parts_metric(const struct hs_report *report, enum hs_parts_by by)
{
	if (by == HS_PARTS_BY_THREAD)
		return hs_report_metric(report);
	if (!report->sorted)
		return HS_METRIC_CALLS;
	if (by == HS_PARTS_BY_SIZE || report->sort == HS_METRIC_LIFETIME)
		return report->sort;
	return report->sort == HS_METRIC_ALLOCATED ? HS_METRIC_ALLOCATED : HS_METRIC_CALLS;
}

static void start_view(struct view *view)
{
	const struct hs_report *report = view->report;
	hs_groups_make(&view->groups, report->profile, report->sites);
	view->group_of_site = hs_allocate_zero((size_t)report->sites->count + 1, sizeof(uint32_t));
	view->sums = hs_allocate_zero((size_t)view->groups.count + 1, sizeof(*view->sums));
	for (uint32_t g = 0; g < view->groups.count; g++)
		for (uint32_t i = 0; i < view->groups.items[g].count; i++)
			view->group_of_site[view->groups.sites[view->groups.items[g].first + i]] = g;
	view->total = hs_metric_value(&report->sites->replay.totals.counts, view->metric);
	for (uint32_t i = 0; i < view->parts.row_count; i++) {
		uint64_t value = hs_metric_value(&view->parts.rows[i].counts, view->metric);
		view->most = value > view->most ? value : view->most;
	}
}

void hs_report_parts(struct hs_text *text, const struct hs_report *report, enum hs_parts_by by)
{
	static const char *const titles[] = {"THREADS", "SIZES", "LIFETIMES"};
	static const char *const labels[] = {"  # name           tid", "  size", "  lived"};
	struct view view = {.report = report, .by = by, .metric = hs_report_parts_metric(report, by)};
	struct hs_error error = {{0}};
	int result = hs_parts_make(&view.parts, (struct hs_profile *)report->profile, report->sites, by,
				   view.metric, &error);
	hs_report_view_title(text, report, titles[by], view.metric, "");
	if (result != 0) {
		hs_text_addf(text, "  %s\n", error.text);
		return;
	}
	start_view(&view);
	hs_text_add(text, HS_DIM);
	hs_text_left(text, labels[by], LABEL);
	hs_text_addf(text, "%12s %6s%13s" HS_PLAIN "\n", hs_metrics[view.metric].name, "%",
		     view.metric == HS_METRIC_CALLS ? "allocated" : "calls");
	if (by == HS_PARTS_BY_THREAD)
		add_thread_rows(text, &view);
	else
		add_bucket_rows(text, &view);
	uint64_t resolution_us = report->profile->facts.time_resolution_us;
	if (by == HS_PARTS_BY_LIFETIME && resolution_us > 1)
		hs_text_addf(text,
			     HS_DIM "  times are known to %s: shorter lifetimes are estimates" HS_PLAIN "\n",
			     hs_time(resolution_us).text);
	hs_groups_free(&view.groups);
	hs_parts_free(&view.parts);
	free(view.group_of_site);
	free(view.sums);
}
