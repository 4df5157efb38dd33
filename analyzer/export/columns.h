/* Arrays of integers as the page reads them (viewer/README.md): each as narrow as its largest value allows,
 * described in a directory. Private to export/. */
#ifndef HS_EXPORT_COLUMNS_H
#define HS_EXPORT_COLUMNS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_columns {
	uint8_t *bytes;
	size_t count, capacity;
	json_t *directory; /* "NAME": ["TYPE", OFFSET, COUNT] */
	bool inexact;      /* a value above 2^53 was cut */
};

void hs_columns_start(struct hs_columns *columns);
void hs_columns_free(struct hs_columns *columns);

/* Adds the `count` values that stand `stride` bytes apart, each of `width` bytes (1, 4 or 8). An empty column
 * is left out. */
void hs_columns_add(struct hs_columns *columns, const char *name, const void *first, size_t stride,
		    size_t width, size_t count);

/* The field of an array of structures, which may be NULL if count is 0. */
#define HS_COLUMNS_ADD(columns, name, items, field, count)                                                   \
	do {                                                                                                 \
		if ((count) != 0)                                                                            \
			hs_columns_add(columns, name, &(items)->field, sizeof *(items),                      \
				       sizeof(items)->field, count);                                         \
	} while (0)

#endif
