/* The interposed functions. Each calls the next allocator, then books what really happened, under the rules
 * of time that make threads mergeable: malloc's stamp after the real call, free's before it, realloc's both.
 * They keep errno, every return value and the frame pointer (the walk begins at it). */
#include "event.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define EXPORT __attribute__((visibility("default")))

/* Books a block that the real allocator has given. The stamp is taken after the walk, whose loads are then
 * still under way: reading the clock takes as long as a miss of the first cache. */
#define BOOK_ALLOC(block, size)                                                                              \
	do {                                                                                                 \
		struct thread *thread = event_begin_as(EVENT_ALLOCATION, size);                              \
		if (likely(thread)) {                                                                        \
			uint32_t node = hs_walk(thread, CALLER_PC, CALLER_SP, CALLER_FP);                    \
			uint64_t stamp = event_stamp(thread, (uint64_t)(block));                             \
			event_alloc(thread, (uint64_t)(block), stamp, size, node);                           \
			event_end(thread);                                                                   \
		}                                                                                            \
	} while (0)

static inline void book_free(void *block, uint64_t caller)
{
	struct thread *thread = event_begin();
	if (likely(thread)) {
		event_free(thread, (uint64_t)block, event_stamp(thread, (uint64_t)block));
		event_end(thread);
	}
	/* ld.so frees a library's link map after unmapping it: how an unload shows itself without our
	 * wrapping dlopen or dlclose. */
	if (unlikely(in_range(hs_process.loader, caller)))
		hs_modules_check();
}

static inline bool early(void)
{
	return unlikely(!hs_real.free) && !hs_real_begin();
}

/* Whether the program's calls of a function come to us first: another one may stand in front, and has the
 * right to its own blocks. */
