#include "protobuf.h"

#include "base/memory.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, VARINT_MOST = 10 };

static void make_room(struct hs_protobuf *message, size_t bytes)
{
	if (message->capacity - message->count >= bytes)
		return;
	while (message->capacity - message->count < bytes)
		message->capacity = message->capacity ? message->capacity * 2 : 256;
	message->bytes = hs_reallocate(message->bytes, message->capacity, 1);
}

static void add_varint(struct hs_protobuf *message, uint64_t value)
{
	make_room(message, VARINT_MOST);
	for (; value >= 0x80; value >>= 7)
		message->bytes[message->count++] = (uint8_t)(value | 0x80);
	message->bytes[message->count++] = (uint8_t)value;
}

static size_t varint_bytes(uint64_t value)
{
	size_t bytes = 1;
	for (; value >= 0x80; value >>= 7)
		bytes++;
	return bytes;
}

void hs_protobuf_number(struct hs_protobuf *message, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	add_varint(message, field << 3 | WIRE_VARINT);
	add_varint(message, value);
}

void hs_protobuf_bytes(struct hs_protobuf *message, unsigned field, const void *bytes, size_t count)
{
	add_varint(message, field << 3 | WIRE_BYTES);
	add_varint(message, count);
	make_room(message, count);
	if (count)
		memcpy(message->bytes + message->count, bytes, count);
	message->count += count;
}

void hs_protobuf_numbers(struct hs_protobuf *message, unsigned field, const uint64_t *values, size_t count)
{
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += varint_bytes(values[i]);
	add_varint(message, field << 3 | WIRE_BYTES);
	add_varint(message, bytes);
	for (size_t i = 0; i < count; i++)
		add_varint(message, values[i]);
}

void hs_protobuf_message(struct hs_protobuf *message, unsigned field, struct hs_protobuf *part)
{
	hs_protobuf_bytes(message, field, part->bytes, part->count);
	part->count = 0;
}
