/* The heap over time, drawn with characters: a column shows the largest heap of its span of time. */
#include "cli/chart.h"

#include "base/format.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, LABEL = HS_CHART_LABEL };

/* How full a cell is, in steps of 1/8 (UTF-8) or coarser (ASCII). */
static const char *cell(unsigned eighths, bool utf8)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
	return utf8 ? blocks[eighths] : plain[eighths];
}

unsigned hs_chart_column(uint64_t time_us, uint64_t end_us, unsigned columns)
{
	uint64_t column = (uint64_t)((unsigned __int128)time_us * columns / end_us);
	return column < columns ? (unsigned)column : columns - 1;
}

unsigned hs_chart_last_column(uint64_t until_us, uint64_t end_us, unsigned columns)
{
	unsigned __int128 upper = ((unsigned __int128)until_us * columns + end_us - 1) / end_us;
	return upper == 0 ? 0 : upper > columns ? columns - 1 : (unsigned)upper - 1;
}

/* The largest heap in each column. A point holds until the next one. */
static void heap_by_column(const struct hs_replay *replay, uint64_t end_us, uint64_t *heights,
			   unsigned columns)
{
	for (uint32_t i = 0; i < replay->point_count; i++) {
		const struct hs_point *point = &replay->timeline[i];
		uint64_t until = i + 1 < replay->point_count ? point[1].time_us : end_us;
		unsigned first = hs_chart_column(point->time_us, end_us, columns);
		unsigned last = hs_chart_last_column(until, end_us, columns);
		for (unsigned column = first; column <= last || column == first; column++) {
			if (heights[column] < point->heap_bytes)
				heights[column] = point->heap_bytes;
		}
	}
	/* timeline and totals are counted apart: the peak is drawn where the totals say it was */
	uint64_t peak = replay->totals.counts.peak_bytes;
	heights[hs_chart_column(replay->totals.peak_us, end_us, columns)] = peak;
	for (unsigned column = 0; column < columns; column++) {
		if (heights[column] > peak)
			heights[column] = peak;
	}
}

static void add_row(struct hs_text *text, const char *label, unsigned row, const uint64_t *heights,
		    unsigned columns, uint64_t peak, bool utf8)
{
	hs_text_right(text, label, LABEL);
	hs_text_add(text, utf8 ? " ┤" HS_CYAN : " |" HS_CYAN);
	unsigned spaces = 0; /* held back, so that no line ends in them */
	for (unsigned column = 0; column < columns; column++) {
		/* rounded up: a heap that is not empty shows */
		uint64_t level =
			(uint64_t)(((unsigned __int128)heights[column] * ROWS * 8 + peak - 1) / peak);
		uint64_t below = (uint64_t)(ROWS - 1 - row) * 8;
		if (level <= below) {
			spaces++;
			continue;
		}
		hs_text_repeat(text, " ", spaces);
		spaces = 0;
		hs_text_add(text, cell(level - below > 8 ? 8 : (unsigned)(level - below), utf8));
	}
	hs_text_add(text, HS_PLAIN "\n");
}

/* The time axis: 0, the peak where it was, the end. */
static void add_axis(struct hs_text *text, uint64_t peak_us, uint64_t end_us, unsigned columns, bool utf8)
{
	struct hs_text mark = {0};
	unsigned at = hs_chart_column(peak_us, end_us, columns);
	struct hs_number end = hs_time(end_us);
	hs_text_repeat(text, " ", LABEL);
	hs_text_add(text, utf8 ? " └" : " +");
	hs_text_repeat(text, utf8 ? "─" : "-", columns);
	hs_text_add(text, "\n");
	hs_text_repeat(text, " ", LABEL + 2);

	hs_text_addf(&mark, "%s peak %s", utf8 ? "▲" : "^", hs_time(peak_us).text);
	size_t width = hs_text_columns(mark.bytes), start = at;
	if (at + width + 2 + strlen(end.text) >
	    columns) { /* no room on the right: the words stand before the mark */
		hs_text_free(&mark);
		hs_text_addf(&mark, "peak %s %s", hs_time(peak_us).text, utf8 ? "▲" : "^");
		start = at + 1 >= width ? at + 1 - width : 0;
	}
	size_t used = start + width, zero = 3, last = columns - strlen(end.text);
	if (start > zero + 1) {
		hs_text_add(text, "0 s");
		hs_text_repeat(text, " ", start - zero);
	} else {
		hs_text_repeat(text, " ", start);
	}
	hs_text_addf(text, HS_BOLD "%s" HS_PLAIN, mark.bytes);
	if (used + 2 <= last) {
		hs_text_repeat(text, " ", last - used);
		hs_text_add(text, end.text);
	}
	hs_text_add(text, "\n");
	hs_text_free(&mark);
}

static void add_rss(struct hs_text *text, const struct hs_profile *profile, uint64_t end_us, unsigned columns,
		    bool utf8)
{
	uint64_t most = 0, *heights = hs_allocate_zero(columns, sizeof(*heights));
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		const struct hs_sample *sample = &profile->samples[i];
		uint64_t until = i + 1 < profile->sample_count ? sample[1].time_us : end_us;
		unsigned last = hs_chart_last_column(until, end_us, columns);
		unsigned first = hs_chart_column(sample->time_us, end_us, columns);
		for (unsigned column = first; column <= last || column == first; column++) {
			if (heights[column] < sample->rss_bytes)
				heights[column] = sample->rss_bytes;
		}
		if (most < sample->rss_bytes)
			most = sample->rss_bytes;
	}
	if (most) {
		hs_text_right(text, "RSS", LABEL);
		hs_text_add(text, "  " HS_DIM);
		for (unsigned column = 0; column < columns; column++) {
			unsigned __int128 scaled = (unsigned __int128)heights[column] * 8 + most - 1;
			hs_text_add(text, cell((unsigned)(scaled / most), utf8));
		}
		hs_text_addf(text, HS_PLAIN " %s\n", hs_size(most).text);
	}
	free(heights);
}

void hs_chart(struct hs_text *text, const struct hs_profile *profile, const struct hs_replay *replay,
	      unsigned columns, bool utf8)
{
	uint64_t peak = replay->totals.counts.peak_bytes, end_us = profile->facts.duration_us;
	unsigned width =
		(columns > 100 ? 100 : columns) - LABEL - 2 - 11; /* beside the RSS row stands its size */
	if (end_us <= replay->totals.peak_us)
		end_us = replay->totals.peak_us + (replay->totals.peak_us < UINT64_MAX);
	if (peak == 0)
		return;
	uint64_t *heights = hs_allocate_zero(width, sizeof(*heights));
	heap_by_column(replay, end_us, heights, width);
	for (unsigned row = 0; row < ROWS; row++) {
		struct hs_number label = {""};
		if (row == 0 || row == ROWS / 2)
			label = hs_size(row ? peak / 2 : peak);
		add_row(text, label.text, row, heights, width, peak, utf8);
	}
	add_axis(text, replay->totals.peak_us, end_us, width, utf8);
	add_rss(text, profile, end_us, width, utf8);
	hs_chart_marks(text, profile, end_us, width, utf8);
	free(heights);
}
