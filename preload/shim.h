/* Internals of the shim, the library that runs inside other people's programs.
 *
 * Its law: no lock, no allocation, no system call on an event's path; no libc function that a program may
 * replace or that sets errno; nothing exported but the hooks. Slow paths (first event of a thread, a new
 * chunk, a new module, a fork) may use raw system calls. Every path may be interrupted by a signal whose
 * handler allocates.
 *
 *   hooks.c      the interposed functions
 *   real.c       the next allocator behind us, and the arena for calls that come before it is known
 *   event.h      one event into the thread's chunk
 *   annotations.c  what programs report by heapscope.h
 *   stamps.c     when it happened
 *   claims.c     which memory only one stream has to do with
 *   thread.c     per-thread state: claimed at the first event, given back at thread exit
 *   libc.c       other functions of libc that concern us: forks, dlopen
 *   region.c     areas of the shared region, chunks, waiting for the collector
 *   process.c    start, fork, the hand-shake
 *   modules.c    loaded modules and their unloading
 *   trie.c       stack -> node
 *   unwind/      rules.c .eh_frame -> rule; walk.c the walk, remembered.c what still holds of the last one;
 *                variants.c stacks that differ from that in a few calls; fallback.c frame pointers, libunwind
 */
#ifndef HS_SHIM_H
#define HS_SHIM_H

#include "heapscope/region.h"

#if defined(__x86_64__)
#include "arch/x86_64.h" /* and x86_64.S */
#else
#error "heapscope records on x86-64 only so far"
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* ---- process ----------------------------------------------------------------------------------------- */

enum unwinder { UNWINDER_FAST, UNWINDER_LIBUNWIND, UNWINDER_FP };

struct area {
	uint64_t offset, first, most; /* in the region's file, see region.h */
	_Atomic(char *) extents[HS_MAX_EXTENTS];
};

struct range {
	uint64_t start, bytes;
};

static inline bool in_range(struct range range, uint64_t address)
{
	return address - range.start < range.bytes;
}

/* Stands for a region where there is none: counts that nobody reads. */
extern struct hs_region_header hs_no_region;

/* One a process image. */
struct process {
	struct hs_region_header *header; /* hs_no_region: not connected */
	uint32_t stopped;                /* enum hs_stop: threads find out at their next chunk */
	struct area modules, nodes, chunks;
	uint32_t generation; /* grows when a module goes: remembered stacks are void then */
	bool clock_is_tsc;
	bool clock_is_readable; /* by a TSC read, that is */
	bool sandboxed;         /* perhaps: no system call but those that allocators need */
	bool jailed;            /* strict seccomp: any system call of ours would be the end of the process */
	bool follow_forks;
	enum unwinder unwinder;
	uint64_t stack_end;        /* of the initial thread */
	struct range loader, libc; /* ld.so and libc.so as they are mapped */
	bool begun;                /* hs_process_begin has run, here or in an ancestor, */
	bool was_recorded;         /* and has got a region */
	uint32_t pauses;           /* that have not ended */
	uint32_t epoch;            /* grows with each fork that this image is the child of */
	/* The fork came from a signal handler that had interrupted us: what is below it on the stack may
	 * still use what the parent had. */
	bool interrupted;
	/* A page of the region that fork children do have, until they begin: it shows the collector that one
	 * lives and may still allocate. */
	void *lifeline;
};
extern struct process hs_process;

/* hs_alive[ALIVE] is 1 once this process has begun, and 0 again in a fork child: the page is wiped there.
 * ALIVE_AND_RECORDS is 0 also while the program has recording paused. */
enum { ALIVE_AND_RECORDS, ALIVE };
extern uint32_t hs_alive[HS_PAGE_BYTES / sizeof(uint32_t)];

/* Connects and maps the region if that has not happened in this process. Idempotent; may be called from
 * anywhere, any number of times. */
void hs_process_begin(void);
/* In a fork child: cuts it off from its parent's region. As soon as possible, and again at the first event.
 * The kernel has not mapped the region there (MADV_DONTFORK); so that a hook which the fork has interrupted,
 * in a signal handler, may go on in the child, private memory takes the region's place. */
void hs_process_forked(void);
void hs_process_stop(enum hs_stop reason);
/* hs_process.pauses has changed. */
void hs_process_heed_pauses(void);
static inline bool hs_recording(void)
{
	return load_relaxed(&hs_process.header) != &hs_no_region && !load_relaxed(&hs_process.stopped);
}

/* No handler runs in this thread until it is undone: for the rare times when one would meet us half-way. */
uint64_t hs_signals_block(void);
void hs_signals_restore(uint64_t mask);

