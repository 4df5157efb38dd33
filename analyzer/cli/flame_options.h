/* The options of flame graphs, of `heapscope export`. */
#ifndef HS_FLAME_OPTIONS_H
#define HS_FLAME_OPTIONS_H

#include "cli/options.h"
#include "export/export.h"

struct hs_flame_arguments {
	int chart, reverse, inverted, no_javascript, palette, widths;
	const char *min_width, *title;
};

extern const char *const hs_flame_palettes[], *const hs_flame_widths[]; /* as the enums */

/* Checks what belongs together. Returns 0, or -1 after a message for exit code 2. */
int hs_flame_options_make(struct hs_flame_options *options, const struct hs_flame_arguments *arguments,
			  const struct hs_exporter *exporter, bool compares);

#endif
