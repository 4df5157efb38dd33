/* Makes recordings of a given shape, and times how fast one is replayed and exported. Not a test.
 *
 *     bench_replay make churn FILE [EVENTS]       1,024 live blocks of random size, 64 stacks
 *     bench_replay make wide FILE STACKS [LIVE]   many stacks; LIVE 0: nothing is live at the end
 *     bench_replay make recursion FILE DEPTH      a recursion that allocates at every depth
 *     bench_replay replay FILE...
 *     bench_replay dhat FILE OUTPUT */
#include "export/export.h"
#include "profile/profile.h"
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_number(void) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_churn(struct writer *writer, uint64_t events)
{
	enum { LIVE = 1024, STACKS = 64 };
	uint64_t live[LIVE];
	for (int i = 0; i < STACKS; i++)
		add_node(writer, 0, 0, 0x1000 + 16 * (uint64_t)i);
	write_nodes(writer);
	for (uint64_t i = 0; i < events / 2; i++) {
		uint64_t slot = i < LIVE ? i : random_number() % LIVE, now = i / 8;
		if (i >= LIVE)
			event_free(writer, 1, now, live[slot]);
		live[slot] = event_alloc(writer, 1, now, 1 + (uint32_t)(random_number() % STACKS),
					 16 + random_number() % 1024);
	}
}

/* Trees of 16 functions a level, each call from a place of its own, all below main. */
static void make_wide(struct writer *writer, uint32_t stacks, int live)
{
	enum { DEPTH = 10 };
	uint32_t *leaves = malloc(stacks * sizeof *leaves);
	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t node = add_node(writer, 0, 0, 0x1000);
		for (int level = 1; level < DEPTH; level++)
			node = add_node(writer, node, 0,
					0x2000 * (uint64_t)level + 16 * (random_number() % 64));
		leaves[i] = node;
	}
	write_nodes(writer);
	for (uint32_t i = 0; i < stacks; i++) {
		for (uint64_t n = 0, count = 1 + random_number() % 8; n < count; n++) {
			uint64_t block = event_alloc(writer, 1, i, leaves[i], 8 + random_number() % 100);
			if (!live || n)
				event_free(writer, 1, i, block);
		}
	}
	free(leaves);
}

static void make_recursion(struct writer *writer, uint32_t depth)
{
	uint32_t node = add_node(writer, 0, 0, 0x1000), *leaves = malloc(depth * sizeof *leaves);
	for (uint32_t i = 0; i < depth; i++) {
		leaves[i] = add_node(writer, node, 0, 0x2000);
		node = add_node(writer, node, 0, 0x3000);
	}
	write_nodes(writer);
	for (uint32_t i = 0; i < depth; i++)
		event_alloc(writer, 1, i, leaves[i], 100);
	free(leaves);
}

static int make(const char *shape, const char *path, uint64_t amount, int live)
{
	struct writer writer;
	writer_start(&writer);
	write_header(&writer);
	add_module(&writer, "/home/me/prog", MAIN_PROGRAM);
	write_modules(&writer);
	if (strcmp(shape, "churn") == 0)
		make_churn(&writer, amount ? amount : 8000000);
	else if (strcmp(shape, "wide") == 0)
		make_wide(&writer, (uint32_t)amount, live);
	else if (strcmp(shape, "recursion") == 0)
		make_recursion(&writer, (uint32_t)amount);
	else
		return 2;
	write_events(&writer);
	save_bytes(path, writer.file.data, writer.file.count);
	writer_free(&writer);
	return 0;
}

static int replay(const char *path)
{
	struct hs_error error;
	struct hs_sites sites;
	double begin = seconds();
	struct hs_profile *profile = hs_profile_load(path, &error);
	double loaded = seconds();
	if (!profile || hs_sites_make(profile, false, &sites, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	double done = seconds();
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%s: %" PRIu64 " events, %u sites, peak %" PRIu64
	       "; loaded in %.3f s, replayed in %.3f s: %.1f M events/s, "
	       "%.2f CPU s, %ld MiB\n",
	       path, sites.replay.totals.events, sites.count, sites.replay.totals.counts.peak_bytes,
	       loaded - begin, done - loaded, (double)sites.replay.totals.events / (done - loaded) / 1e6,
	       (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6, usage.ru_maxrss / 1024);
	if (profile->facts.warning)
		printf("%s\n", profile->facts.warning);
	hs_sites_free(&sites);
	hs_profile_free(profile);
	return 0;
}

static int dhat(const char *path, const char *output)
{
	struct hs_error error;
	double begin = seconds();
	struct hs_profile *profile = hs_profile_load(path, &error);
	FILE *file = fopen(output, "w");
	struct hs_export_options options = {0};
	if (!profile || !file || hs_exporter_find("dhat")->write(profile, &options, file, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	printf("%s: %.3f s, %ld bytes\n", output, seconds() - begin, ftell(file));
	fclose(file);
	hs_profile_free(profile);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "make") == 0)
		return make(argv[2], argv[3], argc > 4 ? strtoull(argv[4], NULL, 10) : 0,
			    argc > 5 ? atoi(argv[5]) : 1);
	if (argc == 4 && strcmp(argv[1], "dhat") == 0)
		return dhat(argv[2], argv[3]);
	if (argc >= 3 && strcmp(argv[1], "replay") == 0) {
		int result = 0;
		for (int i = 2; i < argc; i++)
			result |= replay(argv[i]);
		return result;
	}
	fprintf(stderr, "usage: bench_replay make SHAPE FILE ... | replay FILE... | dhat FILE OUTPUT\n");
	return 2;
}
