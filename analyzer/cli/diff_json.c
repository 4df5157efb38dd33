/* The comparison as JSON: raw integers under documented names (docs/json.md). */
#include "cli/diff_report.h"

#include "cli/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void put(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* A name of unknown origin; bytes that are not UTF-8 are not JSON either. */
static json_t *name(const char *bytes)
{
	if (bytes == NULL)
		return json_null();
	json_t *made = json_string(bytes);
	if (made)
		return made;
	struct hs_text text = {0};
	hs_text_add(&text, "");
	hs_text_clean(&text, bytes);
	made = json_string(text.bytes);
	hs_text_free(&text);
	return made;
}

static json_t *counts_json(const struct hs_counts *counts)
{
	json_t *object = json_object();
	put(object, "allocated_bytes", integer(counts->allocated_bytes));
	put(object, "allocations", integer(counts->allocations));
	put(object, "peak_bytes", integer(counts->peak_bytes));
	put(object, "peak_blocks", integer(counts->peak_blocks));
	put(object, "live_bytes", integer(counts->live_bytes));
	put(object, "live_blocks", integer(counts->live_blocks));
	put(object, "temporary_bytes", integer(counts->temporary_bytes));
	put(object, "temporary", integer(counts->temporary));
	put(object, "moved_bytes", integer(counts->moved_bytes));
	put(object, "moved", integer(counts->moved));
	put(object, "reallocations", integer(counts->reallocations));
	put(object, "lifetime_us", integer(counts->lifetime_us));
	return object;
}

static json_t *run_json(const struct hs_report *side)
{
	const struct hs_facts *facts = &side->profile->facts;
	json_t *object = json_object(), *command = json_array();
	put(object, "path", name(side->path));
	put(object, "program", name(facts->program));
	for (char **word = facts->command; word && *word; word++)
		json_array_append_new(command, name(*word));
	put(object, "command", command);
	put(object, "duration_us", integer(facts->duration_us));
	put(object, "peak_rss_bytes", integer(facts->peak_rss_bytes));
	put(object, "lost_events", integer(facts->lost_events));
	put(object, "stopped", name(facts->stopped));
	put(object, "warning", name(facts->warning));
	put(object, "totals", counts_json(&side->sites->replay.totals.counts));
	return object;
}

static json_t *work_json(const struct hs_diff *work)
{
	static const char *const words[] = {
		[HS_WORK_SAME] = "same", [HS_WORK_MORE] = "more", [HS_WORK_LESS] = "less"};
	json_t *object = json_object();
	put(object, "amount", json_string(words[hs_diff_work(work)]));
	put(object, "common_old_calls", integer(work->common_old_calls));
	put(object, "common_new_calls", integer(work->common_new_calls));
	put(object, "common_old_bytes", integer(work->common_old_bytes));
	put(object, "common_new_bytes", integer(work->common_new_bytes));
	put(object, "appeared_functions", integer(work->appeared));
	put(object, "appeared_calls", integer(work->appeared_calls));
	put(object, "vanished_functions", integer(work->vanished));
	put(object, "vanished_calls", integer(work->vanished_calls));
	return object;
}

static json_t *frame_json(const struct hs_profile *profile, const struct hs_frame *frame)
{
	json_t *object = json_object();
	bool module = frame->module < profile->module_count;
	put(object, "function",
	    frame->function ? name(profile->strings.items[frame->function]) : json_null());
	put(object, "file", frame->file ? name(profile->strings.items[frame->file]) : json_null());
	put(object, "line", frame->line ? integer(frame->line) : json_null());
	put(object, "module",
	    module ? name(profile->strings.items[profile->modules[frame->module].path]) : json_null());
	put(object, "address", integer(frame->address));
	return object;
}

static json_t *item_json(const struct hs_diff_report *report, const struct hs_diff_item *item)
{
	static const char *const kinds[] = {
		[HS_DIFF_GREW] = "grew",         [HS_DIFF_SHRANK] = "shrank", [HS_DIFF_APPEARED] = "appeared",
		[HS_DIFF_VANISHED] = "vanished", [HS_DIFF_SAME] = "same",
	};
	bool new = item->new_site != HS_NO_SITE;
	const struct hs_report *side = new ? &report->new : &report->old;
	const struct hs_site *site = &side->sites->items[new ? item->new_site : item->old_site];
	uint32_t first = 0, end = site->frame_count;
	if (!report->stacks && site->own_frame < end) {
		first = site->own_frame;
		end = first + 1;
	}
	json_t *object = json_object(), *frames = json_array();
	put(object, "kind", json_string(kinds[hs_diff_kind(item, report->metric)]));
	put(object, "old_sites", integer(item->old_count));
	put(object, "new_sites", integer(item->new_count));
	put(object, "old", counts_json(&item->old));
	put(object, "new", counts_json(&item->new));
	for (uint32_t i = first; i < end; i++)
		json_array_append_new(frames,
				      frame_json(side->profile, &side->profile->frames[site->frames[i]]));
	put(object, "frames", frames);
	put(object, "own_frame",
	    site->own_frame < site->frame_count ? integer(site->own_frame - first) : json_null());
	return object;
}

void hs_diff_json(struct hs_text *text, const struct hs_diff_report *report)
{
	json_t *document = json_object(), *sites = json_array();
	put(document, "schema", json_string("heapscope-diff-1"));
	put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	put(document, "raw", json_boolean(report->new.raw));
	put(document, "by", json_string(report->stacks ? "stack" : "function"));
	put(document, "sort", json_string(hs_diff_metric_name(report->metric)));
	put(document, "same_program",
	    json_boolean(hs_diff_same_program(&report->old_side, &report->new_side)));
	put(document, "old", run_json(&report->old));
	put(document, "new", run_json(&report->new));
	put(document, "work", work_json(report->work));
	uint32_t *order = hs_diff_sort(report->diff, report->metric);
	for (uint32_t i = 0; i < report->diff->count && (report->rows == 0 || i < report->rows); i++)
		json_array_append_new(sites, item_json(report, &report->diff->items[order[i]]));
	free(order);
	put(document, "site_count", integer(report->diff->count));
	put(document, "sites", sites);
	char *dump = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	if (dump)
		hs_text_addf(text, "%s\n", dump);
	free(dump);
}
