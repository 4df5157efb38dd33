/* A hostile target: the input is what it writes into its region, between the collector's rounds. Whatever
 * that is, the file that the collector leaves is a whole recording which the reader finds nothing wrong with.
 *
 * The input is a list of steps, each a byte whose low bits tell what it is:
 *   0  round
 *   1  header   place 2, length 1, bytes
 *   2  chunk    number 1, place 2, length 1, bytes
 *   3  module   number 1, place 2, length 1, bytes
 *   4  node     number 1, 16 bytes */
#include "fuzz.h"
#include "heapscope/region.h"
#include "profile/profile.h"
#include "record/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum { STEP_ROUND, STEP_HEADER, STEP_CHUNK, STEP_MODULE, STEP_NODE, STEPS };
enum { CHUNKS = 8, MODULES = 8, NODES = 256, HEADER_BYTES = 4096 + 64 };

/* ---- seeds --------------------------------------------------------------------------------------------- */

struct script {
	uint8_t bytes[8192];
	size_t size;
};

static void put(struct script *script, const void *data, size_t size)
{
	FUZZ_CHECK(size <= sizeof script->bytes - script->size);
	memcpy(script->bytes + script->size, data, size);
	script->size += size;
}

static void put_step(struct script *script, uint8_t step, int number, size_t place, const void *data,
		     size_t size)
{
	put(script, &step, 1);
	if (number >= 0)
		put(script, (uint8_t[]){(uint8_t)number}, 1);
	put(script, (uint8_t[]){(uint8_t)place, (uint8_t)(place >> 8)}, 2);
	put(script, (uint8_t[]){(uint8_t)size}, 1);
	put(script, data, size);
}

static void put_header(struct script *script, size_t place, uint32_t value)
{
	put_step(script, STEP_HEADER, -1, place, &value, sizeof value);
}
#define PUT_HEADER(script, field, value) put_header(script, offsetof(struct hs_region_header, field), value)

static void put_node(struct script *script, uint8_t id, uint32_t parent, uint64_t place)
{
	struct hs_node_record record = {.place = place, .parent = parent};
	put(script, (uint8_t[]){STEP_NODE, id}, 2);
	put(script, &record, sizeof record);
}

static void put_module(struct script *script, int id, const char *path, uint32_t flags)
{
	struct hs_module_record record = {.ready = 1,
					  .flags = flags,
					  .start = 0x400000u * (unsigned)(id + 1),
					  .end = 0x400000u * (unsigned)(id + 2),
					  .bias = 0x400000u * (unsigned)(id + 1),
					  .build_id_bytes = 20,
					  .path_bytes = (uint32_t)strlen(path)};
	strncpy(record.path, path, sizeof record.path);
	put_step(script, STEP_MODULE, id, 0, &record, 200);
}

static void put_chunk(struct script *script, int number, uint32_t stream, uint32_t sequence, uint8_t state,
		      const uint64_t *words, uint32_t count)
{
	struct hs_chunk_header header = {.committed = count * 8,
					 .stream = stream,
					 .sequence = sequence,
					 .thread = stream,
					 .tid = (uint32_t)getpid(),
					 .base_stamp = 1000};
	put_step(script, STEP_CHUNK, number, sizeof header, words, count * 8);
	put_step(script, STEP_CHUNK, number, 0, &header, sizeof header);
	put_step(script, STEP_HEADER, -1, offsetof(struct hs_region_header, chunk_state) + (size_t)number,
		 &state, 1);
}

static void put_start(struct script *script)
{
	PUT_HEADER(script, clock, HS_CLOCK_MONOTONIC);
	PUT_HEADER(script, module_count, 3);
	PUT_HEADER(script, node_count, 8);
	PUT_HEADER(script, chunk_count, CHUNKS);
	put_module(script, 0, "", HS_MODULE_FLAG_MAIN);
	put_module(script, 1, "/lib/none.so", 0);
	put_module(script, 2, "relative/\xff.so", HS_MODULE_FLAG_VDSO);
	put_node(script, 1, 0, HS_PLACE(0, 0x400010));
	put_node(script, 2, 1, HS_PLACE(1, 0x800020));
	put_node(script, 3, 2, HS_PLACE(2, 0xc00030));
	put_node(script, 4, 1, HS_PLACE(HS_MODULE_NONE, 0x7f0000000000));
	PUT_HEADER(script, ready, 1);
	put(script, (uint8_t[]){STEP_ROUND}, 1);
}

