/* Numbers as text, for documents that have millions of them: printf would take most of the time. Private to
 * export/ and cli/. */
#ifndef HS_EXPORT_NUMBERS_H
#define HS_EXPORT_NUMBERS_H

#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HS_DIGITS_MOST = 20 };

/* Writes a number's decimal digits; returns their end. */
char *hs_put_digits(char *at, uint64_t value);

/* A small number with a comma behind it, ready to be copied. */
struct hs_number_text {
	char bytes[15];
	uint8_t count;
};
enum { HS_NUMBER_ROOM = sizeof(struct hs_number_text) };

/* 0 ... count - 1. The caller frees them. */
struct hs_number_text *hs_number_texts(uint32_t count);

/* Writes such a number; HS_NUMBER_ROOM bytes from `at` on may be overwritten. Returns its end. */
static inline char *hs_put_number(char *at, const struct hs_number_text *number)
{
	memcpy(at, number, sizeof *number);
	return at + number->count;
}

/* Writes out what a text has gathered and empties it, if that is at least so many bytes. */
void hs_text_drain(struct hs_text *text, size_t least, FILE *output);
enum { HS_WORTH_WRITING = 1 << 16 };

#endif
