/* What all JSON documents of the program share. */
#include "json.h"

#include "base/memory.h"
#include "numbers.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hs_json_put(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

json_t *hs_json_integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

void hs_json_add_integer(struct hs_text *text, uint64_t value)
{
	char digits[HS_DIGITS_MOST];
	/* as hs_json_integer */
	char *end = hs_put_digits(digits, value > INT64_MAX ? INT64_MAX : value);
	hs_text_add_bytes(text, digits, (size_t)(end - digits));
}

static void put_known(json_t *object, const char *name, uint64_t value, bool known)
{
	hs_json_put(object, name, known ? hs_json_integer(value) : json_null());
}

json_t *hs_json_string(const char *bytes)
{
	if (bytes == NULL)
		return json_null();
	char *repaired = hs_repair_utf8(bytes);
	json_t *made = json_string_nocheck(repaired);
	free(repaired);
	return made;
}

json_t *hs_json_known(const struct hs_profile *profile, uint32_t index)
{
	return index ? hs_json_string(profile->strings.items[index]) : json_null();
}

json_t *hs_json_words(char *const *words)
{
	json_t *array = json_array();
	for (; words && *words; words++)
		json_array_append_new(array, hs_json_string(*words));
	return array;
}

void hs_json_put_counts(json_t *object, const struct hs_counts *counts, bool maxima, uint32_t unknown)
{
	uint64_t values[HS_COUNT_FIELDS];
	memcpy(values, counts, sizeof(values));
	for (unsigned i = 0; i < HS_COUNT_FIELDS; i++) {
		if (maxima || !(1u << i & HS_TOLD_MAX))
			put_known(object, hs_told_names[i], values[i], !(unknown & 1u << i));
	}
	put_known(object, "suppressed_bytes", counts->suppressed_bytes, !(unknown & HS_TOLD_LIVE_BYTES));
	put_known(object, "suppressed_blocks", counts->suppressed_blocks, !(unknown & HS_TOLD_LIVE_BLOCKS));
}

static char *put_field(char *at, const char *name, uint64_t value, bool known)
{
	at = stpcpy(stpcpy(stpcpy(at, "\""), name), "\":");
	at = known ? hs_put_digits(at, value > INT64_MAX ? INT64_MAX : value) : stpcpy(at, "null");
	return stpcpy(at, ",");
}

void hs_json_add_counts(struct hs_text *text, const struct hs_counts *counts, uint32_t unknown)
{
	uint64_t values[HS_COUNT_FIELDS];
	enum { FIELD_MOST = 32 + HS_DIGITS_MOST }; /* the longest name has 17 bytes */
	memcpy(values, counts, sizeof(values));
	char *at = hs_text_room(text, (HS_COUNT_FIELDS + 2) * FIELD_MOST);
	for (unsigned i = 0; i < HS_COUNT_FIELDS; i++)
		at = put_field(at, hs_told_names[i], values[i], !(unknown & 1u << i));
	at = put_field(at, "suppressed_bytes", counts->suppressed_bytes, !(unknown & HS_TOLD_LIVE_BYTES));
	at = put_field(at, "suppressed_blocks", counts->suppressed_blocks, !(unknown & HS_TOLD_LIVE_BLOCKS));
	text->count = (size_t)(at - text->bytes);
}

json_t *hs_json_frame(const struct hs_profile *profile, const struct hs_frame *frame)
{
	json_t *object = json_object();
	const char *module = frame->module < profile->module_count
				     ? profile->strings.items[profile->modules[frame->module].path]
				     : NULL;
	hs_json_put(object, "function", hs_json_known(profile, frame->function));
	hs_json_put(object, "file", hs_json_known(profile, frame->file));
	hs_json_put(object, "line", frame->line ? hs_json_integer(frame->line) : json_null());
	hs_json_put(object, "module", hs_json_string(module));
	put_known(object, "address", frame->address, frame->address);
	hs_json_put(object, "inlined", json_boolean(frame->inlined));
	hs_json_put(object, "internal", json_boolean(frame->internal));
	return object;
}

void hs_json_frames_start(struct hs_json_frames *frames, const struct hs_profile *profile)
{
	frames->profile = profile;
	frames->array = json_array();
	frames->index_of_frame =
		hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*frames->index_of_frame));
}

