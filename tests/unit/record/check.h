/* Checks that go on after a failure; main returns check_failures != 0. */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                               \
			check_failures++;                                                                    \
		}                                                                                            \
	} while (0)

#define CHECK_NUMBER(is, expected)                                                                           \
	do {                                                                                                 \
		uint64_t is_ = (uint64_t)(is), expected_ = (uint64_t)(expected);                             \
		if (is_ != expected_) {                                                                      \
			printf("%s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", __FILE__, __LINE__, #is, is_,  \
			       expected_);                                                                   \
			check_failures++;                                                                    \
		}                                                                                            \
	} while (0)

#define CHECK_TEXT(is, expected)                                                                             \
	do {                                                                                                 \
		const char *is_ = (is), *expected_ = (expected);                                             \
		if (strcmp(is_, expected_) != 0) {                                                           \
			printf("%s:%d: %s is\n  \"%s\", not\n  \"%s\"\n", __FILE__, __LINE__, #is, is_,      \
			       expected_);                                                                   \
			check_failures++;                                                                    \
		}                                                                                            \
	} while (0)

#endif
