/* Images that grow while they are named: each place once, and nothing is touched by two threads at a time
 * (built with the thread sanitizer as well). The places are functions of this very program. */
#include "check.h"
#include "record/naming.h"

#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { FUNCTIONS = 3, ROUNDS = 300, IMAGES = 3 };

int first_function(int number);
int second_function(int number);
int third_function(int number);

int first_function(int number)
{
	return number + 1;
}

int second_function(int number)
{
	return number * 2;
}

int third_function(int number)
{
	return number - 3;
}

static int (*const functions[FUNCTIONS])(int) = {first_function, second_function, third_function};
static const char *const names[FUNCTIONS] = {"first_function", "second_function", "third_function"};

static uint64_t bias;

static int find_bias(struct dl_phdr_info *program, size_t bytes, void *context)
{
	bias = program->dlpi_addr;
	return 1; /* the program is the first */
}

/* An image of this process with one module, its file going to a descriptor. */
static struct hs_image *make_image(const struct hs_image_context *context, int file)
{
	struct hs_image *image = hs_allocate_zero(1, sizeof *image);
	image->context = context;
	image->view.fd = image->statm = image->pidfd = -1;
	image->begun = true;
	hs_encoder_init(&image->encoder, context->packer, dup(file));
	image->modules = hs_allocate_zero(1, sizeof *image->modules);
	image->modules[0].file = hs_files_open(context->files, getpid(), NULL, NULL);
	image->modules[0].file_id = 1;
	image->module_count = image->file_modules = 1;
	image->module_of_file = hs_allocate_zero(1, sizeof *image->module_of_file);
	CHECK(image->modules[0].file != NULL);
	return image;
}

/* A node in each function; a look-up is made in front of its address. Now and then some of it goes to the
 * file. */
static void grow(struct hs_image *image, unsigned round)
{
	uint32_t node = 0;
	for (unsigned i = 0; i <= round % FUNCTIONS; i++)
		node = hs_encoder_node(&image->encoder, node, 1, (uintptr_t)functions[i] - bias + 1);
	if (round % 16 == 0)
		hs_encoder_flush(&image->encoder);
}

static const uint8_t *skip_varints(const uint8_t *at, unsigned count)
{
	while (count)
		count -= !(*at++ & 0x80);
	return at;
}

static void check_symbols(const uint8_t *payload, uint32_t items)
{
	/* All numbers in it are below 128: one byte each. */
	unsigned strings = payload[0], found = 0;
	const uint8_t *at = payload + 1;
	for (unsigned i = 0; i < strings; i++) {
		for (unsigned j = 0; j < FUNCTIONS; j++)
			found += at[0] == strlen(names[j]) && memcmp(at + 1, names[j], at[0]) == 0;
		at += 1 + at[0];
	}
	CHECK_NUMBER(found, FUNCTIONS);
	CHECK_NUMBER(items, FUNCTIONS);
	for (uint32_t i = 0; i < items; i++) {
		CHECK_NUMBER(at[0], 1); /* module */
		at = skip_varints(at + 1, 1);
		CHECK_NUMBER(at[0], 1); /* frame */
		CHECK(at[1] != 0 && at[1] < strings);
		at = skip_varints(at + 1, 4);
	}
}

static uint32_t number_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void check_file(int file)
{
	static uint8_t data[1 << 20], payload[1 << 20];
	unsigned symbols = 0, footers = 0, nodes = 0;
	ssize_t bytes = pread(file, data, sizeof data, 0);
	for (ssize_t at = 0; at < bytes; at += number_at(data + at + 20)) {
		uint8_t kind = data[at + 16];
		uint32_t items = number_at(data + at + 28);
		z_stream stream = {.next_in = data + at,
				   .avail_in = number_at(data + at + 20),
				   .next_out = payload,
				   .avail_out = sizeof payload};
		inflateInit2(&stream, 31);
		CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
		inflateEnd(&stream);
		if (kind == HS_MEMBER_NODES)
			nodes += items;
		if (kind == HS_MEMBER_SYMBOLS)
			check_symbols(payload, items);
		symbols += kind == HS_MEMBER_SYMBOLS;
		footers += kind == HS_MEMBER_FOOTER;
	}
	CHECK_NUMBER(nodes, ROUNDS / 3 * (1 + 2 + 3));
	CHECK_NUMBER(symbols, 1);
	CHECK_NUMBER(footers, 1);
}

int main(void)
{
	struct hs_image *images[IMAGES];
	int files[IMAGES];
	struct hs_image_context context = {.files = hs_files_new(), .packer = hs_packer_new()};
	dl_iterate_phdr(find_bias, NULL);
	struct hs_naming *naming = hs_naming_start(true);
	for (unsigned i = 0; i < IMAGES; i++) {
		files[i] = memfd_create("recording", 0);
		images[i] = make_image(&context, files[i]);
	}
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < IMAGES; i++) {
			grow(images[i], round);
			hs_naming_ahead(naming, images[i]);
		}
	for (unsigned i = 0; i < IMAGES; i++) {
		hs_encoder_flush(&images[i]->encoder);
		hs_naming_add(naming, images[i]);
	}
	char *failure = hs_naming_finish(naming);
	CHECK(failure == NULL);
	for (unsigned i = 0; i < IMAGES; i++) {
		check_file(files[i]);
		close(files[i]);
	}
	hs_packer_free(context.packer);
	hs_files_free(context.files);
	return check_failures != 0;
}
