/* The shared-memory region: what the shim (preload/) writes inside the target and the collector
 * (analyzer/record/) reads outside of it. One region a process image; a memfd that both map.
 *
 * The file is sparse. It holds four areas at fixed offsets; each area grows on demand in extents that
 * double, so that the target maps little at first and never needs a descriptor again: the next extent is
 * mapped with mremap(last mapped page, 0, ...), which duplicates a shared mapping and may be longer than it.
 *
 * The target is not trusted: the collector copies a value once, checks it, then uses it. */
#ifndef HEAPSCOPE_REGION_H
#define HEAPSCOPE_REGION_H

#include <stdint.h>

#define HS_REGION_MAGIC 0x31475253484cULL
#define HS_REGION_VERSION 2

/* ---- areas ------------------------------------------------------------------------------------------- */

enum {
	HS_PAGE_BYTES = 4096,
	HS_MAX_MODULES = 4096,
	HS_MAX_CHUNKS = 65536,
	HS_CHUNK_BYTES = 32768,
	HS_MODULE_BYTES = 4096,
	HS_NODE_BYTES = 16,
	HS_MAX_EXTENTS = 24,
};

/* Offset in the file, bytes of the first extent, most bytes of the whole area. Extent 0 covers
 * [0, first); extent k > 0 covers [first << (k - 1), first << k). */
#define HS_HEADER_OFFSET 0ULL
#define HS_HEADER_BYTES (4096ULL + HS_MAX_CHUNKS)
#define HS_MODULES_OFFSET (1ULL << 20)
#define HS_MODULES_FIRST (64ULL * HS_MODULE_BYTES)
#define HS_MODULES_MOST ((uint64_t)HS_MAX_MODULES * HS_MODULE_BYTES)
#define HS_NODES_OFFSET (1ULL << 32)
#define HS_NODES_FIRST (1ULL << 20)
#define HS_NODES_MOST (1ULL << 32)
#define HS_CHUNKS_OFFSET (2ULL << 32)
#define HS_CHUNKS_FIRST (1ULL << 20)
#define HS_CHUNKS_MOST ((uint64_t)HS_MAX_CHUNKS * HS_CHUNK_BYTES)
#define HS_REGION_FILE_BYTES (HS_CHUNKS_OFFSET + HS_CHUNKS_MOST)
#define HS_MAX_NODES (HS_NODES_MOST / HS_NODE_BYTES)

/* ---- header ------------------------------------------------------------------------------------------ */

enum hs_clock { HS_CLOCK_TSC = 1, HS_CLOCK_MONOTONIC = 2 };

/* Why this process image has a region of its own. */
enum hs_origin { HS_ORIGIN_START = 1, HS_ORIGIN_FORK = 2 };

/* hs_region_header.stopped: why the shim records no more (0: it does). */
enum hs_stop {
	HS_STOP_NONE = 0,
	HS_STOP_COLLECTOR_GONE = 1,
	HS_STOP_NO_MEMORY = 2,
	HS_STOP_TOO_MANY_NODES = 3,
};

/* hs_region_header.flags. NOT_FIRST: the program's malloc is another one, which perhaps passes nothing on. */
enum { HS_REGION_FLAG_NOT_FIRST = 1 };

/* A chunk's owner, one byte each in hs_region_header.chunk_state. */
enum hs_chunk_state {
	HS_CHUNK_FREE = 0,  /* the collector's promise: its header is all zero */
	HS_CHUNK_OWNED = 1, /* a thread of the target appends to it */
	HS_CHUNK_FULL = 2,  /* handed over; the collector drains it and sets it free */
};

struct hs_region_header {
	/* Written by the collector before the target sees the region. */
	uint64_t magic; /* HS_REGION_MAGIC */
	uint32_t version;
	/* Thread id of the collector, as it sees itself. The kernel adds FUTEX_OWNER_DIED when that thread
	 * ends (set_robust_list(2)), the collector itself when it reads no more. */
	uint32_t collector;
	uint64_t file_bytes;     /* size of the memfd: no extent may pass it */
	uint32_t backlog_chunks; /* a thread that finds this many FULL chunks waits */
	uint32_t tsc_a_ms;       /* ticks of the TSC in a millisecond; 0: not known (yet) */

	/* Written once by the shim before `ready`. */
	uint32_t ready;       /* 1 (release) once the fields of this group stand */
	uint32_t clock;       /* enum hs_clock: unit of all stamps: TSC ticks or ns */
	uint32_t origin;      /* enum hs_origin */
	uint32_t pid;         /* as the target sees it */
	uint64_t start_stamp; /* of the first moment of recording */

	/* Grow-only counts, written by the shim with release. A record below the count may still be
	 * unwritten for a moment: see its own publication word. */
	uint32_t module_count;
	uint32_t node_count;  /* node ids in use are 1 .. node_count - 1; 0 is the root */
	uint32_t chunk_count; /* chunks whose extents some thread has mapped */
	uint32_t stream_count;
	uint32_t thread_count;

