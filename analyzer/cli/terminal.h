/* What the streams are connected to, and the messages and the progress line on standard error. */
#ifndef HS_TERMINAL_H
#define HS_TERMINAL_H

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

enum hs_colour { HS_COLOUR_AUTO, HS_COLOUR_ALWAYS, HS_COLOUR_NEVER };

/* Columns to write for: of the terminal on `fd`, else $COLUMNS, else 80; between 70 and 250. */
unsigned hs_terminal_columns(int fd);

/* Whether colours are to be written to fd. AUTO: on a terminal that is not dumb, unless NO_COLOR is set. */
bool hs_terminal_colour(int fd, enum hs_colour when);

/* Whether the locale's characters are UTF-8. */
bool hs_terminal_utf8(void);

/* Writes lines for the user to standard error, each after "heapscope: ". No newline at the end is needed.
 * Control characters (names may be hostile) are shown as '?'. */
void hs_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Likewise, one text as it is; fits hs_record_options.notice. */
void hs_notice(const char *text);

/* A line on standard error, if that is a terminal, that is overwritten by the next one and erased by a
 * message or by hs_progress_end. Fits hs_record_options.progress. total 0: not known. */
void hs_progress(const char *phase, unsigned long long done, unsigned long long total);
void hs_progress_end(void);

/* Writes the text to `output` and flushes; returns 0, or -1 after a message that it could not be written. */
int hs_write_out(const struct hs_text *text, FILE *output);

#endif
