/* A growing buffer of encoded values. */
#ifndef HS_RECORD_BYTES_H
#define HS_RECORD_BYTES_H

#include "base/memory.h"
#include "heapscope/varint.h"

#include <stdlib.h>
#include <string.h>

struct hs_bytes {
	uint8_t *data;
	size_t count, capacity;
};

static inline uint8_t *hs_bytes_room(struct hs_bytes *bytes, size_t more)
{
	if (bytes->capacity - bytes->count < more) {
		size_t capacity = bytes->capacity ? bytes->capacity * 2 : 1024;
		while (capacity - bytes->count < more)
			capacity *= 2;
		bytes->data = hs_reallocate(bytes->data, capacity, 1);
		bytes->capacity = capacity;
	}
	return bytes->data + bytes->count;
}

static inline void hs_bytes_varint(struct hs_bytes *bytes, uint64_t value)
{
	uint8_t *at = hs_bytes_room(bytes, HS_VARINT_MOST);
	bytes->count = (size_t)(hs_varint_put(at, value) - bytes->data);
}

static inline void hs_bytes_add(struct hs_bytes *bytes, const void *data, size_t count)
{
	uint8_t *at = hs_bytes_room(bytes, count);
	if (count)
		memcpy(at, data, count);
	bytes->count += count;
}

/* A string of FORMAT.md: its length, then its bytes. */
static inline void hs_bytes_string(struct hs_bytes *bytes, const void *data, size_t count)
{
	hs_bytes_varint(bytes, count);
	hs_bytes_add(bytes, data, count);
}

static inline void hs_bytes_free(struct hs_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct hs_bytes){0};
}

#endif