void fuzz_seeds(fuzz_add *add, void *context)
{
	enum { A = 0x10000, B = 0x20000, C = 0x30000 };
	static const uint64_t plain[] = {HS_WORD(HS_RECORD_ALLOC, A, 10),
					 (100ull << 32) | 2,
					 HS_WORD(HS_RECORD_ALLOC, B, 10),
					 (200ull << 32) | 3,
					 HS_WORD(HS_RECORD_REALLOC, A, 10),
					 (300ull << 32) | 4,
					 HS_WORD(0, C, 5),
					 HS_WORD(HS_RECORD_FREE, B, 7)};
	static const uint64_t wide[] = {HS_WIDE_ALLOC << 2 | HS_RECORD_WIDE,
					A | 1,
					2000,
					1ull << 33,
					1,
					HS_WIDE_STAMP << 2 | HS_RECORD_WIDE,
					3000,
					HS_WIDE_REALLOC << 2 | HS_RECORD_WIDE,
					A | 1,
					4000,
					A | 1,
					5000,
					1,
					2,
					HS_WIDE_FREE << 2 | HS_RECORD_WIDE,
					A | 1,
					6000};
	static const uint64_t news[] = {HS_WIDE_NOTE << 2 | HS_RECORD_WIDE,
					HS_NOTE_PHASE_BEGIN | 4 << 8,
					2000,
					0x64616f6c, /* "load" */
					HS_WIDE_POOL_ALLOC << 2 | HS_RECORD_WIDE,
					B,
					2010,
					B,
					16,
					2,
					HS_WIDE_POOL_REALLOC << 2 | HS_RECORD_WIDE,
					B,
					2020,
					B,
					32,
					2,
					B,
					HS_WIDE_NOTE << 2 | HS_RECORD_WIDE,
					HS_NOTE_THREAD_NAME | 1 << 8,
					2025,
					'x',
					HS_WIDE_POOL_RESET << 2 | HS_RECORD_WIDE,
					B,
					2030,
					HS_WIDE_POOL_FREE << 2 | HS_RECORD_WIDE,
					B,
					2040};
	struct script script = {.size = 0};
	put_start(&script);
	put_chunk(&script, 0, 1, 0, HS_CHUNK_FULL, plain, 4);
	put_chunk(&script, 1, 1, 1, HS_CHUNK_OWNED, news, sizeof news / sizeof *news);
	put(&script, (uint8_t[]){STEP_ROUND}, 1);
	add(context, script.bytes, script.size);
	script.size = 0;
	put_start(&script);
	put_chunk(&script, 0, 1, 0, HS_CHUNK_OWNED, plain, 8);
	put(&script, (uint8_t[]){STEP_ROUND}, 1);
	add(context, script.bytes, script.size);
	put_chunk(&script, 0, 1, 0, HS_CHUNK_FULL, plain, 8);
	put_chunk(&script, 1, 2, 0, HS_CHUNK_OWNED, wide, 17);
	put_chunk(&script, 2, 1, 1, HS_CHUNK_OWNED, plain, 2);
	put(&script, (uint8_t[]){STEP_ROUND, STEP_ROUND}, 2);
	add(context, script.bytes, script.size);
	script.size = 0;
	put_start(&script);
	put_chunk(&script, 3, 7, 2, HS_CHUNK_FULL, wide, 17);
	put_chunk(&script, 4, 7, 1, HS_CHUNK_FULL, plain, 8);
	PUT_HEADER(&script, stopped, HS_STOP_NO_MEMORY);
	add(context, script.bytes, script.size);
}

/* ---- the target ---------------------------------------------------------------------------------------- */

struct target {
	uint8_t *header, *modules, *nodes, *chunks;
};

static uint8_t *map(int fd, uint64_t offset, size_t bytes)
{
	uint8_t *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	FUZZ_CHECK(place != MAP_FAILED);
	return place;
}

