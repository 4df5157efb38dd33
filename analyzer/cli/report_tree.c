/* The views of functions: as a tree, from main down or from the allocating functions up, and as tables. */
#include "cli/report.h"

#include "base/memory.h"
#include "base/names.h"
#include "profile/filter.h"
#include "profile/shares.h"
#include "profile/tree.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PLACE = 34, DEEPEST_INDENT = 40 };

/* "BY PEAK", "LIVE AT 3.00 s" */
void hs_report_by(struct hs_text *text, const struct hs_report *report, enum hs_metric metric)
{
	static const char *const words[HS_METRICS] = {
		[HS_METRIC_PEAK] = "BY PEAK",         [HS_METRIC_ALLOCATED] = "BY ALLOCATED BYTES",
		[HS_METRIC_CALLS] = "BY CALLS",       [HS_METRIC_TEMPORARY] = "BY TEMPORARY ALLOCATIONS",
		[HS_METRIC_LEAKED] = "BY LEAK",       [HS_METRIC_MOVED] = "BY MOVED BYTES",
		[HS_METRIC_LIFETIME] = "BY LIFETIME",
	};
	const struct hs_filter *filter = report->profile->filter;
	if (metric == HS_METRIC_PEAK && filter && filter->at_us != HS_TIME_NONE)
		hs_text_addf(text, "LIVE AT %s", hs_time(filter->at_us).text);
	else
		hs_text_add(text, report->profile->facts.subject == HS_SUBJECT_SAMPLES ? "BY SAMPLES"
										       : words[metric]);
}

void hs_report_view_title(struct hs_text *text, const struct hs_report *report, const char *view,
			  enum hs_metric metric, const char *more)
{
	struct hs_text title = {0}, right = {0};
	hs_text_addf(&title, "%s ", view);
	hs_report_by(&title, report, metric);
	hs_text_add(&right, more);
	hs_text_add(&right, "100% is ");
	hs_report_whole(&right, report, metric);
	hs_report_title(text, report, title.bytes, right.bytes);
	hs_text_free(&title);
	hs_text_free(&right);
}

/* ---- trees ----------------------------------------------------------------------------------------------
 */

struct drawing {
	const struct hs_report *report;
	const struct hs_tree *tree;
	enum hs_metric metric;
	uint64_t total;
	bool bottom_up;
	/* of each level: what stands before the lines of what is below it */
	struct hs_text indents;
	uint32_t *indent_length; /* by depth */
	uint32_t depth_capacity;
};

static const char *branch_mark(const struct drawing *drawing, bool last)
{
	if (drawing->report->utf8)
		return last ? "└─ " : "├─ ";
	return last ? "`- " : "|- ";
}

/* Only where a node has several branches do they get a mark, and stand further in. */
static bool is_branch(const struct drawing *drawing, const struct hs_tree_node *node)
{
	if (node->parent == UINT32_MAX)
		return false;
	const struct hs_tree_node *parent = &drawing->tree->nodes[node->parent];
	return parent->children + (parent->left_out > 0) > 1 ||
	       hs_metric_value(&parent->self, drawing->metric) > 0;
}

static void add_line(struct hs_text *text, const struct drawing *drawing, uint64_t value,
		     const struct hs_text *indent, const char *mark, const char *words, const char *place)
{
	const struct hs_report *report = drawing->report;
	struct hs_text left = {0}, name = {0};
	hs_text_right(&left, hs_amount(drawing->metric, value).text, 10);
	hs_text_addf(&left, " %6s  ", hs_share(value, drawing->total).text);
	hs_text_add_bytes(&name, indent->bytes ? indent->bytes : "", indent->count);
	hs_text_add(&name, mark);
	size_t used = hs_text_columns(left.bytes) + hs_text_columns(name.bytes);
	size_t room = report->columns > used ? report->columns - used : 0, width = hs_text_columns(place);
	size_t most = room > width + 14 ? room - width - (width ? 2 : 0) : room;
	struct hs_text shown = {0};
	hs_name_short(&shown, words, most, report->utf8);
	hs_text_addf(text, "%s%s%s", left.bytes, name.bytes, shown.bytes);
	if (width && room > width + 14) {
		hs_text_repeat(text, " ", most - hs_text_columns(shown.bytes) + 2);
		hs_text_addf(text, HS_DIM "%s" HS_PLAIN, place);
	}
	hs_text_add(text, "\n");
	hs_text_free(&shown);
	hs_text_free(&left);
	hs_text_free(&name);
}

