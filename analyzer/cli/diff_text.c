/* The comparison of two recordings from top to bottom: what was run, the totals, whether the work was the
 * same, then a table each of what grew, appeared, shrank and vanished. */
#include "cli/diff_report.h"

#include "base/format.h"
#include "base/names.h"
#include "cli/suppress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct metric {
	const char *title, *noun;
	bool bytes;
};
static const struct metric samples = {"SAMPLES", " samples", false};
static const struct metric metrics[HS_DIFF_METRICS] = {
	[HS_METRIC_PEAK] = {"PEAK", "", true},
	[HS_METRIC_ALLOCATED] = {"ALLOCATED BYTES", "", true},
	[HS_METRIC_CALLS] = {"CALLS", " calls", false},
	[HS_METRIC_TEMPORARY] = {"TEMPORARY ALLOCATIONS", " temporary", false},
	[HS_METRIC_LEAKED] = {"LEAK", "", true},
	[HS_METRIC_MOVED] = {"MOVED BYTES", "", true},
};

/* ---- numbers --------------------------------------------------------------------------------------------
 */

static struct hs_number amount(uint64_t value, bool bytes)
{
	return bytes ? hs_size(value) : hs_count(value);
}

static struct hs_number change(uint64_t old, uint64_t new, bool bytes)
{
	struct hs_number number, size = amount(new > old ? new - old : old - new, bytes);
	snprintf(number.text, sizeof(number.text), "%s%.38s",
		 new > old   ? "+"
		 : new < old ? "-"
			     : "",
		 size.text);
	return number;
}

/* "+50.0%" of the old value; "x12.5" from ten times on, "-" where that says nothing. */
static struct hs_number relative(uint64_t old, uint64_t new)
{
	struct hs_number number = {"-"};
	if (old == new || old == 0)
		return number;
	long double ratio = (long double)new / (long double)old;
	if (ratio >= 10) {
		struct hs_number whole = hs_count((uint64_t)(ratio + 0.5L));
		if (ratio < 1000)
			snprintf(number.text, sizeof(number.text), "x%.1Lf", ratio);
		else
			snprintf(number.text, sizeof(number.text), "x%.38s", whole.text);
		return number;
	}
	uint64_t difference = new > old ? new - old : old - new;
	uint64_t tenths = (uint64_t)((long double)difference / (long double)old * 1000 + 0.5L);
	if (tenths == 0)
		snprintf(number.text, sizeof(number.text), "%c<0.1%%", new > old ? '+' : '-');
	else if (tenths >= 1000 && new < old &&new)
		snprintf(number.text, sizeof(number.text), "<-99.9%%");
	else
		snprintf(number.text, sizeof(number.text), "%c%u.%u%%", new > old ? '+' : '-',
			 (unsigned)(tenths / 10), (unsigned)(tenths % 10));
	return number;
}

static bool counts_samples(const struct hs_diff_report *report)
{
	return report->new.profile->facts.subject == HS_SUBJECT_SAMPLES;
}

static const struct metric *metric_of(const struct hs_diff_report *report)
{
	return counts_samples(report) ? &samples : &metrics[report->metric];
}

/* ---- the head -------------------------------------------------------------------------------------------
 */

static void add_side(struct hs_text *text, const char *label, const struct hs_report *side)
{
	const struct hs_facts *facts = &side->profile->facts;
	struct hs_text head = {0}, words = {0};
	hs_text_addf(&head, HS_BOLD "%s" HS_PLAIN "  ", label);
	hs_text_clean(&words, side->path);
	hs_text_add(&words, ": ");
	hs_report_command(&words, facts);
	hs_text_add(text, head.bytes);
	hs_middle_short(text, words.bytes, side->columns - hs_text_columns(head.bytes), side->utf8);
	hs_text_add(text, "\n");
	hs_text_free(&words);
	hs_text_free(&head);
}

static void add_warnings(struct hs_text *text, const struct hs_report *side)
{
	const struct hs_facts *facts = &side->profile->facts;
	const char *const reasons[] = {facts->warning, facts->stopped,
				       facts->lost_events ? "events were lost: its numbers are too low"
							  : NULL};
	for (unsigned i = 0; i < 3; i++) {
		struct hs_text words = {0};
		if (reasons[i] == NULL)
			continue;
		hs_text_clean(&words, side->path);
		hs_text_add(&words, i == 1 ? ": recording ended before the program did: " : ": ");
		hs_text_clean(&words, reasons[i]);
		hs_report_paragraph(text, side, HS_YELLOW "warning:" HS_PLAIN " ", words.bytes);
		hs_text_free(&words);
	}
}

