/* The flame graph as a picture that needs nothing else: boxes with tooltips, drawn for WIDTH; a script makes
 * it as wide as its window and lets people zoom and search. Its size is bounded by the boxes that are drawn.
 */
#include "flame.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	WIDTH = 1200,
	MARGIN = 10,
	ROW = 18,
	TITLE_Y = 28,
	LINE = 18,
	LABEL_COLUMNS = 200,
};
/* A character of the labels' font, at most: DejaVu Sans Mono's is 0.602 em. */
static const double column_width = 7.25;

struct writing {
	struct hs_flame *flame;
	struct hs_text *text; /* the document */
	struct hs_text words; /* for one thing at a time */
	double top;           /* of the boxes */
};

/* ---- colours --------------------------------------------------------------------------------------------
 */

struct colour {
	unsigned hue, saturation, light, dark; /* degrees; percent; lightness by day and by night */
};

enum { SHADES = 5, HUES = 16, PLUMBING = 16, PLAIN = 17, CLASSES = 18, CHANGES = 7 };

static uint32_t hash(const char *text, size_t count)
{
	uint32_t sum = 2166136261u;
	for (size_t i = 0; i < count; i++)
		sum = (sum ^ (unsigned char)text[i]) * 16777619u;
	return sum ^ sum >> 15;
}

/* Of "<app::Table as core::clone::Clone>::clone": app. Without a scope: nothing. */
static uint32_t hash_crate(const char *name)
{
	name += strspn(name, "<&*( ");
	if (strncmp(name, "mut ", 4) == 0 || strncmp(name, "dyn ", 4) == 0)
		name += 4;
	const char *end = strstr(name, "::");
	return end ? hash(name, (size_t)(end - name)) : 0;
}

/* 3 stands for the same; above it is more, below less: by up to 10 %, up to double or half, beyond. */
static unsigned change_class(uint64_t new, uint64_t old)
{
	double change = new > old ? (double)(new - old) : (double)(old - new), before = (double)old;
	if (new == old)
		return 3;
	if (new > old)
		return change * 10 <= before ? 4 : change <= before ? 5 : 6;
	return change * 10 <= before ? 2 : change * 2 <= before ? 1 : 0;
}

static unsigned class_of(const struct hs_flame *flame, const struct hs_flame_node *node)
{
	const struct hs_flame_label *label = &flame->labels[node->label];
	uint32_t name = hash(label->name, strlen(label->name));
	const char *module = hs_last_component(label->module);
	if (flame->side_count == 2)
		return change_class(node->values[HS_FLAME_NEW], node->values[HS_FLAME_OLD]);
	if (label->code == HS_FLAME_NO_CODE)
		return PLAIN;
	switch (flame->options->flame.palette) {
	case HS_FLAME_MODULE:
		return hash(module, strlen(module)) % HUES;
	case HS_FLAME_RUST:
		return label->code == HS_FLAME_INTERNAL ? PLUMBING : hash_crate(label->name) % HUES;
	case HS_FLAME_MEM:
	case HS_FLAME_HOT:
		return name % HUES;
	default:
		if (label->code == HS_FLAME_INTERNAL)
			return PLUMBING;
		return (label->code == HS_FLAME_OWN ? 0 : SHADES) + name % SHADES;
	}
}

