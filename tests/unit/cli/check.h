/* What the unit tests of cli/ share: a failed check says where, what came and what should have. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_text_at(const char *file, int line, const char *got, const char *wanted)
{
	if (strcmp(got ? got : "", wanted) == 0)
		return;
	fprintf(stderr, "%s:%d: got\n%s\nwanted\n%s\n", file, line, got ? got : "(nothing)", wanted);
	exit(1);
}

#define CHECK_TEXT(got, wanted) check_text_at(__FILE__, __LINE__, got, wanted)
#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);        \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

#endif
