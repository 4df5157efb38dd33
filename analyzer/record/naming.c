/* Symbols members: every used node's module and address, looked up once. */
#include "record/naming.h"

#include "base/memory.h"
#include "record/symbol_batch.h"
#include "symbols/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hs_naming {
	bool symbols;
	struct hs_packer *packer;
	pthread_t thread;
	bool threaded;
	int event;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct hs_image *first, **last; /* waiting */
	bool busy, finish;
	char *failure;

	bool hurry; /* atomics, as are these: */
	unsigned long long done, total;
};

struct place {
	uint64_t address;
	uint32_t module; /* file id */
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* All distinct places of the image's nodes, sorted; malloc'ed. */
static struct place *collect(const struct hs_image *image, size_t *count)
{
	const struct hs_encoder *encoder = &image->encoder;
	struct place *places = hs_allocate((size_t)encoder->node_count * sizeof *places);
	size_t all = 0, distinct = 0;
	for (uint32_t i = 1; i < encoder->node_count; i++)
		if (encoder->nodes[i].module)
			places[all++] =
				(struct place){encoder->nodes[i].address, encoder->nodes[i].module - 1};
	qsort(places, all, sizeof *places, compare_places);
	for (size_t i = 0; i < all; i++)
		if (!distinct || compare_places(&places[distinct - 1], &places[i]) != 0)
			places[distinct++] = places[i];
	*count = distinct;
	return places;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static bool is_known(const struct hs_symbol_frame *frames, uint32_t count)
{
	return count > 1 || (count == 1 && (frames[0].function || frames[0].file));
}

static struct hs_symbolizer *open_symbolizer(struct hs_image_module *module)
{
	if (module->file && module->file->symbolizer)
		return module->file->symbolizer;
	if (!module->file)
		return NULL; /* nothing to read: the vdso, or a file that was gone */
	struct hs_symbolizer_options options = {
		.path = module->file->real_path,
		.fd = module->file->fd,
		.build_id = module->build_id,
		.build_id_bytes = module->build_id_bytes,
	};
	module->file->symbolizer = hs_symbolizer_open(&options);
	return module->file->symbolizer;
}

static void name_image(struct hs_naming *naming, struct hs_image *image)
{
	size_t count;
	struct place *places = collect(image, &count);
	struct hs_symbol_batch batch;
	struct hs_symbolizer *symbolizer = NULL;
	__atomic_add_fetch(&naming->total, count, __ATOMIC_RELAXED);
	hs_symbol_batch_begin(&batch, &image->encoder.writer);
	for (size_t i = 0; i < count && !__atomic_load_n(&naming->hurry, __ATOMIC_RELAXED); i++) {
		uint32_t module = places[i].module;
		if (i == 0 || module != places[i - 1].module)
			symbolizer = open_symbolizer(&image->modules[image->module_of_file[module]]);
		__atomic_add_fetch(&naming->done, 1, __ATOMIC_RELAXED);
		if (!symbolizer)
			continue;
		const struct hs_symbol_frame *frames;
		uint32_t frame_count =
			hs_symbolizer_frames(symbolizer, places[i].address, &batch.strings, &frames);
		if (is_known(frames, frame_count))
			hs_symbol_batch_add(&batch, (uint64_t)module + 1, places[i].address, frames,
					    frame_count);
	}
	hs_symbol_batch_end(&batch);
	free(places);
}

/* The program's own rules for leaks stand in the recording; a library may have them too. */
static void find_suppressions(struct hs_image *image)
{
	for (uint32_t i = 0; i < image->module_count; i++) {
		const struct hs_module_file *file = image->modules[i].file;
		if (!file || !file->symbolizer)
			continue;
		enum hs_returned found = hs_symbolizer_returned_string(
			file->symbolizer, "__lsan_default_suppressions", &image->suppressions);
		image->suppressions_unread = found == HS_RETURNED_UNKNOWN;
		if (found != HS_RETURNED_NOTHING)
			return;
	}
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

static void complete(struct hs_naming *naming, struct hs_image *image)
{
	struct hs_writer *writer = &image->encoder.writer;
	writer->packer = naming->packer;
	if (naming->symbols && !writer->error) {
		name_image(naming, image);
		find_suppressions(image);
	}
	int reason = writer->error;
	hs_image_close(image);
	if (!reason)
		reason = writer->error;
	if (reason && !image->stopped) {
		char text[256];
		snprintf(text, sizeof text, "cannot complete the recording of process %d: %s",
			 (int)image->pid, strerror(reason));
		pthread_mutex_lock(&naming->lock);
		if (!naming->failure)
			naming->failure = hs_copy_string(text);
		pthread_mutex_unlock(&naming->lock);
	}
	hs_image_free(image);
}

static void *work(void *argument)
{
	struct hs_naming *naming = argument;
	pthread_mutex_lock(&naming->lock);
	for (;;) {
		struct hs_image *image = naming->first;
		if (!image) {
			naming->busy = false;
			eventfd_write(naming->event, 1);
			if (naming->finish)
				break;
			pthread_cond_wait(&naming->more, &naming->lock);
			continue;
		}
		naming->first = image->next;
		if (!naming->first)
			naming->last = &naming->first;
		pthread_mutex_unlock(&naming->lock);
		complete(naming, image);
		pthread_mutex_lock(&naming->lock);
	}
	pthread_mutex_unlock(&naming->lock);
	return NULL;
}

struct hs_naming *hs_naming_start(bool symbols)
{
	struct hs_naming *naming = hs_allocate_zero(1, sizeof *naming);
	naming->symbols = symbols;
	naming->packer = hs_packer_new();
	naming->last = &naming->first;
	naming->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&naming->lock, NULL);
	pthread_cond_init(&naming->more, NULL);
	naming->threaded = pthread_create(&naming->thread, NULL, work, naming) == 0;
	return naming;
}

void hs_naming_add(struct hs_naming *naming, struct hs_image *image)
{
	if (!naming->threaded) {
		complete(naming, image);
		return;
	}
	pthread_mutex_lock(&naming->lock);
	image->next = NULL;
	*naming->last = image;
	naming->last = &image->next;
	naming->busy = true;
	pthread_cond_signal(&naming->more);
	pthread_mutex_unlock(&naming->lock);
}

bool hs_naming_idle(struct hs_naming *naming)
{
	eventfd_t value;
	eventfd_read(naming->event, &value);
	pthread_mutex_lock(&naming->lock);
	bool idle = !naming->busy;
	pthread_mutex_unlock(&naming->lock);
	return idle;
}

int hs_naming_descriptor(const struct hs_naming *naming)
{
	return naming->event;
}

void hs_naming_progress(const struct hs_naming *naming, unsigned long long *done, unsigned long long *total)
{
	*done = __atomic_load_n(&naming->done, __ATOMIC_RELAXED);
	*total = __atomic_load_n(&naming->total, __ATOMIC_RELAXED);
}

void hs_naming_hurry(struct hs_naming *naming)
{
	__atomic_store_n(&naming->hurry, true, __ATOMIC_RELAXED);
}

char *hs_naming_finish(struct hs_naming *naming)
{
	pthread_mutex_lock(&naming->lock);
	naming->finish = true;
	pthread_cond_signal(&naming->more);
	pthread_mutex_unlock(&naming->lock);
	if (naming->threaded)
		pthread_join(naming->thread, NULL);
	char *failure = naming->failure;
	hs_packer_free(naming->packer);
	close(naming->event);
	pthread_mutex_destroy(&naming->lock);
	pthread_cond_destroy(&naming->more);
	free(naming);
	return failure;
}
