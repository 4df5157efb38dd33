/* Writes messages of protocol buffers into memory (protobuf.dev/programming-guides/encoding). Private to
 * export/. */
#ifndef HS_PROTOBUF_H
#define HS_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* An object of zeros is empty. Free `bytes` at the end. */
struct hs_protobuf {
	uint8_t *bytes;
	size_t count, capacity;
};

/* A field that is 0 is left out, as proto3 has it. */
void hs_protobuf_number(struct hs_protobuf *message, unsigned field, uint64_t value);
void hs_protobuf_bytes(struct hs_protobuf *message, unsigned field, const void *bytes, size_t count);
/* A repeated number, packed. */
void hs_protobuf_numbers(struct hs_protobuf *message, unsigned field, const uint64_t *values, size_t count);
/* Adds `part` as a field, and empties it for the next. */
void hs_protobuf_message(struct hs_protobuf *message, unsigned field, struct hs_protobuf *part);

#endif
