/* An encoder that writes to memory, what its items come through, and a look at the members that it made. */
#ifndef HS_TEST_ENCODING_H
#define HS_TEST_ENCODING_H

#include "check.h"
#include "record/pair.h"
#include "shim.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static struct hs_view view;
static struct hs_packer *packer;
static struct hs_encoder encoder;
static struct hs_nodes nodes;
static struct hs_pairing pairing;
static struct hs_stream streams[3];
static int file;

static inline uint32_t no_module(void *context, uint32_t module, uint64_t *address)
{
	return 0;
}

static inline void set_node(uint32_t id, uint32_t parent, uint64_t address)
{
	struct hs_node_record *record = (struct hs_node_record *)hs_view_node(&view, id);
	record->parent = parent;
	record->place = HS_PLACE(HS_MODULE_NONE, address);
	if (view.header->node_count <= id)
		view.header->node_count = id + 1;
}

static inline void begin(void)
{
	struct hs_error error;
	if (hs_view_create(&view, 16, &error) != 0) {
		printf("%s\n", error.text);
		exit(1);
	}
	view.nodes.protection = PROT_READ | PROT_WRITE; /* to be the target as well */
	shim_begin(&view);
	set_node(1, 0, 0x1000);
	set_node(2, 1, 0x1008);
	file = memfd_create("recording", 0);
	packer = hs_packer_new();
	hs_encoder_init(&encoder, packer, file);
	hs_nodes_init(&nodes, &view, &encoder);
	nodes.module = no_module;
	hs_pairing_init(&pairing, &encoder, &nodes);
	pairing.clock = shim_clock;
	pairing.now_stamp = UINT64_MAX;
	for (uint32_t i = 0; i < 3; i++)
		streams[i] = (struct hs_stream){.id = i, .thread = 70 + i, .tid = 700 + i};
}

static inline void end(void)
{
	hs_pairing_free(&pairing);
	hs_nodes_free(&nodes);
	hs_encoder_free(&encoder);
	hs_packer_free(packer);
	hs_view_close(&view);
	close(file);
}

/* What there is goes to the file, which is then read from its beginning. */
static inline void write_out(void)
{
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	lseek(file, 0, SEEK_SET);
}

static inline void item(enum hs_item_kind kind, unsigned stream, uint64_t us, uint64_t address, uint64_t size,
		 uint32_t node)
{
	struct hs_item one = {us * 1000, address, size, &streams[stream], node, (uint8_t)kind};
	hs_pairing_take(&pairing, &one, 1);
}

/* Checks the next member of the file: its header byte for byte, its payload after inflating it with zlib. */
static inline void check_member(uint8_t kind, uint32_t items, const uint8_t *payload, size_t bytes)
{
	static const uint8_t start[16] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 20, 0, 'H', 'S', 16, 0};
	uint8_t header[32], packed[16384], raw[16384];
	uint32_t extra[4], trailer[2];
	CHECK_NUMBER(read(file, header, sizeof header), sizeof header);
	CHECK(memcmp(header, start, sizeof start) == 0);
	memcpy(extra, header + 16, sizeof extra);
	CHECK_NUMBER(extra[0], kind);
	CHECK_NUMBER(extra[2], bytes);
	CHECK_NUMBER(extra[3], items);
	CHECK(extra[1] > 40 && extra[1] <= sizeof packed);
	CHECK_NUMBER(read(file, packed, extra[1] - 32), extra[1] - 32);
	memcpy(trailer, packed + extra[1] - 40, sizeof trailer);
	z_stream stream = {
		.next_in = packed, .avail_in = extra[1] - 40, .next_out = raw, .avail_out = sizeof raw};
	inflateInit2(&stream, -15);
	CHECK_NUMBER(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_NUMBER(stream.avail_in, 0);
	inflateEnd(&stream);
	CHECK_NUMBER(stream.total_out, bytes);
	CHECK_NUMBER(trailer[0], crc32(0, raw, (uInt)bytes));
	CHECK_NUMBER(trailer[1], bytes);
	for (size_t i = 0; i < bytes && i < stream.total_out; i++)
		if (raw[i] != payload[i]) {
			printf("payload of kind %d, byte %zu: %02x, not %02x\n", kind, i, raw[i], payload[i]);
			check_failures++;
		}
}

/* The first node and no other. */
static inline void check_node_1(void)
{
	check_member(HS_MEMBER_NODES, 1, (uint8_t[]){1, 1, 0, 0x80, 0x40}, 5);
}

#endif
