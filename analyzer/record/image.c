/* From a process image's region to its file. */
#include "record/image.h"

#include "base/memory.h"
#include "record/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BACKLOG_CHUNKS =
		256, /* 8 MiB: what the target may be ahead of us; four times as much was no faster */
};
#define MS 1000000ull
#define FLUSH_NS (500 * MS)
#define SAMPLE_NS (10 * MS) /* while young; later so that an hour has about 3,000 */
#define SAMPLES_PER_AGE 400
#define PEAK_NS (50 * MS)
#define BURIAL_NS (1000 * MS)
#define EXEC_LOOK_NS (250 * MS)

/* ---- begin --------------------------------------------------------------------------------------------- */

struct hs_image *hs_image_new(const struct hs_image_context *context, pid_t pid, int pidfd,
			      const struct hs_hello *hello, struct hs_error *error)
{
	struct hs_image *image = hs_allocate_zero(1, sizeof *image);
	image->context = context;
	image->statm = -1;
	image->pidfd = pidfd;
	if (hs_view_create(&image->view, BACKLOG_CHUNKS, error) != 0) {
		hs_image_free(image);
		return NULL;
	}
	hs_view_attend(&image->view);
	image->pid = pid;
	image->parent_pid = (pid_t)hello->parent_pid;
	image->origin = hello->origin == HS_ORIGIN_FORK ? HS_ORIGIN_FORK : HS_ORIGIN_START;
	image->own_pid_view = hello->pid == (uint32_t)pid;
	image->shares_root = hs_proc_shares_root(pid);
	image->program = hs_proc_link(pid, "exe");
	if (!hs_proc_executable(pid, &image->program_device, &image->program_inode))
		image->program_inode = 0;
	image->cwd = hs_proc_link(pid, "cwd");
	image->command = hs_proc_arguments(pid);
	image->program_file = hs_files_open(context->files, pid, NULL, NULL);
	image->statm = hs_proc_open_statm(pid);
	image->connect_rss_bytes = image->peak_rss_bytes = hs_proc_resident(image->statm);
	image->connect_ns = hs_monotonic_ns();
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	image->connect_unix_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
	return image;
}

static hs_sink take_items;

/* The shim has filled in its part of the header. Its start stamp is time 0, if it makes sense. */
static void get_ready(struct hs_image *image)
{
	struct hs_region_header *header = image->view.header;
	if (!hs_peek_acquire(&header->ready))
		return;
	image->ready = true;
	bool tsc = hs_peek(&header->clock) == HS_CLOCK_TSC;
	image->clock = hs_clock_make(tsc ? HS_CLOCK_TSC : HS_CLOCK_MONOTONIC);
	header->tsc_a_ms = tsc ? (uint32_t)image->clock.stamps_a_ms : 0;
	uint64_t now = hs_clock_now(&image->clock), start = hs_peek(&header->start_stamp);
	uint64_t age_ms = (hs_monotonic_ns() - image->connect_ns) / MS + 1000;
	if (start > now || now - start > age_ms * image->clock.stamps_a_ms)
		start = now;
	image->start_stamp = start;
	uint64_t since_connect_us = (hs_monotonic_ns() - image->connect_ns) / 1000;
	image->start_unix_us =
		image->connect_unix_us + since_connect_us - hs_clock_us(&image->clock, now - start);
	image->drain = hs_drain_new(&image->view, take_items, image);
	image->time_resolution_us = tsc ? hs_clock_tick_us() : 1;
}

/* ---- modules ------------------------------------------------------------------------------------------- */

/* The path of a module as the target's loader has it, malloc'ed; NULL if the loader has none. */
static char *loader_path(const struct hs_module_record *record)
{
	uint32_t bytes = hs_peek(&record->path_bytes);
	if (bytes > sizeof record->path)
		bytes = sizeof record->path;
	char *path = hs_allocate_zero(1, bytes + 1);
	for (uint32_t i = 0; i < bytes; i++)
		path[i] = hs_peek(&record->path[i]);
	if (*path)
		return path;
	free(path);
	return NULL;
}

