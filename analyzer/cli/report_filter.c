/* The head of a filtered report: what was asked for, and how the selection and what is left out make up the
 * whole. */
#include "cli/filters.h"
#include "cli/report.h"
#include "cli/suppress.h"

#include <string.h>

bool hs_report_is_filtered(const struct hs_report *report)
{
	return !hs_filter_selects_all(report->profile->filter);
}

enum hs_metric hs_report_metric(const struct hs_report *report)
{
	if (report->profile->facts.subject == HS_SUBJECT_SAMPLES)
		return HS_METRIC_CALLS;
	return report->sort;
}

struct hs_number hs_amount(enum hs_metric metric, uint64_t value)
{
	switch (hs_metrics[metric].unit) {
	case HS_UNIT_BYTES:
		return hs_size(value);
	case HS_UNIT_TIME:
		return hs_time(value);
	default:
		return hs_count(value);
	}
}

void hs_report_whole(struct hs_text *text, const struct hs_report *report, enum hs_metric metric)
{
	uint64_t total = hs_metric_value(&report->sites->replay.totals.counts, metric);
	bool filtered = hs_report_is_filtered(report);
	hs_text_addf(text, "%s", hs_amount(metric, total).text);
	if (metric == HS_METRIC_CALLS)
		hs_text_add(text, filtered ? " selected calls" : total == 1 ? " call" : " calls");
	else if (metric == HS_METRIC_TEMPORARY)
		hs_text_add(text, filtered ? " selected temporary" : " temporary");
	else
		hs_text_add(text, filtered ? " selected" : "");
	if (metric == HS_METRIC_LEAKED)
		hs_text_addf(text, " live %s%s", hs_end_words(&report->profile->facts),
			     hs_report_is_suppressed(report) ? ", not suppressed" : "");
}

bool hs_report_is_suppressed(const struct hs_report *report)
{
	const struct hs_counts *counts = &report->sites->replay.totals.counts;
	return counts->suppressed_bytes || counts->suppressed_blocks;
}

/* What is live counts whether or not it is suppressed: so it adds up. */
static uint64_t row_value(const struct hs_counts *counts, enum hs_metric metric)
{
	return metric == HS_METRIC_LEAKED ? counts->live_bytes : hs_metric_value(counts, metric);
}

static void add_row(struct hs_text *text, const struct hs_report *report, const char *label,
		    enum hs_metric metric, const char *words)
{
	const struct hs_replay *replay = &report->sites->replay;
	uint64_t selected = row_value(&replay->totals.counts, metric);
	uint64_t rest = row_value(&replay->left_out.counts, metric);
	uint64_t all = row_value(&replay->all.counts, metric);
	if (replay->unknown & hs_metrics[metric].told)
		return;
	hs_text_add(text, "  ");
	hs_text_left(text, label, 11);
	hs_text_add(text, HS_BOLD);
	hs_text_right(text, hs_amount(metric, selected).text, 10);
	hs_text_addf(text, HS_PLAIN " %6s", hs_share(selected, all).text);
	hs_text_right(text, hs_amount(metric, rest).text, 12);
	hs_text_addf(text, " %6s", hs_share(rest, all).text);
	hs_text_right(text, hs_amount(metric, all).text, 12);
	hs_text_addf(text, "%s%s\n", *words ? "   " : "", words);
}

static void add_nothing(struct hs_text *text, const struct hs_report *report)
{
	struct hs_text words = {0};
	hs_filter_explain(&words, report->profile->filter, report->profile);
	hs_text_add(text, "\n");
	struct hs_text line = {0};
	hs_text_addf(&line, "Nothing matches%s%s.", words.count ? ": " : "", words.count ? words.bytes : "");
	hs_report_paragraph(text, report, "  ", line.bytes);
	hs_text_free(&line);
	hs_text_free(&words);
}

void hs_report_selection(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_filter *filter = report->profile->filter;
	const struct hs_replay *replay = &report->sites->replay;
	const struct hs_totals *totals = &replay->totals;
	bool moment = filter->at_us != HS_TIME_NONE;
	struct hs_text words = {0};
	hs_filter_describe(&words, filter);
	hs_report_paragraph(text, report, HS_BOLD "filter:" HS_PLAIN " ", words.bytes);
	hs_text_free(&words);
	hs_text_addf(text, "\n" HS_DIM "  %-11s%10s %6s%12s %6s%12s" HS_PLAIN "\n", "", "selected", "",
		     "left out", "", "all");
	hs_text_add(&words, "");
	if (!moment && !(replay->unknown & HS_TOLD_PEAK_US))
		hs_text_addf(&words, "at %s", hs_time(totals->peak_us).text);
	struct hs_text label = {0};
	hs_text_add(&label, moment ? "" : "peak");
	if (moment)
		hs_text_addf(&label, "at %s", hs_time(filter->at_us).text);
	add_row(text, report, label.bytes, HS_METRIC_PEAK, words.bytes);
	hs_text_free(&label);
	hs_text_free(&words);
	add_row(text, report, hs_end_words(&report->profile->facts), HS_METRIC_LEAKED, "");
	add_row(text, report, "allocated", HS_METRIC_ALLOCATED, "");
	add_row(text, report, "calls", HS_METRIC_CALLS, "");
	add_row(text, report, "temporary", HS_METRIC_TEMPORARY, "");
	if (replay->all.counts.moved)
		add_row(text, report, "moved", HS_METRIC_MOVED, "");
	if (!hs_counts_any(&totals->counts)) {
		add_nothing(text, report);
		return;
	}
	if (hs_report_is_suppressed(report)) {
		hs_suppressed_words(&words, report->profile, report->sites);
		hs_text_add(text, "\n");
		hs_report_paragraph(text, report, "  selected and live, but no leak: ", words.bytes);
		hs_text_free(&words);
	}
	if (replay->unknown & HS_TOLD_MAX_BYTES)
		return;
	hs_text_addf(&words, "%s at %s, in %s%s", hs_size(totals->counts.max_bytes).text,
		     hs_time(totals->max_us).text, hs_counted(totals->counts.max_blocks, "block").text,
		     moment                              ? ""
		     : totals->max_us == totals->peak_us ? ", the moment of the whole program's peak"
							 : "; the peak above is the whole program's moment");
	hs_text_add(text, "\n");
	hs_report_paragraph(text, report, "  most that was selected: ", words.bytes);
	hs_text_free(&words);
}