static void add_total(struct hs_text *text, const char *label, uint64_t old, uint64_t new, bool bytes)
{
	hs_text_add(text, "  ");
	hs_text_left(text, label, 11);
	hs_text_right(text, amount(old, bytes).text, 14);
	hs_text_right(text, amount(new, bytes).text, 15);
	hs_text_add(text, HS_BOLD);
	hs_text_right(text, change(old, new, bytes).text, 15);
	hs_text_add(text, HS_PLAIN);
	hs_text_right(text, relative(old, new).text, 10);
	hs_text_add(text, "\n");
}

static void add_totals(struct hs_text *text, const struct hs_diff_report *report)
{
	const struct hs_counts *old = &report->old.sites->replay.totals.counts;
	const struct hs_counts *new = &report->new.sites->replay.totals.counts;
	hs_text_addf(text, "\n" HS_DIM "  %-11s%14s%15s%15s%10s" HS_PLAIN "\n", "", "old", "new", "change",
		     "%");
	for (int metric = 0; metric < HS_DIFF_METRICS; metric++) {
		if (hs_diff_unknown(report) & hs_metrics[metric].told)
			continue;
		add_total(text, counts_samples(report) ? "samples" : hs_metrics[metric].name,
			  hs_metric_value(old, (enum hs_metric)metric),
			  hs_metric_value(new, (enum hs_metric)metric), metrics[metric].bytes);
	}
	const struct hs_facts *old_facts = &report->old.profile->facts;
	const struct hs_facts *new_facts = &report->new.profile->facts;
	if (old_facts->peak_rss_bytes && new_facts->peak_rss_bytes)
		add_total(text, "peak RSS", old_facts->peak_rss_bytes, new_facts->peak_rss_bytes, true);
}

/* What "leaked" leaves out. */
static void add_suppressed(struct hs_text *text, const struct hs_diff_report *report)
{
	struct hs_text old = {0}, new = {0};
	hs_suppressed_words(&old, report->old.profile, report->old.sites);
	hs_suppressed_words(&new, report->new.profile, report->new.sites);
	bool same = old.count && new.count &&strcmp(old.bytes, new.bytes) == 0;
	if (old.count || new.count)
		hs_text_add(text, "\n");
	if (old.count)
		hs_report_paragraph(text, &report->old,
				    same ? "not leaked: " : "not leaked, old: ", old.bytes);
	if (new.count && !same)
		hs_report_paragraph(text, &report->new, "not leaked, new: ", new.bytes);
	hs_text_free(&old);
	hs_text_free(&new);
}

uint32_t hs_diff_unknown(const struct hs_diff_report *report)
{
	return report->old.sites->replay.unknown | report->new.sites->replay.unknown;
}

/* More bytes because more was done, or because the same takes more? Judged by the functions that both have:
 * what came or went is a change of the code. */
static void add_work(struct hs_text *text, const struct hs_diff_report *report)
{
	const struct hs_diff *work = report->work;
	uint64_t old = work->common_old_calls, new = work->common_new_calls;
	struct hs_text words = {0};
	if (counts_samples(report) ||
	    hs_diff_unknown(report) & (HS_TOLD_ALLOCATIONS | HS_TOLD_ALLOCATED_BYTES))
		return;
	if (old == 0 || new == 0) {
		hs_text_add(&words, "the runs have no allocating function in common.");
	} else if (hs_diff_work(work) == HS_WORK_SAME) {
		hs_text_addf(&words, "both did %s amount of work: functions that both have made %s",
			     new == old ? "the same" : "about the same", hs_counted(old, "call").text);
		if (new == old)
			hs_text_add(&words, " in each,");
		else
			hs_text_addf(&words, " in the old run and %s in the new one,", hs_count(new).text);
		hs_text_addf(&words, " of %s on average before and %s now.",
			     hs_size(work->common_old_bytes / old).text,
			     hs_size(work->common_new_bytes / new).text);
	} else {
		hs_text_addf(&words,
			     "the runs did a different amount of work: functions that both have made %s in "
			     "the old run and %s in the new one (%s), of %s on average before and %s now.",
			     hs_counted(old, "call").text, hs_count(new).text, relative(old, new).text,
			     hs_size(work->common_old_bytes / old).text,
			     hs_size(work->common_new_bytes / new).text);
	}
	if (work->appeared)
		hs_text_addf(&words, " %s appeared with %s.", hs_counted(work->appeared, "function").text,
			     hs_counted(work->appeared_calls, "call").text);
	if (work->vanished)
		hs_text_addf(&words, " %s vanished with %s.", hs_counted(work->vanished, "function").text,
			     hs_counted(work->vanished_calls, "call").text);
	hs_text_add(text, "\n");
	hs_report_paragraph(text, &report->new, "work: ", words.bytes);
	hs_text_free(&words);
}