#define OWN(function, ...)                                                                                   \
	extern __typeof__(function) own_##function                                                           \
		__attribute__((alias(#function), visibility("hidden"), __VA_ARGS__))
#define IS_FIRST(function) (function == own_##function)
OWN(malloc, nothrow, leaf, malloc);
OWN(realloc, nothrow, leaf);
OWN(free, nothrow, leaf);

bool hs_real_first(void)
{
	return IS_FIRST(malloc);
}

EXPORT void *malloc(size_t size)
{
	if (early())
		return hs_arena_allocate(16, size);
	void *block = hs_real.malloc(size);
	if (likely(block))
		BOOK_ALLOC(block, size);
	return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t bytes;
	if (early())
		return __builtin_mul_overflow(count, size, &bytes) ? NULL : hs_arena_allocate(16, bytes);
	void *block = hs_real.calloc(count, size);
	if (likely(block))
		BOOK_ALLOC(block, count * size);
	return block;
}

EXPORT void free(void *block)
{
	if (!block)
		return;
	if (unlikely(hs_arena_owns(block)))
		return;
	if (early())
		return;
	book_free(block, CALLER_PC);
	hs_real.free(block);
}

/* The rarer names of free. Whoever is behind us takes any block by free. */
static void free_by_any_name(void *block, uint64_t caller)
{
	if (!IS_FIRST(free)) {
		free(block);
		return;
	}
	if (!block || hs_arena_owns(block) || early())
		return;
	book_free(block, caller);
	hs_real.free(block);
}

EXPORT void cfree(void *block);
EXPORT void cfree(void *block)
{
	free_by_any_name(block, CALLER_PC);
}

EXPORT void free_sized(void *block, size_t size);
EXPORT void free_sized(void *block, size_t size)
{
	(void)size;
	free_by_any_name(block, CALLER_PC);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment, (void)size;
	free_by_any_name(block, CALLER_PC);
}

/* A block of the arena moves to the real heap. */
static void *leave_arena(void *old, void *block, size_t size)
{
	size_t bytes = hs_arena_bytes(old);
	return block ? memcpy(block, old, bytes < size ? bytes : size) : NULL;
}

/* realloc of a live block. Both stamps and the real call lie within one event, so that the collector
 * waits for the outcome. */
#define BOOK_REALLOC(result, old, size, call)                                                                \
	do {                                                                                                 \
		struct thread *thread = event_begin_as(EVENT_REALLOC, size);                                 \
		uint64_t before = thread ? event_stamp(thread, (uint64_t)(old)) : 0;                         \
		(result) = (call);                                                                           \
		if (unlikely(!thread))                                                                       \
			break;                                                                               \
		if (likely(result)) {                                                                        \
			uint32_t node = hs_walk(thread, CALLER_PC, CALLER_SP, CALLER_FP);                    \
			uint64_t after = event_stamp(thread, (uint64_t)(result));                            \
			event_realloc(thread, (uint64_t)(old), before, (uint64_t)(result), after, size,      \
				      node);                                                                 \
		} else if ((size) == 0) {                                                                    \
			event_free(thread, (uint64_t)(old), before);                                         \
		}                                                                                            \
		event_end(thread);                                                                           \
	} while (0)

EXPORT void *realloc(void *old, size_t size)
{
	void *block;
	if (early()) {
		block = hs_arena_allocate(16, size);
		return block && old ? leave_arena(old, block, size) : block;
	}
	if (!old || unlikely(hs_arena_owns(old))) {
		block = hs_real.malloc(size);
		if (block)
			BOOK_ALLOC(block, size);
		return old ? leave_arena(old, block, size) : block;
	}
	BOOK_REALLOC(block, old, size, hs_real.realloc(old, size));
	return block;
}

/* Not by way of the real reallocarray, which calls realloc, that is us or whoever stands in front of us. */
EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!IS_FIRST(realloc))
		return realloc(old, bytes);
	void *block;
	if (early() || !old || unlikely(hs_arena_owns(old))) {
		block = early() ? hs_arena_allocate(16, bytes) : hs_real.malloc(bytes);
		if (block && !hs_arena_owns(block))
			BOOK_ALLOC(block, bytes);
		return old ? leave_arena(old, block, bytes) : block;
	}
	BOOK_REALLOC(block, old, bytes, hs_real.realloc(old, bytes));
	return block;
}

EXPORT int posix_memalign(void **place, size_t alignment, size_t size)
{
	if (early())
		return (*place = hs_arena_allocate(alignment, size)) ? 0 : ENOMEM;
	int error = hs_real.posix_memalign(place, alignment, size);
	if (likely(error == 0 && *place))
		BOOK_ALLOC(*place, size);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (early())
		return hs_arena_allocate(alignment, size);
	void *block = hs_real.aligned_alloc(alignment, size);
	if (likely(block))
		BOOK_ALLOC(block, size);
	return block;
}

EXPORT void *memalign(size_t alignment, size_t size);
EXPORT void *memalign(size_t alignment, size_t size)
{
	if (early())
		return hs_arena_allocate(alignment, size);
	void *block = hs_real.memalign(alignment, size);
	if (likely(block))
		BOOK_ALLOC(block, size);
	return block;
}

EXPORT void *valloc(size_t size);
EXPORT void *valloc(size_t size)
{
	void *block = early()          ? NULL
		      : hs_real.valloc ? hs_real.valloc(size)
				       : hs_real.memalign(HS_PAGE_BYTES, size);
	if (likely(block))
		BOOK_ALLOC(block, size);
	return block;
}

EXPORT void *pvalloc(size_t size);
EXPORT void *pvalloc(size_t size)
{
	void *block = NULL;
	if (!early() && hs_real.pvalloc)
		block = hs_real.pvalloc(size);
	else if (hs_real.memalign && size <= SIZE_MAX - HS_PAGE_BYTES)
		block = hs_real.memalign(HS_PAGE_BYTES,
					 (size + HS_PAGE_BYTES - 1) & ~(size_t)(HS_PAGE_BYTES - 1));
	if (likely(block))
		BOOK_ALLOC(block, size);
	return block;
}

/* Strict seccomp (and PR_SET_TSC) makes reading the TSC fatal: from then on stamps count up from the last
 * one. */
EXPORT int prctl(int option, ...)
{
	va_list list;
	va_start(list, option);
	unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long),
		      c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
	va_end(list);
	bool forbids_clock = (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
			     (option == PR_SET_TSC && a == PR_TSC_SIGSEGV);
	if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) { /* a sandbox is coming */
		hs_region_map_ahead();
		hs_process.sandboxed = true;
	}
	bool jails = option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT;
	if (forbids_clock)
		hs_clock_freeze(true);
	long result = arch_syscall(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);
	if (result >= 0) {
		hs_process.jailed |= jails;
		return (int)result;
	}
	if (forbids_clock)
		hs_clock_freeze(false);
	errno = (int)-result;
	return -1;
}
