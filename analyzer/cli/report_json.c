/* The report as JSON: raw integers under documented names (docs/json.md). */
#include "cli/report.h"

#include "cli/json.h"
#include "cli/suppress.h"
#include "export/numbers.h"
#include "profile/filter.h"
#include "profile/fold.h"

#include <stdlib.h>

static void add_site(struct hs_text *text, const struct hs_report *report, const struct hs_site *site,
		     const uint32_t *number_of_frame, const struct hs_number_text *numbers)
{
	hs_text_add(text, "{");
	hs_json_add_counts(text, site->counts, report->sites->replay.unknown);
	hs_text_add(text, "\"own_frame\":");
	if (site->own_frame < site->frame_count)
		hs_json_add_integer(text, site->own_frame);
	else
		hs_text_add(text, "null");
	hs_text_add(text, ",\"folded_frames\":");
	hs_json_add_integer(text, site->folded_frames);
	hs_text_add(text, ",\"frames\":[");
	char *at = hs_text_room(text, (size_t)site->frame_count * HS_NUMBER_ROOM);
	for (uint32_t position = 0; position < site->frame_count; position++)
		at = hs_put_number(at, &numbers[number_of_frame[site->frames[position]] - 1]);
	text->count = (size_t)(at - text->bytes) - (site->frame_count > 0); /* without the last comma */
	hs_text_add(text, "],\"suppression\":");
	if (site->suppression)
		hs_json_add(text, hs_suppression_of_site_json(report->profile, site));
	else
		hs_text_add(text, "null");
	hs_text_add(text, "}");
}

static uint32_t site_rows(const struct hs_report *report)
{
	uint32_t count = report->sites->count;
	return report->rows && report->rows < count ? (uint32_t)report->rows : count;
}

static void number_frames_of_sites(const struct hs_report *report, struct hs_json_frames *frames)
{
	uint32_t count = site_rows(report);
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_site *site = &report->sites->items[i];
		for (uint32_t position = 0; position < site->frame_count; position++)
			hs_json_frames_number(frames, site->frames[position]);
	}
}

/* The sites as text, not as a tree: there may be very many. */
static void add_sites(struct hs_text *text, const struct hs_report *report, const uint32_t *number_of_frame)
{
	uint32_t count = site_rows(report);
	struct hs_number_text *numbers = hs_number_texts(report->profile->frame_count);
	hs_text_add(text, "[");
	for (uint32_t i = 0; i < count; i++) {
		hs_text_add(text, i ? "," : "");
		add_site(text, report, &report->sites->items[i], number_of_frame, numbers);
	}
	hs_text_add(text, "]");
	free(numbers);
}

static json_t *pair(uint64_t time_us, uint64_t bytes)
{
	json_t *array = json_array();
	json_array_append_new(array, hs_json_integer(time_us));
	json_array_append_new(array, hs_json_integer(bytes));
	return array;
}

static json_t *patterns_json(const struct hs_patterns *patterns)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < patterns->count; i++)
		json_array_append_new(array, hs_json_string(patterns->items[i].text));
	return array;
}

static json_t *limit(uint64_t value, bool given)
{
	return given ? hs_json_integer(value) : json_null();
}

static json_t *filter_json(const struct hs_report *report)
{
	const struct hs_filter *filter = report->profile->filter;
	if (!hs_report_is_filtered(report))
		return json_null();
	json_t *object = json_object();
	hs_json_put(object, "focus", patterns_json(&filter->focus));
	hs_json_put(object, "ignore", patterns_json(&filter->ignore));
	hs_json_put(object, "module", patterns_json(&filter->modules));
	hs_json_put(object, "thread", patterns_json(&filter->threads));
	json_t *phases = json_array();
	for (uint32_t i = 0; i < filter->phase_count; i++)
		json_array_append_new(phases, hs_json_string(filter->phases[i]));
	hs_json_put(object, "phase", phases);
	hs_json_put(object, "min_size", limit(filter->least_bytes, filter->least_bytes > 0));
	hs_json_put(object, "max_size", limit(filter->most_bytes, filter->most_bytes != UINT64_MAX));
	hs_json_put(object, "from_us", limit(filter->from_us, filter->from_us > 0));
	hs_json_put(object, "to_us", limit(filter->to_us, filter->to_us != HS_TIME_NONE));
	hs_json_put(object, "at_us", limit(filter->at_us, filter->at_us != HS_TIME_NONE));
	return object;
}

