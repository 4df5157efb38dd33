#include "columns.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A double is exact up to here. */
#define EXACT_MOST (1ULL << 53)

void hs_columns_start(struct hs_columns *columns)
{
	*columns = (struct hs_columns){.directory = json_object()};
}

void hs_columns_free(struct hs_columns *columns)
{
	free(columns->bytes);
	json_decref(columns->directory);
	*columns = (struct hs_columns){0};
}

/* Makes room for an array at an offset divisible by 8. */
static uint8_t *make_room(struct hs_columns *columns, size_t bytes)
{
	size_t start = (columns->count + 7) / 8 * 8;
	if (start + bytes > columns->capacity) {
		columns->capacity = 2 * (start + bytes);
		columns->bytes = hs_reallocate(columns->bytes, columns->capacity, 1);
	}
	memset(columns->bytes + columns->count, 0, start - columns->count);
	columns->count = start + bytes;
	return columns->bytes + start;
}

static uint64_t value_at(const void *first, size_t stride, size_t width, size_t index)
{
	const uint8_t *at = (const uint8_t *)first + index * stride;
	uint32_t narrow;
	uint64_t wide;
	if (width == 1)
		return *at;
	if (width == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static void put(uint8_t *at, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t bits_of_double(uint64_t value)
{
	double number = (double)value;
	uint64_t bits;
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

void hs_columns_add(struct hs_columns *columns, const char *name, const void *first, size_t stride,
		    size_t width, size_t count)
{
	uint64_t most = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = value_at(first, stride, width, i);
		most = value > most ? value : most;
	}
	if (count == 0)
		return;
	columns->inexact |= most > EXACT_MOST;
	bool wide = most > UINT32_MAX;
	size_t bytes = wide ? 8 : most > UINT16_MAX ? 4 : most > UINT8_MAX ? 2 : 1;
	const char *type = wide ? "f64" : bytes == 4 ? "u32" : bytes == 2 ? "u16" : "u8";
	uint8_t *at = make_room(columns, bytes * count);
	json_object_set_new(columns->directory, name,
			    json_pack("[s,I,I]", type, (json_int_t)(at - columns->bytes), (json_int_t)count));
	for (size_t i = 0; i < count; i++, at += bytes) {
		uint64_t value = value_at(first, stride, width, i);
		if (wide)
			value = bits_of_double(value > EXACT_MOST ? EXACT_MOST : value);
		put(at, bytes, value);
	}
}
