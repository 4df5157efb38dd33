/* The JSON document of `heapscope info`: docs/json.md. */
#include "cli/info.h"
#include "cli/json.h"

static json_t *members(const struct hs_info *info)
{
	json_t *array = json_array();
	for (unsigned kind = 1; kind < HS_CONTENTS_KINDS; kind++) {
		if (info->contents.kinds[kind].members == 0)
			continue;
		json_t *object = json_object();
		hs_json_put(object, "kind", hs_json_string(hs_member_names[kind]));
		hs_json_put(object, "members", hs_json_integer(info->contents.kinds[kind].members));
		hs_json_put(object, "items", hs_json_integer(info->contents.kinds[kind].items));
		hs_json_put(object, "file_bytes", hs_json_integer(info->contents.kinds[kind].packed_bytes));
		hs_json_put(object, "unpacked_bytes", hs_json_integer(info->contents.kinds[kind].raw_bytes));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *build_id_path(const struct hs_module *module)
{
	struct hs_text text = {0};
	if (module->build_id_bytes == 0)
		return json_null();
	hs_text_add(&text, "/buildid/");
	hs_build_id_add(&text, module);
	hs_text_add(&text, "/debuginfo");
	json_t *string = hs_json_string(text.bytes);
	hs_text_free(&text);
	return string;
}

/* The modules of `print --json`, with what is known of their debug information. */
static json_t *modules(const struct hs_info *info)
{
	const struct hs_profile *profile = info->report.profile;
	json_t *array = hs_json_modules(profile);
	for (uint32_t i = 0; i < profile->module_count && i < json_array_size(array); i++) {
		const struct hs_info_module *module = &info->modules[i];
		const struct hs_contents_module *counts = &info->contents.modules[i];
		json_t *object = json_array_get(array, i);
		hs_json_put(object, "frames", hs_json_integer(counts->frames));
		hs_json_put(object, "frames_without_name", hs_json_integer(counts->unnamed));
		hs_json_put(object, "frames_without_line", hs_json_integer(counts->without_line));
		hs_json_put(object, "lacks_debug_information", json_boolean(module->lacks));
		hs_json_put(object, "file_is_here", module->lacks ? json_boolean(module->here) : json_null());
		hs_json_put(object, "debug_information_is_here",
			    module->lacks ? json_boolean(module->debug_here) : json_null());
		hs_json_put(object, "package", hs_json_string(module->package.name));
		hs_json_put(object, "debug_package", hs_json_string(module->package.debug));
		hs_json_put(object, "debug_package_listed", json_boolean(module->package.exact));
		hs_json_put(object, "debuginfod_path",
			    module->lacks ? build_id_path(&profile->modules[i]) : json_null());
	}
	return array;
}

void hs_info_json(struct hs_text *text, const struct hs_info *info)
{
	const struct hs_profile *profile = info->report.profile;
	json_t *document = json_object();
	hs_json_put(document, "schema", json_string("heapscope-info-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "path", hs_json_string(info->report.path));
	hs_json_put(document, "file_bytes", hs_json_integer(info->contents.file_bytes));
	hs_json_put(document, "whole_bytes", hs_json_integer(info->contents.whole_bytes));
	hs_json_put(document, "finished", json_boolean(info->contents.footer));
	hs_json_put(document, "complete", json_boolean(info->complete));
	hs_json_put(document, "has_names", json_boolean(info->contents.kinds[HS_MEMBER_SYMBOLS].members > 0));
	hs_json_put(document, "facts", hs_json_facts(&profile->facts));
	hs_json_put(document, "members", members(info));
	hs_json_put(document, "modules", modules(info));
	hs_json_dump(text, document);
}