/* ---- memory ------------------------------------------------------------------------------------------ */

/* Anonymous zero pages; NULL if there are none. */
void *hs_pages(size_t bytes);
/* Likewise, for a table that look-ups go all over: with small pages nearly each of them misses the TLB as
 * well.
 */
void *hs_table_pages(size_t bytes);
void hs_pages_free(void *pages, size_t bytes);
/* They are all zero again, and take no memory until they are used again. */
void hs_pages_clear(void *pages, size_t bytes);

/* ---- region ------------------------------------------------------------------------------------------ */

/* The bytes at an offset of an area, which is mapped as far as needed; NULL if it cannot be. Items never
 * straddle extents. */
void *hs_area_at(struct area *area, uint64_t offset);
bool hs_region_map(int fd);
/* Maps what a busy program will need, while it may: in a sandbox mremap may be the end of the process. */
void hs_region_map_ahead(void);
/* In a fork child: see hs_process_forked. */
void hs_region_forget(bool interrupted);

struct thread;
/* Gives the thread an empty chunk, handing over the one that it has. false: the event is lost, or is the
 * parent's: a fork has interrupted it. */
bool hs_chunk_next(struct thread *thread);

/* ---- threads ----------------------------------------------------------------------------------------- */

/* A compiled unwind rule, 64 bits: kind 3, CFA offset 24 (signed), fp's slot 21 (signed, 8-byte units; 0: fp
 * unchanged), module 16. */
typedef uint64_t unwind_rule;
enum rule_kind {
	RULE_SP = 1,       /* CFA = sp + n; slot relative to the CFA */
	RULE_FP = 2,       /* CFA = fp + n; slot relative to the CFA */
	RULE_FP_DEREF = 3, /* CFA = *(fp + n), realigned stack; fp is restored from *fp */
	RULE_END = 4,      /* the outermost frame */
	RULE_SIGNAL = 5,   /* sigreturn trampoline */
	RULE_NONE = 6,     /* no unwind data */
	RULE_ODD = 7,      /* unwind data that a rule cannot express: libunwind may */
};
#define RULE_KIND(r) ((enum rule_kind)((r)&7))
#define RULE_CFA(r) ((int64_t)((r) << 37) >> 40)
#define RULE_SLOT(r) (((int64_t)((r) << 16) >> 43) * 8)
#define RULE_MODULE(r) ((uint32_t)((r) >> 48))
#define RULE_MAKE(kind, module, cfa, slot)                                                                   \
	((uint64_t)(kind) | ((uint64_t)(cfa)&0xffffff) << 3 |                                                \
	 ((uint64_t)((int64_t)(slot) / 8) & 0x1fffff) << 27 | (uint64_t)(module) << 48)

/* One frame of a remembered stack: the state that a walk had there, and what the step outwards read. */
struct frame {
	uint64_t pc; /* return address; for a frame that a signal interrupted, pc + 1 */
	uint64_t sp; /* stack pointer after the return into this frame */
	uint64_t fp;
	unwind_rule rule; /* of pc */
	uint64_t path; /* with check: the hash of the stack from the outermost frame to this one (trie.h) */
	uint32_t check;
	uint32_t flags;
};
enum {
	STEP_AGAIN = 1,  /* the step read more than *(next sp - 8) and the rule's slot; then there is none */
	SLOT_COUNTS = 2, /* the frames outside of this one depend on what the rule's slot holds, */
	FP_COUNTS = 4,   /* on its fp, */
	USES_FP = 8,     /* the next one at once */
	ODD = 15,        /* any of these */
	ON_OWN_STACK = 16, /* this frame and all outside of it are on the thread's own stack */
	STEP = 256         /* so many steps outwards from here lead to frames that are not odd */
};

