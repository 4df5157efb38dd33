/* The heap over time, drawn with characters. */
#ifndef HS_CHART_H
#define HS_CHART_H

#include "base/text.h"
#include "profile/profile.h"

#include <stdbool.h>

/* Adds a chart of `columns` width: eight rows of heap, the moment of the peak, a row of RSS, the
 * program's own marks. */
void hs_chart(struct hs_text *text, const struct hs_profile *profile, const struct hs_replay *replay,
	      unsigned columns, bool utf8);

/* The column, of so many, that a moment is drawn in; and the last one that a span up to (not including) a
 * moment reaches into. end_us is the right edge. */
unsigned hs_chart_column(uint64_t time_us, uint64_t end_us, unsigned columns);
unsigned hs_chart_last_column(uint64_t until_us, uint64_t end_us, unsigned columns);
enum { HS_CHART_LABEL = 11 }; /* columns left of it */

/* report_marks.c: rows for the program's phases, marks and pauses below the chart. */
void hs_chart_marks(struct hs_text *text, const struct hs_profile *profile, uint64_t end_us, unsigned columns,
		    bool utf8);

#endif
