/* The data of the page: a document and its columns (viewer/README.md). */
#include "page.h"

#include "base/memory.h"
#include "json.h"
#include "profile/filter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS_MOST = 256, BINS_LEAST = 64, SAMPLES_MOST = 4096 };

struct making {
	struct hs_page_tree *tree;
	const struct hs_export_options *options;
	const struct hs_page_limits *limits;
	struct hs_page_view view;
	struct hs_columns columns;
	json_t *document, *notes;
};

static void __attribute__((format(printf, 2, 3))) note(struct making *making, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	json_array_append_new(making->notes, json_string(text));
}

/* ---- columns --------------------------------------------------------------------------------------------
 */

static void add_tree(struct making *making)
{
	const struct hs_page_view *view = &making->view;
	const struct hs_page_tree *tree = making->tree;
	struct hs_columns *columns = &making->columns;
	hs_columns_add(columns, "node.depth", view->depths, 4, 4, view->node_count);
	hs_columns_add(columns, "node.frame", view->node_frames, 4, 4, view->node_count);
	HS_COLUMNS_ADD(columns, "frame.function", view->frames, function, view->frame_count);
	HS_COLUMNS_ADD(columns, "frame.file", view->frames, file, view->frame_count);
	HS_COLUMNS_ADD(columns, "frame.line", view->frames, line, view->frame_count);
	HS_COLUMNS_ADD(columns, "frame.module", view->frames, module, view->frame_count);
	HS_COLUMNS_ADD(columns, "frame.address", view->frames, address, view->frame_count);
	HS_COLUMNS_ADD(columns, "frame.flags", view->frames, flags, view->frame_count);
	if (view->stack_count == 0)
		return;
	HS_COLUMNS_ADD(columns, "stack.node", view->stacks, node, view->stack_count);
	HS_COLUMNS_ADD(columns, "stack.folded", view->stacks, folded, view->stack_count);
	HS_COLUMNS_ADD(columns, "stack.own", view->stacks, own, view->stack_count);
	hs_page_counts_add(columns, "stack", &view->stacks->counts[HS_PAGE_NEW], sizeof *view->stacks,
			   view->stack_count, tree->sides[HS_PAGE_NEW].replay.unknown);
	if (tree->sides[HS_PAGE_OLD].profile)
		hs_page_counts_add(columns, "old", &view->stacks->counts[HS_PAGE_OLD], sizeof *view->stacks,
				   view->stack_count, tree->sides[HS_PAGE_OLD].replay.unknown);
}

/* At most SAMPLES_MOST, each the largest of its neighbours. */
static void add_samples(struct making *making, const struct hs_profile *profile, const char *time_name,
			const char *bytes_name)
{
	uint32_t step = profile->sample_count / SAMPLES_MOST + 1, count = 0;
	struct hs_sample *samples = hs_allocate_zero((size_t)SAMPLES_MOST + 1, sizeof *samples);
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		if (i % step == 0)
			samples[count++] = profile->samples[i];
		else if (profile->samples[i].rss_bytes > samples[count - 1].rss_bytes)
			samples[count - 1].rss_bytes = profile->samples[i].rss_bytes;
	}
	HS_COLUMNS_ADD(&making->columns, time_name, samples, time_us, count);
	HS_COLUMNS_ADD(&making->columns, bytes_name, samples, rss_bytes, count);
	free(samples);
}

static void add_time(struct making *making)
{
	const struct hs_page_side *new = &making->tree->sides[HS_PAGE_NEW],
				  *old = &making->tree->sides[HS_PAGE_OLD];
	struct hs_columns *columns = &making->columns;
	HS_COLUMNS_ADD(columns, "timeline.time_us", new->replay.timeline, time_us, new->replay.point_count);
	HS_COLUMNS_ADD(columns, "timeline.heap_bytes", new->replay.timeline, heap_bytes,
		       new->replay.point_count);
	add_samples(making, new->profile, "rss.time_us", "rss.bytes");
	if (!old->profile)
		return;
	HS_COLUMNS_ADD(columns, "old_timeline.time_us", old->replay.timeline, time_us,
		       old->replay.point_count);
	HS_COLUMNS_ADD(columns, "old_timeline.heap_bytes", old->replay.timeline, heap_bytes,
		       old->replay.point_count);
	add_samples(making, old->profile, "old_rss.time_us", "old_rss.bytes");
}

