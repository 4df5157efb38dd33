/* Shows a text: on a terminal through the user's pager. */
#ifndef HS_PAGER_H
#define HS_PAGER_H

#include "cli/terminal.h"

/* Writes the text to standard output. If that is a terminal, and `wanted`, $PAGER gets it (less without the
 * variable, told to leave a text alone that fits on the screen); an empty $PAGER, or "cat", is none. Takes
 * the colours out unless the terminal is to have them. Returns 0, or -1 after a message. */
int hs_page(struct hs_text *text, bool wanted, enum hs_colour colour);

#endif
