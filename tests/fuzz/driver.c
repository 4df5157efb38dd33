/* Runs a fuzz target without libFuzzer: the seeds, then a fixed number of mutations of them, the same in
 * every run. Watches what libFuzzer watches: crashes and undefined behaviour (the sanitizers), time, memory
 * that the input does not justify, memory that is not given back.
 *
 *     fuzz_NAME RUNS [NUMBER]        NUMBER chooses other mutations
 *     fuzz_NAME FILE...              runs these inputs, such as the one that a failed run left
 *     fuzz_NAME --write-seeds FOLDER
 */
#include "fuzz.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MOST = 1 << 20, SEEDS_MOST = 64, SECONDS_MOST = 20, LEAK_MOST = 256 << 10 };

/* Of the sanitizers' interface; gcc comes without these headers. */
void __sanitizer_set_death_callback(void (*callback)(void));
int __sanitizer_install_malloc_and_free_hooks(void (*after_malloc)(const volatile void *, size_t),
					      void (*before_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *block);

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_abort=1:detect_leaks=0"; /* leaks: see below, exact and without ptrace */
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static int64_t live_bytes, most_bytes, allowed_bytes = INT64_MAX;

static void after_malloc(const volatile void *block, size_t size)
{
	int64_t live = __atomic_add_fetch(&live_bytes, (int64_t)size, __ATOMIC_RELAXED);
	if (live > __atomic_load_n(&most_bytes, __ATOMIC_RELAXED))
		__atomic_store_n(&most_bytes, live, __ATOMIC_RELAXED);
	if (live > __atomic_load_n(&allowed_bytes, __ATOMIC_RELAXED)) {
		__atomic_store_n(&allowed_bytes, INT64_MAX, __ATOMIC_RELAXED);
		dprintf(STDERR_FILENO, "%lld bytes of memory, which the input does not justify\n",
			(long long)live);
		abort();
	}
}

static void before_free(const volatile void *block)
{
	if (block)
		__atomic_sub_fetch(&live_bytes, (int64_t)__sanitizer_get_allocated_size(block),
				   __ATOMIC_RELAXED);
}

/* The constant part is for what comes with the first byte: the unpacked events of the members that are
 * inflated ahead, arenas of zlib. Deflate makes up to 1032 bytes of one, and the reader's records are larger
 * than the file's. */
__attribute__((weak)) size_t fuzz_memory(size_t size)
{
	return (16u << 20) + size * 4096;
}

/* ---- one input ----------------------------------------------------------------------------------------- */

static const char *name;
static uint8_t input[INPUT_MOST];
static size_t input_size;

/* Leaves the input that ended the program. */
static void save_input(void)
{
	static char path[256];
	snprintf(path, sizeof path, "crash-%s", name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd >= 0 && write(fd, input, input_size) == (ssize_t)input_size)
		dprintf(STDERR_FILENO, "the input is in %s: run %s with it as argument\n", path, name);
}

static void too_slow(int signal_number)
{
	static const char message[] = "the input takes too long\n";
	if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
		_exit(1);
	abort();
}

static void run_input(void)
{
	__atomic_store_n(&allowed_bytes, live_bytes + (int64_t)fuzz_memory(input_size), __ATOMIC_RELAXED);
	/* A copy of exactly this size: reading past its end is seen. */
	uint8_t *copy = malloc(input_size ? input_size : 1);
	memcpy(copy, input, input_size);
	alarm(SECONDS_MOST);
	LLVMFuzzerTestOneInput(copy, input_size);
	alarm(0);
	free(copy);
}

/* ---- mutations ----------------------------------------------------------------------------------------- */

static struct seed {
	uint8_t *data;
	size_t size;
} seeds[SEEDS_MOST];
static size_t seed_count;

static void add_seed(void *context, const void *data, size_t size)
{
	if (seed_count == SEEDS_MOST || size > INPUT_MOST / 2)
		fuzz_fail(__FILE__, __LINE__, "a seed too many, or too large");
	seeds[seed_count].data = malloc(size ? size : 1);
	memcpy(seeds[seed_count].data, data, size);
	seeds[seed_count++].size = size;
}

static uint64_t random_state;

/* xorshift64*: the same numbers everywhere. */
static uint64_t any(uint64_t below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1du >> 11) % (below ? below : 1);
}

static size_t any_place(void)
{
	return any(input_size);
}

static void insert(size_t at, const uint8_t *data, size_t size)
{
	if (size > INPUT_MOST - input_size)
		return;
	memmove(input + at + size, input + at, input_size - at);
	memcpy(input + at, data, size);
	input_size += size;
}