static void add_histograms(struct making *making)
{
	const struct hs_replay *replay = &making->tree->sides[HS_PAGE_NEW].replay;
	struct hs_columns *columns = &making->columns;
	if (replay->unknown & HS_TOLD_EVENTS)
		return;
	hs_columns_add(columns, "size.blocks", replay->size_blocks, 8, 8, HS_BUCKETS);
	hs_columns_add(columns, "size.bytes", replay->size_bytes, 8, 8, HS_BUCKETS);
	hs_columns_add(columns, "lifetime.blocks", replay->lifetime_blocks, 8, 8, HS_BUCKETS);
	hs_columns_add(columns, "age.blocks", replay->lifetime_bytes_blocks, 8, 8, HS_BUCKETS);
}

static void add_strings(struct making *making)
{
	const struct hs_strings *strings = &making->view.strings;
	uint32_t *lengths = hs_allocate_zero(strings->count, sizeof *lengths);
	size_t bytes = 0;
	for (uint32_t i = 0; i < strings->count; i++)
		bytes += lengths[i] = (uint32_t)strlen(strings->items[i]);
	char *text = hs_allocate(bytes + 1), *at = text;
	for (uint32_t i = 0; i < strings->count; i++)
		at = stpcpy(at, strings->items[i]);
	hs_columns_add(&making->columns, "string.length", lengths, 4, 4, strings->count);
	hs_columns_add(&making->columns, "string.bytes", text, 1, 1, bytes);
	free(lengths);
	free(text);
}

/* ---- bins -----------------------------------------------------------------------------------------------
 */

static int heavier_first(const void *left, const void *right, void *context)
{
	const struct hs_page_stack *stacks = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (stacks[a].weight != stacks[b].weight)
		return stacks[a].weight > stacks[b].weight ? -1 : 1;
	return a < b ? -1 : 1;
}

/* Changes of the `alone` heaviest stacks, and of the others together. */
static int make_bins(struct making *making, const uint32_t *order, uint32_t alone, struct hs_bins *bins,
		     struct hs_error *error)
{
	const struct hs_page_side *side = &making->tree->sides[HS_PAGE_NEW];
	const struct hs_page_view *view = &making->view;
	const struct hs_bins_limits limits = {
		.bins_most = BINS_MOST,
		.bins_least = BINS_LEAST,
		.changes_most = making->limits->changes_most,
		.buckets_most = making->limits->buckets_most,
	};
	uint32_t *group_of_stack = hs_allocate_zero((size_t)view->stack_count + 1, sizeof *group_of_stack);
	uint32_t *group_of_node = hs_allocate_zero(side->profile->node_count, sizeof *group_of_node);
	for (uint32_t i = 0; i < view->stack_count; i++)
		group_of_stack[order[i]] = i < alone ? order[i] : view->stack_count;
	for (uint32_t id = 0; id < side->profile->node_count; id++)
		group_of_node[id] =
			group_of_stack[view->stack_of_node[side->node_of_stack[side->stack_of_node[id]]]];
	int result = hs_bins_make(side->profile, group_of_node, view->stack_count + 1, &limits, bins, error);
	free(group_of_stack);
	free(group_of_node);
	return result;
}

static void add_bins(struct making *making, const struct hs_bins *bins)
{
	struct hs_columns *columns = &making->columns;
	hs_columns_add(columns, "bin.end", bins->ends, 4, 4, bins->bin_count);
	HS_COLUMNS_ADD(columns, "change.stack", bins->changes, group, bins->change_count);
	HS_COLUMNS_ADD(columns, "change.allocated_bytes", bins->changes, allocated_bytes, bins->change_count);
	HS_COLUMNS_ADD(columns, "change.allocations", bins->changes, allocations, bins->change_count);
	HS_COLUMNS_ADD(columns, "change.freed_bytes", bins->changes, freed_bytes, bins->change_count);
	HS_COLUMNS_ADD(columns, "change.frees", bins->changes, frees, bins->change_count);
	HS_COLUMNS_ADD(columns, "size_of.stack", bins->sizes, group, bins->size_count);
	HS_COLUMNS_ADD(columns, "size_of.bucket", bins->sizes, bucket, bins->size_count);
	HS_COLUMNS_ADD(columns, "size_of.blocks", bins->sizes, blocks, bins->size_count);
	HS_COLUMNS_ADD(columns, "size_of.bytes", bins->sizes, bytes, bins->size_count);
	HS_COLUMNS_ADD(columns, "lifetime_of.stack", bins->lifetimes, group, bins->lifetime_count);
	HS_COLUMNS_ADD(columns, "lifetime_of.bucket", bins->lifetimes, bucket, bins->lifetime_count);
	HS_COLUMNS_ADD(columns, "lifetime_of.blocks", bins->lifetimes, blocks, bins->lifetime_count);
	if (bins->bin_us && (!bins->sizes || !bins->lifetimes))
		note(making, "There are too many stacks for the sizes and lifetimes of single ones.");
}