static struct target map_target(int fd)
{
	return (struct target){.header = map(fd, HS_HEADER_OFFSET, HS_HEADER_BYTES),
			       .modules = map(fd, HS_MODULES_OFFSET, MODULES * HS_MODULE_BYTES),
			       .nodes = map(fd, HS_NODES_OFFSET, NODES * HS_NODE_BYTES),
			       .chunks = map(fd, HS_CHUNKS_OFFSET, CHUNKS * HS_CHUNK_BYTES)};
}

static void unmap_target(struct target *target)
{
	munmap(target->header, HS_HEADER_BYTES);
	munmap(target->modules, MODULES * HS_MODULE_BYTES);
	munmap(target->nodes, NODES * HS_NODE_BYTES);
	munmap(target->chunks, CHUNKS * HS_CHUNK_BYTES);
}

/* Copies a step's bytes to its place in an area; returns the rest of the input. */
static const uint8_t *write_step(const uint8_t *at, const uint8_t *end, uint8_t *area, size_t area_bytes)
{
	if (end - at < 3)
		return end;
	size_t place = (at[0] | (size_t)at[1] << 8) % area_bytes, bytes = at[2];
	at += 3;
	if (bytes > (size_t)(end - at))
		bytes = (size_t)(end - at);
	memcpy(area + place, at, bytes < area_bytes - place ? bytes : area_bytes - place);
	return at + bytes;
}

static const uint8_t *take_step(struct target *target, const uint8_t *at, const uint8_t *end, uint8_t step)
{
	if (step == STEP_HEADER)
		return write_step(at, end, target->header, HEADER_BYTES);
	if (at == end)
		return end;
	size_t number = *at++;
	if (step == STEP_CHUNK)
		return write_step(at, end, target->chunks + number % CHUNKS * HS_CHUNK_BYTES, HS_CHUNK_BYTES);
	if (step == STEP_MODULE)
		return write_step(at, end, target->modules + number % MODULES * HS_MODULE_BYTES,
				  HS_MODULE_BYTES);
	if (end - at < HS_NODE_BYTES)
		return end;
	memcpy(target->nodes + number * HS_NODE_BYTES, at, HS_NODE_BYTES);
	return at + HS_NODE_BYTES;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static void check_file(const struct fuzz_file *file)
{
	struct hs_error error = {{0}};
	struct hs_sites sites;
	struct hs_profile *profile = hs_profile_load(file->path, &error);
	FUZZ_CHECK(profile != NULL);
	FUZZ_CHECK(hs_sites_make(profile, true, &sites, &error) == 0);
	if (profile->facts.warning)
		dprintf(STDERR_FILENO, "%s\n", profile->facts.warning);
	FUZZ_CHECK(profile->facts.warning == NULL);
	hs_sites_free(&sites);
	hs_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = fuzz_file_make("", 0);
	struct hs_outputs output = {
		.directory = -1, .fd = dup(file.fd), .special = true, .directory_path = "", .name = "x"};
	struct hs_image_context context = {
		.files = hs_files_new(), .output = &output, .packer = hs_packer_new()};
	struct hs_hello hello = {.pid = (uint32_t)getpid(), .parent_pid = 1, .origin = HS_ORIGIN_START};
	struct hs_error error;
	struct hs_image *image = hs_image_new(&context, getpid(), pidfd_open(getpid(), 0), &hello, &error);
	FUZZ_CHECK(image != NULL);
	image->first = true;
	struct target target = map_target(image->view.fd);
	uint64_t now_ns = hs_monotonic_ns();
	for (const uint8_t *at = data, *end = data + size; at < end;) {
		uint8_t step = *at++ % STEPS;
		if (step == STEP_ROUND)
			hs_image_round(image, now_ns += 300000000);
		else
			at = take_step(&target, at, end, step);
	}
	hs_image_finish(image, true, HS_IMAGE_EXIT, 0);
	hs_image_close(image);
	check_file(&file);
	hs_image_free(image);
	unmap_target(&target);
	hs_packer_free(context.packer);
	hs_files_free(context.files);
	for (size_t i = 0; i < output.count; i++)
		free(output.files[i]);
	free(output.files);
	fuzz_file_close(&file);
	return 0;
}
