/* LEB128 varints: 7 bits a byte, least significant first, high bit = more follow. At most 10 bytes. */
#ifndef HEAPSCOPE_VARINT_H
#define HEAPSCOPE_VARINT_H

#include <stdint.h>

enum { HS_VARINT_MOST = 10 };

static inline uint8_t *hs_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Returns the position after the varint, or NULL if it does not end before `end` or passes 64 bits. */
static inline const uint8_t *hs_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;
		if (shift == 63 && byte > 1)
			return 0;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = sum;
			return at;
		}
	}
	return 0;
}

/* The varint that begins in the lowest byte of `word`, the first of four. Returns how many bytes it has,
 * without a loop whose end nobody can foresee; 0: more than four. */
static inline unsigned hs_varint_get_short(uint32_t word, uint64_t *value)
{
	uint32_t ends = ~word & 0x80808080;
	if (!ends)
		return 0;
	word &= (ends ^ (ends - 1)) & 0x7f7f7f7f;
	word = (word & 0x007f007f) | (word & 0x7f007f00) >> 1;
	*value = (word & 0x3fff) | (word & 0x3fff0000) >> 2;
	return (unsigned)__builtin_ctz(ends) / 8 + 1;
}

static inline uint64_t hs_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t hs_unzigzag(uint64_t code)
{
	return (int64_t)(code >> 1) ^ -(int64_t)(code & 1);
}

#endif
