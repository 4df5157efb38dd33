/* What all JSON documents of the program share. */
#include "cli/json.h"

#include "base/memory.h"

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

json_t *hs_json_string(const char *bytes)
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

void hs_json_put_counts(json_t *object, const struct hs_counts *counts, bool maxima)
{
	hs_json_put(object, "allocated_bytes", hs_json_integer(counts->allocated_bytes));
	hs_json_put(object, "allocations", hs_json_integer(counts->allocations));
	hs_json_put(object, "peak_bytes", hs_json_integer(counts->peak_bytes));
	hs_json_put(object, "peak_blocks", hs_json_integer(counts->peak_blocks));
	hs_json_put(object, "live_bytes", hs_json_integer(counts->live_bytes));
	hs_json_put(object, "live_blocks", hs_json_integer(counts->live_blocks));
	if (maxima) {
		hs_json_put(object, "max_bytes", hs_json_integer(counts->max_bytes));
		hs_json_put(object, "max_blocks", hs_json_integer(counts->max_blocks));
	}
	hs_json_put(object, "temporary_bytes", hs_json_integer(counts->temporary_bytes));
	hs_json_put(object, "temporary", hs_json_integer(counts->temporary));
	hs_json_put(object, "moved_bytes", hs_json_integer(counts->moved_bytes));
	hs_json_put(object, "moved", hs_json_integer(counts->moved));
	hs_json_put(object, "reallocations", hs_json_integer(counts->reallocations));
	hs_json_put(object, "lifetime_us", hs_json_integer(counts->lifetime_us));
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
	hs_json_put(object, "address", hs_json_integer(frame->address));
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

json_t *hs_json_frames_index(struct hs_json_frames *frames, uint32_t frame)
{
	if (frame == UINT32_MAX)
		return json_null();
	if (frames->index_of_frame[frame] == 0) {
		json_array_append_new(frames->array,
				      hs_json_frame(frames->profile, &frames->profile->frames[frame]));
		frames->index_of_frame[frame] = (uint32_t)json_array_size(frames->array);
	}
	return hs_json_integer(frames->index_of_frame[frame] - 1);
}

void hs_json_frames_end(struct hs_json_frames *frames, json_t *document)
{
	hs_json_put(document, "frames", frames->array);
	free(frames->index_of_frame);
}

void hs_json_dump(struct hs_text *text, json_t *document)
{
	char *dump = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	if (dump)
		hs_text_addf(text, "%s\n", dump);
	free(dump);
}
