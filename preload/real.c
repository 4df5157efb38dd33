/* The next allocator behind our hooks (glibc's, or a preloaded or linked jemalloc, tcmalloc, mimalloc), and a
 * small arena for the calls that come while it is being looked up: dlsym may call calloc. */
#include "shim.h"

#include <dlfcn.h>
#include <string.h>

struct real_allocator hs_real;

_Alignas(64) char hs_arena[ARENA_BYTES];
static _Atomic(size_t) arena_used;

void *hs_arena_allocate(size_t alignment, size_t bytes)
{
	/* Each block is preceded by its size, for realloc. */
	if (alignment < 16)
		alignment = 16;
	if (bytes > ARENA_BYTES || alignment > ARENA_BYTES)
		return NULL;
	size_t used = arena_used, start;
	do {
		start = (used + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
		if (start + bytes > ARENA_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak(&arena_used, &used, start + bytes));
	memcpy(hs_arena + start - sizeof(size_t), &bytes, sizeof bytes);
	return hs_arena + start;
}

size_t hs_arena_bytes(const void *block)
{
	size_t bytes;
	memcpy(&bytes, (const char *)block - sizeof bytes, sizeof bytes);
	return bytes;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Where memalign is missing, aligned_alloc does it, and the other way round. */
static void *absent_aligned(size_t alignment, size_t bytes)
{
	void *block = NULL;
	return hs_real.posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
}

bool hs_real_begin(void)
{
	static _Atomic(int) state; /* 0 new, 1 under way, 2 done */
	if (state == 2)
		return true;
	int expected = 0;
	if (!atomic_compare_exchange_strong(&state, &expected, 1))
		return expected == 2;
	/* Only names that libc has. A look-up that fails makes a message, which libc cannot while the program
	 * is still being relocated (IFUNC), and frees it, which sends a simple interposer in front of us
	 * round in circles. */
	hs_real.malloc = next("malloc");
	hs_real.calloc = next("calloc");
	hs_real.realloc = next("realloc");
	hs_real.posix_memalign = next("posix_memalign");
	hs_real.aligned_alloc = next("aligned_alloc");
	hs_real.memalign = next("memalign");
	hs_real.valloc = next("valloc");
	hs_real.pvalloc = next("pvalloc");
	if (!hs_real.aligned_alloc)
		hs_real.aligned_alloc = absent_aligned;
	if (!hs_real.memalign)
		hs_real.memalign = absent_aligned;
	hs_real.free = next("free");
	state = 2;
	return true;
}