uint32_t hs_json_frames_number(struct hs_json_frames *frames, uint32_t frame)
{
	if (frames->index_of_frame[frame] == 0) {
		json_array_append_new(frames->array,
				      hs_json_frame(frames->profile, &frames->profile->frames[frame]));
		frames->index_of_frame[frame] = (uint32_t)json_array_size(frames->array);
	}
	return frames->index_of_frame[frame] - 1;
}

json_t *hs_json_frames_index(struct hs_json_frames *frames, uint32_t frame)
{
	return frame == UINT32_MAX ? json_null() : hs_json_integer(hs_json_frames_number(frames, frame));
}

void hs_json_frames_put(struct hs_json_frames *frames, json_t *document)
{
	hs_json_put(document, "frames", frames->array);
}

void hs_json_frames_free(struct hs_json_frames *frames)
{
	free(frames->index_of_frame);
}

json_t *hs_json_merged(const struct hs_merged *merged)
{
	json_t *object = json_object(), *commands = json_array();
	for (uint32_t i = 0; i < merged->command_count; i++) {
		json_t *command = json_object();
		hs_json_put(command, "command", hs_json_string(merged->commands[i].line));
		hs_json_put(command, "recordings", hs_json_integer(merged->commands[i].recordings));
		json_array_append_new(commands, command);
	}
	hs_json_put(object, "recordings", hs_json_integer(merged->recordings));
	hs_json_put(object, "incomplete", hs_json_integer(merged->incomplete));
	hs_json_put(object, "commands", commands);
	hs_json_put(object, "longest_us", hs_json_integer(merged->longest_us));
	hs_json_put(object, "sum_us", hs_json_integer(merged->sum_us));
	return object;
}

static json_t *merged_json(const struct hs_merged *merged)
{
	if (!merged->recordings)
		return json_null();
	json_t *object = hs_json_merged(merged);
	put_known(object, "end_unix_us", merged->end_unix_us, merged->end_unix_us);
	return object;
}

json_t *hs_json_pools(const struct hs_pool_facts *pools)
{
	if (!pools->slabs && !pools->allocations)
		return json_null();
	json_t *object = json_object();
	hs_json_put(object, "slabs", hs_json_integer(pools->slabs));
	hs_json_put(object, "slab_most_bytes", hs_json_integer(pools->slab_most_bytes));
	hs_json_put(object, "slab_live_bytes", hs_json_integer(pools->slab_live_bytes));
	hs_json_put(object, "allocations", hs_json_integer(pools->allocations));
	hs_json_put(object, "most_bytes", hs_json_integer(pools->most_bytes));
	hs_json_put(object, "live_bytes", hs_json_integer(pools->live_bytes));
	return object;
}

json_t *hs_json_facts(const struct hs_facts *facts)
{
	static const char *const ends[] = {
		[HS_END_UNKNOWN] = "unknown", [HS_END_EXIT] = "exit",       [HS_END_SIGNAL] = "signal",
		[HS_END_EXEC] = "exec",       [HS_END_RUNNING] = "running",
	};
	bool process = !(facts->unknown & HS_TOLD_PROCESS);
	json_t *object = json_object();
	hs_json_put(object, "program", hs_json_string(facts->program));
	hs_json_put(object, "command", hs_json_words(facts->command));
	hs_json_put(object, "cwd", hs_json_string(facts->cwd));
	put_known(object, "pid", facts->pid, process || facts->pid);
	put_known(object, "parent_pid", facts->parent_pid, process);
	hs_json_put(object, "forked", json_boolean(facts->forked));
	put_known(object, "start_unix_us", facts->start_unix_us, process || facts->start_unix_us);
	put_known(object, "duration_us", facts->duration_us, !(facts->unknown & HS_TOLD_DURATION_US));
	hs_json_put(object, "end", json_string(ends[facts->end]));
	hs_json_put(object, "end_value", json_integer(facts->end_value));
	hs_json_put(object, "lost_events", hs_json_integer(facts->lost_events));
	hs_json_put(object, "truncated_stacks", hs_json_integer(facts->truncated_stacks));
	hs_json_put(object, "broken_stacks", hs_json_integer(facts->broken_stacks));
	hs_json_put(object, "fallback_stacks", hs_json_integer(facts->fallback_stacks));
	hs_json_put(object, "time_resolution_us",
		    facts->time_resolution_us ? hs_json_integer(facts->time_resolution_us) : json_null());
	hs_json_put(object, "late_events", hs_json_integer(facts->late_events));
	hs_json_put(object, "repaired_frees", hs_json_integer(facts->repaired_frees));
	hs_json_put(object, "unknown_frees", hs_json_integer(facts->unknown_frees));
	put_known(object, "peak_rss_bytes", facts->peak_rss_bytes, process || facts->peak_rss_bytes);
	hs_json_put(object, "unseen_libraries", hs_json_integer(facts->unseen_libraries));
	hs_json_put(object, "unseen_library", hs_json_string(facts->unseen_library));
	hs_json_put(object, "skipped_allocations", hs_json_integer(facts->skipped_allocations));
	hs_json_put(object, "skipped_bytes", hs_json_integer(facts->skipped_bytes));
	hs_json_put(object, "pools", hs_json_pools(&facts->pools));
	hs_json_put(object, "stopped", hs_json_string(facts->stopped));
	hs_json_put(object, "warning", hs_json_string(facts->warning));
	hs_json_put(object, "imported", hs_json_string(facts->imported));
	hs_json_put(object, "subject",
		    json_string(facts->subject == HS_SUBJECT_SAMPLES ? "samples" : "heap"));
	hs_json_put(object, "merged", merged_json(&facts->merged));
	return object;
}