/* Opens the module's file as soon as the module shows up: later it may be deleted or the process gone. */
static struct hs_image_module *see_module(struct hs_image *image, uint32_t id)
{
	if (id >= hs_view_module_count(&image->view))
		return NULL;
	if (id >= image->module_count) {
		uint32_t count = id + 16;
		image->modules = hs_reallocate(image->modules, count, sizeof *image->modules);
		memset(image->modules + image->module_count, 0,
		       (count - image->module_count) * sizeof *image->modules);
		image->module_count = count;
	}
	struct hs_image_module *module = &image->modules[id];
	if (module->seen)
		return module;
	const struct hs_module_record *record = hs_view_module(&image->view, id);
	if (!record || !hs_peek_acquire(&record->ready))
		return NULL;
	module->seen = true;
	module->bias = hs_peek(&record->bias);
	module->build_id_bytes = hs_peek(&record->build_id_bytes);
	if (module->build_id_bytes > HS_BUILD_ID_MOST)
		module->build_id_bytes = 0;
	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		module->build_id[i] = hs_peek(&record->build_id[i]);
	uint32_t flags = hs_peek(&record->flags);
	module->path = loader_path(record);
	if (flags & HS_MODULE_FLAG_VDSO)
		return module;
	bool main_program = (flags & HS_MODULE_FLAG_MAIN) || !module->path;
	if (main_program) {
		/* A module may be registered twice, by a handler that interrupts the first time. */
		module->file = hs_files_share(image->context->files, image->program_file);
	} else {
		module->file = hs_files_open(image->context->files, image->pid, module->path, image->cwd);
	}
	const char *better = NULL;
	if (main_program)
		better = image->program;
	else if (module->file && image->shares_root)
		better = module->file->real_path;
	if (better && *better) {
		free(module->path);
		module->path = hs_copy_string(better);
	}
	return module;
}

static uint64_t stamp_us(const struct hs_image *image, uint64_t stamp)
{
	uint64_t now = image->pairs.now_stamp;
	stamp = stamp < now ? stamp : now;
	return stamp > image->start_stamp ? hs_clock_us(&image->clock, stamp - image->start_stamp) : 0;
}

/* For hs_nodes: file module + 1 of a region module, which is written when its first node is. */
static uint32_t use_module(void *context, uint32_t id, uint64_t *address)
{
	struct hs_image *image = context;
	struct hs_image_module *module = id == HS_MODULE_NONE ? NULL : see_module(image, id);
	if (!module)
		return 0;
	*address -= module->bias;
	if (module->file_id)
		return module->file_id;
	const struct hs_module_record *record = hs_view_module(&image->view, id);
	uint64_t start = hs_peek(&record->start), end = hs_peek(&record->end);
	struct hs_encoded_module encoded = {
		.id = image->file_modules,
		.start = start,
		.size = end > start ? end - start : 0,
		.bias = module->bias,
		.load_us = stamp_us(image, hs_peek(&record->load_stamp)),
		.path = module->path ? module->path : "",
		.build_id = module->build_id,
		.build_id_bytes = module->build_id_bytes,
		.flags = hs_peek(&record->flags),
	};
	hs_encoder_module(&image->encoder, &encoded);
	image->module_of_file = hs_grow(image->module_of_file, image->file_modules,
					&image->module_of_file_capacity, sizeof *image->module_of_file);
	image->module_of_file[image->file_modules] = id;
	module->file_id = ++image->file_modules;
	return module->file_id;
}

static void see_new_modules(struct hs_image *image)
{
	uint32_t count = hs_view_module_count(&image->view);
	while (image->modules_seen < count && see_module(image, image->modules_seen))
		image->modules_seen++;
}

