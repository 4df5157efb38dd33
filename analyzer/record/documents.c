/* The JSON members of a recording. */
#include "base/memory.h"
#include "record/image.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the UTF-8 character at text, or 0: there is none. */
static size_t character_bytes(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	for (size_t more = 0; more < 4; more++) {
		if ((text[0] & forms[more].mask) != forms[more].lead)
			continue;
		uint32_t code = text[0] & (unsigned char)~forms[more].mask;
		for (size_t i = 1; i <= more; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		bool surrogate = code >= 0xd800 && code < 0xe000;
		return code >= forms[more].least && code <= 0x10ffff && !surrogate ? more + 1 : 0;
	}
	return 0;
}

/* Text of the target, which may be anything; what is no UTF-8 becomes U+FFFD. */
static json_t *text_value(const char *text)
{
	text = text ? text : "";
	char *clean = hs_allocate(strlen(text) * 3 + 1), *out = clean;
	while (*text) {
		size_t bytes = character_bytes((const unsigned char *)text);
		memcpy(out, bytes ? text : "\xef\xbf\xbd", bytes ? bytes : 3);
		out += bytes ? bytes : 3;
		text += bytes ? bytes : 1;
	}
	*out = 0;
	json_t *value = json_string(clean);
	free(clean);
	return value;
}

static void put_count(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)(value <= INT64_MAX ? value : INT64_MAX)));
}

static char *finish(json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(1));
	json_decref(object);
	return text ? text : hs_copy_string("{}");
}

char *hs_image_header(const struct hs_image *image)
{
	json_t *object = json_object(), *command = json_array();
	for (char **argument = image->command; argument && *argument; argument++)
		json_array_append_new(command, text_value(*argument));
	const char *unwinder = getenv(HS_ENV_UNWINDER);
	put_count(object, "version", HS_FORMAT_VERSION);
	json_object_set_new(object, "program", text_value(image->program));
	json_object_set_new(object, "command", command);
	json_object_set_new(object, "cwd", text_value(image->cwd));
	put_count(object, "pid", (uint64_t)image->pid);
	put_count(object, "parent_pid", image->first ? 0 : (uint32_t)image->parent_pid);
	json_object_set_new(object, "origin",
			    json_string(image->origin == HS_ORIGIN_FORK ? "fork" : "start"));
	put_count(object, "start_us", image->start_unix_us);
	json_object_set_new(object, "machine", json_string("x86_64"));
	put_count(object, "page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
	json_object_set_new(object, "clock",
			    json_string(image->clock.unit == HS_CLOCK_TSC ? "tsc" : "monotonic"));
	put_count(object, "time_resolution_us", image->time_resolution_us);
	json_object_set_new(object, "unwinder", text_value(unwinder ? unwinder : "fast"));
	json_object_set_new(object, "heapscope", json_string(HEAPSCOPE_VERSION));
	return finish(object);
}

static json_t *end_value(const struct hs_image *image)
{
	switch (image->end) {
	case HS_IMAGE_EXIT:
		return json_pack("{s:i}", "exit", image->end_value);
	case HS_IMAGE_SIGNAL:
		return json_pack("{s:i}", "signal", image->end_value);
	case HS_IMAGE_EXEC:
		return json_pack("{s:b}", "exec", 1);
	default:
		return json_pack("{s:b}", "unknown", 1);
	}
}

char *hs_image_footer(const struct hs_image *image)
{
	const struct hs_written *written = &image->encoder.written;
	json_t *object = json_object();
	put_count(object, "events", written->events);
	put_count(object, "allocations", written->allocations);
	put_count(object, "frees", written->frees);
	put_count(object, "allocated_bytes", written->allocated_bytes);
	put_count(object, "peak_bytes", written->peak_bytes);
	put_count(object, "peak_us", written->peak_us);
	put_count(object, "live_bytes", written->live_bytes);
	put_count(object, "live_blocks", written->live_blocks);
	put_count(object, "temporary", written->temporary);
	put_count(object, "unknown_frees", image->pairs.unknown_frees);
	put_count(object, "duration_us", image->duration_us);
	put_count(object, "time_resolution_us", image->time_resolution_us);
	json_object_set_new(object, "end", end_value(image));
	put_count(object, "lost_events", image->lost_events);
	put_count(object, "truncated_stacks", image->truncated_stacks);
	put_count(object, "broken_stacks", image->broken_stacks);
	put_count(object, "fallback_stacks", image->fallback_stacks);
	put_count(object, "late_events", image->late_events);
	put_count(object, "repaired_frees", image->pairs.repaired_frees);
	put_count(object, "peak_rss_bytes", image->peak_rss_bytes);
	put_count(object, "skipped_allocations", image->skipped_allocations);
	put_count(object, "skipped_bytes", image->skipped_bytes);
	const struct hs_pools *pools = &image->pairs.pools;
	json_object_set_new(object, "pools",
			    pools->allocated_slabs || pools->allocations
				    ? json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "slabs",
						(json_int_t)pools->allocated_slabs, "slab_most_bytes",
						(json_int_t)pools->slab_most_bytes, "slab_live_bytes",
						(json_int_t)pools->slab_bytes, "allocations",
						(json_int_t)pools->allocations, "most_bytes",
						(json_int_t)pools->most_bytes, "live_bytes",
						(json_int_t)pools->live_bytes)
				    : json_null());
	put_count(object, "unseen_libraries", image->unseen_libraries);
	json_object_set_new(object, "unseen_library",
			    image->unseen_libraries ? text_value(image->unseen_library) : json_null());
	json_object_set_new(object, "lsan_suppressions",
			    image->suppressions ? text_value(image->suppressions) : json_null());
	json_object_set_new(object, "lsan_suppressions_unread", json_boolean(image->suppressions_unread));
	json_object_set_new(object, "stopped", image->stopped ? text_value(image->stopped) : json_null());
	return finish(object);
}