static int add_changes(struct making *making, struct hs_error *error)
{
	struct hs_page_view *view = &making->view;
	uint32_t *order = hs_allocate_zero((size_t)view->stack_count + 1, sizeof *order);
	uint32_t alone = view->stack_count;
	struct hs_bins bins;
	for (uint32_t i = 0; i < view->stack_count; i++)
		order[i] = i;
	qsort_r(order, view->stack_count, sizeof *order, heavier_first, view->stacks);
	int result = make_bins(making, order, alone, &bins, error);
	while (result == 1) {
		alone /= 2;
		result = make_bins(making, order, alone, &bins, error);
	}
	free(order);
	if (result != 0)
		return -1;
	if (alone < view->stack_count)
		note(making,
		     "Over time, and by size and lifetime, only the %" PRIu32
		     " largest stacks are told apart; the other %" PRIu32 " are summed up.",
		     alone, view->stack_count - alone);
	hs_json_put(making->document, "bin_us", hs_json_integer(bins.bin_us));
	add_bins(making, &bins);
	hs_bins_free(&bins);
	return 0;
}

/* ---- document -------------------------------------------------------------------------------------------
 */

static const char *last_component(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static void put_side(json_t *object, const struct hs_page_side *side, const char *path)
{
	hs_json_put(object, "path", hs_json_string(last_component(path)));
	hs_json_put(object, "facts", hs_json_facts(&side->profile->facts));
	hs_json_put(object, "totals", hs_json_totals(&side->replay.totals, side->replay.unknown));
	hs_json_put(object, "site_count", hs_json_integer(side->site_count));
}

/* Whether the two did the same amount of work, as `heapscope diff` says it. */
static int put_work(struct making *making, json_t *baseline, struct hs_error *error)
{
	struct hs_profile *new = making->tree->sides[HS_PAGE_NEW].profile;
	struct hs_profile *old = making->tree->sides[HS_PAGE_OLD].profile;
	struct hs_sites new_sites, old_sites;
	if (hs_sites_make(new, making->options->raw, &new_sites, error) != 0)
		return -1;
	if (hs_sites_make(old, making->options->raw, &old_sites, error) != 0) {
		hs_sites_free(&new_sites);
		return -1;
	}
	struct hs_diff diff;
	struct hs_diff_side new_side = {new, &new_sites}, old_side = {old, &old_sites};
	hs_diff_make(&diff, &old_side, &new_side, HS_DIFF_BY_FUNCTION);
	hs_json_put(baseline, "work",
		    hs_json_work(&diff, new_sites.replay.unknown | old_sites.replay.unknown));
	hs_json_put(baseline, "same_program", json_boolean(hs_diff_same_program(&old_side, &new_side)));
	hs_diff_free(&diff);
	hs_sites_free(&new_sites);
	hs_sites_free(&old_sites);
	return 0;
}

static json_t *pruned_json(const struct making *making)
{
	const struct hs_page_view *view = &making->view;
	if (view->pruned_stacks == 0)
		return json_null();
	json_t *object = json_object();
	hs_json_put(object, "stacks", hs_json_integer(view->pruned_stacks));
	hs_json_put_counts(object, &view->pruned, false, making->tree->sides[HS_PAGE_NEW].replay.unknown);
	return object;
}

/* What has not ended lasts until the end of the run. */
static json_t *marks_json(const struct hs_profile *profile)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		bool moment = mark->what == HS_MARKED_MOMENT, open = mark->end_us == HS_TIME_NONE;
		json_t *object = json_object();
		hs_json_put(object, "name",
			    mark->what == HS_MARKED_PAUSE
				    ? json_string("(recording paused)")
				    : hs_json_string(profile->strings.items[mark->name]));
		hs_json_put(object, "time_us", hs_json_integer(mark->time_us));
		hs_json_put(object, "end_us",
			    moment ? json_null()
				   : hs_json_integer(open ? profile->facts.duration_us : mark->end_us));
		json_array_append_new(array, object);
	}
	return array;
}