	/* Health, written by the shim (relaxed adds on slow paths only). */
	uint32_t stopped;          /* enum hs_stop */
	uint64_t lost_events;      /* events that found no place */
	uint64_t truncated_stacks; /* stacks cut at the depth limit */
	uint64_t broken_stacks;    /* stacks that ended at a frame nobody could unwind */
	uint64_t fallback_stacks;  /* stacks finished by libunwind */
	uint64_t waits;            /* times that a thread waited for a free chunk */

	/* Back-pressure: a waiting thread increments `waiters` and futex-waits on `drained`; the
	 * collector adds 1 to `drained` after freeing chunks and wakes if waiters != 0. It adds 1 to
	 * `heartbeat` each time round its loop. */
	uint32_t waiters;
	uint32_t drained;
	uint32_t heartbeat;
	uint32_t flags; /* HS_REGION_FLAG_*, written by the shim before `ready` */

	/* Libraries that the program opened in a way that binds them to libc past the shim (RTLD_DEEPBIND, or
	 * a namespace of their own), and the name that it gave for the first one; it may be torn. */
	uint32_t unseen_libraries;
	uint32_t began_paused; /* a fork child of a process that had paused: written by the shim before
				  `ready` */
	char unseen_library[256];

	/* What was allocated while the program had recording paused (relaxed adds). */
	uint64_t skipped_allocations, skipped_bytes;

	uint32_t stamps_rest; /* 1: some events had the stamp of one before them (preload/stamps.h) */

	uint8_t reserved_page[4096 - 136 - 280 - 4];
	uint8_t chunk_state[HS_MAX_CHUNKS]; /* enum hs_chunk_state, byte-sized atomics */
};
_Static_assert(sizeof(struct hs_region_header) == HS_HEADER_BYTES &&
		       __builtin_offsetof(struct hs_region_header, chunk_state) == 4096,
	       "header layout");

/* ---- modules ----------------------------------------------------------------------------------------- */

/* Module ids are record indices. HS_MODULE_NONE: code that no module covers (JIT). */
enum { HS_MODULE_NONE = 0xffff, HS_BUILD_ID_MOST = 64 };

enum {
	HS_MODULE_FLAG_MAIN = 1,
	HS_MODULE_FLAG_VDSO = 2,
	HS_MODULE_FLAG_PATH_CUT = 4,
	HS_MODULE_FLAG_SHIM = 8
};

struct hs_module_record {
	uint32_t ready;        /* 1 (release) once the rest stands */
	uint32_t flags;        /* HS_MODULE_FLAG_* */
	uint64_t start;        /* first mapped byte */
	uint64_t end;          /* one past the last */
	uint64_t bias;         /* address = bias + link-time address */
	uint64_t load_stamp;   /* when the shim first met it */
	uint64_t unload_stamp; /* 0 while loaded */
	uint32_t build_id_bytes;
	uint32_t path_bytes;
	uint8_t build_id[HS_BUILD_ID_MOST];
	char path[HS_MODULE_BYTES - 120]; /* as the loader names it; not terminated; the main program's may
					   * be empty: the collector knows it */
};
_Static_assert(sizeof(struct hs_module_record) == HS_MODULE_BYTES, "module layout");

/* ---- nodes ------------------------------------------------------------------------------------------- */

/* A stack is a node: the stack of `parent` plus one frame further in. `place` = module id << 48 | return
 * address; 0 while the record is unwritten (it is stored last, with release). parent < own id always. */
struct hs_node_record {
	uint64_t place;
	uint32_t parent;
	uint32_t reserved;
};
_Static_assert(sizeof(struct hs_node_record) == HS_NODE_BYTES, "node layout");

#define HS_PLACE_ADDRESS(place) ((place)&0xffffffffffffULL)
#define HS_PLACE_MODULE(place) ((uint32_t)((place) >> 48))
#define HS_PLACE(module, address) ((uint64_t)(module) << 48 | ((address)&0xffffffffffffULL))

/* Addresses (with HS_MODULE_NONE) that stand for something else than code, as outermost frame. */
enum {
	HS_ADDRESS_CUT = 1,    /* the depth limit was reached: callers further out are not known */
	HS_ADDRESS_BROKEN = 2, /* nobody could unwind further */
};

/* ---- chunks and events ------------------------------------------------------------------------------- */

/* A thread has streams of their own for what is not booked as usual. */
enum hs_stream_mode {
	HS_STREAM_PLAIN = 0,
	HS_STREAM_SLABS = 1,  /* what is allocated is memory of a pool: no block that counts */
	HS_STREAM_PAUSED = 2, /* reallocs while recording is paused: of blocks that are known only */
};

struct hs_chunk_header {
	uint32_t committed; /* bytes of records that stand after this header (release, after each event) */
	uint32_t busy;      /* 1 while the owner is between taking a stamp and publishing it */
	uint32_t
		stream; /* one writer at a time: a thread, or a signal handler that interrupted one; from 1 */
	uint32_t sequence;   /* of this chunk in its stream, from 0 */
	uint32_t thread;     /* serial of the thread in this process, from 1 */
	uint32_t tid;        /* as the target sees it */
	uint64_t base_stamp; /* deltas start here */
	uint32_t last;       /* 1 when it is handed over as the last one of its stream */
	uint32_t mode;       /* enum hs_stream_mode, the same for all chunks of a stream */
	uint8_t reserved[24];
};
_Static_assert(sizeof(struct hs_chunk_header) == 64, "chunk header is one cache line");
enum { HS_CHUNK_PAYLOAD_BYTES = HS_CHUNK_BYTES - 64 };