static void note_unloads(struct hs_image *image)
{
	for (uint32_t i = 0; i < image->file_modules; i++) {
		uint32_t id = image->module_of_file[i];
		const struct hs_module_record *record = hs_view_module(&image->view, id);
		uint64_t stamp = record ? hs_peek(&record->unload_stamp) : 0;
		if (!stamp || image->modules[id].unloaded)
			continue;
		image->modules[id].unloaded = true;
		hs_encoder_unload(&image->encoder, i, stamp_us(image, stamp));
	}
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void stop_writing(struct hs_image *image, const char *why)
{
	if (image->stopped)
		return;
	char text[512];
	snprintf(text, sizeof text, "the recording of process %d stops here: %s; the program runs on",
		 (int)image->pid, why);
	image->stopped = hs_copy_string(why);
	if (image->context->notice)
		image->context->notice(text);
}

static void check_writer(struct hs_image *image)
{
	if (image->encoder.writer.error && !image->stopped) {
		char why[256];
		snprintf(why, sizeof why, "cannot write its file: %s", strerror(image->encoder.writer.error));
		stop_writing(image, why);
	}
}

/* Opens the file and writes its header. */
static void begin_file(struct hs_image *image)
{
	struct hs_error error;
	const struct hs_image_context *context = image->context;
	image->begun = true;
	int fd = image->first ? hs_outputs_own(context->output, &error)
			      : hs_outputs_other(context->output, image->pid,
						 image->program ? image->program : "", &error);
	hs_encoder_init(&image->encoder, context->packer, fd);
	hs_nodes_init(&image->nodes, &image->view, &image->encoder);
	image->nodes.module = use_module;
	image->nodes.context = image;
	hs_pairing_init(&image->pairs, &image->encoder, &image->nodes);
	image->pairs.clock = image->clock;
	image->pairs.start_stamp = image->start_stamp;
	image->pairs.now_stamp = image->start_stamp;
	image->flushed_ns = hs_monotonic_ns();
	image->old_threads = 1;
	if (hs_peek(&image->view.header->began_paused)) {
		image->pairs.notes.paused = true;
		hs_encoder_mark(&image->encoder, HS_MARK_PAUSE, 0, 0, NULL, 0);
	}
	if (fd < 0) {
		image->encoder.writer.error = EBADF;
		stop_writing(image, error.text);
		return;
	}
	char *header = hs_image_header(image);
	hs_encoder_json(&image->encoder, HS_MEMBER_HEADER, header);
	free(header);
	if (image->connect_rss_bytes)
		hs_encoder_sample(&image->encoder, 0, image->connect_rss_bytes);
	check_writer(image);
}

/* Names change soon after a thread has begun: the last one before it is written counts. */
static void name_threads(struct hs_image *image, uint32_t from)
{
	for (uint32_t i = from; i < image->encoder.thread_count && image->own_pid_view; i++)
		hs_proc_thread_name(image->pid, image->encoder.threads[i].tid,
				    image->encoder.threads[i].name);
}

static void flush(struct hs_image *image, uint64_t now_ns, bool all)
{
	image->flushed_ns = now_ns;
	note_unloads(image);
	hs_encoder_flush(&image->encoder);
	image->flushed_events = image->encoder.written.events;
	name_threads(image, image->encoder.threads_written);
	hs_encoder_flush_threads(&image->encoder, all ? image->encoder.thread_count : image->old_threads);
	image->old_threads = image->encoder.thread_count;
	check_writer(image);
}

static void take_items(void *context, const struct hs_item *items, uint32_t count)
{
	struct hs_image *image = context;
	if (!image->begun)
		begin_file(image);
	if (image->stopped)
		return;
	image->pairs.now_stamp = hs_clock_now(&image->clock);
	hs_pairing_take(&image->pairs, items, count);
	check_writer(image);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static void sample(struct hs_image *image, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - image->connect_ns, step = age_ns / SAMPLES_PER_AGE;
	image->next_sample_ns = now_ns + (step > SAMPLE_NS ? step : SAMPLE_NS);
	uint64_t rss = hs_proc_resident(image->statm);
	if (!rss)
		return;
	uint64_t now = hs_clock_now(&image->clock);
	hs_encoder_sample(&image->encoder, hs_clock_us(&image->clock, now - image->start_stamp), rss);
	if (rss > image->peak_rss_bytes)
		image->peak_rss_bytes = rss;
	if (now_ns >= image->next_peak_ns) {
		image->next_peak_ns = now_ns + PEAK_NS;
		uint64_t most = hs_proc_most_resident(image->pid);
		if (most > image->peak_rss_bytes)
			image->peak_rss_bytes = most;
	}
}

/* An exec shows itself by a new hello; but not if the new program is static, or its environment was cleared.
 */
static void look_for_exec(struct hs_image *image, uint64_t now_ns)
{
	dev_t device;
	ino_t inode;
	image->next_exec_look_ns = now_ns + EXEC_LOOK_NS;
	if (image->program_inode && !image->left_ns && hs_proc_executable(image->pid, &device, &inode) &&
	    (device != image->program_device || inode != image->program_inode))
		image->left_ns = now_ns;
}

static bool thread_lives(void *context, uint32_t tid)
{
	struct hs_image *image = context;
	return hs_proc_thread_lives(image->pid, tid);
}

static uint64_t drain(struct hs_image *image, bool finish)
{
	see_new_modules(image);
	uint64_t now = hs_clock_now(&image->clock);
	uint64_t items = hs_drain_round(image->drain, &image->clock, now, finish);
	if (image->view.out_of_memory)
		stop_writing(image, "no address space is left to map its region");
	return items;
}

uint64_t hs_image_round(struct hs_image *image, uint64_t now_ns)
{
	__atomic_add_fetch(&image->view.header->heartbeat, 1, __ATOMIC_RELAXED);
	if (!image->ready)
		get_ready(image);
	if (!image->ready)
		return 0;
	uint64_t items = drain(image, false);
	if (image->own_pid_view && now_ns >= image->next_burial_ns) {
		image->next_burial_ns = now_ns + BURIAL_NS;
		hs_drain_bury_threads(image->drain, thread_lives, image);
	}
	if (now_ns >= image->next_exec_look_ns)
		look_for_exec(image, now_ns);
	if (!image->begun || image->stopped)
		return items;
	if (now_ns >= image->next_sample_ns && !image->left_ns)
		sample(image, now_ns);
	struct hs_encoder *encoder = &image->encoder;
	if (encoder->written.events != image->flushed_events) {
		image->flushed_events = encoder->written.events;
		image->flushed_ns = now_ns;
	}
	bool something = encoder->now.events != encoder->written.events || encoder->new_marks ||
			 encoder->new_samples >= HS_SAMPLES_A_MEMBER ||
			 encoder->threads_written < image->old_threads;
	if (something && now_ns - image->flushed_ns > FLUSH_NS)
		flush(image, now_ns, false);
	return items;
}

static const char *stop_text(uint32_t stopped)
{
	switch (stopped) {
	case HS_STOP_NONE:
		return NULL;
	case HS_STOP_COLLECTOR_GONE:
		return "the collector did not answer in time";
	case HS_STOP_NO_MEMORY:
		return "the program had no memory left for the recorder";
	case HS_STOP_TOO_MANY_NODES:
		return "there were too many different stacks";
	default:
		return "the recorder gave up";
	}
}

/* Reads what is left in the region and makes sure that there is a file if there has to be one. */
static void read_rest(struct hs_image *image, bool begin)
{
	if (!image->ready)
		get_ready(image);
	if (image->ready) {
		drain(image, true);
	} else if (begin) {
		image->clock = hs_clock_make(HS_CLOCK_MONOTONIC);
		image->start_stamp = image->connect_ns;
		image->start_unix_us = image->connect_unix_us;
	}
	if (!image->begun && begin)
		begin_file(image);
}

/* The program's malloc is not ours: if it passed nothing on, there is nothing. */
static void tell_of_other_malloc(struct hs_image *image)
{
	if (image->stopped || (image->begun && image->encoder.now.allocations))
		return;
	char text[512];
	image->stopped = hs_copy_string("another malloc stands in front of the recorder's");
	snprintf(text, sizeof text,
		 "process %d ('%.200s') is not recorded: another malloc stands in front of the recorder's; "
		 "let LD_PRELOAD name it behind libheapscope.so, or link it as a shared library",
		 (int)image->pid, image->program ? image->program : "");
	if (image->context->notice)
		image->context->notice(text);
}

static void tell_of_stop(const struct hs_image *image)
{
	char text[512];
	snprintf(text, sizeof text, "process %d ('%.200s') was not recorded to its end: %s", (int)image->pid,
		 image->program ? image->program : "", image->stopped);
	if (image->context->notice)
		image->context->notice(text);
}

/* What such a library itself allocates goes to libc past the recorder. */
static void keep_unseen_libraries(struct hs_image *image)
{
	const struct hs_region_header *header = image->view.header;
	image->unseen_libraries = hs_peek(&header->unseen_libraries);
	for (unsigned i = 0; i + 1 < sizeof image->unseen_library; i++)
		image->unseen_library[i] = hs_peek(&header->unseen_library[i]);
	if (!image->unseen_libraries || !image->context->notice)
		return;
	char more[64] = "", text[512];
	if (image->unseen_libraries > 1)
		snprintf(more, sizeof more, " and %u more", image->unseen_libraries - 1);
	snprintf(text, sizeof text,
		 "process %d opened '%.255s'%s with RTLD_DEEPBIND or dlmopen: what such libraries allocate "
		 "themselves is not recorded",
		 (int)image->pid, image->unseen_library, more);
	image->context->notice(text);
}

static void keep_health(struct hs_image *image)
{
	const struct hs_region_header *header = image->view.header;
	image->lost_events = hs_peek(&header->lost_events);
	image->truncated_stacks = hs_peek(&header->truncated_stacks);
	image->broken_stacks = hs_peek(&header->broken_stacks);
	image->fallback_stacks = hs_peek(&header->fallback_stacks);
	image->skipped_allocations = hs_peek(&header->skipped_allocations) + image->pairs.skipped_allocations;
	image->skipped_bytes = hs_peek(&header->skipped_bytes) + image->pairs.skipped_bytes;
	if (!hs_peek(&header->stamps_rest))
		image->time_resolution_us = 1;
	if (image->drain) {
		image->lost_events += hs_drain_damaged(image->drain);
		image->late_events = hs_drain_late(image->drain);
	}
	const char *why = stop_text(hs_peek(&header->stopped));
	if (!why && !image->ready)
		why = "it could not map the memory that it shares with the recorder (no descriptor was "
		      "left?)";
	if (!image->stopped && why) {
		image->stopped = hs_copy_string(why);
		tell_of_stop(image);
	}
	if (image->ready && (hs_peek(&header->flags) & HS_REGION_FLAG_NOT_FIRST))
		tell_of_other_malloc(image);
	keep_unseen_libraries(image);
}

void hs_image_finish(struct hs_image *image, bool begin, enum hs_image_end end, int end_value)
{
	uint64_t end_tsc = hs_clock_stamp(HS_CLOCK_TSC), end_ns = hs_clock_stamp(HS_CLOCK_MONOTONIC);
	image->end = end;
	image->end_value = end_value;
	read_rest(image, begin);
	if (image->begun) {
		image->pairs.now_stamp = hs_clock_now(&image->clock);
		image->duration_us = stamp_us(image, image->clock.unit == HS_CLOCK_TSC ? end_tsc : end_ns);
		if (image->encoder.time_us > image->duration_us)
			image->duration_us = image->encoder.time_us;
		if (!image->stopped)
			flush(image, hs_monotonic_ns(), true);
		hs_pairing_free(&image->pairs);
		hs_nodes_free(&image->nodes);
	}
	keep_health(image);
	hs_drain_free(image->drain);
	image->drain = NULL;
	hs_view_close(&image->view);
}

void hs_image_close(struct hs_image *image)
{
	struct hs_writer *writer = &image->encoder.writer;
	if (!image->begun || writer->fd < 0)
		return;
	if (writer->error)
		hs_writer_retry(writer);
	char *footer = hs_image_footer(image);
	hs_encoder_json(&image->encoder, HS_MEMBER_FOOTER, footer);
	if (writer->error)
		hs_writer_retry(writer); /* no torn end */
	free(footer);
	close(writer->fd);
	writer->fd = -1;
}

void hs_image_free(struct hs_image *image)
{
	if (image->begun) {
		if (image->encoder.writer.fd >= 0)
			close(image->encoder.writer.fd);
		hs_pairing_free(&image->pairs);
		hs_nodes_free(&image->nodes);
		hs_encoder_free(&image->encoder);
	}
	hs_drain_free(image->drain);
	hs_view_close(&image->view);
	for (uint32_t i = 0; i < image->module_count; i++) {
		if (image->modules[i].file)
			hs_files_release(image->context->files, image->modules[i].file);
		free(image->modules[i].path);
	}
	if (image->program_file)
		hs_files_release(image->context->files, image->program_file);
	if (image->statm >= 0)
		close(image->statm);
	if (image->pidfd >= 0)
		close(image->pidfd);
	free(image->modules);
	free(image->module_of_file);
	free(image->program);
	free(image->command);
	free(image->cwd);
	free(image->stopped);
	free(image->suppressions);
	free(image);
}
