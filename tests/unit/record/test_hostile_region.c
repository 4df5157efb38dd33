/* A target that writes anything into its region, also while it is read. Every recording is fine; a crash, a
 * hang or memory without reason is not. Runs under the address sanitizer. */
#include "record/pair.h"
#include "shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 6, CHUNKS = 64, NODES = 4096, TURNS = 150 };

struct target {
	struct hs_view *view;
	uint64_t random;
	bool stop;
};

static uint64_t next(struct target *target)
{
	target->random ^= target->random << 13;
	target->random ^= target->random >> 7;
	target->random ^= target->random << 17;
	return target->random;
}

/* Numbers that hurt: small, huge, around limits, random. */
static uint64_t number(struct target *target)
{
	static const uint64_t special[] = {0,
					   1,
					   7,
					   8,
					   HS_CHUNK_PAYLOAD_BYTES,
					   HS_CHUNK_PAYLOAD_BYTES + 8,
					   HS_MAX_CHUNKS,
					   UINT32_MAX,
					   UINT64_MAX,
					   1ull << 63,
					   HS_MAX_NODES,
					   HS_MAX_NODES - 1};
	uint64_t kind = next(target);
	if (kind % 4 == 0)
		return special[next(target) % (sizeof special / sizeof *special)];
	return kind % 4 == 1 ? next(target) : next(target) % 100;
}

/* Mostly records, of a few addresses and nodes, so that something happens at all. */
static uint64_t word(struct target *target)
{
	uint64_t kind = next(target);
	if (kind % 16 == 0)
		return number(target);
	if (kind % 16 == 1)
		return number(target) << 2 | HS_RECORD_WIDE;
	if (kind % 16 == 3) /* all kinds of wide records */
		return (HS_WIDE_STAMP + next(target) % HS_WIDE_NOTE) << 2 | HS_RECORD_WIDE;
	if (kind % 16 == 5) /* what notes say */
		return next(target) % 8 | next(target) % (HS_NOTE_NAME_MOST + 2) << 8;
	if (kind % 16 == 7) /* addresses in full */
		return next(target) % 64 * 8;
	if (kind % 2)
		return number(target) << 32 | next(target) % NODES;
	return HS_WORD(next(target) % 3, next(target) % 64 * 8, next(target) % 1000);
}

static void write_chunk(struct target *target, uint32_t index)
{
	struct hs_chunk_header *header = hs_view_chunk(target->view, index);
	uint64_t *words = (uint64_t *)(header + 1);
	header->stream = (uint32_t)number(target) % 20;
	header->sequence = (uint32_t)number(target);
	header->thread = (uint32_t)number(target);
	header->tid = (uint32_t)number(target);
	header->busy = (uint32_t)next(target) % 2;
	header->mode = next(target) % 2 ? 0 : (uint32_t)number(target) % 4;
	header->base_stamp = number(target);
	header->committed = (uint32_t)number(target) * 8;
	for (unsigned i = 0; i < 200; i++)
		words[next(target) % 4 ? i : next(target) % (HS_CHUNK_PAYLOAD_BYTES / 8)] = word(target);
	target->view->header->chunk_state[index] = (uint8_t)(next(target) % 4);
}

static void write_something(struct target *target)
{
	struct hs_region_header *header = target->view->header;
	write_chunk(target, next(target) % CHUNKS);
	struct hs_node_record *node =
		(struct hs_node_record *)hs_view_node(target->view, next(target) % NODES);
	node->parent = (uint32_t)number(target);
	node->place = number(target);
	header->node_count = next(target) % 8 ? NODES : (uint32_t)number(target);
	header->chunk_count = next(target) % 8 ? CHUNKS : (uint32_t)number(target);
	header->waiters = next(target) % 2;
}

static void *go_on(void *argument)
{
	struct target *target = argument;
	while (!__atomic_load_n(&target->stop, __ATOMIC_RELAXED))
		write_something(target);
	return NULL;
}

static uint32_t module(void *context, uint32_t id, uint64_t *address)
{
	return id % 3;
}

static uint64_t record(uint64_t seed, bool meanwhile)
{
	struct hs_error error;
	struct hs_view view, other;
	if (hs_view_create(&view, 16, &error) != 0) {
		printf("%s\n", error.text);
		exit(1);
	}
	/* The target's own mapping of the same file, which it may write. */
	other = view;
	other.fd = dup(view.fd);
	other.nodes.protection = PROT_READ | PROT_WRITE;
	other.header = mmap(NULL, HS_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, other.fd, 0);
	struct target target = {.view = &other, .random = seed * 0x9e3779b97f4a7c15u + 1};

	struct hs_packer *packer = hs_packer_new();
	struct hs_encoder encoder;
	struct hs_nodes nodes;
	struct hs_pairing pairing;
	hs_encoder_init(&encoder, packer, open("/dev/null", O_WRONLY | O_CLOEXEC));
	hs_nodes_init(&nodes, &view, &encoder);
	nodes.module = module;
	hs_pairing_init(&pairing, &encoder, &nodes);
	pairing.clock = shim_clock;
	struct hs_drain *drain = hs_drain_new(&view, hs_pairing_take, &pairing);

	pthread_t thread;
	for (unsigned i = 0; i < 2 * CHUNKS; i++)
		write_something(&target);
	if (meanwhile)
		pthread_create(&thread, NULL, go_on, &target);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < CHUNKS && !meanwhile; i++)
			write_something(&target);
		pairing.now_stamp = round * 300000000;
		hs_drain_round(drain, &shim_clock, pairing.now_stamp, round == ROUNDS);
		hs_encoder_flush(&encoder);
	}
	if (meanwhile) {
		__atomic_store_n(&target.stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	uint64_t events = encoder.now.events;
	hs_drain_free(drain);
	hs_pairing_free(&pairing);
	hs_nodes_free(&nodes);
	close(encoder.writer.fd);
	hs_encoder_free(&encoder);
	hs_packer_free(packer);
	hs_view_close(&view);
	hs_view_close(&other);
	return events;
}

int main(void)
{
	uint64_t events = 0;
	for (uint64_t turn = 0; turn < TURNS; turn++)
		events += record(turn, turn % 3 == 0);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu events, %ld MiB at most\n", (unsigned long long)events, usage.ru_maxrss >> 10);
	return events < 10000 || usage.ru_maxrss > 1024 << 10;
}
