/* Amounts as people write them. Each returns whether the whole text is one, and it fits. */
#ifndef HS_PARSE_H
#define HS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes: "4096", "64k", "64KiB", "1.5M", "2G". units as hs_byte_unit has them. */
bool hs_parse_size(const char *text, uint64_t *bytes);

/* Microseconds: "1.5" and "1.5s" are seconds; "200ms", "5us", "2min" (or "2m"), "1h". */
bool hs_parse_time(const char *text, uint64_t *time_us);

#endif
