/* What the program said of itself (heapscope.h): its phases as a table and below the chart, its pauses and
 * pools as lines. */
#include "cli/report.h"

#include "base/memory.h"
#include "base/names.h"
#include "cli/chart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------------------
 */

enum { ROWS_MOST = 20, NUMBERS = 6 + 11 + 12 + 12 + 12 + 12 };

static void add_row(struct hs_text *text, const struct hs_report *report, const struct hs_phase *phase,
		    size_t name_columns)
{
	struct hs_text name = {0}, shown = {0}, change = {0};
	bool shrank = phase->change_bytes < 0;
	uint64_t bytes = shrank ? 0 - (uint64_t)phase->change_bytes : (uint64_t)phase->change_bytes;
	hs_text_clean(&name, report->profile->strings.items[phase->name]);
	hs_middle_short(&shown, name.count ? name.bytes : "", name_columns, report->utf8);
	hs_text_addf(&change, "%s%s", shrank ? "-" : bytes ? "+" : "", hs_size(bytes).text);
	hs_text_add(text, "  ");
	hs_text_left(text, shown.count ? shown.bytes : "", name_columns);
	hs_text_right(text, hs_count(phase->times).text, 6);
	hs_text_right(text, hs_time(phase->total_us).text, 11);
	hs_text_right(text, hs_size(phase->allocated_bytes).text, 12);
	hs_text_right(text, hs_count(phase->allocations).text, 12);
	hs_text_right(text, hs_size(phase->most_bytes).text, 12);
	hs_text_right(text, change.bytes, 12);
	hs_text_add(text, "\n");
	hs_text_free(&name);
	hs_text_free(&shown);
	hs_text_free(&change);
}

void hs_report_phases(struct hs_text *text, const struct hs_report *report)
{
	struct hs_phases phases;
	struct hs_error error = {{0}};
	if (report->sites->replay.unknown & HS_TOLD_EVENTS ||
	    hs_phases_make((struct hs_profile *)report->profile, &phases, &error) != 0)
		return;
	if (phases.count == 0) {
		hs_phases_free(&phases);
		return;
	}
	size_t name_columns = report->columns > NUMBERS + 2 + 14 ? report->columns - NUMBERS - 2 : 14;
	name_columns = name_columns > 40 ? 40 : name_columns;
	hs_report_title(text, report, "PHASES", hs_report_is_filtered(report) ? "of what is selected" : "");
	hs_text_add(text, HS_DIM "  ");
	hs_text_left(text, "phase", name_columns);
	hs_text_addf(text, "%6s%11s%12s%12s%12s%12s" HS_PLAIN "\n", "times", "took", "allocated", "calls",
		     "heap most", "change");
	uint64_t rows = report->rows ? report->rows : UINT64_MAX;
	rows = report->rows && rows < ROWS_MOST ? ROWS_MOST : rows;
	for (uint32_t i = 0; i < phases.count && i < rows; i++)
		add_row(text, report, &phases.items[i], name_columns);
	if (rows < phases.count)
		hs_text_addf(text, "     %s more; -n 0 shows all\n",
			     hs_counted(phases.count - rows, "phase").text);
	hs_phases_free(&phases);
}

/* ---- below the chart ------------------------------------------------------------------------------------
 */

enum { CHART_ROWS_MOST = 8 };

/* Marks that share a row. */
static bool same_row(const struct hs_mark *a, const struct hs_mark *b)
{
	return a->what == b->what && a->name == b->name;
}

static void add_cells(struct hs_text *text, const struct hs_profile *profile, uint32_t first, uint64_t end_us,
		      unsigned columns, bool utf8)
{
	static const char *const cells[][2] = {[HS_MARKED_PHASE] = {"=", "━"},
					       [HS_MARKED_MOMENT] = {"^", "▲"},
					       [HS_MARKED_PAUSE] = {"-", "╌"}};
	const struct hs_mark *row = &profile->marks[first];
	bool *filled = hs_allocate_zero(columns, sizeof(*filled));
	for (uint32_t i = first; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		if (!same_row(mark, row))
			continue;
		uint64_t until = mark->what == HS_MARKED_MOMENT ? mark->time_us
				 : mark->end_us == HS_TIME_NONE ? end_us
								: mark->end_us;
		unsigned from = hs_chart_column(mark->time_us, end_us, columns);
		unsigned to = hs_chart_last_column(until, end_us, columns);
		for (unsigned column = from; column <= to || column == from; column++)
			filled[column] = true;
	}
	unsigned spaces = 0;
	for (unsigned column = 0; column < columns; column++) {
		if (!filled[column]) {
			spaces++;
			continue;
		}
		hs_text_repeat(text, " ", spaces);
		spaces = 0;
		hs_text_add(text, cells[row->what][utf8]);
	}
	free(filled);
}

