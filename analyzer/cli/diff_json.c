/* The comparison as JSON: raw integers under documented names (docs/json.md). */
#include "cli/diff_report.h"

#include "cli/json.h"
#include "cli/suppress.h"

#include <stdlib.h>

static json_t *counts_json(const struct hs_report *side, const struct hs_counts *counts)
{
	json_t *object = json_object();
	hs_json_put_counts(object, counts, false, side->sites->replay.unknown);
	return object;
}

static json_t *run_json(const struct hs_report *side)
{
	const struct hs_facts *facts = &side->profile->facts;
	json_t *object = json_object();
	hs_json_put(object, "path", hs_json_string(side->path));
	hs_json_put(object, "program", hs_json_string(facts->program));
	hs_json_put(object, "command", hs_json_words(facts->command));
	hs_json_put(object, "duration_us",
		    facts->unknown & HS_TOLD_DURATION_US ? json_null() : hs_json_integer(facts->duration_us));
	hs_json_put(object, "peak_rss_bytes",
		    !(facts->unknown & HS_TOLD_PROCESS) || facts->peak_rss_bytes
			    ? hs_json_integer(facts->peak_rss_bytes)
			    : json_null());
	hs_json_put(object, "lost_events", hs_json_integer(facts->lost_events));
	hs_json_put(object, "stopped", hs_json_string(facts->stopped));
	hs_json_put(object, "warning", hs_json_string(facts->warning));
	hs_json_put(object, "suppressed", hs_suppressed_json(side->profile, side->sites));
	hs_json_put(object, "totals", counts_json(side, &side->sites->replay.totals.counts));
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
	hs_json_put(object, "kind", json_string(kinds[hs_diff_kind(item, report->metric)]));
	hs_json_put(object, "old_sites", hs_json_integer(item->old_count));
	hs_json_put(object, "new_sites", hs_json_integer(item->new_count));
	hs_json_put(object, "old", counts_json(&report->old, &item->old));
	hs_json_put(object, "new", counts_json(&report->new, &item->new));
	for (uint32_t i = first; i < end; i++)
		json_array_append_new(frames,
				      hs_json_frame(side->profile, &side->profile->frames[site->frames[i]]));
	hs_json_put(object, "frames", frames);
	hs_json_put(object, "own_frame",
		    site->own_frame < site->frame_count ? hs_json_integer(site->own_frame - first)
							: json_null());
	return object;
}

void hs_diff_json(struct hs_text *text, const struct hs_diff_report *report)
{
	json_t *document = json_object(), *sites = json_array();
	hs_json_put(document, "schema", json_string("heapscope-diff-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "raw", json_boolean(report->new.raw));
	hs_json_put(document, "by", json_string(report->stacks ? "stack" : "function"));
	hs_json_put(document, "sort", json_string(hs_metrics[report->metric].name));
	hs_json_put(document, "same_program",
		    json_boolean(hs_diff_same_program(&report->old_side, &report->new_side)));
	hs_json_put(document, "old", run_json(&report->old));
	hs_json_put(document, "new", run_json(&report->new));
	hs_json_put(document, "work", hs_json_work(report->work, hs_diff_unknown(report)));
	uint32_t *order = hs_diff_sort(report->diff, report->metric);
	for (uint32_t i = 0; i < report->diff->count && (report->rows == 0 || i < report->rows); i++)
		json_array_append_new(sites, item_json(report, &report->diff->items[order[i]]));
	free(order);
	hs_json_put(document, "site_count", hs_json_integer(report->diff->count));
	hs_json_put(document, "sites", sites);
	hs_json_dump(text, document);
}