static void frame_words(struct hs_text *name, struct hs_text *place, const struct drawing *drawing,
			const struct hs_tree_node *node)
{
	const struct hs_profile *profile = drawing->report->profile;
	hs_text_add(name, "");
	hs_text_add(place, "");
	if (node->frame == UINT32_MAX) {
		hs_text_add(name, "(no stack)");
		return;
	}
	const struct hs_frame *frame = &profile->frames[node->frame];
	if (frame->function)
		hs_text_add(name, profile->strings.items[frame->function]);
	else
		hs_frame_name(name, drawing->report, node->frame, 40);
	if (frame->file)
		hs_place_short(place, profile->strings.items[frame->file], node->one_line ? frame->line : 0,
			       profile->facts.cwd, MOST_PLACE, drawing->report->utf8);
	else
		hs_frame_place(place, drawing->report, node->frame, MOST_PLACE);
}

static void add_rest(struct hs_text *text, const struct drawing *drawing, const struct hs_text *indent,
		     uint32_t count, uint64_t value, bool cut, bool root)
{
	struct hs_text words = {0};
	if (value == 0)
		return;
	if (cut)
		hs_text_add(&words, "(deeper; --depth 0 shows all)");
	else
		hs_text_addf(&words, "(%s more; -n 0 shows all)", hs_count(count).text);
	add_line(text, drawing, value, indent, cut || root ? "" : branch_mark(drawing, true), words.bytes,
		 "");
	hs_text_free(&words);
}

/* Sets the indent for what is below a node, and returns its length. */
static uint32_t indent_below(struct drawing *drawing, const struct hs_tree_node *node, uint32_t before)
{
	bool branch = is_branch(drawing, node);
	const struct hs_tree_node *parent = branch ? &drawing->tree->nodes[node->parent] : NULL;
	bool more = branch && !(node->last && parent->left_out == 0);
	drawing->indents.count = before;
	/* what is very deep stays at the same column, or there would be none left */
	if (branch && node->depth < DEEPEST_INDENT)
		hs_text_add(&drawing->indents, more ? (drawing->report->utf8 ? "│  " : "|  ") : "   ");
	return (uint32_t)drawing->indents.count;
}

/* The rests of nodes whose branches have all been drawn, from `depth` down to `above`. */
static void close_nodes(struct hs_text *text, struct drawing *drawing, const uint32_t *open, uint32_t depth,
			uint32_t above)
{
	while (depth > above) {
		const struct hs_tree_node *node = &drawing->tree->nodes[open[--depth]];
		drawing->indents.count = drawing->indent_length[depth + 1];
		add_rest(text, drawing, &drawing->indents, node->left_out, node->left_out_value, node->cut,
			 false);
	}
}

static void draw_tree(struct hs_text *text, struct drawing *drawing)
{
	const struct hs_tree *tree = drawing->tree;
	uint32_t deepest = 0, depth = 0;
	for (uint32_t i = 0; i < tree->count; i++)
		deepest = tree->nodes[i].depth > deepest ? tree->nodes[i].depth : deepest;
	uint32_t *open = hs_allocate_zero((size_t)deepest + 2, sizeof(*open));
	drawing->indent_length = hs_allocate_zero((size_t)deepest + 3, sizeof(uint32_t));
	hs_text_add(&drawing->indents, "");
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct hs_tree_node *node = &tree->nodes[i];
		struct hs_text name = {0}, place = {0};
		close_nodes(text, drawing, open, depth, node->depth);
		depth = node->depth;
		drawing->indents.count = drawing->indent_length[depth];
		bool last =
			node->parent != UINT32_MAX && node->last && tree->nodes[node->parent].left_out == 0;
		frame_words(&name, &place, drawing, node);
		if (node->parent == UINT32_MAX && i)
			hs_text_add(text, "\n");
		add_line(text, drawing, hs_metric_value(&node->counts, drawing->metric), &drawing->indents,
			 is_branch(drawing, node) ? branch_mark(drawing, last) : "", name.bytes, place.bytes);
		open[depth] = i;
		drawing->indent_length[depth + 1] =
			indent_below(drawing, node, drawing->indent_length[depth]);
		/* below main: what main allocated itself, where the branches do not make up all of it */
		uint64_t self = hs_metric_value(&node->self, drawing->metric);
		if (self && (node->children || node->left_out_value)) {
			drawing->indents.count = drawing->indent_length[depth + 1];
			add_line(text, drawing, self, &drawing->indents, branch_mark(drawing, false),
				 drawing->bottom_up ? "(called by nobody)" : "(itself)", "");
		}
		depth++;
		hs_text_free(&name);
		hs_text_free(&place);
	}
	close_nodes(text, drawing, open, depth, 0);
	drawing->indents.count = 0;
	if (tree->left_out_value)
		add_rest(text, drawing, &drawing->indents, tree->left_out, tree->left_out_value, false, true);
	free(open);
	free(drawing->indent_length);
	hs_text_free(&drawing->indents);
}

