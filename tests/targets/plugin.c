/* A library to be opened at run time. -DPLUGIN=a|b names its function; -DSIZE=n are the bytes of its blocks,
 * -DTLS of static TLS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#define JOIN(a, b) JOIN_EXPANDED(a, b)
#define JOIN_EXPANDED(a, b) a##b
#define keeps JOIN(PLUGIN, _keeps)
#define passes JOIN(PLUGIN, _passes)
#define NOINLINE __attribute__((noinline, noclone))

#ifdef TLS
static __thread volatile char room[TLS] __attribute__((tls_model("initial-exec")));
#endif

NOINLINE static void keeps(void)
{
#ifdef TLS
	room[TLS - 1] = 1;
#endif
	void *volatile block = malloc(SIZE);
	(void)block;
}

void entry(void);
void entry(void)
{
	keeps();
	__asm__ volatile("");
}

/* Blocks that cross the border. */
void *gives(void);
void *gives(void)
{
	return malloc(SIZE);
}

void takes(void *block);
void takes(void *block)
{
	free(block);
}

/* Opens another library by its bare name, which is to be looked for where this one's RUNPATH says. */
int open_by_name(const char *name);
int open_by_name(const char *name)
{
	void *handle = dlopen(name, RTLD_NOW);
	void (*other)(void) = handle ? (void (*)(void))dlsym(handle, "entry") : NULL;
	if (!other)
		return -1;
	other();
	return 0;
}

/* Goes back into the program, which may be in another namespace. */
NOINLINE static void passes(void (*function)(void))
{
	function();
	__asm__ volatile("");
}

void call(void (*function)(void));
void call(void (*function)(void))
{
	passes(function);
	__asm__ volatile("");
}
