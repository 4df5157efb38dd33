/* The report as JSON: raw integers under documented names (docs/json.md). */
#include "cli/report.h"

#include "cli/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* A string of unknown origin: JSON is UTF-8, so other bytes become U+FFFD. */
static json_t *string(const char *bytes)
{
	json_t *made = bytes ? json_string(bytes) : json_null();
	if (made)
		return made;
	struct hs_text text = {0};
	size_t count = strlen(bytes), length;
	hs_text_add(&text, "");
	for (size_t at = 0; at < count; at += length) {
		if (hs_text_decode(bytes + at, count - at, &length) < 0)
			hs_text_add(&text, "\xef\xbf\xbd");
		else
			hs_text_add_bytes(&text, bytes + at, length);
	}
	made = json_string(text.bytes);
	hs_text_free(&text);
	return made;
}

/* A profile string; null where the index says "unknown". */
static json_t *known_string(const struct hs_profile *profile, uint32_t index)
{
	return index ? string(profile->strings.items[index]) : json_null();
}

static void put(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

static void put_counts(json_t *object, const struct hs_counts *counts)
{
	put(object, "allocated_bytes", integer(counts->allocated_bytes));
	put(object, "allocations", integer(counts->allocations));
	put(object, "peak_bytes", integer(counts->peak_bytes));
	put(object, "peak_blocks", integer(counts->peak_blocks));
	put(object, "live_bytes", integer(counts->live_bytes));
	put(object, "live_blocks", integer(counts->live_blocks));
	put(object, "max_bytes", integer(counts->max_bytes));
	put(object, "max_blocks", integer(counts->max_blocks));
	put(object, "temporary_bytes", integer(counts->temporary_bytes));
	put(object, "temporary", integer(counts->temporary));
	put(object, "moved_bytes", integer(counts->moved_bytes));
	put(object, "moved", integer(counts->moved));
	put(object, "reallocations", integer(counts->reallocations));
	put(object, "lifetime_us", integer(counts->lifetime_us));
}

static json_t *facts_json(const struct hs_facts *facts)
{
	static const char *const ends[] = {
		[HS_END_UNKNOWN] = "unknown", [HS_END_EXIT] = "exit",       [HS_END_SIGNAL] = "signal",
		[HS_END_EXEC] = "exec",       [HS_END_RUNNING] = "running",
	};
	json_t *object = json_object(), *command = json_array();
	put(object, "program", string(facts->program));
	for (char **word = facts->command; word && *word; word++)
		json_array_append_new(command, string(*word));
	put(object, "command", command);
	put(object, "cwd", string(facts->cwd));
	put(object, "pid", integer(facts->pid));
	put(object, "parent_pid", integer(facts->parent_pid));
	put(object, "forked", json_boolean(facts->forked));
	put(object, "start_unix_us", integer(facts->start_unix_us));
	put(object, "duration_us", integer(facts->duration_us));
	put(object, "end", json_string(ends[facts->end]));
	put(object, "end_value", json_integer(facts->end_value));
	put(object, "lost_events", integer(facts->lost_events));
	put(object, "truncated_stacks", integer(facts->truncated_stacks));
	put(object, "broken_stacks", integer(facts->broken_stacks));
	put(object, "fallback_stacks", integer(facts->fallback_stacks));
	put(object, "late_events", integer(facts->late_events));
	put(object, "repaired_frees", integer(facts->repaired_frees));
	put(object, "unknown_frees", integer(facts->unknown_frees));
	put(object, "peak_rss_bytes", integer(facts->peak_rss_bytes));
	put(object, "stopped", string(facts->stopped));
	put(object, "warning", string(facts->warning));
	return object;
}

static json_t *totals_json(const struct hs_totals *totals)
{
	json_t *object = json_object();
	put_counts(object, &totals->counts);
	put(object, "peak_us", integer(totals->peak_us));
	put(object, "frees", integer(totals->frees));
	put(object, "events", integer(totals->events));
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
		put(object, "path", string(profile->strings.items[module->path]));
		put(object, "build_id", build_id[0] ? json_string(build_id) : json_null());
		put(object, "start", integer(module->start));
		put(object, "size", integer(module->size));
		put(object, "load_us", integer(module->load_us));
		put(object, "unload_us",
		    module->unload_us == UINT64_MAX ? json_null() : integer(module->unload_us));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *threads_json(const struct hs_profile *profile)
{
	json_t *array = json_array();
	for (uint32_t i = 1; i < profile->thread_count; i++) {
		json_t *object = json_object();
		put(object, "tid", integer(profile->threads[i].tid));
		put(object, "name", known_string(profile, profile->threads[i].name));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *frame_json(const struct hs_profile *profile, const struct hs_frame *frame)
{
	json_t *object = json_object();
	bool module = frame->module < profile->module_count;
	put(object, "function", known_string(profile, frame->function));
	put(object, "file", known_string(profile, frame->file));
	put(object, "line", frame->line ? integer(frame->line) : json_null());
	put(object, "module",
	    module ? string(profile->strings.items[profile->modules[frame->module].path]) : json_null());
	put(object, "address", integer(frame->address));
	put(object, "inlined", json_boolean(frame->inlined));
	put(object, "internal", json_boolean(frame->internal));
	return object;
}

/* Fills in "sites" and, as they need them, "frames": each frame once, sites refer to it by index. */
static void put_sites(json_t *document, const struct hs_report *report)
{
	const struct hs_profile *profile = report->profile;
	json_t *sites = json_array(), *frames = json_array();
	uint32_t *index_of_frame = calloc((size_t)profile->frame_count + 1, sizeof(*index_of_frame));
	uint32_t count = report->sites->count;
	if (report->rows && report->rows < count)
		count = (uint32_t)report->rows;
	for (uint32_t i = 0; index_of_frame && i < count; i++) {
		const struct hs_site *site = &report->sites->items[i];
		json_t *object = json_object(), *stack = json_array();
		for (uint32_t position = 0; position < site->frame_count; position++) {
			uint32_t frame = site->frames[position];
			if (index_of_frame[frame] == 0) {
				json_array_append_new(frames, frame_json(profile, &profile->frames[frame]));
				index_of_frame[frame] = (uint32_t)json_array_size(frames);
			}
			json_array_append_new(stack, integer(index_of_frame[frame] - 1));
		}
		put_counts(object, &site->counts);
		put(object, "own_frame",
		    site->own_frame < site->frame_count ? integer(site->own_frame) : json_null());
		put(object, "folded_frames", integer(site->folded_frames));
		put(object, "frames", stack);
		json_array_append_new(sites, object);
	}
	free(index_of_frame);
	put(document, "site_count", integer(report->sites->count));
	put(document, "sites", sites);
	put(document, "frames", frames);
}

static json_t *pair(uint64_t time_us, uint64_t bytes)
{
	json_t *array = json_array();
	json_array_append_new(array, integer(time_us));
	json_array_append_new(array, integer(bytes));
	return array;
}

void hs_report_json(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_replay *replay = &report->sites->replay;
	json_t *document = json_object(), *timeline = json_array(), *rss = json_array();
	put(document, "schema", json_string("heapscope-print-1"));
	put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	put(document, "raw", json_boolean(report->raw));
	put(document, "facts", facts_json(&report->profile->facts));
	put(document, "totals", totals_json(&replay->totals));
	put_sites(document, report);
	for (uint32_t i = 0; i < replay->point_count; i++)
		json_array_append_new(timeline,
				      pair(replay->timeline[i].time_us, replay->timeline[i].heap_bytes));
	for (uint32_t i = 0; i < report->profile->sample_count; i++)
		json_array_append_new(rss, pair(report->profile->samples[i].time_us,
						report->profile->samples[i].rss_bytes));
	put(document, "timeline", timeline);
	put(document, "rss", rss);
	put(document, "threads", threads_json(report->profile));
	put(document, "modules", modules_json(report->profile));
	char *dump = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	if (dump)
		hs_text_addf(text, "%s\n", dump);
	free(dump);
}