void hs_chart_marks(struct hs_text *text, const struct hs_profile *profile, uint64_t end_us, unsigned columns,
		    bool utf8)
{
	uint32_t rows[CHART_ROWS_MOST + 1], count = 0, more = 0, pause = UINT32_MAX;
	uint32_t *seen[] = {hs_allocate_zero(profile->strings.count, sizeof(uint32_t)),
			    hs_allocate_zero(profile->strings.count, sizeof(uint32_t))};
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		if (mark->what == HS_MARKED_PAUSE) {
			pause = pause == UINT32_MAX ? i : pause;
			continue;
		}
		if (seen[mark->what == HS_MARKED_MOMENT][mark->name]++)
			continue;
		if (count < CHART_ROWS_MOST)
			rows[count++] = i;
		else
			more++;
	}
	if (pause != UINT32_MAX)
		rows[count++] = pause;
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_mark *mark = &profile->marks[rows[i]];
		struct hs_text name = {0}, label = {0};
		hs_text_clean(&name,
			      mark->what == HS_MARKED_PAUSE ? "paused" : profile->strings.items[mark->name]);
		hs_middle_short(&label, name.count ? name.bytes : "", HS_CHART_LABEL, utf8);
		hs_text_right(text, label.count ? label.bytes : "", HS_CHART_LABEL);
		hs_text_add(text, "  ");
		add_cells(text, profile, rows[i], end_us, columns, utf8);
		hs_text_add(text, "\n");
		hs_text_free(&name);
		hs_text_free(&label);
	}
	if (more) {
		hs_text_repeat(text, " ", HS_CHART_LABEL + 2);
		hs_text_addf(text, HS_DIM "and %s more" HS_PLAIN "\n", hs_counted(more, "name").text);
	}
	for (unsigned i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		free(seen[i]);
}

/* ---- words ----------------------------------------------------------------------------------------------
 */

void hs_pools_words(struct hs_text *words, const struct hs_pool_facts *pools)
{
	hs_text_addf(words, "at most at once out of the program's own pools, %s in all",
		     hs_counted(pools->allocations, "block").text);
	if (pools->slabs)
		hs_text_addf(words, "; not counted: their %s of %s at most",
			     hs_counted(pools->slabs, "slab").text, hs_size(pools->slab_most_bytes).text);
}

bool hs_pauses_words(struct hs_text *words, const struct hs_profile *profile)
{
	struct hs_pauses pauses = hs_pauses_of(profile);
	if (!pauses.count && !profile->facts.skipped_allocations)
		return false;
	if (!pauses.count) { /* merged: nothing is known of time */
		hs_text_addf(words,
			     "%s of %s, while recordings were paused by the program, are not in the numbers",
			     hs_counted(profile->facts.skipped_allocations, "allocation").text,
			     hs_size(profile->facts.skipped_bytes).text);
		return true;
	}
	hs_text_addf(words, "recording was paused %s by the program, for %s: ",
		     pauses.count == 1 ? "once" : hs_counted(pauses.count, "time").text,
		     hs_time(pauses.total_us).text);
	if (profile->facts.end == HS_END_RUNNING)
		hs_text_add(words, "what was allocated meanwhile is not in the numbers");
	else if (profile->facts.skipped_allocations)
		hs_text_addf(words, "%s of %s meanwhile are not in the numbers",
			     hs_counted(profile->facts.skipped_allocations, "allocation").text,
			     hs_size(profile->facts.skipped_bytes).text);
	else
		hs_text_add(words, "nothing was allocated meanwhile");
	return true;
}
