/* heapscope.h: what a program can tell the heap profiler heapscope about itself. For C and C++;
 *docs/annotations.md says how to call it from Rust.
 *
 * Nothing is to be linked. The functions below look for heapscope's recorder, which `heapscope run` brings
 *along; where it is not there, and in processes that are not recorded, they compare an address with NULL and
 *return. A static program finds no recorder, ever.
 *
 * They may be called from any thread and at any time, from constructors and destructors too, but not from
 *signal handlers. They keep errno, do not allocate, and take no lock. Names are UTF-8; of a longer one the
 *first 127 bytes count.
 *
 * POOLS. A program that takes large slabs of memory from malloc (or mmap) and hands out small blocks of them
 *itself reports the small ones, and they then count as blocks of malloc do: by their own stacks, sizes,
 *lifetimes. No byte counts twice:
 *
 *   - What a thread allocates between heapscope_slab_begin and heapscope_slab_end is a slab: it does not
 *count. How much such slabs hold is reported apart.
 *   - A block of malloc that is named as the slab of a reported block, but was not allocated that way, counts
 *until then, and no more from then on: the first block that is carved out takes its place, as if by realloc.
 *   - When a slab is freed (or heapscope_pool_reset is called for it) the blocks in it that have not been
 *freed end, too.
 *
 *	void *slab_new(size_t bytes)
 *	{
 *		heapscope_slab_begin();
 *		void *slab = malloc(bytes);
 *		heapscope_slab_end();
 *		return slab;
 *	}
 *
 *	void *pool_alloc(struct pool *pool, size_t bytes)
 *	{
 *		void *block = carve(pool, bytes);
 *		heapscope_pool_alloc(pool->slab, block, bytes);
 *		return block;
 *	}
 *
 * Report a block's end before another thread can get its memory, its beginning before anybody else knows it.
 *
 * This file is in the public domain (CC0): copy it into your sources. */
#ifndef HEAPSCOPE_H
#define HEAPSCOPE_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder's functions. Their names and arguments do not change. NULL where there is no recorder, so call
 * them by the wrappers below. */
#define HEAPSCOPE_WEAK __attribute__((weak))
void heapscope_v1_pool_alloc(const void *slab, const void *block, size_t bytes) HEAPSCOPE_WEAK;
void heapscope_v1_pool_realloc(const void *slab, const void *old_block, const void *block,
			       size_t bytes) HEAPSCOPE_WEAK;
void heapscope_v1_pool_free(const void *block) HEAPSCOPE_WEAK;
void heapscope_v1_pool_reset(const void *slab) HEAPSCOPE_WEAK;
void heapscope_v1_slab_begin(void) HEAPSCOPE_WEAK;
void heapscope_v1_slab_end(void) HEAPSCOPE_WEAK;
void heapscope_v1_phase_begin(const char *name, size_t name_bytes) HEAPSCOPE_WEAK;
void heapscope_v1_phase_end(const char *name, size_t name_bytes) HEAPSCOPE_WEAK;
void heapscope_v1_mark(const char *name, size_t name_bytes) HEAPSCOPE_WEAK;
void heapscope_v1_name_thread(const char *name, size_t name_bytes) HEAPSCOPE_WEAK;
void heapscope_v1_pause(void) HEAPSCOPE_WEAK;
void heapscope_v1_resume(void) HEAPSCOPE_WEAK;
int heapscope_v1_recording(void) HEAPSCOPE_WEAK;
#undef HEAPSCOPE_WEAK

/* Code that is not position-independent has weak functions that nobody defines resolved when it is linked: to
 * NULL, for ever. The loader gets to see them if their addresses come from the global offset table. */
#if defined(__x86_64__) && !defined(__PIC__)
#define HEAPSCOPE_FIND(function, found)                                                                      \
	__asm__(".weak " #function "\n\t{movq " #function                                                    \
		"@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " #function "@GOTPCREL[rip]}"                        \
		: "=r"(found))
#else
#define HEAPSCOPE_FIND(function, found) ((found) = function)
#endif

/* ---- pools ----------------------------------------------------------------------------------------------
 */

/* What this thread allocates until heapscope_slab_end is memory of a pool. Brackets may stand within each
 * other. */
