#include "cli/json.h"

static int add_bytes(const char *bytes, size_t count, void *text)
{
	hs_text_add_bytes(text, bytes, count);
	return 0;
}

void hs_json_add(struct hs_text *text, json_t *value)
{
	json_dump_callback(value, add_bytes, text, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
}

void hs_json_dump(struct hs_text *text, json_t *document)
{
	hs_json_add(text, document);
	hs_text_add(text, "\n");
}
