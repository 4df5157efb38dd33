/* A growing text, and what a terminal makes of it. Text from files goes in through hs_text_clean only, so
 * that a hostile name can neither move the cursor nor break a line. */
#ifndef HS_BASE_TEXT_H
#define HS_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Colours are written always and taken out by hs_text_strip_colour when they are not wanted. */
#define HS_BOLD "\033[1m"
#define HS_DIM "\033[2m"
#define HS_YELLOW "\033[33m"
#define HS_CYAN "\033[36m"
#define HS_PLAIN "\033[0m"

struct hs_text {
	char *bytes; /* NUL-terminated once something was added; owned */
	size_t count, capacity;
};

void hs_text_free(struct hs_text *text);
void hs_text_add(struct hs_text *text, const char *added);
void hs_text_add_bytes(struct hs_text *text, const char *added, size_t count);
/* Room for so many bytes at the end, for the caller to write to, who then sets `count`. They need no NUL if
 * something else is added before the text is read as a string. */
char *hs_text_room(struct hs_text *text, size_t bytes);
void hs_text_addf(struct hs_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hs_text_vaddf(struct hs_text *text, const char *format, va_list arguments);
void hs_text_repeat(struct hs_text *text, const char *added, size_t times);

/* Adds text of unknown origin: valid UTF-8 stays, other bytes, control and direction-changing characters
 * become
 * '?'. */
void hs_text_clean(struct hs_text *text, const char *added);

/* Adds a word so that a shell reads it back; it is not cleaned. */
void hs_text_shell_word(struct hs_text *text, const char *word);

/* Adds `added` padded with spaces to `columns`: on the right, or on the left for right-aligned text. Never
 * cuts. */
void hs_text_left(struct hs_text *text, const char *added, size_t columns);
void hs_text_right(struct hs_text *text, const char *added, size_t columns);

/* Columns that the text takes on a terminal; colours take none. */
size_t hs_text_columns(const char *text);

/* Takes the colours out, in place. */
void hs_text_strip_colour(struct hs_text *text);

/* The code point at `bytes` and in *length its bytes (at least 1); -1 if it is not valid UTF-8. */
int hs_text_decode(const char *bytes, size_t available, size_t *length);

#endif
