/* The heap over time, drawn with characters. */
#ifndef HS_CHART_H
#define HS_CHART_H

#include "base/text.h"
#include "profile/profile.h"

#include <stdbool.h>

/* Adds a chart of `columns` width: eight rows of heap, the moment of the peak, a row of RSS. */
void hs_chart(struct hs_text *text, const struct hs_profile *profile, const struct hs_replay *replay,
	      unsigned columns, bool utf8);

#endif
