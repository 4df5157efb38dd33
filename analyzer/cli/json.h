/* JSON documents as text for standard output. */
#ifndef HS_JSON_H
#define HS_JSON_H

#include "base/text.h"
#include "export/json.h"

/* Adds a value of any kind; frees it. */
void hs_json_add(struct hs_text *text, json_t *value);
/* Adds the document and a newline; frees it. */
void hs_json_dump(struct hs_text *text, json_t *document);

#endif
