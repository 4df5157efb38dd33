/* Checks that say what differs and count it; main returns check_failures(). */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
		}                                                                                            \
	} while (0)

#define CHECK_NUMBER(value, expected)                                                                        \
	do {                                                                                                 \
		uint64_t value_ = (uint64_t)(value), expected_ = (uint64_t)(expected);                       \
		if (value_ != expected_) {                                                                   \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", __FILE__, __LINE__,   \
				#value, value_, expected_);                                                  \
		}                                                                                            \
	} while (0)

#define CHECK_TEXT(value, expected)                                                                          \
	do {                                                                                                 \
		const char *value_ = (value), *expected_ = (expected);                                       \
		if (!value_ || strcmp(value_, expected_) != 0) {                                             \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #value,     \
				value_ ? value_ : "(none)", expected_);                                      \
		}                                                                                            \
	} while (0)

/* `part` stands in `value`. */
#define CHECK_SAYS(value, part)                                                                              \
	do {                                                                                                 \
		const char *value_ = (value);                                                                \
		if (!value_ || !strstr(value_, part)) {                                                      \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: %s is \"%s\", which does not say \"%s\"\n", __FILE__,        \
				__LINE__, #value, value_ ? value_ : "(none)", part);                         \
		}                                                                                            \
	} while (0)

static inline int check_failures(void)
{
	if (failures)
		fprintf(stderr, "%d checks failed\n", failures);
	return failures != 0;
}

#endif
