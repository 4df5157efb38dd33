/* A malloc that a signal handler may call at any moment: blocks come from one large area by an atomic add and
 * never go back. To be linked as a shared library, behind heapscope's. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HEADER = 16 };
static const size_t area_bytes = (size_t)4 << 30;
static _Atomic(char *) area;
static atomic_size_t used;

static char *find_area(void)
{
	char *here = area, *none = NULL;
	if (here)
		return here;
	here = mmap(NULL, area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (here == MAP_FAILED)
		__builtin_trap();
	if (atomic_compare_exchange_strong(&area, &none, here))
		return here;
	munmap(here, area_bytes);
	return none;
}

static void *take(size_t alignment, size_t size)
{
	if (alignment < HEADER)
		alignment = HEADER;
	size_t most = size + alignment + HEADER;
	size_t start =
		most < size || size > area_bytes ? area_bytes : atomic_fetch_add(&used, (most + 15) & ~15ul);
	if (start + most > area_bytes) {
		errno = ENOMEM;
		return NULL;
	}
	uintptr_t block = ((uintptr_t)find_area() + start + HEADER + alignment - 1) & ~(alignment - 1);
	memcpy((char *)block - HEADER, &size, sizeof size);
	return (void *)block;
}

void *malloc(size_t size)
{
	return take(HEADER, size);
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : take(HEADER, bytes);
}

void *realloc(void *old, size_t size)
{
	size_t before;
	void *block = take(HEADER, size);
	if (block && old) {
		memcpy(&before, (char *)old - HEADER, sizeof before);
		memcpy(block, old, before < size ? before : size);
	}
	return block;
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
	return take(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size)
{
	*place = take(alignment, size);
	return *place ? 0 : ENOMEM;
}