/* Records are 64-bit words. Word 0 = delta << 46 | address / 8 << 2 | kind:
 *   kind     2 bits, enum hs_record
 *   address  44 bits: address bits 3..46; others need the wide form
 *   delta    18 bits: stamp since the previous stamp of the chunk (base_stamp at first); more needs
 * HS_RECORD_WIDE Words that follow, by kind: FREE     none. ALLOC    word 1 = size << 32 | node. REALLOC  a
 * realloc that gave a block. Word 0 is the old block at the stamp before the call; word 1 = size << 32 |
 * node; word 2 = delta << 46 | new address / 8 << 2 | 0 is the new block, its delta counted from word 0's
 * stamp. Same address: resized in place (at the second stamp). WIDE     word 0 = op << 2 | WIDE, then as many
 * words as enum hs_wide says. Used when a field does not fit. */
enum hs_record { HS_RECORD_FREE = 0, HS_RECORD_ALLOC = 1, HS_RECORD_REALLOC = 2, HS_RECORD_WIDE = 3 };

enum hs_wide {
	HS_WIDE_STAMP = 1,   /* word 1 = absolute stamp that the next delta counts from */
	HS_WIDE_FREE = 2,    /* 1 address, 2 stamp */
	HS_WIDE_ALLOC = 3,   /* 1 address, 2 stamp, 3 size, 4 node */
	HS_WIDE_REALLOC = 4, /* 1 old address, 2 stamp before, 3 new address, 4 stamp after, 5 size, 6 node */
	/* What the program reports by heapscope.h. Blocks of pools are told apart from those of malloc: the
	 * first of a slab may have the slab's address. Slab 0: none. */
	HS_WIDE_POOL_ALLOC = 5,   /* 1 block, 2 stamp, 3 slab, 4 size, 5 node */
	HS_WIDE_POOL_FREE = 6,    /* 1 block, 2 stamp */
	HS_WIDE_POOL_REALLOC = 7, /* 1 block, 2 stamp, 3 slab, 4 size, 5 node, 6 old block */
	HS_WIDE_POOL_RESET = 8,   /* 1 slab, 2 stamp */
	HS_WIDE_NOTE =
		9, /* 1 enum hs_note | bytes of the name << 8, 2 stamp, then the name, in whole words */
};
/* (The stamps of WIDE records are absolute and also become the base of the next delta.) */

enum hs_note {
	HS_NOTE_PHASE_BEGIN = 1,
	HS_NOTE_PHASE_END = 2,
	HS_NOTE_MARK = 3,
	HS_NOTE_THREAD_NAME = 4,
	HS_NOTE_PAUSE = 5,
	HS_NOTE_RESUME = 6,
};

enum { HS_NOTE_NAME_MOST = 127, HS_MOST_RECORD_BYTES = (3 + (HS_NOTE_NAME_MOST + 7) / 8) * 8 };
#define HS_DELTA_LIMIT (1ULL << 18)
#define HS_SIZE_LIMIT (1ULL << 32)
/* An address fits a word if it is a multiple of 8 below 2^47. */
#define HS_ADDRESS_FITS(address) (((address) & ~0x7ffffffffff8ULL) == 0)
#define HS_WORD(kind, address, delta) ((uint64_t)(delta) << 46 | (uint64_t)(address) >> 1 | (uint64_t)(kind))
#define HS_WORD_KIND(word) ((unsigned)((word)&3))
#define HS_WORD_ADDRESS(word) ((word) << 1 & 0x7ffffffffff8ULL)
#define HS_WORD_DELTA(word) ((word) >> 46)

/* ---- hand-shake -------------------------------------------------------------------------------------- */

/* The shim connects to the abstract socket "@NAME" or, failing that, to the path, sends one hs_hello, and
 * receives one hs_welcome with the memfd attached (SCM_RIGHTS) if `record` is 1. Then both close. */
#define HS_ENV_SOCKET "HEAPSCOPE_SOCKET" /* the abstract name and path: "/tmp/heapscope-1234-.../socket" */
#define HS_ENV_TOKEN "HEAPSCOPE_TOKEN"   /* 32 hex digits: keeps strangers' processes out */
#define HS_ENV_FOLLOW "HEAPSCOPE_FOLLOW" /* all | exec | none */
#define HS_ENV_UNWINDER "HEAPSCOPE_UNWINDER" /* fast | libunwind | fp */

enum { HS_TOKEN_BYTES = 32 };

struct hs_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t origin; /* enum hs_origin */
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t stamp;
	char token[HS_TOKEN_BYTES];
};

struct hs_welcome {
	uint64_t magic;
	uint32_t version;
	uint32_t record; /* 0: this process is not to be recorded */
};

#endif
