/* Signals come while a hook itself is at work: in the midst of libc functions that it calls, which are this
 * program's own for that. -DKEYS=n: so many thread-specific keys are taken before anybody else can have one.
 * Tells how many signals were handled, and the number of the key that main gets.
 *
 *   in_handler: each signal: malloc(24), kept
 *   own_work:   20 threads x (5 x malloc(50), kept, and 5 that are freed) */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 20 };
static atomic_int handled, may_raise;

NOINLINE static void in_handler(void)
{
	keep(malloc(24));
	__asm__ volatile("");
}

static void on_signal(int number)
{
	(void)number;
	in_handler();
	handled++;
}

/* Before and after; not in the handler again. */
static void interrupt(void)
{
	static __thread int raising;
	if (!may_raise || raising)
		return;
	raising = 1;
	raise(SIGUSR1);
	raising = 0;
}

#if KEYS
static void take_keys(void)
{
	pthread_key_t key;
	for (int i = 0; i < KEYS; i++)
		CHECK(pthread_key_create(&key, NULL) == 0 && key == (unsigned)i);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = take_keys;
#endif

int pthread_setspecific(pthread_key_t key, const void *value)
{
	static int (*next)(pthread_key_t, const void *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_setspecific");
	interrupt();
	int result = next(key, value);
	interrupt();
	return result;
}

/* Called by libunwind. */
int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	interrupt();
	int result = next(callback, data);
	interrupt();
	return result;
}

NOINLINE static void own_work(void)
{
	for (int i = 0; i < 5; i++) {
		keep(malloc(50));
		free(keep(malloc(60)));
	}
}

static void *thread(void *unused)
{
	own_work();
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_key_t key;
	char text[64];
	CHECK(pthread_key_create(&key, NULL) == 0);
	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	may_raise = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	may_raise = 0;
	int length = snprintf(text, sizeof text, "%d %d\n", handled, (int)key);
	CHECK(write(1, text, (size_t)length) == length);
	return 0;
}
