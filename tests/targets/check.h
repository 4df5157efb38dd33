/* For programs that check what they see themselves: whoever runs them expects the exit status that they have
 * when nobody watches, and 99 if something is different. No stdio here either. */
#ifndef CHECK_H
#define CHECK_H

#include "target.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILED 99
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			check_failed(__FILE__ ":" TEXT(__LINE__) ": " #condition "\n");                      \
	} while (0)

__attribute__((unused)) static void check_failed(const char *text)
{
	if (write(2, text, strlen(text)) < 0)
		_exit(FAILED);
	_exit(FAILED);
}

__attribute__((unused)) static void check_status(pid_t pid, int code)
{
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == code);
}

/* Not in a loop that the compiler could merge: `count` blocks of `size` bytes, kept. */
#define KEEP(count, size)                                                                                    \
	do {                                                                                                 \
		for (int keep_i = 0; keep_i < (count); keep_i++)                                             \
			CHECK(keep(malloc(size)));                                                           \
	} while (0)

/* A function NAME that keeps COUNT blocks of SIZE bytes. */
#define KEEPER(name, count, size)                                                                            \
	__attribute__((noinline, noclone)) static void name(void)                                            \
	{                                                                                                    \
		KEEP(count, size);                                                                           \
		__asm__ volatile(""); /* no tail call: the frame stays */                                    \
	}

#endif