static struct colour colour_of(const struct hs_flame *flame, unsigned class)
{
	static const struct colour changes[CHANGES] = {
		/* blue: less; grey: the same; orange: more. Told apart by colour-blind people, too. */
		{214, 85, 62, 42}, {210, 80, 76, 33}, {208, 60, 87, 25}, {0, 0, 90, 24},
		{36, 75, 84, 23},  {31, 90, 72, 29},  {25, 95, 60, 36},
	};
	unsigned shade = class % SHADES;
	if (flame->side_count == 2)
		return changes[class];
	if (class == PLUMBING)
		return (struct colour){240, 5, 80, 34};
	if (class == PLAIN)
		return (struct colour){240, 5, 88, 26};
	switch (flame->options->flame.palette) {
	case HS_FLAME_MODULE:
	case HS_FLAME_RUST:
		return (struct colour){class * 360 / HUES + 10, 60, 76, 27};
	case HS_FLAME_MEM:
		return (struct colour){100 + 7 * class, 50, 70 + class % 3 * 4, 25 + class % 3 * 3};
	case HS_FLAME_HOT:
		return (struct colour){3 * class + 5, 90, 68 + class % 3 * 4, 19 + class % 3 * 3};
	default:
		if (class < SHADES)
			return (struct colour){22 + 5 * shade, 90, 66 + shade % 3 * 4, 24 + shade % 3 * 2};
		return (struct colour){202 + 5 * shade, 40, 80 + shade % 3 * 3, 26 + shade % 3 * 3};
	}
}

/* One of red, green and blue (offset 0, 8, 4) of a colour given by hue, saturation and lightness, as CSS has
 * it.
 */
static unsigned channel(struct colour colour, unsigned light, unsigned offset)
{
	double k = (30 * offset + colour.hue) % 360 / 30.0, lightness = light / 100.0;
	double part = colour.saturation / 100.0 * (lightness < 0.5 ? lightness : 1 - lightness);
	double slope = k - 3 < 9 - k ? k - 3 : 9 - k;
	slope = slope > 1 ? 1 : slope < -1 ? -1 : slope;
	return (unsigned)(255 * (lightness - part * slope) + 0.5);
}

static void add_colour(struct hs_text *text, struct colour colour, unsigned light)
{
	hs_text_addf(text, "#%02x%02x%02x", channel(colour, light, 0), channel(colour, light, 8),
		     channel(colour, light, 4));
}

static void add_colours(struct writing *writing)
{
	unsigned count = writing->flame->side_count == 2 ? CHANGES : CLASSES;
	for (unsigned night = 0; night < 2; night++) {
		hs_text_add(writing->text, night ? "@media (prefers-color-scheme: dark) {\n" : "");
		for (unsigned class = 0; class < count; class ++) {
			struct colour colour = colour_of(writing->flame, class);
			hs_text_addf(writing->text, "%s.c%u { fill: ", night ? "\t" : "", class);
			add_colour(writing->text, colour, night ? colour.dark : colour.light);
			hs_text_add(writing->text, "; }\n");
		}
		hs_text_add(writing->text, night ? "}\n" : "");
	}
}

/* ---- boxes ----------------------------------------------------------------------------------------------
 */

static double scale(const struct writing *writing, uint64_t units)
{
	uint64_t total = writing->flame->nodes[0].width;
	return total ? (double)units * (WIDTH - 2 * MARGIN) / (double)total : WIDTH - 2 * MARGIN;
}

static double row_y(const struct writing *writing, uint32_t level)
{
	uint32_t row = writing->flame->options->flame.inverted ? level : writing->flame->levels - 1 - level;
	return writing->top + (double)row * ROW;
}

/* The name, and the number too if both fit. */
static void add_fitting(struct hs_text *text, const char *label, const char *number, size_t columns)
{
	size_t both = hs_text_columns(label) + 2 + hs_text_columns(number);
	if (both <= columns)
		hs_text_addf(text, "%s  %s", label, number);
	else
		hs_name_short(text, label, columns, true);
}

