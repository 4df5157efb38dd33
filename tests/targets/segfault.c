/* A preloaded library that tells where a program crashed, as glibc's libSegFault.so did: its constructor
 * installs a handler, which prints the stack and lets the signal have its way. With -DPROGRAM the program
 * that crashes: its own fault, or libc's while it is given a block that is none.
 *
 *   work: 1000 x malloc(64), kept */
#define _GNU_SOURCE
#include "check.h"

#include <execinfo.h>
#include <signal.h>
#include <stdint.h>

#ifdef PROGRAM

NOINLINE static void work(void)
{
	KEEP(1000, 64);
	__asm__ volatile("");
}

NOINLINE int crash(char **arguments);
NOINLINE int crash(char **arguments)
{
	volatile int *volatile nowhere = (int *)16;
	if (strcmp(arguments[1], "own") == 0)
		return *nowhere;
	void *block = keep((void *)nowhere);
	if (strcmp(arguments[1], "free") == 0)
		free(block);
	else
		block = keep(realloc(block, 1000));
	return block != NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	work();
	return crash(argv);
}

#else

static void on_crash(int number)
{
	static const char title[] = "*** crashed\n";
	void *frames[64];
	int count = backtrace(frames, 64);
	CHECK(write(2, title, sizeof title - 1) == sizeof title - 1);
	backtrace_symbols_fd(frames, count, 2);
	CHECK(signal(number, SIG_DFL) != SIG_ERR);
	raise(number);
}

__attribute__((constructor)) static void install(void)
{
	CHECK(signal(SIGSEGV, on_crash) != SIG_ERR);
}

#endif
