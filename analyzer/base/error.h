/* Errors of library code: a message that says what happened, why, and what to do. Only cli/ prints them. */
#ifndef HS_ERROR_H
#define HS_ERROR_H

struct hs_error {
	char text[1024];
};

/* Fills in the message (printf-like); returns -1, so that a caller can write `return hs_fail(...)`.
 * error may be NULL. */
int hs_fail(struct hs_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
