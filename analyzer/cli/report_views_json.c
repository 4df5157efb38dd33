/* Views as JSON: raw integers under documented names (docs/json.md). */
#include "cli/report.h"

#include "cli/json.h"

static uint64_t limit(const struct hs_report *report, uint64_t rows)
{
	return report->rows && rows > report->rows ? report->rows : rows;
}

static json_t *counts_json(const struct hs_counts *counts, uint32_t unknown)
{
	json_t *object = json_object();
	hs_json_put_counts(object, counts, false, unknown);
	return object;
}

static json_t *tree_json(const struct hs_report *report, struct hs_json_frames *frames, bool bottom_up)
{
	struct hs_tree tree;
	struct hs_tree_wanted wanted = hs_report_tree_wanted(report, bottom_up, true);
	json_t *array = json_array();
	uint32_t unknown = report->sites->replay.unknown;
	hs_tree_make(&tree, report->profile, report->sites, &wanted);
	for (uint32_t i = 0; i < tree.count; i++) {
		const struct hs_tree_node *node = &tree.nodes[i];
		json_t *object = json_object();
		hs_json_put(object, "parent",
			    node->parent == UINT32_MAX ? json_null() : hs_json_integer(node->parent));
		hs_json_put(object, "depth", hs_json_integer(node->depth));
		hs_json_put(object, "frame", hs_json_frames_index(frames, node->frame));
		hs_json_put(object, "one_line", json_boolean(node->one_line));
		hs_json_put(object, "total", counts_json(&node->counts, unknown));
		hs_json_put(object, "self", counts_json(&node->self, unknown));
		hs_json_put(object, "left_out", hs_json_integer(node->left_out_value));
		json_array_append_new(array, object);
	}
	hs_tree_free(&tree);
	return array;
}

static json_t *shares_json(const struct hs_report *report, struct hs_json_frames *frames, enum hs_share_by by)
{
	struct hs_shares shares;
	json_t *array = json_array();
	hs_shares_make(&shares, report->profile, report->sites, by, hs_report_metric(report), report->raw);
	uint64_t rows = limit(report, shares.count);
	for (uint64_t i = 0; i < rows; i++) {
		const struct hs_share_item *item = &shares.items[i];
		json_t *object = json_object();
		hs_json_put(object, "name", *item->name ? hs_json_string(item->name) : json_null());
		if (by == HS_BY_FUNCTION)
			hs_json_put(object, "frame", hs_json_frames_index(frames, item->frame));
		else
			hs_json_put(object, "by_module", json_boolean(item->other));
		hs_json_put(object, "self", counts_json(&item->self, report->sites->replay.unknown));
		hs_json_put(object, "total", counts_json(&item->total, report->sites->replay.unknown));
		json_array_append_new(array, object);
	}
	hs_shares_free(&shares);
	return array;
}

/* The limits of a bucket, the upper one not included; null where there is none. */
static void put_limits(json_t *object, enum hs_parts_by by, uint32_t bucket)
{
	const char *from = by == HS_PARTS_BY_SIZE ? "from_bytes" : "from_us";
	const char *to = by == HS_PARTS_BY_SIZE ? "to_bytes" : "to_us";
	bool live = bucket == HS_BUCKET_LIVE;
	if (by == HS_PARTS_BY_LIFETIME)
		hs_json_put(object, "freed", json_boolean(!live));
	hs_json_put(object, from, live ? json_null() : hs_json_integer(bucket ? 1ULL << (bucket - 1) : 0));
	hs_json_put(object, to, live || bucket > 63 ? json_null() : hs_json_integer(1ULL << bucket));
}

static void put_thread(json_t *object, const struct hs_profile *profile, uint32_t index)
{
	bool known = index < profile->thread_count;
	hs_json_put(object, "number", hs_json_integer(index));
	hs_json_put(object, "tid", known ? hs_json_integer(profile->threads[index].tid) : json_null());
	hs_json_put(object, "name",
		    known ? hs_json_known(profile, profile->threads[index].name) : json_null());
}

static json_t *part_counts_json(const struct hs_counts *counts, enum hs_parts_by by, uint32_t unknown)
{
	if (by != HS_PARTS_BY_LIFETIME)
		return counts_json(counts, unknown);
	json_t *object = json_object();
	hs_json_put(object, "allocations", hs_json_integer(counts->allocations));
	hs_json_put(object, "allocated_bytes", hs_json_integer(counts->allocated_bytes));
	hs_json_put(object, "lifetime_us", hs_json_integer(counts->lifetime_us));
	return object;
}

static json_t *parts_json(const struct hs_report *report, enum hs_parts_by by)
{
	struct hs_parts parts;
	uint32_t unknown = report->sites->replay.unknown;
	if (hs_parts_make(&parts, (struct hs_profile *)report->profile, report->sites, by,
			  hs_report_parts_metric(report, by), NULL) != 0)
		return json_null();
	json_t *array = json_array();
	for (uint32_t i = 0; i < parts.row_count; i++) {
		const struct hs_parts_row *row = &parts.rows[i];
		uint64_t count = limit(report, row->count);
		json_t *object = json_object(), *sites = json_array();
		if (by == HS_PARTS_BY_THREAD)
			put_thread(object, report->profile, row->key);
		else
			put_limits(object, by, row->key);
		hs_json_put(object, "total", part_counts_json(&row->counts, by, unknown));
		for (uint32_t n = row->first; n < row->first + count; n++) {
			json_t *part = json_object();
			hs_json_put(part, "site", hs_json_integer(parts.parts[n].site));
			hs_json_put(part, "counts", part_counts_json(&parts.parts[n].counts, by, unknown));
			json_array_append_new(sites, part);
		}
		hs_json_put(object, "sites", sites);
		json_array_append_new(array, object);
	}
	hs_parts_free(&parts);
	return array;
}

void hs_report_views_json(json_t *document, const struct hs_report *report, struct hs_json_frames *frames)
{
	unsigned views = report->views;
	hs_json_put(document, "sort", json_string(hs_metrics[hs_report_metric(report)].name));
	if (views & 1u << HS_VIEW_TREE)
		hs_json_put(document, "tree", tree_json(report, frames, false));
	if (views & 1u << HS_VIEW_CALLERS)
		hs_json_put(document, "callers", tree_json(report, frames, true));
	if (views & 1u << HS_VIEW_THREADS)
		hs_json_put(document, "by_thread", parts_json(report, HS_PARTS_BY_THREAD));
	if (views & 1u << HS_VIEW_SIZES)
		hs_json_put(document, "by_size", parts_json(report, HS_PARTS_BY_SIZE));
	if (views & 1u << HS_VIEW_LIFETIMES)
		hs_json_put(document, "by_lifetime", parts_json(report, HS_PARTS_BY_LIFETIME));
	if (views & 1u << HS_VIEW_FUNCTIONS)
		hs_json_put(document, "by_function", shares_json(report, frames, HS_BY_FUNCTION));
	if (views & 1u << HS_VIEW_FILES)
		hs_json_put(document, "by_file", shares_json(report, frames, HS_BY_FILE));
	if (views & 1u << HS_VIEW_MODULES)
		hs_json_put(document, "by_module", shares_json(report, frames, HS_BY_MODULE));
	if (views & 1u << HS_VIEW_CRATES)
		hs_json_put(document, "by_crate", shares_json(report, frames, HS_BY_CRATE));
}
