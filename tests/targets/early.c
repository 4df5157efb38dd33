/* Allocations before anybody's constructor has run: in .preinit_array, where libc is not initialised (environ
 * is still NULL) and dlsym() itself allocates, and in the resolver of an IFUNC, which runs while the program
 * is being relocated. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

static void *kept_for_main, *of_resolver;

NOINLINE static void early(void)
{
	void *blocks[3];
	for (int i = 0; i < 3; i++)
		blocks[i] = keep(malloc(100));
	free(blocks[0]);
	kept_for_main = blocks[1];
}

static void preinit(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv, (void)environment;
	CHECK(dlsym(RTLD_DEFAULT, "there_is_no_such_symbol") == NULL);
	early();
	CHECK(dlsym(RTLD_NEXT, "nor_is_there_this_one") == NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(int, char **,
									      char **) = preinit;

static int answer(void)
{
	return 42;
}

#ifdef IFUNC
/* Lazy binding is off in this program: resolved while it is relocated. */
static int (*resolve(void))(void)
{
	of_resolver = keep(malloc(123));
	return answer;
}
static int chosen(void) __attribute__((ifunc("resolve")));
#else
static int chosen(void)
{
	return answer();
}
#endif

KEEPER(constructed, 4, 40)

__attribute__((constructor)) static void construct(void)
{
	constructed();
}

KEEPER(in_main, 5, 40)

int main(void)
{
	CHECK(chosen() == 42 && dlerror() != NULL);
	free(kept_for_main);
	free(of_resolver);
	in_main();
	return 0;
}