static int make_document(struct making *making, struct hs_error *error)
{
	const struct hs_export_options *options = making->options;
	const struct hs_page_side *sides = making->tree->sides;
	json_t *document = making->document, *baseline = json_null();
	hs_json_put(document, "schema", json_string("heapscope-page-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	put_side(document, &sides[HS_PAGE_NEW], options->path);
	hs_json_put(document, "raw", json_boolean(options->raw));
	hs_json_put(document, "marks", marks_json(sides[HS_PAGE_NEW].profile));
	hs_json_put(document, "pruned", pruned_json(making));
	add_tree(making);
	add_time(making);
	add_histograms(making);
	if (!hs_filter_selects_all(sides[HS_PAGE_NEW].profile->filter))
		note(making,
		     "A filter was given when the page was made: it has %" PRIu64 " of %" PRIu64
		     " allocations, and their share of the peak.",
		     sides[HS_PAGE_NEW].replay.totals.counts.allocations,
		     sides[HS_PAGE_NEW].replay.all.counts.allocations);
	if (sides[HS_PAGE_NEW].replay.unknown & HS_TOLD_EVENTS)
		note(making,
		     "The file tells nothing of what happened over time, and of sizes and lifetimes.");
	uint32_t summed =
		hs_page_parts_add(&making->columns, &making->view, making->tree, making->limits->parts_most);
	if (summed)
		note(making, "The %" PRIu32 " threads that allocated least are summed up.", summed);
	if (add_changes(making, error) != 0)
		return -1;
	if (sides[HS_PAGE_OLD].profile) {
		baseline = json_object();
		put_side(baseline, &sides[HS_PAGE_OLD], options->baseline_path);
	}
	hs_json_put(document, "baseline", baseline);
	if (sides[HS_PAGE_OLD].profile && put_work(making, baseline, error) != 0)
		return -1;
	hs_json_put(document, "sources",
		    options->sources ? hs_page_sources(&making->view, making->tree,
						       making->limits->source_bytes_most, making->notes)
				     : json_array());
	add_strings(making);
	if (making->view.cut_strings)
		note(making, "Very long names are cut.");
	if (making->columns.inexact)
		note(making, "Numbers above 2^53 are shown as 2^53.");
	hs_json_put(document, "modules", json_incref(making->view.modules));
	hs_json_put(document, "notes", json_incref(making->notes));
	hs_json_put(document, "columns", json_incref(making->columns.directory));
	return 0;
}

/* Head, document, columns. */
static void join(struct making *making, struct hs_page_bytes *data)
{
	enum { HEAD_BYTES = 16 };
	char *text = json_dumps(making->document, JSON_COMPACT);
	size_t length = strlen(text), start = (HEAD_BYTES + length + 7) / 8 * 8;
	data->count = start + making->columns.count;
	data->bytes = hs_allocate_zero(data->count, 1);
	memcpy(data->bytes, "HSPAGE1", 8);
	for (unsigned i = 0; i < 4; i++)
		data->bytes[8 + i] = (uint8_t)(length >> 8 * i);
	memcpy(data->bytes + HEAD_BYTES, text, length);
	if (making->columns.count)
		memcpy(data->bytes + start, making->columns.bytes, making->columns.count);
	free(text);
}

int hs_page_data(struct hs_page_tree *tree, const struct hs_export_options *options,
		 const struct hs_page_limits *limits, struct hs_page_bytes *data, struct hs_error *error)
{
	struct making making = {.tree = tree,
				.options = options,
				.limits = limits,
				.document = json_object(),
				.notes = json_array()};
	hs_columns_start(&making.columns);
	hs_page_view_make(&making.view, tree, limits->nodes_most);
	int result = make_document(&making, error);
	if (result == 0)
		join(&making, data);
	json_decref(making.document);
	json_decref(making.notes);
	hs_columns_free(&making.columns);
	hs_page_view_free(&making.view);
	return result;
}
