/* Header and footer: JSON. */
#include "load.h"

#include "base/memory.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key)); /* 0 if it is no integer */
	return value > 0 ? (uint64_t)value : 0;
}

static uint32_t number32(const json_t *object, const char *key)
{
	uint64_t value = number(object, key);
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));
	return hs_copy_string(value ? value : "");
}

static json_t *parse(struct hs_payload payload, json_error_t *cause)
{
	json_t *json = json_loadb((const char *)payload.at, (size_t)(payload.end - payload.at), 0, cause);
	if (json && !json_is_object(json)) {
		json_decref(json);
		snprintf(cause->text, sizeof cause->text, "it is no JSON object");
		return NULL;
	}
	return json;
}

static char **words(const json_t *array)
{
	size_t count = json_array_size(array);
	char **list = hs_allocate_zero(count + 1, sizeof *list);
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(array, i));
		list[i] = hs_copy_string(word ? word : "");
	}
	return list;
}

/* Of a file that was merged. */
static void read_merged(struct hs_merged *merged, const json_t *json)
{
	const json_t *commands = json_object_get(json, "commands");
	merged->recordings = number(json, "recordings");
	merged->incomplete = number(json, "incomplete");
	merged->end_unix_us = number(json, "end_us");
	merged->longest_us = number(json, "longest_us");
	merged->sum_us = number(json, "sum_us");
	merged->commands = hs_allocate_zero(json_array_size(commands), sizeof *merged->commands);
	for (size_t i = 0; i < json_array_size(commands); i++) {
		const json_t *command = json_array_get(commands, i);
		merged->commands[merged->command_count++] =
			(struct hs_merged_command){text(command, "command"), number(command, "recordings")};
	}
}

/* Where a file that `heapscope run` did not write comes from, and what it does not tell. */
static void read_origin(struct hs_facts *facts, const json_t *json)
{
	const json_t *unknown = json_object_get(json, "unknown"), *merged = json_object_get(json, "merged");
	const char *subject = json_string_value(json_object_get(json, "subject"));
	if (json_is_string(json_object_get(json, "imported")))
		facts->imported = text(json, "imported");
	if (json_is_object(merged))
		read_merged(&facts->merged, merged);
	if (facts->merged.incomplete &&
	    asprintf(&facts->warning,
		     "%" PRIu64 " of the %" PRIu64
		     " merged recordings were cut or damaged: they count as far as they were whole",
		     facts->merged.incomplete, facts->merged.recordings) < 0)
		facts->warning = NULL;
	facts->subject = subject && strcmp(subject, "samples") == 0 ? HS_SUBJECT_SAMPLES : HS_SUBJECT_HEAP;
	for (size_t i = 0; i < json_array_size(unknown); i++) {
		const char *name = json_string_value(json_array_get(unknown, i));
		for (unsigned bit = 0; name && bit < HS_TOLD_ITEMS; bit++)
			if (strcmp(name, hs_told_names[bit]) == 0)
				facts->unknown |= 1u << bit;
	}
}

int hs_load_header(struct hs_loader *loader, struct hs_payload payload, struct hs_error *error)
{
	const char *path = loader->profile->recording->path;
	struct hs_facts *facts = &loader->profile->facts;
	json_error_t cause;
	json_t *json = parse(payload, &cause);
	if (!json)
		return hs_fail(error, "the header of '%s' is damaged (%s): copy or record it again", path,
			       cause.text);
	const json_t *version = json_object_get(json, "version");
	const char *writer = json_string_value(json_object_get(json, "heapscope"));
	int result = 0;
	if (!json_is_integer(version))
		result = hs_fail(
			error, "the header of '%s' is damaged (it names no version): copy or record it again",
			path);
	else if (json_integer_value(version) != HS_FORMAT_VERSION)
		result =
			hs_fail(error,
				"'%s' was made by another version of heapscope (%.40s), in format %lld; this "
				"one (" HEAPSCOPE_VERSION
				") reads format %d: record again, or use the version that made it",
				path, writer ? writer : "unknown", (long long)json_integer_value(version),
				HS_FORMAT_VERSION);
	if (result == 0) {
		const char *origin = json_string_value(json_object_get(json, "origin"));
		facts->program = text(json, "program");
		facts->command = words(json_object_get(json, "command"));
		facts->cwd = text(json, "cwd");
		facts->pid = number32(json, "pid");
		facts->parent_pid = number32(json, "parent_pid");
		facts->forked = origin && strcmp(origin, "fork") == 0;
		facts->start_unix_us = number(json, "start_us");
		facts->time_resolution_us = number(json, "time_resolution_us");
		read_origin(facts, json);
	}
	json_decref(json);
	return result;
}

