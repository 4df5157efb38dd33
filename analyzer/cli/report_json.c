/* The report as JSON: raw integers under documented names (docs/json.md). */
#include "cli/report.h"

#include "cli/json.h"

#include <stdio.h>

static json_t *facts_json(const struct hs_facts *facts)
{
	static const char *const ends[] = {
		[HS_END_UNKNOWN] = "unknown", [HS_END_EXIT] = "exit",       [HS_END_SIGNAL] = "signal",
		[HS_END_EXEC] = "exec",       [HS_END_RUNNING] = "running",
	};
	json_t *object = json_object();
	hs_json_put(object, "program", hs_json_string(facts->program));
	hs_json_put(object, "command", hs_json_words(facts->command));
	hs_json_put(object, "cwd", hs_json_string(facts->cwd));
	hs_json_put(object, "pid", hs_json_integer(facts->pid));
	hs_json_put(object, "parent_pid", hs_json_integer(facts->parent_pid));
	hs_json_put(object, "forked", json_boolean(facts->forked));
	hs_json_put(object, "start_unix_us", hs_json_integer(facts->start_unix_us));
	hs_json_put(object, "duration_us", hs_json_integer(facts->duration_us));
	hs_json_put(object, "end", json_string(ends[facts->end]));
	hs_json_put(object, "end_value", json_integer(facts->end_value));
	hs_json_put(object, "lost_events", hs_json_integer(facts->lost_events));
	hs_json_put(object, "truncated_stacks", hs_json_integer(facts->truncated_stacks));
	hs_json_put(object, "broken_stacks", hs_json_integer(facts->broken_stacks));
	hs_json_put(object, "fallback_stacks", hs_json_integer(facts->fallback_stacks));
	hs_json_put(object, "late_events", hs_json_integer(facts->late_events));
	hs_json_put(object, "repaired_frees", hs_json_integer(facts->repaired_frees));
	hs_json_put(object, "unknown_frees", hs_json_integer(facts->unknown_frees));
	hs_json_put(object, "peak_rss_bytes", hs_json_integer(facts->peak_rss_bytes));
	hs_json_put(object, "stopped", hs_json_string(facts->stopped));
	hs_json_put(object, "warning", hs_json_string(facts->warning));
	return object;
}

static json_t *totals_json(const struct hs_totals *totals)
{
	json_t *object = json_object();
	hs_json_put_counts(object, &totals->counts, true);
	hs_json_put(object, "peak_us", hs_json_integer(totals->peak_us));
	hs_json_put(object, "frees", hs_json_integer(totals->frees));
	hs_json_put(object, "events", hs_json_integer(totals->events));
	return object;
}

static json_t *modules_json(const struct hs_profile *profile)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct hs_module *module = &profile->modules[i];
		char build_id[2 * sizeof(module->build_id) + 1] = "";
		for (uint32_t byte = 0; byte < module->build_id_bytes && byte < sizeof(module->build_id);
		     byte++)
			snprintf(build_id + 2 * byte, 3, "%02x", module->build_id[byte]);
		json_t *object = json_object();
		hs_json_put(object, "path", hs_json_string(profile->strings.items[module->path]));
		hs_json_put(object, "build_id", build_id[0] ? json_string(build_id) : json_null());
		hs_json_put(object, "start", hs_json_integer(module->start));
		hs_json_put(object, "size", hs_json_integer(module->size));
		hs_json_put(object, "load_us", hs_json_integer(module->load_us));
		hs_json_put(object, "unload_us",
			    module->unload_us == UINT64_MAX ? json_null()
							    : hs_json_integer(module->unload_us));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *threads_json(const struct hs_profile *profile)
{
	json_t *array = json_array();
	for (uint32_t i = 1; i < profile->thread_count; i++) {
		json_t *object = json_object();
		hs_json_put(object, "tid", hs_json_integer(profile->threads[i].tid));
		hs_json_put(object, "name", hs_json_known(profile, profile->threads[i].name));
		json_array_append_new(array, object);
	}
	return array;
}

static void put_sites(json_t *document, const struct hs_report *report, struct hs_json_frames *frames)
{
	json_t *sites = json_array();
	uint32_t count = report->sites->count;
	if (report->rows && report->rows < count)
		count = (uint32_t)report->rows;
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_site *site = &report->sites->items[i];
		json_t *object = json_object(), *stack = json_array();
		for (uint32_t position = 0; position < site->frame_count; position++)
			json_array_append_new(stack, hs_json_frames_index(frames, site->frames[position]));
		hs_json_put_counts(object, &site->counts, true);
		hs_json_put(object, "own_frame",
			    site->own_frame < site->frame_count ? hs_json_integer(site->own_frame)
								: json_null());
		hs_json_put(object, "folded_frames", hs_json_integer(site->folded_frames));
		hs_json_put(object, "frames", stack);
		json_array_append_new(sites, object);
	}
	hs_json_put(document, "site_count", hs_json_integer(report->sites->count));
	hs_json_put(document, "sites", sites);
}

static json_t *pair(uint64_t time_us, uint64_t bytes)
{
	json_t *array = json_array();
	json_array_append_new(array, hs_json_integer(time_us));
	json_array_append_new(array, hs_json_integer(bytes));
	return array;
}

void hs_report_json(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_replay *replay = &report->sites->replay;
	json_t *document = json_object(), *timeline = json_array(), *rss = json_array();
	hs_json_put(document, "schema", json_string("heapscope-print-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "raw", json_boolean(report->raw));
	hs_json_put(document, "facts", facts_json(&report->profile->facts));
	hs_json_put(document, "totals", totals_json(&replay->totals));
	struct hs_json_frames frames;
	hs_json_frames_start(&frames, report->profile);
	put_sites(document, report, &frames);
	hs_json_frames_end(&frames, document);
	for (uint32_t i = 0; i < replay->point_count; i++)
		json_array_append_new(timeline,
				      pair(replay->timeline[i].time_us, replay->timeline[i].heap_bytes));
	for (uint32_t i = 0; i < report->profile->sample_count; i++)
		json_array_append_new(rss, pair(report->profile->samples[i].time_us,
						report->profile->samples[i].rss_bytes));
	hs_json_put(document, "timeline", timeline);
	hs_json_put(document, "rss", rss);
	hs_json_put(document, "threads", threads_json(report->profile));
	hs_json_put(document, "modules", modules_json(report->profile));
	hs_json_dump(text, document);
}
