/* Text that may hold anything, as strict JSON. Private to export/. */
#ifndef HS_EXPORT_TEXT_H
#define HS_EXPORT_TEXT_H

#include <stdio.h>

/* A copy in which each byte that is no valid UTF-8 is U+FFFD. The caller frees it. */
char *hs_repair_utf8(const char *text);
/* Writes a JSON string, quotes included; repairs the text. */
void hs_write_json_text(FILE *output, const char *text);

#endif
