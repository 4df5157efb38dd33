/* The thread that names, and what it is given. */
#include "record/naming.h"

#include "base/memory.h"
#include "record/place_names.h"
#include "symbols/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What is new of an image. */
struct request {
	struct request *next;
	struct hs_image *image;
	bool last; /* the image is complete but for its names, and is to be freed */
	struct hs_place_module *modules;
	uint32_t module_count, place_count;
	struct hs_place places[];
};

struct hs_naming {
	bool symbols;
	struct hs_packer *packer;
	pthread_t thread;
	bool threaded;
	int event;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct request *first, **last; /* waiting */
	bool busy, finish;
	char *failure;

	struct hs_naming_state state;
};

/* ---- requests ------------------------------------------------------------------------------------------ */

static struct hs_place_module *new_modules(const struct hs_image *image)
{
	uint32_t count = image->file_modules - image->modules_given;
	struct hs_place_module *modules = count ? hs_allocate(count * sizeof *modules) : NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_image_module *module =
			&image->modules[image->module_of_file[image->modules_given + i]];
		modules[i] = (struct hs_place_module){.file = module->file,
						      .build_id_bytes = module->build_id_bytes};
		memcpy(modules[i].build_id, module->build_id, sizeof modules[i].build_id);
	}
	return modules;
}

/* The nodes and modules since the last request. */
static struct request *make_request(struct hs_image *image, bool last)
{
	const struct hs_encoder *encoder = &image->encoder;
	uint32_t count = encoder->node_count - image->nodes_given;
	struct request *request = hs_allocate(sizeof *request + count * sizeof *request->places);
	*request = (struct request){.image = image,
				    .last = last,
				    .modules = new_modules(image),
				    .module_count = image->file_modules - image->modules_given,
				    .place_count = count};
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_encoder_node *node = &encoder->nodes[image->nodes_given + i];
		request->places[i] = (struct hs_place){node->address, node->module};
	}
	image->nodes_given = encoder->node_count;
	image->modules_given = image->file_modules;
	return request;
}

static void name_places(struct hs_naming *naming, struct request *request)
{
	struct hs_image *image = request->image;
	if (!image->names)
		image->names = hs_place_names_new();
	for (uint32_t i = 0; i < request->module_count; i++)
		hs_place_names_module(image->names, &request->modules[i]);
	hs_place_names_add(image->names, request->places, request->place_count, naming->packer,
			   &naming->state);
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
	if (image->names) {
		hs_place_names_finish(image->names, writer);
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

/* Takes over the request. */
static void serve(struct hs_naming *naming, struct request *request)
{
	if (naming->symbols)
		name_places(naming, request);
	if (request->last)
		complete(naming, request->image);
	free(request->modules);
	free(request);
}

static void *work(void *argument)
{
	struct hs_naming *naming = argument;
	pthread_mutex_lock(&naming->lock);
	for (;;) {
		struct request *request = naming->first;
		if (!request) {
			naming->busy = false;
			eventfd_write(naming->event, 1);
			if (naming->finish)
				break;
			pthread_cond_wait(&naming->more, &naming->lock);
			continue;
		}
		naming->first = request->next;
		if (!naming->first)
			naming->last = &naming->first;
		pthread_mutex_unlock(&naming->lock);
		serve(naming, request);
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

static void ask(struct hs_naming *naming, struct request *request)
{
	pthread_mutex_lock(&naming->lock);
	request->next = NULL;
	*naming->last = request;
	naming->last = &request->next;
	naming->busy = true;
	pthread_cond_signal(&naming->more);
	pthread_mutex_unlock(&naming->lock);
}

void hs_naming_ahead(struct hs_naming *naming, struct hs_image *image)
{
	if (naming->symbols && naming->threaded && image->begun &&
	    image->encoder.node_count > image->nodes_given)
		ask(naming, make_request(image, false));
}

void hs_naming_add(struct hs_naming *naming, struct hs_image *image)
{
	struct request *request = make_request(image, true);
	if (naming->threaded)
		ask(naming, request);
	else
		serve(naming, request);
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
	*done = __atomic_load_n(&naming->state.done, __ATOMIC_RELAXED);
	*total = __atomic_load_n(&naming->state.total, __ATOMIC_RELAXED);
}

void hs_naming_hurry(struct hs_naming *naming)
{
	__atomic_store_n(&naming->state.hurry, true, __ATOMIC_RELAXED);
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