struct hs_tree_wanted hs_report_tree_wanted(const struct hs_report *report, bool bottom_up, bool whole)
{
	enum hs_metric metric = hs_report_metric(report);
	uint64_t total = hs_metric_value(&report->sites->replay.totals.counts, metric);
	return (struct hs_tree_wanted){
		.bottom_up = bottom_up,
		.raw = report->raw,
		.metric = metric,
		.least = whole || report->rows == 0 ? 0 : total / 200,
		.children_most = report->rows > UINT32_MAX ? 0 : (uint32_t)report->rows,
		.depth_most = report->depth > UINT32_MAX ? 0 : (uint32_t)report->depth,
	};
}

void hs_report_tree(struct hs_text *text, const struct hs_report *report, bool bottom_up)
{
	struct hs_tree tree;
	struct hs_tree_wanted wanted = hs_report_tree_wanted(report, bottom_up, false);
	struct drawing drawing = {
		.report = report,
		.tree = &tree,
		.metric = wanted.metric,
		.total = hs_metric_value(&report->sites->replay.totals.counts, wanted.metric),
		.bottom_up = bottom_up,
	};
	hs_report_view_title(text, report, bottom_up ? "CALLERS" : "TREE", wanted.metric,
			     bottom_up ? "callers below; " : "callees below; ");
	hs_tree_make(&tree, report->profile, report->sites, &wanted);
	if (tree.count == 0)
		hs_text_add(text, "  nothing\n");
	else
		draw_tree(text, &drawing);
	hs_tree_free(&tree);
}

/* ---- tables ---------------------------------------------------------------------------------------------
 */

static void share_words(struct hs_text *name, struct hs_text *place, const struct hs_report *report,
			enum hs_share_by by, const struct hs_share_item *item, size_t columns)
{
	struct hs_text clean = {0};
	hs_text_add(name, "");
	hs_text_add(place, "");
	hs_text_clean(&clean, item->name);
	if (by == HS_BY_FUNCTION) {
		hs_frame_name(name, report, item->frame, columns);
		const struct hs_profile *profile = report->profile;
		const struct hs_frame *frame =
			item->frame == UINT32_MAX ? NULL : &profile->frames[item->frame];
		if (frame && frame->file)
			hs_place_short(place, profile->strings.items[frame->file], 0, profile->facts.cwd, 24,
				       report->utf8);
		else if (frame)
			hs_frame_place(place, report, item->frame, 24);
	} else if (item->frame == UINT32_MAX) {
		hs_text_add(name, "(no stack)");
	} else if (item->other) {
		hs_text_add(name, by == HS_BY_FILE ? "(no file: " : "(no crate: ");
		hs_middle_short(name, clean.count ? hs_last_component(clean.bytes) : "generated code",
				columns > 13 ? columns - 13 : 1, report->utf8);
		hs_text_add(name, ")");
	} else if (by == HS_BY_CRATE) {
		hs_middle_short(name, clean.bytes, columns, report->utf8);
	} else if (clean.count == 0) {
		hs_text_add(name, "(generated code)");
	} else if (by == HS_BY_FILE) {
		hs_place_short(name, item->name, 0, report->profile->facts.cwd, columns, report->utf8);
	} else {
		const char *folder = report->profile->facts.cwd;
		size_t length = folder ? strlen(folder) : 0;
		bool below =
			length > 1 && strncmp(clean.bytes, folder, length) == 0 && clean.bytes[length] == '/';
		hs_middle_short(name, clean.bytes + (below ? length + 1 : 0), columns, report->utf8);
	}
	hs_text_free(&clean);
}

