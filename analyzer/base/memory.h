/* Memory of the analyzer. Running out of it ends the program with a message: no report can be made then. */
#ifndef HS_MEMORY_H
#define HS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *hs_allocate(size_t bytes);                    /* never NULL; contents undefined */
void *hs_allocate_lines(size_t bytes);              /* likewise; begins with a line of the cache */
void *hs_allocate_zero(size_t count, size_t bytes); /* never NULL; checks the product */
/* Likewise undefined; for large arrays that will be written from the beginning to the end, or nearly so:
 * their pages come at once, which takes three quarters of the time that one after another takes. */
void *hs_allocate_filled(size_t bytes);
void *hs_reallocate(void *block, size_t count, size_t bytes);
char *hs_copy_string(const char *text);

/* Makes room for one more item in a growing array: doubles `array` (of *capacity items of item_bytes) when
 * count has reached *capacity. Returns the array. New room is not cleared. */
void *hs_grow(void *array, size_t count, size_t *capacity, size_t item_bytes);

#endif