static void read_end(struct hs_facts *facts, const json_t *end)
{
	const json_t *exit = json_object_get(end, "exit"), *signal = json_object_get(end, "signal");
	facts->end = HS_END_UNKNOWN;
	if (json_is_integer(exit)) {
		facts->end = HS_END_EXIT;
		facts->end_value = (int)json_integer_value(exit);
	} else if (json_is_integer(signal)) {
		facts->end = HS_END_SIGNAL;
		facts->end_value = (int)json_integer_value(signal);
	} else if (json_is_true(json_object_get(end, "exec"))) {
		facts->end = HS_END_EXEC;
	}
}

int hs_load_footer(struct hs_loader *loader, struct hs_payload payload, struct hs_error *error)
{
	struct hs_facts *facts = &loader->profile->facts;
	json_error_t cause;
	json_t *json = parse(payload, &cause);
	if (!json)
		return hs_fail(error, "%s", cause.text);
	facts->duration_us = number(json, "duration_us");
	if (json_object_get(json, "time_resolution_us"))
		facts->time_resolution_us = number(json, "time_resolution_us");
	facts->lost_events = number(json, "lost_events");
	facts->truncated_stacks = number(json, "truncated_stacks");
	facts->broken_stacks = number(json, "broken_stacks");
	facts->fallback_stacks = number(json, "fallback_stacks");
	facts->late_events = number(json, "late_events");
	facts->repaired_frees = number(json, "repaired_frees");
	facts->unknown_frees = number(json, "unknown_frees");
	facts->peak_rss_bytes = number(json, "peak_rss_bytes");
	facts->skipped_allocations = number(json, "skipped_allocations");
	facts->skipped_bytes = number(json, "skipped_bytes");
	const json_t *pools = json_object_get(json, "pools");
	facts->pools = (struct hs_pool_facts){
		.slabs = number(pools, "slabs"),
		.slab_most_bytes = number(pools, "slab_most_bytes"),
		.slab_live_bytes = number(pools, "slab_live_bytes"),
		.allocations = number(pools, "allocations"),
		.most_bytes = number(pools, "most_bytes"),
		.live_bytes = number(pools, "live_bytes"),
	};
	if (json_is_string(json_object_get(json, "lsan_suppressions")))
		facts->lsan_suppressions = text(json, "lsan_suppressions");
	facts->lsan_unread = json_is_true(json_object_get(json, "lsan_suppressions_unread"));
	facts->unseen_libraries = number(json, "unseen_libraries");
	if (json_is_string(json_object_get(json, "unseen_library")))
		facts->unseen_library = text(json, "unseen_library");
	if (json_is_string(json_object_get(json, "stopped")))
		facts->stopped = text(json, "stopped");
	read_end(facts, json_object_get(json, "end"));
	loader->profile->recording->expected = (struct hs_expected){
		.known = true,
		.events = number(json, "events"),
		.allocations = number(json, "allocations"),
		.frees = number(json, "frees"),
		.allocated_bytes = number(json, "allocated_bytes"),
		.peak_bytes = number(json, "peak_bytes"),
		.peak_us = number(json, "peak_us"),
		.live_bytes = number(json, "live_bytes"),
		.live_blocks = number(json, "live_blocks"),
		.temporary = number(json, "temporary"),
	};
	json_decref(json);
	return 0;
}