static void add_share_rows(struct hs_text *text, const struct hs_report *report, enum hs_share_by by,
			   const struct hs_shares *shares, uint32_t rows)
{
	enum hs_metric metric = hs_report_metric(report);
	uint64_t all = hs_metric_value(&report->sites->replay.totals.counts, metric);
	static const char *const nouns[] = {"function", "file", "module", "crate"};
	size_t left = 10 + 1 + 6 + 2 + 12 + 1 + 6 + 2;
	size_t rest = report->columns - left;
	hs_text_addf(text, HS_DIM "%10s %6s  %12s %6s  %s" HS_PLAIN "\n", "itself", "%", "with callees", "%",
		     nouns[by]);
	for (uint32_t i = 0; i < rows; i++) {
		const struct hs_share_item *item = &shares->items[i];
		uint64_t self = hs_metric_value(&item->self, metric),
			 sum = hs_metric_value(&item->total, metric);
		struct hs_text name = {0}, place = {0};
		share_words(&name, &place, report, by, item, rest);
		size_t width = hs_text_columns(place.bytes);
		if (width && hs_text_columns(name.bytes) + 2 + width > rest) {
			hs_text_free(&name);
			hs_text_free(&place);
			share_words(&name, &place, report, by, item, rest - width - 2);
		}
		hs_text_right(text, hs_amount(metric, self).text, 10);
		hs_text_addf(text, " %6s  " HS_BOLD, self ? hs_share(self, all).text : "");
		hs_text_right(text, hs_amount(metric, sum).text, 12);
		hs_text_addf(text, HS_PLAIN " %6s  ", hs_share(sum, all).text);
		hs_text_add(text, name.bytes);
		if (width) {
			hs_text_repeat(text, " ", rest - hs_text_columns(name.bytes) - width);
			hs_text_addf(text, HS_DIM "%s" HS_PLAIN, place.bytes);
		}
		hs_text_add(text, "\n");
		hs_text_free(&name);
		hs_text_free(&place);
	}
}

void hs_report_shares(struct hs_text *text, const struct hs_report *report, enum hs_share_by by)
{
	static const char *const titles[] = {"FUNCTIONS", "FILES", "MODULES", "CRATES"};
	static const char *const nouns[] = {"function", "file", "module", "crate"};
	enum hs_metric metric = hs_report_metric(report);
	struct hs_shares shares;
	hs_shares_make(&shares, report->profile, report->sites, by, metric, report->raw);
	uint32_t count =
		0; /* those with something of the metric stand first, of their own or of what they call */
	uint64_t all = hs_metric_value(&report->sites->replay.totals.counts, metric), shown = 0;
	while (count < shares.count && hs_metric_value(&shares.items[count].total, metric))
		count++;
	uint32_t rows = report->rows && report->rows < count ? (uint32_t)report->rows : count;
	struct hs_text more = {0};
	hs_text_addf(&more, "%s of %s, ", hs_count(rows).text, hs_counted(count, nouns[by]).text);
	hs_report_view_title(text, report, titles[by], metric, count ? more.bytes : "");
	hs_text_free(&more);
	if (count == 0)
		hs_text_add(text, "  nothing\n");
	else
		add_share_rows(text, report, by, &shares, rows);
	for (uint32_t i = 0; i < rows; i++)
		shown += hs_metric_value(&shares.items[i].self, metric);
	if (rows < count)
		hs_text_addf(text, "%10s %6s  in %s more %s%s; -n 0 shows all\n",
			     hs_amount(metric, all - shown).text, hs_share(all - shown, all).text,
			     hs_count(count - rows).text, nouns[by], count - rows == 1 ? "" : "s");
	hs_shares_free(&shares);
}
