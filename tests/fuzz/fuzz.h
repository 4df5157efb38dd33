/* A fuzz target: one file fuzz_NAME.c defines the two functions below. It becomes two programs: with driver.c
 * a short, repeatable run that is part of the tests, and with libFuzzer one for hours (README.md). */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input to the code under test. Returns 0; what is wrong ends the program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the inputs that mutations begin with, one call of `add` each. */
typedef void fuzz_add(void *context, const void *data, size_t size);
void fuzz_seeds(fuzz_add *add, void *context);

/* Most bytes of memory that an input of `size` bytes justifies. driver.c has the usual answer; a target with
 * a better one defines it. */
size_t fuzz_memory(size_t size);

/* Ends the program with a message if something does not hold. */
#define FUZZ_CHECK(condition)                                                                                \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			fuzz_fail(__FILE__, __LINE__, #condition);                                           \
	} while (0)
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));

/* Standard output and error go nowhere from here on, but for the sanitizers' reports and fuzz_fail. */
void fuzz_silence(void);

/* An unnamed file with these bytes: its descriptor, and a path that lives as long. */
struct fuzz_file {
	int fd;
	char path[32];
};
struct fuzz_file fuzz_file_make(const void *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

#endif
