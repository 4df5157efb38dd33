/* Ways to end. Usage: ends MODE. Whatever comes, `work` has kept 1000 blocks of 64 bytes, the last of them
 * just before the end. */
#define _GNU_SOURCE
#include "check.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

KEEPER(work, 1000, 64)
KEEPER(last_words, 7, 30)

static void *outlives_main(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	last_words();
	return NULL;
}

static void *exits_for_all(void *unused)
{
	last_words();
	exit(3);
	return unused;
}

static void *kills_itself(void *unused)
{
	last_words();
	raise(SIGKILL);
	return unused;
}

NOINLINE static int overflow(volatile char *from)
{
	volatile char here[1000];
	here[0] = from[0];
	return here[0] == 1 ? 1 : overflow(here) + here[0];
}

static void on_signal(int number)
{
	(void)number;
	last_words();
	_exit(3);
}

static void end(const char *mode)
{
#define IS(name) (strcmp(mode, name) == 0)
	if (IS("exit"))
		exit(3);
	if (IS("atexit")) {
		CHECK(atexit(last_words) == 0);
		exit(3);
	}
	if (IS("quick_exit")) {
		CHECK(at_quick_exit(last_words) == 0);
		quick_exit(3);
	}
	if (IS("_exit"))
		_exit(3);
	if (IS("exit_group"))
		syscall(SYS_exit_group, 3);
	if (IS("exit_thread")) /* the only one */
		syscall(SYS_exit, 3);
	if (IS("abort"))
		abort();
	if (IS("assert"))
		assert(mode == NULL);
	if (IS("segv"))
		*(volatile int *volatile)8 = 1;
	volatile char zero = 0;
	if (IS("overflow"))
		overflow(&zero);
	if (IS("bus"))
		raise(SIGBUS);
	if (IS("term"))
		raise(SIGTERM);
	if (IS("kill"))
		kill(getpid(), SIGKILL);
	if (IS("handler")) {
		signal(SIGSEGV, on_signal);
		*(volatile int *volatile)8 = 1;
	}
	pthread_t thread;
	static pthread_t self;
	self = pthread_self();
	if (IS("pthread_exit")) {
		CHECK(pthread_create(&thread, NULL, outlives_main, &self) == 0);
		pthread_exit(NULL);
	}
	if (IS("thread_exits")) {
		CHECK(pthread_create(&thread, NULL, exits_for_all, NULL) == 0);
		for (;;)
			pause();
	}
	if (IS("thread_kills")) {
		CHECK(pthread_create(&thread, NULL, kills_itself, NULL) == 0);
		for (;;)
			pause();
	}
	if (IS("exec")) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(FAILED);
	}
}

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0}, stack = {1 << 20, 1 << 20};
	CHECK(argc == 2 && setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_STACK, &stack) == 0);
	work();
	end(argv[1]);
	return 0;
}