/* ---- the tables -----------------------------------------------------------------------------------------
 */

struct cells {
	struct hs_number change, relative, old, new;
};

static struct cells make_cells(const struct hs_diff_item *item, const struct hs_diff_report *report)
{
	bool bytes = metric_of(report)->bytes;
	uint64_t old = hs_metric_value(&item->old, report->metric);
	uint64_t new = hs_metric_value(&item->new, report->metric);
	return (struct cells){change(old, new, bytes), relative(old, new), amount(old, bytes),
			      amount(new, bytes)};
}

/* The side that shows an item: the new one, if it is there. */
static const struct hs_report *side_of(const struct hs_diff_report *report, const struct hs_diff_item *item,
				       const struct hs_site **site)
{
	const struct hs_report *side = item->new_site == HS_NO_SITE ? &report->old : &report->new;
	*site = &side->sites->items[item->new_site == HS_NO_SITE ? item->old_site : item->new_site];
	return side;
}

static void widen(size_t *columns, size_t width)
{
	if (width > *columns)
		*columns = width;
}

static void add_row(struct hs_text *text, const struct hs_diff_report *report,
		    const struct hs_diff_item *item, const size_t widths[4])
{
	const struct hs_site *site;
	const struct hs_report *side = side_of(report, item, &site);
	struct cells cells = make_cells(item, report);
	size_t left = widths[0] + widths[1] + widths[2] + widths[3] + 9;
	size_t rest = side->columns > left + 24 ? side->columns - left : 24;
	size_t place = rest * 2 / 5;
	hs_text_add(text, " " HS_BOLD);
	hs_text_right(text, cells.change.text, widths[0]);
	hs_text_add(text, HS_PLAIN "  ");
	hs_text_right(text, cells.relative.text, widths[1]);
	hs_text_add(text, "  ");
	hs_text_right(text, cells.old.text, widths[2]);
	hs_text_add(text, "  ");
	hs_text_right(text, cells.new.text, widths[3]);
	hs_text_add(text, "  ");
	hs_frame_row(text, side, site->own, rest - place - 2, place);
	hs_text_add(text, "\n");
	if (!report->stacks)
		return;
	for (uint32_t i = 0; i < site->frame_count; i++) {
		if (report->new.depth && i == report->new.depth) {
			hs_text_addf(text, "      %s %s more; --depth 0 shows all\n",
				     side->utf8 ? "…" : "...",
				     hs_counted(site->frame_count - i, "frame").text);
			break;
		}
		hs_text_add(text, i == site->own_frame ? "    > " : "      ");
		hs_frame_row(text, side, site->frames[i], side->columns - 40, 32);
		hs_text_add(text, "\n");
	}
}

static uint64_t changed_by(const struct hs_diff_item *item, enum hs_metric metric)
{
	uint64_t old = hs_metric_value(&item->old, metric), new = hs_metric_value(&item->new, metric);
	return new > old ? new - old : old - new;
}