/* A rectangle, and as much of its label as fits. */
static void add_rectangle(struct writing *writing, uint64_t first, uint64_t width, uint32_t level,
			  const char *label, const char *number)
{
	struct hs_text shown = {0};
	double x = MARGIN + scale(writing, first), pixels = scale(writing, width), y = row_y(writing, level);
	hs_text_addf(writing->text, "<rect x=\"%.5f\" y=\"%.0f\" width=\"%.5f\" height=\"%d\"/>", x, y,
		     pixels, ROW - 1);
	if (pixels > 3 * column_width + 6) {
		hs_text_addf(writing->text, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
		add_fitting(&shown, label, number, (size_t)((pixels - 6) / column_width));
		hs_xml_add(writing->text, shown.bytes);
		hs_text_add(writing->text, "</text>");
		hs_text_free(&shown);
	}
}

static void add_values(struct writing *writing, const uint64_t values[HS_FLAME_SIDES])
{
	hs_text_addf(writing->text, " data-v=\"%" PRIu64 "\"", values[HS_FLAME_NEW]);
	if (writing->flame->side_count == 2)
		hs_text_addf(writing->text, " data-o=\"%" PRIu64 "\"", values[HS_FLAME_OLD]);
}

static void clear_words(struct writing *writing)
{
	writing->words.count = 0;
	hs_text_add(&writing->words, "");
}

static void add_attribute(struct writing *writing, const char *name, const char *value)
{
	hs_text_addf(writing->text, " %s=\"", name);
	hs_xml_add(writing->text, value);
	hs_text_add(writing->text, "\"");
}

/* Ends the tag of a box; what it shows follows. The lines of the details are ours. */
static void add_details(struct writing *writing, const struct hs_text *details)
{
	hs_text_add(writing->text, "><title>");
	for (char *line = details->bytes, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = 0;
		hs_xml_add(writing->text, line);
		hs_text_add(writing->text, end ? "\n" : "");
	}
	hs_text_add(writing->text, "</title>");
}

static void add_box(struct writing *writing, const struct hs_flame_node *node)
{
	struct hs_text label = {0}, number = {0};
	hs_name_short(&label, writing->flame->labels[node->label].name, LABEL_COLUMNS, true);
	hs_flame_add_short(&number, writing->flame, node->values);
	hs_text_addf(writing->text, "<g class=\"c%u\"", class_of(writing->flame, node));
	add_values(writing, node->values);
	add_attribute(writing, "data-n", label.bytes);
	add_attribute(writing, "data-s", number.bytes);
	clear_words(writing);
	hs_flame_add_details(&writing->words, writing->flame, node);
	add_details(writing, &writing->words);
	add_rectangle(writing, node->first, node->width, node->level, label.bytes, number.bytes);
	hs_text_add(writing->text, "</g>\n");
	hs_text_free(&label);
	hs_text_free(&number);
}

/* Boxes side by side that are too narrow, as one. */
struct run {
	uint64_t first, width, values[HS_FLAME_SIDES];
	uint32_t count, level;
};

static void end_run(struct writing *writing, struct run *run)
{
	if (run->count && run->width >= writing->flame->least) {
		struct hs_text label = {0}, number = {0};
		hs_text_addf(&label, "%s narrow", hs_count(run->count).text);
		hs_flame_add_short(&number, writing->flame, run->values);
		hs_text_add(writing->text, "<g class=\"rest\"");
		add_values(writing, run->values);
		add_attribute(writing, "data-n", label.bytes);
		add_attribute(writing, "data-s", number.bytes);
		clear_words(writing);
		hs_flame_add_joined(&writing->words, writing->flame, run->count, run->values);
		add_details(writing, &writing->words);
		add_rectangle(writing, run->first, run->width, run->level, label.bytes, number.bytes);
		hs_text_add(writing->text, "</g>\n");
		hs_text_free(&label);
		hs_text_free(&number);
	}
	*run = (struct run){0};
}

static void add_to_run(struct writing *writing, struct run *run, const struct hs_flame_node *node)
{
	if (run->first + run->width != node->first)
		end_run(writing, run);
	if (run->count == 0)
		*run = (struct run){.first = node->first, .level = node->level};
	run->width += node->width;
	run->count++;
	for (unsigned side = 0; side < HS_FLAME_SIDES; side++)
		run->values[side] += node->values[side];
}

/* A box, then those on it: depth first, so that the order tells what stands on what. */
static void add_boxes(struct writing *writing, uint32_t index)
{
	const struct hs_flame *flame = writing->flame;
	struct run run = {0};
	add_box(writing, &flame->nodes[index]);
	for (uint32_t child = flame->nodes[index].first_child; child; child = flame->nodes[child].sibling) {
		const struct hs_flame_node *node = &flame->nodes[child];
		if (node->drawn) {
			end_run(writing, &run);
			add_boxes(writing, child);
		} else if (node->width) {
			add_to_run(writing, &run, node);
		}
	}
	end_run(writing, &run);
}

/* ---- the head -------------------------------------------------------------------------------------------
 */

static void add_key(struct writing *writing, double *x, double y, unsigned class, const char *words)
{
	hs_text_addf(writing->text,
		     "<rect class=\"c%u\" x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"14\"/>"
		     "<text class=\"dim\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
		     class, *x, y - 12, *x + 19, y, words);
	*x += 19 + 7.5 * (double)strlen(words) + 14;
}

static void add_legend(struct writing *writing, double y)
{
	static const char *const changes[CHANGES] = {"less than half", "-10 to -50%", "to -10%",     "same",
						     "to +10%",        "to double",   "more, or new"};
	double x = MARGIN;
	if (writing->flame->side_count == 2) {
		for (unsigned class = 0; class < CHANGES; class ++)
			add_key(writing, &x, y, class, changes[class]);
		return;
	}
	switch (writing->flame->options->flame.palette) {
	case HS_FLAME_CODE:
		if (writing->flame->sides[HS_FLAME_NEW].export.profile->module_count == 0)
			break; /* nothing is known of that */
		add_key(writing, &x, y, 1, "own code");
		add_key(writing, &x, y, SHADES + 1, "libraries");
		if (writing->flame->options->raw)
			add_key(writing, &x, y, PLUMBING, "allocators, containers");
		break;
	case HS_FLAME_RUST:
		add_key(writing, &x, y, PLUMBING, "std, alloc, core; colours: crates");
		break;
	case HS_FLAME_MODULE:
		hs_text_addf(writing->text,
			     "<text class=\"dim\" x=\"%.0f\" y=\"%.0f\">colours: the program and its "
			     "libraries</text>\n",
			     x, y);
		break;
	default:
		break;
	}
}

static void add_head(struct writing *writing)
{
	struct hs_text *text = writing->text;
	double y = TITLE_Y;
	hs_text_addf(text, "<g id=\"head\"><rect class=\"back\" width=\"100%%\" height=\"%.0f\"/>\n",
		     writing->top);
	clear_words(writing);
	hs_flame_add_title(&writing->words, writing->flame);
	hs_text_addf(text, "<text id=\"title\" x=\"%d\" y=\"%.0f\">", MARGIN, y);
	hs_xml_add(text, writing->words.bytes);
	hs_text_add(text, "</text>\n");
	clear_words(writing);
	hs_flame_add_lines(&writing->words, writing->flame);
	for (char *line = writing->words.bytes, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		y += LINE;
		hs_text_addf(text, "<text class=\"dim\" x=\"%d\" y=\"%.0f\">", MARGIN, y);
		hs_xml_add(text, line);
		hs_text_add(text, "</text>\n");
	}
	y += LINE + 6;
	add_legend(writing, y);
	hs_text_addf(text, "<text id=\"details\" x=\"%d\" y=\"%.0f\">point at a box for its numbers</text>\n",
		     MARGIN, y + LINE + 4);
	hs_text_add(text, "</g>\n");
}

/* Where the boxes begin: below the title, the lines, the legend, the details, and a chart's ruler. */
static double find_top(struct writing *writing)
{
	double top = TITLE_Y + LINE + 6 + LINE + 4 + 10;
	clear_words(writing);
	hs_flame_add_lines(&writing->words, writing->flame);
	for (const char *at = writing->words.bytes; (at = strchr(at, '\n')); at++)
		top += LINE;
	return top + (writing->flame->options->flame.chart ? ROW : 0);
}

/* Marks that say when. The script makes others for the part that it shows. */
static void add_ruler(struct writing *writing)
{
	const struct hs_flame *flame = writing->flame;
	double y = writing->top - 6, next = 0;
	hs_text_add(writing->text, "<g id=\"time\" data-x=\"");
	for (uint32_t i = 0; i < flame->slice_count; i++)
		hs_text_addf(writing->text, "%s%.3f", i ? " " : "", scale(writing, flame->slice_first[i]));
	hs_text_add(writing->text, "\" data-us=\"");
	for (uint32_t i = 0; i < flame->slice_count; i++)
		hs_text_addf(writing->text, "%s%" PRIu64, i ? " " : "", flame->slice_us[i]);
	hs_text_add(writing->text, "\">\n");
	for (uint32_t i = 0; i < flame->slice_count; i++) {
		double x = scale(writing, flame->slice_first[i]);
		if (x < next || x > WIDTH - 110)
			continue;
		hs_text_addf(writing->text,
			     "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/><text x=\"%.1f\" "
			     "y=\"%.0f\">%s</text>\n",
			     x + MARGIN, x + MARGIN, y - 10, y + 4, x + MARGIN + 4, y,
			     hs_time(flame->slice_us[i]).text);
		next = x + 110;
	}
	hs_text_add(writing->text, "</g>\n");
}

/* ---- the document ---------------------------------------------------------------------------------------
 */

static void add_document(struct writing *writing)
{
	static const char *const units[] = {
		[HS_UNIT_BYTES] = "bytes", [HS_UNIT_CALLS] = "count", [HS_UNIT_TIME] = "time"};
	const struct hs_flame *flame = writing->flame;
	const struct hs_flame_options *options = &flame->options->flame;
	struct hs_text *text = writing->text;
	writing->top = find_top(writing);
	double height = writing->top + (double)flame->levels * ROW + MARGIN;
	hs_text_addf(text,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		     "width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" data-row=\"%d\" data-top=\"%.0f\" "
		     "data-levels=\"%u\" data-inverted=\"%d\" data-unit=\"%s\" data-joined=\"%d\">\n<title>",
		     WIDTH, height, WIDTH, height, ROW, writing->top, flame->levels, options->inverted,
		     units[hs_metrics[flame->options->metric].unit], flame->drawn_count < flame->box_count);
	clear_words(writing);
	hs_flame_add_title(&writing->words, flame);
	hs_xml_add(text, writing->words.bytes);
	hs_text_add(text, "</title>\n<style><![CDATA[\n");
	hs_text_add(text, hs_flame_css);
	add_colours(writing);
	hs_text_add(text, "]]></style>\n<g id=\"boxes\">\n");
	add_boxes(writing, 0);
	hs_text_add(text, "</g>\n");
	add_head(writing);
	if (options->chart)
		add_ruler(writing);
	if (!options->no_javascript) {
		hs_text_add(text, "<script><![CDATA[\n");
		hs_text_add(text, hs_flame_js);
		hs_text_add(text, "]]></script>\n");
	}
	hs_text_add(text, "</svg>\n");
}

int hs_svg_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		 struct hs_error *error)
{
	struct hs_flame flame;
	struct hs_text text = {0};
	int result = hs_flame_make(&flame, profile, options, error);
	if (result == 0) {
		struct writing writing = {.flame = &flame, .text = &text};
		add_document(&writing);
		fwrite(text.bytes, 1, text.count, output);
		hs_text_free(&writing.words);
		hs_text_free(&text);
		result = hs_export_finish(output, "svg", error);
	}
	hs_flame_free(&flame);
	return result;
}
