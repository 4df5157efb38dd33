/* The shared region, seen from the target: maps its areas as they grow, hands chunks to threads, waits for
 * the collector when too many are full.
 *
 * Whatever a fork may interrupt loads hs_process.header first, then asks for the epoch, and asks again for it
 * after it has found a place in an area: what it writes then goes to where the parent's region was. */
#include "stamps.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

struct hs_region_header hs_no_region;

void *hs_pages(size_t bytes)
{
	if (hs_process.jailed)
		return NULL;
	long pages = arch_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages < 0 && pages > -4096 ? NULL : (void *)pages;
}

void *hs_table_pages(size_t bytes)
{
	enum { HUGE_BYTES = 2 << 20 };
	void *pages = hs_pages(bytes);
	if (pages && bytes >= HUGE_BYTES && !hs_process.sandboxed)
		arch_syscall(SYS_madvise, (long)pages, (long)bytes, MADV_HUGEPAGE, 0, 0, 0);
	return pages;
}

void hs_pages_clear(void *pages, size_t bytes)
{
	if (!hs_process.jailed)
		arch_syscall(SYS_mmap, (long)pages, (long)bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void hs_pages_free(void *pages, size_t bytes)
{
	arch_syscall(SYS_munmap, (long)pages, (long)bytes, 0, 0, 0, 0);
}

static uint64_t extent_start(const struct area *area, int extent)
{
	return extent ? area->first << (extent - 1) : 0;
}

static uint64_t extent_bytes(const struct area *area, int extent)
{
	return extent ? area->first << (extent - 1) : area->first;
}

static int extent_of(const struct area *area, uint64_t offset)
{
	return offset < area->first ? 0 : 64 - __builtin_clzll(offset / area->first);
}

/* Duplicates the shared mapping from the page before the extent onwards, longer than it was: needs no
 * descriptor, and whoever loses the race to publish takes his copy away again. */
static char *map_extent(struct area *area, int extent)
{
	uint64_t bytes = extent_bytes(area, extent);
	uint32_t epoch = load_relaxed(&hs_process.epoch);
	if (extent_start(area, extent) + bytes > area->most ||
	    area->offset + extent_start(area, extent) + bytes > hs_process.header->file_bytes)
		return NULL;
	char *before = hs_area_at(area, extent_start(area, extent) - HS_PAGE_BYTES);
	if (!before || hs_process.jailed)
		return NULL;
	long place = arch_syscall(SYS_mremap, (long)before, 0, (long)(bytes + HS_PAGE_BYTES), MREMAP_MAYMOVE,
				  0, 0);
	if (place < 0 && place > -4096)
		return NULL;
	char *expected = NULL, *mapped = (char *)place + HS_PAGE_BYTES;
	if (!atomic_compare_exchange_strong(&area->extents[extent], &expected, mapped)) {
		hs_pages_free((void *)place, bytes + HS_PAGE_BYTES);
		return expected;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (epoch != load_relaxed(&hs_process.epoch)) {
		area->extents[extent] = NULL; /* a fork has come between, and nothing is there any more */
		return NULL;
	}
	hs_pages_free((void *)place, HS_PAGE_BYTES);
	return mapped;
}

void *hs_area_at(struct area *area, uint64_t offset)
{
	int extent = extent_of(area, offset);
	if (extent >= HS_MAX_EXTENTS)
		return NULL;
	char *mapped = atomic_load_explicit(&area->extents[extent], memory_order_acquire);
	if (unlikely(!mapped))
		mapped = map_extent(area, extent);
	return mapped ? mapped + (offset - extent_start(area, extent)) : NULL;
}

/* Not for fork children: they cannot touch it. */
static void *map_file(int fd, uint64_t offset, uint64_t bytes)
{
	long place =
		arch_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (long)offset);
	if (place < 0 && place > -4096)
		return NULL;
	if (arch_syscall(SYS_madvise, place, (long)bytes, MADV_DONTFORK, 0, 0, 0) == 0)
		return (void *)place;
	hs_pages_free((void *)place, bytes);
	return NULL;
}

static void *map_lifeline(int fd)
{
	long place = arch_syscall(SYS_mmap, 0, HS_PAGE_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
	return place < 0 && place > -4096 ? NULL : (void *)place;
}

static bool begin_area(struct area *area, int fd, uint64_t offset, uint64_t first, uint64_t most)
{
	area->offset = offset;
	area->first = first;
	area->most = most;
	area->extents[0] = map_file(fd, offset, first);
	return area->extents[0] != NULL;
}

static void end_area(struct area *area, void (*end)(void *place, uint64_t bytes))
{
	for (int i = 0; i < HS_MAX_EXTENTS; i++) {
		char *place = area->extents[i];
		area->extents[i] = NULL;
		if (place)
			end(place, extent_bytes(area, i));
	}
}

static void end_region(void (*end)(void *place, uint64_t bytes))
{
	struct hs_region_header *header = hs_process.header;
	if (header == &hs_no_region)
		return;
	hs_process.header = &hs_no_region;
	end_area(&hs_process.modules, end);
	end_area(&hs_process.nodes, end);
	end_area(&hs_process.chunks, end);
	end(header, HS_HEADER_BYTES);
}

static void fill_hole(void *place, uint64_t bytes)
{
	arch_syscall(SYS_mmap, (long)place, (long)bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
}

static void leave_hole(void *place, uint64_t bytes)
{
	(void)place, (void)bytes;
}

void hs_region_forget(bool interrupted)
{
	end_region(interrupted ? fill_hole : leave_hole);
}

/* Where address space is short it is the program's. */
static uint64_t address_space(void)
{
	struct rlimit limit;
	long result = arch_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
	return result == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

void hs_region_map_ahead(void)
{
	enum { NODES_AHEAD = 1 << 20 };
	if (!hs_recording() || address_space() != RLIM_INFINITY)
		return;
	uint64_t chunk_bytes = (uint64_t)hs_process.header->backlog_chunks * HS_CHUNK_BYTES,
		 node_bytes = (uint64_t)NODES_AHEAD * HS_NODE_BYTES;
	for (uint64_t at = HS_CHUNKS_FIRST; at < chunk_bytes && at < HS_CHUNKS_MOST; at *= 2)
		hs_area_at(&hs_process.chunks, at);
	for (uint64_t at = HS_NODES_FIRST; at < node_bytes; at *= 2)
		hs_area_at(&hs_process.nodes, at);
}

bool hs_region_map(int fd)
{
	enum { LEAST_ADDRESS_SPACE = 16 << 20 };
	struct hs_region_header *header = map_file(fd, HS_HEADER_OFFSET, HS_HEADER_BYTES);
	if (!header)
		return false;
	hs_process.header = header;
	uint64_t space = address_space();
	if (space < LEAST_ADDRESS_SPACE)
		store_relaxed(&header->stopped, HS_STOP_NO_MEMORY);
	else if (header->magic == HS_REGION_MAGIC && header->version == HS_REGION_VERSION &&
		 begin_area(&hs_process.modules, fd, HS_MODULES_OFFSET, HS_MODULES_FIRST, HS_MODULES_MOST) &&
		 begin_area(&hs_process.nodes, fd, HS_NODES_OFFSET, HS_NODES_FIRST, HS_NODES_MOST) &&
		 begin_area(&hs_process.chunks, fd, HS_CHUNKS_OFFSET, HS_CHUNKS_FIRST, HS_CHUNKS_MOST)) {
		hs_process.lifeline = map_lifeline(fd);
		/* Root needs no prctl for a sandbox, and may lock as much memory as he likes. */
		if (arch_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0) == 0 ||
		    arch_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
			hs_region_map_ahead();
		return true;
	}
	store_relaxed(&header->stopped, HS_STOP_NO_MEMORY);
	end_region(hs_pages_free);
	return false;
}

/* ---- chunks ------------------------------------------------------------------------------------------ */

/* A free chunk's index, now ours; or the number of full ones, with *found false. */
static uint32_t take_free(struct hs_region_header *header, bool *found)
{
	uint32_t count = load_acquire(&header->chunk_count), full = 0;
	for (uint32_t i = 0; i < count && i < HS_MAX_CHUNKS; i++) {
		uint8_t state = load_relaxed(&header->chunk_state[i]);
		if (state == HS_CHUNK_FREE &&
		    __atomic_compare_exchange_n(&header->chunk_state[i], &state, HS_CHUNK_OWNED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			*found = true;
			return i;
		}
		full += state == HS_CHUNK_FULL;
	}
	*found = false;
	return full;
}

/* Doubles the mapped chunks. */
static bool more_chunks(struct hs_region_header *header)
{
	uint32_t count = load_acquire(&header->chunk_count);
	uint32_t more = count ? count * 2 : (uint32_t)(HS_CHUNKS_FIRST / HS_CHUNK_BYTES);
	if (more > HS_MAX_CHUNKS || !hs_area_at(&hs_process.chunks, (uint64_t)(more - 1) * HS_CHUNK_BYTES))
		return false;
	__atomic_compare_exchange_n(&header->chunk_count, &count, more, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return true;
}

/* What a thread that waits has seen of the collector. */
struct patience {
	uint32_t drained, beat;
	uint64_t since_ms; /* when the collector last moved */
};

/* Without a system call if possible: the program may have locked itself in. */
static uint64_t now_ms(void)
{
	uint32_t tsc_a_ms = hs_process.header->tsc_a_ms;
	if (hs_process.clock_is_readable && tsc_a_ms)
		return hs_stamp_now() / tsc_a_ms;
	struct timespec now = {0};
	arch_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool collector_is_gone(const struct hs_region_header *header)
{
	return load_relaxed(&header->collector) & FUTEX_OWNER_DIED;
}

/* One wait of at most 50 ms, shorter if signals come, unless chunks were drained since patience->drained.
 * false: the collector is dead, or has not moved for long and is taken for dead. */
static bool wait_for_collector(struct hs_region_header *header, struct patience *patience)
{
	enum { PATIENCE_MS = 5000 };
	struct timespec time_out = {.tv_nsec = 50 * 1000 * 1000};
	__atomic_add_fetch(&header->waiters, 1, __ATOMIC_SEQ_CST);
	if (!collector_is_gone(header))
		arch_syscall(SYS_futex, (long)&header->drained, FUTEX_WAIT, patience->drained,
			     (long)&time_out, 0, 0);
	__atomic_sub_fetch(&header->waiters, 1, __ATOMIC_SEQ_CST);
	uint32_t beat = load_relaxed(&header->heartbeat);
	uint64_t now = now_ms();
	if (!patience->since_ms || beat != patience->beat ||
	    load_acquire(&header->drained) != patience->drained)
		patience->since_ms = now;
	patience->beat = beat;
	return !collector_is_gone(header) && now - patience->since_ms < PATIENCE_MS;
}

/* The event has no place. The next one of this thread takes the slow path, and ends there. Nothing leads to
 * the state any more, though this event has not ended: hs_threads_forked shall know. */
static bool lose_event(struct hs_region_header *header)
{
	__atomic_add_fetch(&header->lost_events, 1, __ATOMIC_RELAXED);
	hs_inside++;
	hs_thread = NULL;
	return false;
}

/* What is mapped ahead suffices, unless there are more threads than half of it. */
static bool may_grow(const struct hs_region_header *header, uint32_t full)
{
	uint32_t most = header->backlog_chunks;
	return full < most && (load_relaxed(&header->chunk_count) < most || full < most / 2);
}

/* A free chunk's index, after a wait if need be; HS_MAX_CHUNKS: there is none. */
static uint32_t wait_for_chunk(struct hs_region_header *header, const struct thread *thread)
{
	struct patience patience = {0};
	for (bool waited = false;; waited = true) {
		bool found;
		patience.drained = load_acquire(&header->drained);
		uint32_t index = take_free(header, &found);
		if (found)
			return index;
		while (may_grow(header, index) && more_chunks(header))
			if (index = take_free(header, &found), found)
				return index;
		if (hs_process.jailed)
			return HS_MAX_CHUNKS;
		if (!waited)
			__atomic_add_fetch(&header->waits, 1, __ATOMIC_RELAXED);
		bool alive = wait_for_collector(header, &patience);
		if (!hs_thread_is_current(thread))
			return HS_MAX_CHUNKS;
		if (!alive)
			hs_process_stop(HS_STOP_COLLECTOR_GONE);
		if (!hs_recording())
			return HS_MAX_CHUNKS;
	}
}

bool hs_chunk_next(struct thread *thread)
{
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!hs_thread_is_current(thread))
		return false;
	/* What a dead collector does not read need not be written. */
	if (hs_recording() && collector_is_gone(header))
		hs_process_stop(HS_STOP_COLLECTOR_GONE);
	if (!hs_recording())
		return lose_event(header);
	uint32_t index = wait_for_chunk(header, thread);
	struct hs_chunk_header *chunk = NULL;
	if (index < HS_MAX_CHUNKS)
		chunk = hs_area_at(&hs_process.chunks, (uint64_t)index * HS_CHUNK_BYTES);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!hs_thread_is_current(thread))
		return false;
	if (!chunk && hs_process.jailed) { /* room may come */
		__atomic_add_fetch(&header->lost_events, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (!chunk)
		return lose_event(header);
	chunk->stream = thread->stream;
	chunk->sequence = thread->sequence++;
	chunk->thread = thread->serial;
	chunk->tid = thread->tid;
	chunk->mode = thread->mode;
	chunk->base_stamp = thread->chunk ? thread->last_stamp : hs_stamp_now();
	struct hs_chunk_header *full = thread->chunk;
	uint32_t full_index = thread->chunk_index;
	thread->last_stamp = chunk->base_stamp;
	thread->chunk_index = index;
	thread->at = (uint64_t *)(chunk + 1);
	thread->end = (uint64_t *)((char *)chunk + HS_CHUNK_BYTES - HS_MOST_RECORD_BYTES);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store_release(&thread->chunk, chunk);
	if (full)
		store_release(&header->chunk_state[full_index], HS_CHUNK_FULL);
	hs_stamps_look_around(thread);
	return true;
}
