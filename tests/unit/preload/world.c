#include "world.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Instead of region.c's (which is compiled with other names for them): the thread sanitizer has to see that
 * memory is new. */
void *hs_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

void *hs_table_pages(size_t bytes)
{
	return hs_pages(bytes);
}

void hs_pages_free(void *pages, size_t bytes)
{
	munmap(pages, bytes);
}

/* There are no hooks that could be hidden behind others. */
bool hs_real_first(void)
{
	return true;
}

/* The collector maps nothing of its own. */
static void share_area(struct hs_view_area *seen, struct area *own, uint64_t bytes)
{
	uint64_t start = 0, size = own->first;
	for (unsigned i = 0; i < HS_MAX_EXTENTS && start < bytes; i++) {
		seen->extents[i] = hs_area_at(own, start);
		CHECK(seen->extents[i] != NULL);
		start += size;
		size = i ? size * 2 : size;
	}
}

void world_begin_alone(struct hs_view *view, uint32_t backlog_chunks)
{
	struct hs_error error;
	CHECK(hs_view_create(view, backlog_chunks, &error) == 0);
	hs_process_begin(); /* as the constructor did; without a collector's address it leaves us without
			       region */
	CHECK(!hs_recording() && hs_region_map(view->fd));
	struct hs_region_header *header = hs_process.header;
	header->clock = hs_process.clock_is_tsc ? HS_CLOCK_TSC : HS_CLOCK_MONOTONIC;
	header->pid = (uint32_t)getpid();
	header->node_count = 1;
	hs_threads_begin();
	hs_trie_begin();
	hs_modules_begin();
	store_release(&header->ready, 1);
}

void world_begin(struct hs_view *view, uint32_t backlog_chunks)
{
	world_begin_alone(view, backlog_chunks);
	munmap(view->header, HS_HEADER_BYTES);
	view->header = hs_process.header;
	share_area(&view->modules, &hs_process.modules, HS_MODULES_MOST);
	share_area(&view->nodes, &hs_process.nodes, 16 << 20);
	share_area(&view->chunks, &hs_process.chunks, 2ull * backlog_chunks * HS_CHUNK_BYTES);
}

static void *collect(void *argument)
{
	struct collector *collector = argument;
	while (collector->late && !__atomic_load_n(&hs_process.header->waits, __ATOMIC_RELAXED))
		sched_yield();
	while (!__atomic_load_n(&collector->stop, __ATOMIC_ACQUIRE)) {
		__atomic_add_fetch(&hs_process.header->heartbeat, 1, __ATOMIC_RELAXED);
		if (!hs_drain_round(collector->drain, &collector->clock, hs_clock_now(&collector->clock),
				    false))
			sched_yield();
	}
	return NULL;
}

void world_collector_begin(struct collector *collector, struct hs_view *view, hs_sink *sink, void *context,
			   bool late)
{
	*collector = (struct collector){.late = late,
					.drain = hs_drain_new(view, sink, context),
					.clock = hs_clock_make(hs_process.header->clock)};
	CHECK(pthread_create(&collector->thread, NULL, collect, collector) == 0);
}

void world_collector_end(struct collector *collector)
{
	__atomic_store_n(&collector->stop, true, __ATOMIC_RELEASE);
	pthread_join(collector->thread, NULL);
	hs_drain_round(collector->drain, &collector->clock, hs_clock_now(&collector->clock), true);
	CHECK(hs_drain_damaged(collector->drain) == 0);
	CHECK(hs_process.header->lost_events == 0);
	CHECK(hs_process.header->stopped == HS_STOP_NONE);
	hs_drain_free(collector->drain);
}