static json_t *phases_json(const struct hs_report *report)
{
	struct hs_phases phases;
	struct hs_error error;
	if (report->sites->replay.unknown & HS_TOLD_EVENTS ||
	    hs_phases_make((struct hs_profile *)report->profile, &phases, &error) != 0)
		return json_null();
	json_t *array = json_array();
	for (uint32_t i = 0; i < phases.count; i++) {
		const struct hs_phase *phase = &phases.items[i];
		json_t *object = json_object();
		hs_json_put(object, "name", hs_json_string(report->profile->strings.items[phase->name]));
		hs_json_put(object, "times", hs_json_integer(phase->times));
		hs_json_put(object, "first_us", hs_json_integer(phase->first_us));
		hs_json_put(object, "total_us", hs_json_integer(phase->total_us));
		hs_json_put(object, "allocated_bytes", hs_json_integer(phase->allocated_bytes));
		hs_json_put(object, "allocations", hs_json_integer(phase->allocations));
		hs_json_put(object, "most_bytes", hs_json_integer(phase->most_bytes));
		hs_json_put(object, "change_bytes", json_integer(phase->change_bytes));
		json_array_append_new(array, object);
	}
	hs_phases_free(&phases);
	return array;
}

static json_t *hidden_json(const struct hs_report *report)
{
	static const struct hs_patterns none;
	const struct hs_hiding *hiding = report->hiding;
	unsigned groups = hiding ? hiding->groups : HS_FOLD_ALL;
	json_t *object = json_object(), *names = json_array();
	for (const struct hs_fold_group *group = hs_fold_groups; group->group; group++)
		if (groups & group->group)
			json_array_append_new(names, json_string(group->name));
	hs_json_put(object, "groups", names);
	hs_json_put(object, "patterns", patterns_json(hiding ? &hiding->patterns : &none));
	hs_json_put(object, "config", hs_json_string(hiding ? hiding->config : NULL));
	return object;
}

void hs_report_json(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_replay *replay = &report->sites->replay;
	json_t *document = json_object(), *timeline = json_array(), *rss = json_array();
	hs_json_put(document, "schema", json_string("heapscope-print-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "raw", json_boolean(report->raw));
	hs_json_put(document, "facts", hs_json_facts(&report->profile->facts));
	hs_json_put(document, "suppressed", hs_suppressed_json(report->profile, report->sites));
	hs_json_put(document, "totals", hs_json_totals(&replay->totals, replay->unknown));
	hs_json_put(document, "all", hs_json_totals(&replay->all, replay->unknown));
	hs_json_put(document, "left_out", hs_json_totals(&replay->left_out, replay->unknown));
	hs_json_put(document, "filter", filter_json(report));
	hs_json_put(document, "hidden", hidden_json(report));
	struct hs_json_frames frames;
	hs_json_frames_start(&frames, report->profile);
	number_frames_of_sites(report, &frames);
	hs_json_put(document, "site_count", hs_json_integer(report->sites->count));
	hs_report_views_json(document, report, &frames);
	hs_json_frames_put(&frames, document);
	for (uint32_t i = 0; i < replay->point_count; i++)
		json_array_append_new(timeline,
				      pair(replay->timeline[i].time_us, replay->timeline[i].heap_bytes));
	for (uint32_t i = 0; i < report->profile->sample_count; i++)
		json_array_append_new(rss, pair(report->profile->samples[i].time_us,
						report->profile->samples[i].rss_bytes));
	if (replay->unknown & HS_TOLD_EVENTS) {
		json_decref(timeline);
		timeline = json_null();
	}
	hs_json_put(document, "timeline", timeline);
	hs_json_put(document, "rss", rss);
	hs_json_put(document, "marks", hs_json_marks(report->profile));
	hs_json_put(document, "phases", phases_json(report));
	hs_json_put(document, "threads", hs_json_threads(report->profile));
	hs_json_put(document, "modules", hs_json_modules(report->profile));
	hs_json_add(text, document);
	text->count--; /* the document's end: the sites are the last of it */
	hs_text_add(text, ",\"sites\":");
	add_sites(text, report, frames.index_of_frame);
	hs_text_add(text, "}\n");
	hs_json_frames_free(&frames);
}