static inline void heapscope_slab_begin(void)
{
	void (*call)(void);
	HEAPSCOPE_FIND(heapscope_v1_slab_begin, call);
	if (call)
		call();
}

static inline void heapscope_slab_end(void)
{
	void (*call)(void);
	HEAPSCOPE_FIND(heapscope_v1_slab_end, call);
	if (call)
		call();
}

/* A pool has given out a block of so many bytes. slab: the start of the memory that it is carved from, as
 * malloc, or mmap, or whoever returned it; NULL if the pool does not know: then nothing ends the block but
 * its own free. */
static inline void heapscope_pool_alloc(const void *slab, const void *block, size_t bytes)
{
	void (*call)(const void *, const void *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_pool_alloc, call);
	if (call)
		call(slab, block, bytes);
}

/* A pool has given a block another size, and perhaps another place (in that slab). After the fact; not if it
 * failed. */
static inline void heapscope_pool_realloc(const void *slab, const void *old_block, const void *block,
					  size_t bytes)
{
	void (*call)(const void *, const void *, const void *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_pool_realloc, call);
	if (call)
		call(slab, old_block, block, bytes);
}

static inline void heapscope_pool_free(const void *block)
{
	void (*call)(const void *);
	HEAPSCOPE_FIND(heapscope_v1_pool_free, call);
	if (call)
		call(block);
}

/* All blocks of a slab are free again: an arena starts anew, or its memory goes by other ways than free. */
static inline void heapscope_pool_reset(const void *slab)
{
	void (*call)(const void *);
	HEAPSCOPE_FIND(heapscope_v1_pool_reset, call);
	if (call)
		call(slab);
}

/* ---- phases, marks, threads ------------------------------------------------------------------------------
 */

/* A phase of the whole program, whatever thread says so. Phases may lie within each other, overlap, and come
 * again under the same name. An end closes the phase of that name that this thread began last, else the one
 * that any thread began last; one that nobody closes lasts until the program's end. */
static inline void heapscope_phase_begin(const char *name)
{
	void (*call)(const char *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_phase_begin, call);
	if (call)
		call(name, strlen(name));
}

static inline void heapscope_phase_end(const char *name)
{
	void (*call)(const char *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_phase_end, call);
	if (call)
		call(name, strlen(name));
}

/* A moment. */
static inline void heapscope_mark(const char *name)
{
	void (*call)(const char *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_mark, call);
	if (call)
		call(name, strlen(name));
}

/* What reports call this thread. The name that the system knows it by stays. */
static inline void heapscope_name_thread(const char *name)
{
	void (*call)(const char *, size_t);
	HEAPSCOPE_FIND(heapscope_v1_name_thread, call);
	if (call)
		call(name, strlen(name));
}

/* ---- pauses ---------------------------------------------------------------------------------------------
 */

/* From now on no thread's allocations are recorded (they are counted: reports say how many were skipped).
 * What was recorded before stays true: such blocks' frees and reallocs are recorded still. Each pause needs a
 * resume of its own. Fork children inherit pauses; phases they do not. */
static inline void heapscope_pause(void)
{
	void (*call)(void);
	HEAPSCOPE_FIND(heapscope_v1_pause, call);
	if (call)
		call();
}

static inline void heapscope_resume(void)
{
	void (*call)(void);
	HEAPSCOPE_FIND(heapscope_v1_resume, call);
	if (call)
		call();
}

/* Whether this process is being recorded, paused or not. */
static inline int heapscope_recording(void)
{
	int (*call)(void);
	HEAPSCOPE_FIND(heapscope_v1_recording, call);
	return call ? call() : 0;
}

#undef HEAPSCOPE_FIND

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
namespace heapscope
{

/* A phase for as long as the object lives. The name has to live as long. */
class phase
{
      public:
	explicit phase(const char *name) : name_(name)
	{
		heapscope_phase_begin(name_);
	}
	~phase()
	{
		heapscope_phase_end(name_);
	}
	phase(const phase &) = delete;
	phase &operator=(const phase &) = delete;

      private:
	const char *name_;
};

} // namespace heapscope
#endif

#endif