static void add_table(struct hs_text *text, const struct hs_diff_report *report, const uint32_t *order,
		      enum hs_diff_kind kind, const char *title, bool up)
{
	const struct hs_diff *diff = report->diff;
	const struct metric *metric = metric_of(report);
	const char *noun = report->stacks ? "stack" : "function";
	uint64_t sum = 0, shown_sum = 0;
	uint32_t count = 0, shown = 0;
	size_t widths[4] = {6, 1, 3, 3};
	for (uint32_t i = 0; i < diff->count; i++) {
		const struct hs_diff_item *item = &diff->items[order[i]];
		if (hs_diff_kind(item, report->metric) != kind)
			continue;
		count++;
		sum += changed_by(item, report->metric);
		if (report->rows && shown >= report->rows)
			continue;
		shown++;
		shown_sum += changed_by(item, report->metric);
		struct cells cells = make_cells(item, report);
		widen(&widths[0], strlen(cells.change.text));
		widen(&widths[1], strlen(cells.relative.text));
		widen(&widths[2], strlen(cells.old.text));
		widen(&widths[3], strlen(cells.new.text));
	}
	if (count == 0)
		return;
	struct hs_text head = {0}, right = {0};
	hs_text_addf(&head, "%s BY %s", title, metric->title);
	hs_text_addf(&right, "%s of %s, %s%s", hs_count(shown).text, hs_counted(count, noun).text,
		     change(up ? 0 : sum, up ? sum : 0, metric->bytes).text, metric->noun);
	hs_report_title(text, &report->new, head.bytes, right.bytes);
	hs_text_free(&head);
	hs_text_free(&right);
	hs_text_add(text, HS_DIM " ");
	hs_text_right(text, "change", widths[0]);
	hs_text_add(text, "  ");
	hs_text_right(text, "%", widths[1]);
	hs_text_add(text, "  ");
	hs_text_right(text, "old", widths[2]);
	hs_text_add(text, "  ");
	hs_text_right(text, "new", widths[3]);
	hs_text_add(text, "  site" HS_PLAIN "\n");
	for (uint32_t i = 0, row = 0; i < diff->count && row < shown; i++) {
		const struct hs_diff_item *item = &diff->items[order[i]];
		if (hs_diff_kind(item, report->metric) != kind)
			continue;
		add_row(text, report, item, widths);
		row++;
	}
	if (shown < count)
		hs_text_addf(text, "    %s more %s%s, %s; -n 0 shows all\n", hs_count(count - shown).text,
			     noun, count - shown == 1 ? "" : "s",
			     change(up ? 0 : sum - shown_sum, up ? sum - shown_sum : 0, metric->bytes).text);
}

static void add_rest(struct hs_text *text, const struct hs_diff_report *report)
{
	const char *noun = report->stacks ? "stack" : "function";
	uint32_t same = 0, otherwise = 0;
	for (uint32_t i = 0; i < report->diff->count; i++) {
		const struct hs_diff_item *item = &report->diff->items[i];
		if (hs_diff_kind(item, report->metric) != HS_DIFF_SAME)
			continue;
		bool differs = false;
		for (int metric = 0; metric < HS_DIFF_METRICS; metric++)
			differs |= hs_diff_kind(item, (enum hs_metric)metric) != HS_DIFF_SAME;
		same += !differs;
		otherwise += differs;
	}
	hs_text_add(text, "\n");
	struct hs_text words = {0};
	hs_text_addf(&words, "%s %s the same in both runs", hs_counted(same, noun).text,
		     same == 1 ? "is" : "are");
	if (otherwise)
		hs_text_addf(&words, ", %s differ%s only in another metric: see --sort",
			     hs_count(otherwise).text, otherwise == 1 ? "s" : "");
	hs_report_paragraph(text, &report->new, "note: ", words.bytes);
	hs_text_free(&words);
}

void hs_diff_text(struct hs_text *text, const struct hs_diff_report *report)
{
	static const struct {
		enum hs_diff_kind kind;
		const char *title;
		bool up;
	} tables[] = {{HS_DIFF_GREW, "GREW", true},
		      {HS_DIFF_APPEARED, "APPEARED", true},
		      {HS_DIFF_SHRANK, "SHRANK", false},
		      {HS_DIFF_VANISHED, "VANISHED", false}};
	add_side(text, "old", &report->old);
	add_side(text, "new", &report->new);
	add_warnings(text, &report->old);
	add_warnings(text, &report->new);
	if (!hs_diff_same_program(&report->old_side, &report->new_side))
		hs_report_paragraph(text, &report->new, HS_YELLOW "note:" HS_PLAIN " ",
				    "these are two different programs; what has the same names in both is "
				    "compared all the same");
	add_totals(text, report);
	add_suppressed(text, report);
	add_work(text, report);
	uint32_t *order = hs_diff_sort(report->diff, report->metric);
	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		add_table(text, report, order, tables[i].kind, tables[i].title, tables[i].up);
	free(order);
	add_rest(text, report);
}
