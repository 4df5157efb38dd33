/* A growing text, and what a terminal makes of it. */
#include "base/text.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void hs_text_free(struct hs_text *text)
{
	free(text->bytes);
	*text = (struct hs_text){0};
}

static void make_room(struct hs_text *text, size_t count)
{
	if (text->capacity - text->count > count)
		return;
	size_t capacity = text->capacity + text->capacity / 2 + count + 64;
	text->bytes = hs_reallocate(text->bytes, capacity, 1);
	text->capacity = capacity;
}

char *hs_text_room(struct hs_text *text, size_t bytes)
{
	make_room(text, bytes);
	return text->bytes + text->count;
}

void hs_text_add_bytes(struct hs_text *text, const char *added, size_t count)
{
	make_room(text, count);
	memcpy(text->bytes + text->count, added, count);
	text->count += count;
	text->bytes[text->count] = 0;
}

void hs_text_add(struct hs_text *text, const char *added)
{
	hs_text_add_bytes(text, added, strlen(added));
}

void hs_text_vaddf(struct hs_text *text, const char *format, va_list arguments)
{
	enum { ENOUGH_MOSTLY = 64 };
	va_list again;
	va_copy(again, arguments);
	make_room(text, ENOUGH_MOSTLY);
	size_t room = text->capacity - text->count;
	int count = vsnprintf(text->bytes + text->count, room, format, arguments);
	if (count > 0 && (size_t)count >= room) {
		make_room(text, (size_t)count);
		vsnprintf(text->bytes + text->count, (size_t)count + 1, format, again);
	}
	text->count += count > 0 ? (size_t)count : 0;
	va_end(again);
}

void hs_text_addf(struct hs_text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	hs_text_vaddf(text, format, arguments);
	va_end(arguments);
}

void hs_text_repeat(struct hs_text *text, const char *added, size_t times)
{
	size_t count = strlen(added);
	for (size_t i = 0; i < times; i++)
		hs_text_add_bytes(text, added, count);
}

int hs_text_decode(const char *bytes, size_t available, size_t *length)
{
	const unsigned char *byte = (const unsigned char *)bytes;
	*length = 1;
	if (available == 0)
		return -1;
	if (byte[0] < 0x80)
		return byte[0];
	size_t more = byte[0] >= 0xf0 ? 3 : byte[0] >= 0xe0 ? 2 : 1;
	static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
	if (byte[0] < 0xc2 || byte[0] > 0xf4 || more >= available)
		return -1;
	uint32_t point = byte[0] & (0x3fu >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return -1;
		point = point << 6 | (byte[i] & 0x3fu);
	}
	if (point < smallest[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return -1;
	*length = more + 1;
	return (int)point;
}

/* Characters that would move the cursor, or reorder what follows. */
static bool is_unsafe(int point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200e && point <= 0x200f) ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
	       point == 0xfeff;
}

void hs_text_clean(struct hs_text *text, const char *added)
{
	size_t count = strlen(added), length;
	for (size_t at = 0; at < count; at += length) {
		for (length = 0; added[at + length] >= ' ' && added[at + length] <= '~';)
			length++;
		if (length) { /* nearly all names are such a run and nothing else */
			hs_text_add_bytes(text, added + at, length);
			continue;
		}
		int point = hs_text_decode(added + at, count - at, &length);
		if (is_unsafe(point)) /* -1, not UTF-8, is among them */
			hs_text_add_bytes(text, "?", 1);
		else
			hs_text_add_bytes(text, added + at, length);
	}
}

void hs_text_shell_word(struct hs_text *text, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=@%/.,:";
	if (*word && word[strspn(word, plain)] == 0) {
		hs_text_add(text, word);
		return;
	}
	hs_text_add(text, "'");
	for (; *word; word++) {
		if (*word == '\'')
			hs_text_add(text, "'\\''");
		else
			hs_text_add_bytes(text, word, 1);
	}
	hs_text_add(text, "'");
}

/* The length of the colour code at `bytes`, 0 if there is none. */
static size_t colour_length(const char *bytes)
{
	if (bytes[0] != '\033' || bytes[1] != '[')
		return 0;
	size_t length = 2;
	while ((bytes[length] >= '0' && bytes[length] <= '9') || bytes[length] == ';')
		length++;
	return bytes[length] == 'm' ? length + 1 : 0;
}

size_t hs_text_columns(const char *text)
{
	enum { CHARACTER_MOST = 4 };
	size_t columns = 0, length;
	for (size_t at = 0; text[at]; at += length) {
		length = 1;
		if (text[at] >= ' ' && text[at] <= '~') {
			columns++;
			continue;
		}
		length = colour_length(text + at);
		if (length)
			continue;
		int point = hs_text_decode(text + at, strnlen(text + at, CHARACTER_MOST), &length);
		/* wcwidth knows little beyond ASCII in the C locale; one column is the best guess then */
		int width = point < 0x80 ? 1 : wcwidth((wchar_t)point);
		columns += width < 0 ? 1 : (size_t)width;
	}
	return columns;
}

void hs_text_strip_colour(struct hs_text *text)
{
	size_t kept = 0, length;
	for (size_t at = 0; at < text->count; at += length) {
		length = colour_length(text->bytes + at);
		if (length)
			continue;
		length = 1;
		text->bytes[kept++] = text->bytes[at];
	}
	text->count = kept;
	if (text->bytes)
		text->bytes[kept] = 0;
}

static size_t missing_columns(const char *added, size_t columns)
{
	size_t taken = hs_text_columns(added);
	return taken < columns ? columns - taken : 0;
}

void hs_text_left(struct hs_text *text, const char *added, size_t columns)
{
	hs_text_add(text, added);
	hs_text_repeat(text, " ", missing_columns(added, columns));
}

void hs_text_right(struct hs_text *text, const char *added, size_t columns)
{
	hs_text_repeat(text, " ", missing_columns(added, columns));
	hs_text_add(text, added);
}
