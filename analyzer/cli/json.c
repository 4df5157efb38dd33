#include "cli/json.h"

#include <stdlib.h>

void hs_json_dump(struct hs_text *text, json_t *document)
{
	char *dump = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	if (dump)
		hs_text_addf(text, "%s\n", dump);
	free(dump);
}
