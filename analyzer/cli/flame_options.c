#include "cli/flame_options.h"

#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

const char *const hs_flame_palettes[] = {"code", "module", "rust", "mem", "hot", NULL};
const char *const hs_flame_widths[] = {"new", "old", "larger", NULL};

enum { MIN_WIDTH = 100, MILLION = 1000000 };

/* "0.5" or "0.5%", in millionths. */
static bool parse_percent(const char *text, uint32_t *millionths)
{
	char *end;
	if (text[strspn(text, "0123456789.%")] != 0)
		return false;
	double percent = strtod(text, &end);
	*millionths = percent < 100 ? (uint32_t)(percent * (MILLION / 100) + 0.5) : MILLION;
	return end > text && percent < 100 && (strcmp(end, "%") == 0 || *end == 0);
}

/* The first option that was given, or NULL. */
static const char *given_option(const struct hs_flame_arguments *arguments)
{
	return arguments->chart           ? "chart"
	       : arguments->reverse       ? "reverse"
	       : arguments->inverted      ? "inverted"
	       : arguments->no_javascript ? "no-javascript"
	       : arguments->palette       ? "palette"
	       : arguments->widths        ? "widths"
	       : arguments->min_width     ? "min-width"
	       : arguments->title         ? "title"
					  : NULL;
}

int hs_flame_options_make(struct hs_flame_options *options, const struct hs_flame_arguments *arguments,
			  const struct hs_exporter *exporter, bool compares)
{
	*options = (struct hs_flame_options){
		.chart = arguments->chart,
		.reverse = arguments->reverse,
		.inverted = arguments->inverted,
		.no_javascript = arguments->no_javascript,
		.palette = (enum hs_flame_palette)arguments->palette,
		.widths = (enum hs_flame_widths)arguments->widths,
		.min_width = MIN_WIDTH,
		.title = arguments->title,
	};
	const char *given = given_option(arguments);
	if (given && !exporter->flame) {
		hs_message("export: --%s is for flame graphs, --format svg; not for %s", given,
			   exporter->name);
		return -1;
	}
	if (arguments->widths && !compares) {
		hs_message("export: --widths is for a comparison; name the older recording with --against");
		return -1;
	}
	if (arguments->chart && compares) {
		hs_message(
			"export: --chart and --against do not go together: two runs have no time in common");
		return -1;
	}
	if (arguments->palette && compares) {
		hs_message("export: --palette and --against do not go together: colours tell what changed");
		return -1;
	}
	if (arguments->min_width && !parse_percent(arguments->min_width, &options->min_width)) {
		hs_message("export: --min-width \"%s\" is no percentage below 100", arguments->min_width);
		return -1;
	}
	return 0;
}
