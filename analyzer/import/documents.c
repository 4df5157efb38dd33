#include "import/documents.h"

#include "base/memory.h"
#include "export/json.h"
#include "heapscope/format.h"

static char *finish(json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(1));
	json_decref(object);
	return text ? text : hs_copy_string("{}");
}

static json_t *unknown_json(uint32_t unknown)
{
	json_t *names = json_array();
	for (unsigned bit = 0; bit < HS_TOLD_ITEMS; bit++)
		if (unknown & 1u << bit)
			json_array_append_new(names, json_string(hs_told_names[bit]));
	return names;
}

static json_t *merged_json(const struct hs_merged *merged)
{
	json_t *object = hs_json_merged(merged);
	hs_json_put(object, "end_us", hs_json_integer(merged->end_unix_us));
	return object;
}

char *hs_import_header(const struct hs_facts *facts)
{
	json_t *object = json_object();
	hs_json_put(object, "version", json_integer(HS_FORMAT_VERSION));
	hs_json_put(object, "program", hs_json_string(facts->program ? facts->program : ""));
	hs_json_put(object, "command", hs_json_words(facts->command));
	hs_json_put(object, "cwd", hs_json_string(facts->cwd ? facts->cwd : ""));
	hs_json_put(object, "pid", hs_json_integer(facts->pid));
	hs_json_put(object, "parent_pid", json_integer(0));
	hs_json_put(object, "origin", json_string("start"));
	hs_json_put(object, "start_us", hs_json_integer(facts->start_unix_us));
	hs_json_put(object, "heapscope", json_string(HEAPSCOPE_VERSION));
	if (facts->imported)
		hs_json_put(object, "imported", hs_json_string(facts->imported));
	if (facts->time_resolution_us)
		hs_json_put(object, "time_resolution_us", hs_json_integer(facts->time_resolution_us));
	if (facts->subject == HS_SUBJECT_SAMPLES)
		hs_json_put(object, "subject", json_string("samples"));
	hs_json_put(object, "unknown", unknown_json(facts->unknown));
	if (facts->merged.recordings)
		hs_json_put(object, "merged", merged_json(&facts->merged));
	return finish(object);
}

char *hs_import_footer(const struct hs_facts *facts, const struct hs_totals *totals)
{
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{"events", totals->events},
		{"allocations", totals->counts.allocations},
		{"frees", totals->frees},
		{"allocated_bytes", totals->counts.allocated_bytes},
		{"peak_bytes", totals->counts.peak_bytes},
		{"peak_us", totals->peak_us},
		{"live_bytes", totals->counts.live_bytes},
		{"live_blocks", totals->counts.live_blocks},
		{"temporary", totals->counts.temporary},
		{"unknown_frees", facts->unknown_frees},
		{"duration_us", facts->duration_us},
		{"lost_events", facts->lost_events},
		{"truncated_stacks", facts->truncated_stacks},
		{"broken_stacks", facts->broken_stacks},
		{"fallback_stacks", facts->fallback_stacks},
		{"late_events", facts->late_events},
		{"repaired_frees", facts->repaired_frees},
		{"peak_rss_bytes", facts->peak_rss_bytes},
		{"skipped_allocations", facts->skipped_allocations},
		{"skipped_bytes", facts->skipped_bytes},
		{"unseen_libraries", facts->unseen_libraries},
	};
	json_t *object = json_object();
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		hs_json_put(object, fields[i].name, hs_json_integer(fields[i].value));
	hs_json_put(object, "end", json_pack("{s:b}", "unknown", 1));
	hs_json_put(object, "pools", hs_json_pools(&facts->pools));
	hs_json_put(object, "unseen_library", hs_json_string(facts->unseen_library));
	hs_json_put(object, "lsan_suppressions", hs_json_string(facts->lsan_suppressions));
	hs_json_put(object, "lsan_suppressions_unread", json_boolean(facts->lsan_unread));
	hs_json_put(object, "stopped", hs_json_string(facts->stopped));
	return finish(object);
}
