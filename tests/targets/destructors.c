/* Built as a program, and with -DLIBRARY as the library that it is linked to. The library's destructor runs
 * after that of any preloaded library: it frees what its constructor took, and keeps something new. */
#include "check.h"

#ifdef LIBRARY
static void *blocks[4];

NOINLINE static void library_takes(void)
{
	for (int i = 0; i < 4; i++)
		blocks[i] = keep(malloc(500));
}

KEEPER(library_keeps, 1, 77)

__attribute__((constructor)) static void begin(void)
{
	library_takes();
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	library_keeps();
}

int library_is_there(void);
int library_is_there(void)
{
	return 1;
}
#else
int library_is_there(void);
KEEPER(at_exit, 1, 55)

int main(void)
{
	CHECK(library_is_there() && atexit(at_exit) == 0);
	return 0;
}
#endif