/* The writer of one stream. Owned by one thread (or one signal handler) at a time. */
struct thread {
	struct hs_chunk_header *chunk;
	uint64_t *at;  /* next word to write */
	uint64_t *end; /* a record may begin before this */
	uint64_t last_stamp;
	/* stamps.h */
	uint64_t tick; /* the kernel's at the last stamp */
	uint64_t solo_since;
	uint32_t rests; /* so many events need no stamp while the tick stays */
	bool sings_solo;
	/* The remembered stack: frames[0] outermost .. known[-1] innermost; frames[-1] is a sentinel with the
	 * largest sp. From known to limit there is room for the walk under way. */
	struct frame *frames, *known, *limit;
	uint32_t root; /* the node that their paths begin with, */
	uint32_t node; /* and that of all of them */
	/* unwind/variants.h */
	uint64_t shape;            /* changes where a remembered frame comes to stand at another place */
	struct variants *variants; /* NULL: not needed yet; or there is no memory */
	bool no_variants;          /* the latter */
	uint32_t *new_variant;     /* NULL, or where the node of the walk under way is noted */
	uint32_t variant;          /* the node that has been found there, or 0 */
	uint32_t generation;
	uint32_t writing; /* within an event: a signal handler that sees this writes elsewhere */
	uint32_t chunk_index;
	uint32_t stream, sequence;
	uint32_t serial, tid;
	uint32_t epoch; /* the process's when it was claimed: a fork child's own threads have states of their
			   own */
	bool internal;  /* our own code allocates (dlopen of libunwind): pass through */
	uint8_t mode;   /* enum hs_stream_mode */
	struct thread *next_free;
	struct thread *nested; /* for signal handlers that interrupt an event of this one */
	/* The same thread's writers of streams in other modes, or NULL; and of such a one, whose it is. */
	struct thread *slabs, *paused, *owner;
	uint32_t slab_depth; /* of brackets around allocations of slabs */
} __attribute__((aligned(64)));

extern __thread struct thread *hs_thread __attribute__((tls_model("initial-exec")));
/* How many functions of ours are under way in this thread, outside of an event, that use the region. */
extern __thread uint32_t hs_inside __attribute__((tls_model("initial-exec")));

/* What an event is about to book. */
enum event_kind { EVENT_ALLOCATION, EVENT_REALLOC, EVENT_OTHER };

/* The slow half of event_begin: claims a state, or a second one in a signal handler that interrupted an
 * event; looks whether recording is paused. NULL: this event is not recorded. `bytes` of an allocation. */
struct thread *hs_thread_enter_slowly(enum event_kind kind, uint64_t bytes);
/* What this thread allocates from now on is memory of a pool, until the same is undone. */
void hs_thread_begin_slabs(void);
void hs_thread_end_slabs(void);
void hs_threads_begin(void); /* once a process, also in a fork child */
/* In a fork child: this thread's states are given up, and may still be used by a hook that the fork has
 * interrupted. true: perhaps there is one. */
bool hs_threads_forked(void);
static inline bool hs_thread_is_current(const struct thread *thread)
{
	return load_relaxed(&thread->epoch) == load_relaxed(&hs_process.epoch);
}

/* ---- modules, trie ----------------------------------------------------------------------------------- */

struct dl_find_object;
/* The id of the module that dl_find_object described; registers it if it is new. */
uint32_t hs_module_of(const struct dl_find_object *found);
/* ld.so freed something: end the life of modules that are gone. */
void hs_modules_check(void);
void hs_modules_begin(void); /* in a fork child: tells the new region all modules, under the same ids */

void hs_trie_begin(void);

/* ---- unwinding --------------------------------------------------------------------------------------- */

void hs_rules_forget_module(uint32_t module);

/* The most frames of a stack; callers further out are replaced by one HS_ADDRESS_CUT. */
enum { HS_DEPTH_MOST = 16384 };

/* Room for a remembered stack, with its sentinel; NULL without memory. */
struct frame *hs_frames_new(int64_t capacity);

/* The node of the stack that begins at a hook's caller. */
uint32_t hs_walk(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp);

struct frame_state {
	uint64_t pc, sp, fp;
};
/* Frame-pointer step out of code without unwind data. false: no plausible caller; *looked: words were read to
 * find out. */
bool hs_step_by_frame_pointer(const struct frame_state *from, struct frame_state *to, bool *looked);
/* The frames outside the one with this state, nearest first, by libunwind; 0 if it is not to be had. */
size_t hs_libunwind_frames(struct thread *thread, const struct frame_state *from, struct frame_state *frames,
			   size_t most);

#ifdef HS_ORACLE
void hs_oracle_check(struct thread *thread, uint32_t node);
#endif

/* ---- real allocator ---------------------------------------------------------------------------------- */

struct real_allocator {
	void *(*malloc)(size_t);
	void (*free)(void *); /* looked up last */
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
};
extern struct real_allocator hs_real;

/* Finds the next allocator; false while that look-up is under way (it may allocate): use the arena. */
bool hs_real_begin(void);
/* The program's calls come to us first. false: another allocator stands in front, preloaded before us or
 * built into the program; the blocks are its own, and we see only what it passes on. */
bool hs_real_first(void);
void *hs_arena_allocate(size_t alignment, size_t bytes); /* zeroed; NULL if full */
enum { ARENA_BYTES = 16384 };
extern char hs_arena[ARENA_BYTES];
static inline bool hs_arena_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)hs_arena < ARENA_BYTES;
}
size_t hs_arena_bytes(const void *block);

#endif
