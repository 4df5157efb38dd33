/* All exporters: an error or a document. Flame graphs are XML without markup from names. DHAT's is JSON that
 * its viewer can take, with each stack once and the numbers of each point below its maxima. */
#include "base/strings.h"
#include "export/export.h"
#include "made.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void fuzz_seeds(fuzz_add *add, void *context)
{
	fuzz_seed_members(add, context);
}

static json_int_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	FUZZ_CHECK(json_is_integer(value));
	return json_integer_value(value);
}

static void check_point(const json_t *point, size_t frame_count, struct hs_strings *stacks)
{
	const json_t *frames = json_object_get(point, "fs");
	size_t count = json_array_size(frames);
	FUZZ_CHECK(count > 0);
	uint32_t *indices = malloc(count * 4 + 4);
	for (size_t i = 0; i < count; i++) {
		const json_t *index = json_array_get(frames, i);
		FUZZ_CHECK(json_is_integer(index) && (size_t)json_integer_value(index) < frame_count);
		indices[i] = (uint32_t)json_integer_value(index);
	}
	char *text = json_dumps(frames, JSON_COMPACT);
	uint32_t before = stacks->count;
	hs_strings_add_text(stacks, text);
	FUZZ_CHECK(stacks->count == before + 1);
	free(text);
	free(indices);
	FUZZ_CHECK(number(point, "tb") >= 0 && number(point, "tbk") >= 0 && number(point, "tl") >= 0);
	FUZZ_CHECK(number(point, "mb") >= number(point, "gb") && number(point, "mb") >= number(point, "eb"));
	FUZZ_CHECK(number(point, "gb") >= 0 && number(point, "gbk") >= 0);
	FUZZ_CHECK(number(point, "eb") >= 0 && number(point, "ebk") >= 0);
}

static void check_document(const char *text, size_t size)
{
	json_error_t error;
	json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	FUZZ_CHECK(document != NULL);
	FUZZ_CHECK(number(document, "dhatFileVersion") == 2);
	const json_t *points = json_object_get(document, "pps"), *table = json_object_get(document, "ftbl");
	FUZZ_CHECK(json_is_array(points) && json_is_array(table));
	for (size_t i = 0; i < json_array_size(table); i++)
		FUZZ_CHECK(json_is_string(json_array_get(table, i)));
	struct hs_strings stacks;
	hs_strings_init(&stacks);
	for (size_t i = 0; i < json_array_size(points); i++)
		check_point(json_array_get(points, i), json_array_size(table), &stacks);
	hs_strings_free(&stacks);
	json_decref(document);
}

/* Nothing of a name is markup, nor what XML has no character for: angle brackets are those of our elements,
 * each of which is closed; text is UTF-8 without control characters but newlines and tabs. */
static void check_picture(const char *text, size_t size)
{
	static const char *const known[] = {"?xml", "svg",  "title",  "style",    "g", "rect",
					    "text", "line", "script", "![CDATA[", NULL};
	int depth = 0;
	FUZZ_CHECK(size > 0 && strlen(text) == size);
	for (const char *at = text; *at; at++) {
		FUZZ_CHECK((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
		if (*at != '<')
			continue;
		bool end = at[1] == '/', found = false;
		const char *name = at + 1 + end;
		size_t length = strncmp(name, "![CDATA[", 8) == 0 ? 8 : strcspn(name, " />\n");
		for (unsigned i = 0; known[i]; i++)
			found = found || (strlen(known[i]) == length && strncmp(known[i], name, length) == 0);
		FUZZ_CHECK(found);
		const char *close = strstr(name, *name == '!' ? "]]>" : ">");
		FUZZ_CHECK(close);
		if (*name != '!' && *name != '?' && close[-1] != '/')
			depth += end ? -1 : 1;
		at = close;
	}
	FUZZ_CHECK(depth == 0);
}

static void export_as(const struct hs_exporter *exporter, struct hs_profile *profile,
		      struct hs_export_options options)
{
	static const char page[] = "<html><!--heapscope-data--></html>";
	options.path = "fuzz.hs.gz";
	options.page = page;
	options.page_bytes = sizeof page - 1;
	struct hs_error error = {{0}};
	char *text = NULL;
	size_t length = 0;
	FILE *output = open_memstream(&text, &length);
	int result = exporter->write(profile, &options, output, &error);
	fclose(output);
	if (result != 0)
		FUZZ_CHECK(error.text[0] != 0);
	else if (strcmp(exporter->name, "dhat") == 0)
		check_document(text, length);
	else if (exporter->flame)
		check_picture(text, length);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hs_profile *profile = fuzz_load(data, size);
	for (const struct hs_exporter *exporter = hs_exporters; profile && exporter->name; exporter++) {
		if (!exporter->write)
			continue;
		export_as(exporter, profile, (struct hs_export_options){0});
		export_as(exporter, profile, (struct hs_export_options){.raw = true});
		if (exporter->flame) {
			export_as(exporter, profile, (struct hs_export_options){.flame.chart = true});
			export_as(exporter, profile,
				  (struct hs_export_options){.baseline = profile,
							     .baseline_path = "old",
							     .flame.reverse = true});
		}
	}
	hs_profile_free(profile);
	return 0;
}