static void remove_bytes(size_t at, size_t size)
{
	if (size > input_size - at)
		size = input_size - at;
	memmove(input + at, input + at + size, input_size - at - size);
	input_size -= size;
}

/* Numbers around which things break, as little-endian bytes and as varints. */
static size_t make_number(uint8_t bytes[10])
{
	static const uint64_t special[] = {
		0,        1,          2,          7,          8,          0x7f,      0x80,       0xff,
		0x100,    0x7fff,     0x8000,     0xffff,     0x10000,    1u << 20,  1u << 24,   INT32_MAX,
		1u << 31, UINT32_MAX, 1ull << 32, 1ull << 47, 1ull << 56, INT64_MAX, 1ull << 63, UINT64_MAX};
	uint64_t value = special[any(sizeof special / sizeof *special)] + any(3) - 1;
	size_t size = (size_t)1 << any(4);
	if (any(2)) {
		memcpy(bytes, &value, size);
		return size;
	}
	for (size = 0; value > 0x7f; value >>= 7)
		bytes[size++] = (uint8_t)value | 0x80;
	bytes[size++] = (uint8_t)value;
	return size;
}

static void mutate(void)
{
	uint8_t piece[64];
	size_t at = any_place(), size;
	switch (input_size ? any(10) : 5) {
	case 0:
	case 1:
		input[at] ^= (uint8_t)(1u << any(8));
		break;
	case 2:
		input[at] = (uint8_t)any(256);
		break;
	case 3:
		input[at] = (uint8_t)(input[at] + any(9) - 4);
		break;
	case 4: /* over what is there */
		size = make_number(piece);
		memcpy(input + at, piece, size < input_size - at ? size : input_size - at);
		break;
	case 5:
		size = make_number(piece);
		insert(at, piece, size);
		break;
	case 6:
		remove_bytes(at, 1 + any(any(2) ? 8 : input_size));
		break;
	case 7: { /* once more, somewhere */
		size_t from = any_place();
		size = 1 + any(sizeof piece);
		if (size > input_size - from)
			size = input_size - from;
		memcpy(piece, input + from, size);
		insert(at, piece, size);
		break;
	}
	case 8: { /* a part of another seed */
		const struct seed *other = &seeds[any(seed_count)];
		size_t from = any(other->size);
		size = any(other->size - from + 1);
		insert(at, other->data + from, size);
		break;
	}
	default:
		input_size = any(8) ? input_size : at;
	}
}

static void begin_with(const struct seed *seed)
{
	memcpy(input, seed->data, seed->size);
	input_size = seed->size;
}

/* ---- the program --------------------------------------------------------------------------------------- */

static void write_seeds(const char *folder)
{
	for (size_t i = 0; i < seed_count; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/seed-%02zu", folder, i);
		FILE *file = fopen(path, "wb");
		if (!file || fwrite(seeds[i].data, 1, seeds[i].size, file) != seeds[i].size ||
		    fclose(file) != 0) {
			perror(path);
			exit(2);
		}
	}
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(2);
	}
	input_size = fread(input, 1, sizeof input, file);
	fclose(file);
	run_input();
}

static void run_all(unsigned long runs, uint64_t number)
{
	int64_t before = 0;
	random_state = number * 0x9e3779b97f4a7c15u + 1;
	for (size_t i = 0; i < 2 * seed_count; i++) {
		if (i == seed_count)
			before = live_bytes; /* what is kept for good, stands */
		begin_with(&seeds[i % seed_count]);
		run_input();
	}
	for (unsigned long i = 0; i < runs; i++) {
		begin_with(&seeds[any(seed_count)]);
		for (uint64_t left = 1 + any(any(4) ? 4 : 32); left > 0; left--)
			mutate();
		run_input();
	}
	dprintf(STDOUT_FILENO, "%s: %zu seeds, %lu mutations, %lld KiB at most\n", name, seed_count, runs,
		(long long)most_bytes >> 10);
	if (live_bytes - before > LEAK_MOST)
		fuzz_fail(__FILE__, __LINE__, "the memory of all inputs is given back");
}

int main(int argc, char **argv)
{
	name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	__sanitizer_set_death_callback(save_input);
	__sanitizer_install_malloc_and_free_hooks(after_malloc, before_free);
	signal(SIGALRM, too_slow);
	if (argc < 2)
		return 2;
	fuzz_seeds(add_seed, NULL);
	if (strcmp(argv[1], "--write-seeds") == 0 && argc == 3)
		write_seeds(argv[2]);
	else if (isdigit((unsigned char)argv[1][0]))
		run_all(strtoul(argv[1], NULL, 10), argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
	else
		for (int i = 1; i < argc; i++)
			run_file(argv[i]);
	return 0;
}
