/* Maps a region's areas, extent by extent, as the target comes to use them. */
#include "record/view.h"

#include "record/lifesign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map_file(int fd, uint64_t offset, uint64_t bytes, int protection)
{
	void *place = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)offset);
	return place == MAP_FAILED ? NULL : place;
}

static uint64_t extent_start(const struct hs_view_area *area, unsigned extent)
{
	return extent ? area->first << (extent - 1) : 0;
}

static uint64_t extent_bytes(const struct hs_view_area *area, unsigned extent)
{
	return extent ? area->first << (extent - 1) : area->first;
}

/* Records never straddle extents: their sizes divide the first extent's. */
static void *at_offset(struct hs_view *view, struct hs_view_area *area, uint64_t offset)
{
	if (offset >= area->most)
		return NULL;
	unsigned extent = offset < area->first ? 0 : 64 - (unsigned)__builtin_clzll(offset / area->first);
	uint8_t **mapped = &area->extents[extent];
	if (__builtin_expect(!*mapped, 0)) {
		*mapped = map_file(view->fd, area->offset + extent_start(area, extent),
				   extent_bytes(area, extent), area->protection);
		if (!*mapped) {
			view->out_of_memory = true;
			return NULL;
		}
	}
	return *mapped + (offset - extent_start(area, extent));
}

static void unmap_area(struct hs_view_area *area)
{
	for (unsigned i = 0; i < HS_MAX_EXTENTS; i++)
		if (area->extents[i])
			munmap(area->extents[i], extent_bytes(area, i));
}

/* The header, with a page of ours in front of it. */
static bool map_header(struct hs_view *view)
{
	char *place = mmap(NULL, HS_PAGE_BYTES + HS_HEADER_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return false;
	void *header = mmap(place + HS_PAGE_BYTES, HS_HEADER_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, view->fd, (off_t)HS_HEADER_OFFSET);
	if (header == MAP_FAILED) {
		int reason = errno;
		munmap(place, HS_PAGE_BYTES + HS_HEADER_BYTES);
		errno = reason;
		return false;
	}
	view->lifesign = (struct hs_lifesign *)place;
	view->header = header;
	return true;
}

void hs_view_attend(struct hs_view *view)
{
	hs_lifesign_begin(view->lifesign, &view->header->collector);
}

void hs_view_leave(struct hs_view *view)
{
	hs_lifesign_end(view->lifesign, &view->header->collector);
	syscall(SYS_futex, &view->header->drained, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int hs_view_create(struct hs_view *view, uint32_t backlog_chunks, struct hs_error *error)
{
	memset(view, 0, sizeof *view);
	view->modules =
		(struct hs_view_area){HS_MODULES_OFFSET, HS_MODULES_FIRST, HS_MODULES_MOST, PROT_READ, {0}};
	view->nodes = (struct hs_view_area){HS_NODES_OFFSET, HS_NODES_FIRST, HS_NODES_MOST, PROT_READ, {0}};
	view->chunks = (struct hs_view_area){
		HS_CHUNKS_OFFSET, HS_CHUNKS_FIRST, HS_CHUNKS_MOST, PROT_READ | PROT_WRITE, {0}};
	view->fd = memfd_create("heapscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (view->fd < 0)
		return hs_fail(error, "cannot create shared memory for the recording: %s", strerror(errno));
	const char *failed = NULL;
	if (ftruncate(view->fd, (off_t)HS_REGION_FILE_BYTES) != 0)
		failed = "size";
	else if (fcntl(view->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
		failed = "seal";
	else if (!map_header(view))
		failed = "map";
	if (failed) {
		int reason = errno;
		hs_view_close(view);
		return hs_fail(error, "cannot %s the shared memory for the recording: %s%s", failed,
			       strerror(reason),
			       reason == EFBIG ? "; the file size limit is too low, try 'ulimit -f unlimited'"
					       : "");
	}
	view->header->magic = HS_REGION_MAGIC;
	view->header->version = HS_REGION_VERSION;
	view->header->file_bytes = HS_REGION_FILE_BYTES;
	view->header->backlog_chunks = backlog_chunks;
	return 0;
}

void hs_view_close(struct hs_view *view)
{
	unmap_area(&view->modules);
	unmap_area(&view->nodes);
	unmap_area(&view->chunks);
	if (view->lifesign) {
		hs_view_leave(view);
		munmap(view->lifesign, HS_PAGE_BYTES + HS_HEADER_BYTES);
	}
	if (view->fd >= 0)
		close(view->fd);
	memset(view, 0, sizeof *view);
	view->fd = -1;
}

const struct hs_module_record *hs_view_module(struct hs_view *view, uint32_t id)
{
	return at_offset(view, &view->modules, (uint64_t)id * HS_MODULE_BYTES);
}

const struct hs_node_record *hs_view_node(struct hs_view *view, uint32_t id)
{
	return at_offset(view, &view->nodes, (uint64_t)id * HS_NODE_BYTES);
}

struct hs_chunk_header *hs_view_chunk(struct hs_view *view, uint32_t index)
{
	return at_offset(view, &view->chunks, (uint64_t)index * HS_CHUNK_BYTES);
}

static uint32_t count_of(const uint32_t *count, uint32_t most)
{
	uint32_t value = hs_peek_acquire(count);
	return value < most ? value : most;
}

uint32_t hs_view_module_count(const struct hs_view *view)
{
	return count_of(&view->header->module_count, HS_MAX_MODULES);
}

uint32_t hs_view_node_count(const struct hs_view *view)
{
	return count_of(&view->header->node_count, HS_MAX_NODES);
}

uint32_t hs_view_chunk_count(const struct hs_view *view)
{
	return count_of(&view->header->chunk_count, HS_MAX_CHUNKS);
}
