/* Gives the symbolizer damaged copies of a file, looks up addresses in each and what it needs: it must come
 * back, whatever it says.
 *
 *     damaged_files cut FILE COUNT     COUNT lengths from 0 to the whole file
 *     damaged_files flip FILE COUNT    COUNT copies with 1 to 32 changed bytes; from the second half on, all
 * of the changes within 4 KiB of the place of the first one
 *
 * The damage depends on nothing but the arguments. A copy that takes more than ten seconds ends the program
 * with SIGALRM. On a crash the last line of standard error tells which copy it was. */
#include "base/memory.h"
#include "symbols/libraries.h"
#include "symbols/module_facts.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct file {
	uint8_t *bytes;
	size_t length;
};

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* xorshift64: the same numbers everywhere. */
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static struct file read_file(const char *path)
{
	struct file file = {0};
	FILE *in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END) != 0) {
		perror(path);
		exit(2);
	}
	file.length = (size_t)ftell(in);
	file.bytes = hs_allocate(file.length);
	rewind(in);
	if (fread(file.bytes, 1, file.length, in) != file.length)
		exit(2);
	fclose(in);
	return file;
}

/* Code addresses of the undamaged file: its executable segment in equal steps. */
static void choose_addresses(const struct file *file, uint64_t *addresses, uint32_t count)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)file->bytes, file->length);
	size_t segments = 0;
	elf_getphdrnum(elf, &segments);
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    (segment.p_flags & PF_X))
			for (uint32_t j = 0; j < count; j++)
				addresses[j] = segment.p_vaddr + segment.p_memsz * j / count + 1;
	}
	elf_end(elf);
}

/* What it says about itself, and the libraries it names: any answer will do. */
static void look_at_facts(int fd)
{
	char path[64];
	struct hs_module_facts facts;
	struct hs_libraries libraries;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	hs_module_facts_read(path, &facts);
	hs_module_facts_free(&facts);
	hs_libraries_find(path, NULL, &libraries);
	hs_libraries_free(&libraries);
}

/* Returns the number of frames found, so that the work cannot be left out. */
static uint64_t look_up(const struct file *file, const char *path, const uint64_t *addresses, uint32_t count)
{
	struct hs_symbolizer_options options = {.path = path, .fd = memfd_create("damaged", MFD_CLOEXEC)};
	if (options.fd < 0 || write(options.fd, file->bytes, file->length) != (ssize_t)file->length)
		exit(2);
	alarm(10);
	struct hs_strings strings;
	hs_strings_init(&strings);
	struct hs_symbolizer *symbolizer = hs_symbolizer_open(&options);
	uint64_t frames = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_symbol_frame *found;
		uint32_t got = hs_symbolizer_frames(symbolizer, addresses[i], &strings, &found);
		for (uint32_t j = 0; j < got; j++)
			frames += strings.items[found[j].function] && strings.items[found[j].file];
	}
	hs_symbolizer_close(symbolizer);
	hs_strings_free(&strings);
	look_at_facts(options.fd);
	close(options.fd);
	return frames;
}

static void flip(const struct file *original, struct file *copy, uint32_t number, uint32_t count)
{
	memcpy(copy->bytes, original->bytes, original->length);
	uint64_t changes = 1 + next_random() % 32, first = next_random() % original->length;
	for (uint64_t i = 0; i < changes; i++) {
		uint64_t place = next_random() % original->length;
		if (number >= count / 2)
			place = first + place % 4096;
		static const uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xff};
		uint8_t value = (uint8_t)next_random();
		copy->bytes[place % original->length] =
			value % 4 ? value : extremes[value / 4 % sizeof extremes];
	}
}

int main(int argc, char **argv)
{
	enum { ADDRESSES = 200 };
	uint64_t addresses[ADDRESSES] = {0}, frames = 0;
	if (argc != 4)
		return 2;
	struct file original = read_file(argv[2]);
	uint32_t count = (uint32_t)strtoul(argv[3], NULL, 10);
	choose_addresses(&original, addresses, ADDRESSES);
	struct file copy = {hs_allocate(original.length), original.length};
	memcpy(copy.bytes, original.bytes, original.length);
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(argv[1], "cut") == 0)
			copy.length = original.length * i / (count - 1);
		else
			flip(&original, &copy, i, count);
		fprintf(stderr, "\r%u", i);
		frames += look_up(&copy, argv[2], addresses, ADDRESSES);
	}
	fprintf(stderr, "\n");
	printf("%u copies, %s\n", count,
	       frames >= (uint64_t)count * ADDRESSES ? "a frame for each address" : "frames missing");
	free(original.bytes);
	free(copy.bytes);
	return 0;
}