json_t *hs_json_totals(const struct hs_totals *totals, uint32_t unknown)
{
	json_t *object = json_object();
	hs_json_put_counts(object, &totals->counts, true, unknown);
	put_known(object, "peak_us", totals->peak_us, !(unknown & HS_TOLD_PEAK_US));
	put_known(object, "max_us", totals->max_us, !(unknown & (HS_TOLD_PEAK_US | HS_TOLD_MAX)));
	put_known(object, "frees", totals->frees, !(unknown & HS_TOLD_FREES));
	put_known(object, "events", totals->events, !(unknown & HS_TOLD_EVENTS));
	return object;
}

json_t *hs_json_marks(const struct hs_profile *profile)
{
	static const char *const kinds[] = {
		[HS_MARKED_PHASE] = "phase", [HS_MARKED_MOMENT] = "moment", [HS_MARKED_PAUSE] = "pause"};
	json_t *array = json_array();
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		bool pause = mark->what == HS_MARKED_PAUSE;
		const struct hs_thread *thread =
			mark->thread < profile->thread_count ? &profile->threads[mark->thread] : NULL;
		json_t *object = json_object();
		hs_json_put(object, "kind", json_string(kinds[mark->what]));
		hs_json_put(object, "name",
			    pause ? json_null() : hs_json_string(profile->strings.items[mark->name]));
		hs_json_put(object, "time_us", hs_json_integer(mark->time_us));
		put_known(object, "end_us", mark->end_us, mark->end_us != HS_TIME_NONE);
		put_known(object, "tid", thread ? thread->tid : 0, !pause && thread);
		json_array_append_new(array, object);
	}
	return array;
}

json_t *hs_json_threads(const struct hs_profile *profile)
{
	if (profile->facts.unknown & HS_TOLD_THREADS)
		return json_null();
	json_t *array = json_array();
	for (uint32_t i = 1; i < profile->thread_count; i++) {
		json_t *object = json_object();
		hs_json_put(object, "tid", hs_json_integer(profile->threads[i].tid));
		hs_json_put(object, "name", hs_json_known(profile, profile->threads[i].name));
		json_array_append_new(array, object);
	}
	return array;
}

json_t *hs_json_modules(const struct hs_profile *profile)
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

json_t *hs_json_work(const struct hs_diff *work, uint32_t unknown)
{
	if (unknown & (HS_TOLD_ALLOCATIONS | HS_TOLD_ALLOCATED_BYTES))
		return json_null();
	static const char *const words[] = {
		[HS_WORK_SAME] = "same", [HS_WORK_MORE] = "more", [HS_WORK_LESS] = "less"};
	json_t *object = json_object();
	hs_json_put(object, "amount", json_string(words[hs_diff_work(work)]));
	hs_json_put(object, "common_old_calls", hs_json_integer(work->common_old_calls));
	hs_json_put(object, "common_new_calls", hs_json_integer(work->common_new_calls));
	hs_json_put(object, "common_old_bytes", hs_json_integer(work->common_old_bytes));
	hs_json_put(object, "common_new_bytes", hs_json_integer(work->common_new_bytes));
	hs_json_put(object, "appeared_functions", hs_json_integer(work->appeared));
	hs_json_put(object, "appeared_calls", hs_json_integer(work->appeared_calls));
	hs_json_put(object, "vanished_functions", hs_json_integer(work->vanished));
	hs_json_put(object, "vanished_calls", hs_json_integer(work->vanished_calls));
	return object;
}
