/* From items to the bytes of the file: worked out by hand from FORMAT.md. */
#include "check.h"
#include "record/pair.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
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

static uint32_t no_module(void *context, uint32_t module, uint64_t *address)
{
	return 0;
}

static void set_node(uint32_t id, uint32_t parent, uint64_t address)
{
	struct hs_node_record *record = (struct hs_node_record *)hs_view_node(&view, id);
	record->parent = parent;
	record->place = HS_PLACE(HS_MODULE_NONE, address);
	if (view.header->node_count <= id)
		view.header->node_count = id + 1;
}

static void begin(void)
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

static void end(void)
{
	hs_pairing_free(&pairing);
	hs_nodes_free(&nodes);
	hs_encoder_free(&encoder);
	hs_packer_free(packer);
	hs_view_close(&view);
	close(file);
}

/* What there is goes to the file, which is then read from its beginning. */
static void write_out(void)
{
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	lseek(file, 0, SEEK_SET);
}

static void item(enum hs_item_kind kind, unsigned stream, uint64_t us, uint64_t address, uint64_t size,
		 uint32_t node)
{
	struct hs_item one = {us * 1000, address, size, &streams[stream], node, (uint8_t)kind};
	hs_pairing_take(&pairing, &one, 1);
}

/* Checks the next member of the file: its header byte for byte, its payload after inflating it with zlib. */
static void check_member(uint8_t kind, uint32_t items, const uint8_t *payload, size_t bytes)
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
static void check_node_1(void)
{
	check_member(HS_MEMBER_NODES, 1, (uint8_t[]){1, 1, 0, 0x80, 0x40}, 5);
}

static void test_bytes(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 16, 1);
	item(HS_ITEM_ALLOC, 0, 2, 0xb0, 16, 1);
	item(HS_ITEM_DETACH, 0, 3, 0xa0, 64, 2);
	item(HS_ITEM_ATTACH, 0, 5, 0xc0, 64, 2);
	item(HS_ITEM_FREE, 1, 6, 0xb0, 0, 0);
	hs_encoder_sample(&encoder, 10, 300);
	hs_encoder_sample(&encoder, 12, 301);
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	snprintf(encoder.threads[1].name, 16, "main");
	CHECK_NUMBER(hs_encoder_flush_threads(&encoder, encoder.thread_count), 0);
	/* Numbering goes on: */
	item(HS_ITEM_RESIZE, 1, 7, 0xc0, 64, 2);
	write_out();

	/* told, its parent the one before, no module, address 0x1000; likewise, + 8 */
	check_member(HS_MEMBER_NODES, 2, (uint8_t[]){1, 1, 0, 0x80, 0x40, 1, 0, 16}, 8);
	check_member(HS_MEMBER_EVENTS, 4,
		     (uint8_t[]){
			     0, 6,    0, 1,  1,
			     0,                 /* from 0 to 6 us, no allocations before; exact */
			     0, 0,    0, 0,     /* no copies */
			     1, 0x60,           /* alloc, alloc, move, free, */
			     4, 5,    1, 1,  2, /* three events of thread 1, one of thread 2 */
			     5, 0,    2, 3,  2,
			     2, /* none at 0; one each at 1, 2 (and 3 us on, 2 more than 1), 5 us */
			     3, 3,    1, 3,  /* nodes 1 (from 0), 1 (from 1), 2 (from 1) */
			     3, 17,   0, 65, /* 16, as before, 64 */
			     2, 1,    2,     /* 0 as before the payload; one is younger than allocation 1 */
			     0, 0,    0, 0,  /* no far blocks */
			     4, 0,    0, 0,  7, /* the free seven lanes on */
		     },
		     43);
	check_member(HS_MEMBER_SAMPLES, 2, (uint8_t[]){0, 10, 0xac, 2, 2, 0xad, 2}, 7);
	check_member(HS_MEMBER_THREADS, 2, (uint8_t[]){1, 0xbc, 5, 4, 'm', 'a', 'i', 'n', 2, 0xbd, 5, 0}, 12);
	check_member(HS_MEMBER_EVENTS, 1,
		     (uint8_t[]){
			     6, 1,  3, 1, 1, 0, /* 6 us, one more; three allocations */
			     0, 0,  0, 0,       /* no copies */
			     1, 3,              /* resize... */
			     2, 1,  2,          /* thread 2 */
			     1, 0,              /* no event at 6 us */
			     1, 5,              /* node 2, from 0: 1 + zigzag 4 */
			     1, 65,             /* 64, new to the lane */
			     1, 0,              /* the latest allocation */
			     0, 0,  0, 0,       /* no far blocks */
			     1, 7,              /* ...of a block seven lanes on */
		     },
		     29);

	CHECK_NUMBER(encoder.written.events, 5);
	CHECK_NUMBER(encoder.written.allocations, 4);
	CHECK_NUMBER(encoder.written.frees, 1);
	CHECK_NUMBER(encoder.written.allocated_bytes, 16 + 16 + 64 + 64);
	CHECK_NUMBER(encoder.written.peak_bytes, 80);
	CHECK_NUMBER(encoder.written.peak_us, 5);
	CHECK_NUMBER(encoder.written.live_bytes, 64);
	CHECK_NUMBER(encoder.written.live_blocks, 1);
	CHECK_NUMBER(encoder.written.temporary, 0); /* a realloc came in between */
	end();
}

/* Events at one time, and blocks that end in the order in which they began, and the other way round. */
static void test_runs(void)
{
	begin();
	for (uint64_t i = 0; i < 6; i++)
		item(HS_ITEM_ALLOC, 0, 3, 0x10 + i * 16, 8, 1);
	item(HS_ITEM_FREE, 0, 3, 0x10, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x20, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x30, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x60, 0, 0);
	item(HS_ITEM_FREE, 0, 4, 0x50, 0, 0);
	write_out();
	check_node_1();
	/* Ended blocks: 0 as before the payload; 1 and 2, one onwards each; 5, none is younger; 4, one is. */
	check_member(
		HS_MEMBER_EVENTS, 11,
		(uint8_t[]){
			0, 4,  0,    1,    1, 0, /* from 0 to 4 us */
			0, 0,  0,    0,          /* no copies */
			3, 0,  0x50, 0x15,       /* six allocations, five frees */
			2, 21, 1,                /* eleven events of thread 1 */
			3, 1,  2,    14, /* none at 0; 2 more than 1 us on there are seven; 1 us on is the
					    rest */
			6, 3,  1,    0,    0, 0, 0, /* node 1 from 0; from 1 to itself, then as remembered */
			6, 9,  0,    0,    0, 0, 0, /* 8 bytes each */
			5, 1,  5,    5,    0, 2, 0, 0, 0, 0, 0, /* no far blocks, no other lanes */
		},
		46);
	end();
}

/* A call is told where it is not what followed the parent's last. */
static void test_nodes(void)
{
	begin();
	hs_encoder_node(&encoder, 0, 0, 0x1000);
	hs_encoder_node(&encoder, 1, 0, 0x1008);
	hs_encoder_node(&encoder, 0, 0, 0x1000); /* as the root's last */
	hs_encoder_node(&encoder, 3, 0, 0x1008); /* as node 1's, which has the same call */
	hs_encoder_node(&encoder, 1, 0, 0x1010);
	hs_encoder_node(&encoder, 3, 0, 0x1008); /* no longer what came last */
	hs_encoder_node(&encoder, 1, 1, 0x1008); /* another module */
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	/* The next payload remembers it, but tells addresses from 0 on. */
	hs_encoder_node(&encoder, 3, 1, 0x1008);
	hs_encoder_node(&encoder, 0, 0, 0x13511);
	hs_encoder_node(&encoder, 9, 1, 0x1008); /* its parent's call has the key of 0x1000: 30619 */
	write_out();
	check_member(HS_MEMBER_NODES, 7,
		     (uint8_t[]){1,                /* the first one's id */
				 1, 0, 0x80, 0x40, /* told, of the root; no module; 0x1000 */
				 1, 0, 16,         /* of node 1; 8 more */
				 4,                /* the root is two before the one before; not told */
				 0,                /* of node 3 */
				 7, 0, 16,         /* of node 1; 8 more */
				 5, 0, 15,         /* of node 3; 8 less */
				 11, 1, 0},        /* of node 1, module 0, the same address */
		     19);
	check_member(HS_MEMBER_NODES, 3,
		     (uint8_t[]){8, 8,                    /* of node 3, not told */
				 17, 0, 0xa2, 0xd4, 0x09, /* told, of the root; 2 * 0x13511 */
				 0},                      /* of node 9 */
		     8);
	end();
}

/* Runs of threads: the thread of the run before the last one needs no number. */
static void test_thread_runs(void)
{
	static const unsigned order[] = {0, 1, 0, 2, 0, 1};
	begin();
	for (uint64_t i = 0; i < 6; i++)
		item(HS_ITEM_ALLOC, order[i], 1, 0x10 + i * 16, 8, 1);
	write_out();
	check_node_1();
	check_member(
		HS_MEMBER_EVENTS, 6,
		(uint8_t[]){
			0,  1, 0, 1, 1, 0,             /* from 0 to 1 us */
			0,  0, 0, 0,                   /* no copies */
			2,  0, 0,                      /* allocations */
			10, 1, 1, 1, 2, 0, 1, 3, 0, 1, /* 1, 2, back to 1, 3, back to 1, */
			2,                             /* 2 */
			1,  0,                         /* none at 0 us */
			6,  3, 1, 0, 3, 1, 3, /* each lane's: from 0 to 1, from 1 to itself, as remembered */
			6,  9, 0, 0, 9, 0, 9, /* 8 bytes each */
			0,  0, 0, 0, 0, 0,    /* no far blocks, no other lanes */
		},
		46);
	end();
}

/* What repeats earlier events is a copy of them. */
static void test_copies(void)
{
	begin();
	for (int i = 0; i < 6; i++) {
		item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
		item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	}
	write_out();
	check_node_1();
	/* The node codes of the first two allocations are 3 and 1, then 0; the size of the first is told:
	 * from the third allocation on the two events repeat; and the free before it is one of them. */
	check_member(HS_MEMBER_EVENTS, 12,
		     (uint8_t[]){
			     0, 1,    0, 1, 1, 0, /* from 0 to 1 us */
			     1, 5,    1, 7,       /* five events, then seven */
			     1, 2,    1, 0,       /* that are those two earlier */
			     2, 0x44, 0,          /* allocations and frees in turn */
			     2, 23,   1,          /* twelve events of thread 1 */
			     1, 0,                /* none at 0 us */
			     3, 3,    1, 0,       /* nodes */
			     3, 9,    0, 0,       /* sizes */
			     2, 0,    0,          /* each the latest */
			     0, 0,    0, 0, 0,    /* no far blocks, no other lanes */
		     },
		     38);
	end();
}

static void allocate_row(uint64_t first_bytes, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		static uint64_t address = 1 << 20;
		item(HS_ITEM_ALLOC, 0, 1, address += 16, first_bytes + i, 1);
	}
}

static uint8_t *put_row(uint8_t *at, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		*at++ = (uint8_t)(first + i);
	return at;
}

/* Of two places that begin alike, the one that goes on alike is copied, not the latest. */
static void test_copies_from_afar(void)
{
	uint8_t expected[256] = {0}, *at = expected;
	begin();
	for (unsigned i = 0; i < 10; i++)
		allocate_row(8, 1);
	for (unsigned i = 0; i < 2; i++) { /* the same twice */
		allocate_row(20, 6);
		allocate_row(30, 26);
	}
	allocate_row(60, 1);
	allocate_row(20, 6); /* as it began, but */
	allocate_row(70, 26);
	allocate_row(61, 1);
	allocate_row(20, 6); /* as it was at first */
	allocate_row(30, 26);
	write_out();
	check_node_1();
	/* from 0 to 1 us; then what is copied: of the ten the last seven, each of the one before; the second
	 * row of 32; the beginning of the third; and after its other 26 and one more the first row, all of
	 * it */
	at = memcpy(at, (uint8_t[]){0,  1, 0,  1, 1, 0,  4,  3,  32, 1, 27, 4, 7,
				    32, 6, 32, 4, 1, 32, 33, 98, 4,  0, 0,  0, 0},
		    26);
	at += 26;
	*at = (3 + 32 + 1 + 27 + 1) / 4; /* kinds: allocations */
	at += 1 + 16;
	/* 140 events of thread 1; none at 0 us; nodes: 1 from 0, then from 1, then as before */
	memcpy(at, (uint8_t[]){3, 0x97, 2, 1, 1, 0, 63, 3, 1}, 9);
	at += 7 + 63;
	*at++ = 63; /* sizes, and 1 */
	*at++ = 9;
	at += 2; /* as before */
	at = put_row(at, 21, 6);
	at = put_row(at, 31, 26);
	at = put_row(at, 61, 1);
	at = put_row(at, 71, 26);
	at = put_row(at, 62, 1);
	at += 6; /* no block ended, near or far */
	check_member(HS_MEMBER_EVENTS, 140, expected, (size_t)(at - expected));
	end();
}

/* A copy waits for a longer one that begins a little later. */
static void test_later_copy(void)
{
	uint8_t expected[128] = {0, 1,  0, 1,  1, 0, /* from 0 to 1 us */
				 1, 21, 1, 12,       /* all but the last twelve, */
				 1, 13, 1, 0,        /* which are the first twelve of... */
				 6},                 /* 21 allocations */
		*at = expected + 15 + 6;
	begin();
	allocate_row(100, 2);
	allocate_row(20, 6);
	allocate_row(21, 12); /* ...these */
	allocate_row(20, 13); /* begins like the six, but goes on like the twelve */
	write_out();
	check_node_1();
	/* 33 events of thread 1; none at 0 us; nodes: 1 from 0, then from 1, then as before */
	at = (uint8_t *)memcpy(at, (uint8_t[]){2, 65, 1, 1, 0, 21, 3, 1}, 8) + 8 + 19;
	*at++ = 21; /* sizes, and 1 */
	at = put_row(at, 101, 2);
	at = put_row(at, 21, 6);
	at = put_row(at, 22, 12);
	at = put_row(at, 21, 1);
	at += 6; /* no block ended, near or far */
	check_member(HS_MEMBER_EVENTS, 33, expected, (size_t)(at - expected));
	end();
}

/* Bytes that have nothing in common but that each is one of `values` from `least` on. */
static void add_noise(struct hs_bytes *payload, unsigned count, unsigned least, unsigned values)
{
	static uint64_t random = 88172645463325252u;
	for (unsigned i = 0; i < count; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		hs_bytes_add(payload, &(uint8_t){(uint8_t)(least + (random >> 40) % values)}, 1);
	}
}

/* Two halves that have no byte in common: with a code of its own each byte takes 4 bits, with one for both 5.
 */
static void test_pieces(void)
{
	enum { HALF = 1500, CODES = 120 };
	struct hs_bytes payload = {0};
	begin();
	add_noise(&payload, HALF, 0, 16);
	add_noise(&payload, HALF, 64, 16);
	const struct hs_writer_cuts cuts = {.at = {HALF}, .count = 1};
	CHECK_NUMBER(hs_writer_pieces(&encoder.writer, HS_MEMBER_SYMBOLS, &payload, &cuts, 1), 0);
	CHECK(encoder.writer.offset < 40 + 2 * (HALF / 2 + CODES));
	lseek(file, 0, SEEK_SET);
	check_member(HS_MEMBER_SYMBOLS, 1, payload.data, payload.count);
	hs_bytes_free(&payload);
	end();
}

/* In a hurry what would take 7 of 8 bits is stored, in one block behind a head of 5 bytes; what takes 4 is
 * not.
 */
static void test_hurry(void)
{
	enum { NOISE = 5000, LIGHT = 5000, CODES = 120 };
	static const uint8_t head[5] = {0, NOISE & 255, NOISE >> 8, ~NOISE & 255, ~NOISE >> 8 & 255};
	uint8_t stored[sizeof head + NOISE];
	struct hs_bytes payload = {0};
	add_noise(&payload, NOISE, 0, 128);
	add_noise(&payload, LIGHT, 0, 16);
	const struct hs_writer_cuts cuts = {.at = {NOISE}, .about = {1, 2}, .count = 1};
	for (int hurried = 0; hurried <= 1; hurried++) {
		begin();
		hs_packer_hurry(packer, hurried);
		CHECK_NUMBER(hs_writer_pieces(&encoder.writer, HS_MEMBER_EVENTS, &payload, &cuts, 1), 0);
		CHECK(encoder.writer.offset < 40 + NOISE / 8 * (hurried ? 8 : 7) + LIGHT / 2 + 2 * CODES);
		CHECK_NUMBER(pread(file, stored, sizeof stored, HS_MEMBER_HEADER_BYTES), sizeof stored);
		CHECK((memcmp(stored, head, sizeof head) == 0 &&
		       memcmp(stored + sizeof head, payload.data, NOISE) == 0) == hurried);
		lseek(file, 0, SEEK_SET);
		check_member(HS_MEMBER_EVENTS, 1, payload.data, payload.count);
		end();
	}
	hs_bytes_free(&payload);
}

/* Two threads end each other's blocks. */
static void test_lanes(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
	item(HS_ITEM_ALLOC, 1, 1, 0xb0, 16, 2);
	item(HS_ITEM_ALLOC, 0, 1, 0xc0, 8, 1);
	item(HS_ITEM_FREE, 1, 1, 0xa0, 0, 0);
	item(HS_ITEM_DETACH, 0, 1, 0xb0, 24, 2);
	item(HS_ITEM_ATTACH, 0, 1, 0xd0, 24, 2);
	item(HS_ITEM_FREE, 1, 1, 0xc0, 0, 0);
	item(HS_ITEM_RESIZE, 1, 1, 0xd0, 32, 2);
	item(HS_ITEM_FREE, 0, 1, 0xd0, 0, 0);
	write_out();
	check_member(HS_MEMBER_NODES, 2, (uint8_t[]){1, 1, 0, 0x80, 0x40, 1, 0, 16}, 8);
	/* Lanes are 1 where thread 1 ends a block of thread 2, and 7 the other way round.
	 * Blocks of thread 1 are 0xa0, 0xc0 and 0xd0, of thread 2 0xb0 and the same 0xd0 later. */
	check_member(HS_MEMBER_EVENTS, 8,
		     (uint8_t[]){
			     0,
			     1,
			     0,
			     1,
			     1,
			     0, /* from 0 to 1 us */
			     0,
			     0,
			     0,
			     0, /* no copies */
			     /* thread 1: alloc, alloc, move, free; thread 2: alloc, free, free, resize */
			     2,
			     0x60,
			     0xd4,
			     9,
			     1,
			     1,
			     1,
			     2,
			     0,
			     0,
			     0,
			     2,
			     0, /* in turn, but two of thread 2 before the last */
			     1,
			     0, /* none at 0 us */
			     5,
			     3,
			     1,
			     3,
			     5,
			     1, /* 0 to 1, 1, 2; 0 to 2, 2 */
			     5,
			     9,
			     0,
			     25,
			     17,
			     33, /* 8, again, 24; 16, 32 */
			     /* thread 2's latest; its latest; thread 1's 0 as before the payload, 1: one is
			      * younger, the latest */
			     5,
			     0,
			     0,
			     1,
			     2,
			     0,
			     0,
			     0,
			     0,
			     0, /* no far blocks */
			     8,
			     0,
			     0,
			     1,
			     1,
			     0,
			     7,
			     7,
			     7,
		     },
		     56);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(encoder.now.frees, 3);
	CHECK_NUMBER(encoder.now.temporary, 1); /* the last */
	end();
}

/* Events of two threads in turn: each lane repeats itself, whatever the other does. */
static void test_copies_in_lanes(void)
{
	begin();
	for (uint64_t i = 0; i < 24; i++)
		item(i / 2 % 2 ? HS_ITEM_FREE : HS_ITEM_ALLOC, i % 2, 1, i % 2 ? 0xa0 : 0xb0, 8, 1);
	item(HS_ITEM_ALLOC, 0, 1, 0xb0, 100, 1);
	write_out();
	check_node_1();
	/* Each lane as in test_copies; between their copies stand the first lane's last event, and the second
	 * one's first five. */
	check_member(HS_MEMBER_EVENTS, 25,
		     (uint8_t[]){
			     0, 1,    0,    1, 1,   0,          /* from 0 to 1 us */
			     2, 5,    6,    2, 7,   7,          /* five events, seven copies; six, seven */
			     2, 2,    2,    2, 0,   0,          /* of those two earlier */
			     3, 0x44, 0x40, 4, 27,  1, 1, 1, 2, /* threads 1 and 2 in turn */
			     0, 0,    0,    0, 0,   0, 0, 0, 0, 0, 0, 0, 0,
			     0, 0,    0,    0, 0,   0, 0, 0, 0, 0, 1, 0, /* none at 0 us */
			     7, 3,    1,    0, 0,   3, 1, 0,             /* nodes */
			     7, 9,    0,    0, 101, 9, 0, 0,             /* sizes */
			     4, 0,    0,    0, 0,                        /* each the latest of its lane */
			     0, 0,    0,    0, 0,                        /* no far blocks, no other lanes */
		     },
		     78);
	end();
}

/* Two threads, each in work that repeats, take turns at random: all columns but threads (and times, all 1 us)
 * have next to nothing. */
static void test_equal_work(void)
{
	enum { EVENTS = 60000, SITES = 5 };
	uint64_t steps[2] = {0}, random = 88172645463325252u, bytes = 0;
	begin();
	for (uint64_t i = 0; i < EVENTS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		unsigned thread = random >> 40 & 1;
		uint64_t step = steps[thread]++ % (2 * SITES);
		item(step < SITES ? HS_ITEM_ALLOC : HS_ITEM_FREE, thread, 1,
		     0x10000 * (1 + thread) + step % SITES * 16, 8 + step, (uint32_t)step % 2 + 1);
	}
	for (unsigned lane = 1; lane <= 2; lane++)
		for (unsigned i = 0; i < HS_LANE_PARTS; i++)
			bytes += encoder.lanes[lane]->events.parts[i].count;
	CHECK(bytes < 200);
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	CHECK_NUMBER(encoder.written.events, EVENTS);
	CHECK(encoder.writer.offset < EVENTS / 5); /* a bit for each turn is an eighth */
	end();
}

/* Codes of sizes beyond 32 bits are never taken for equal. */
static void test_large_sizes(void)
{
	begin();
	for (int i = 0; i < 6; i++) {
		item(HS_ITEM_ALLOC, 0, 1, 0xa0, i % 2 ? 8 : (5ull << 30) + (uint64_t)i, 1);
		item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	}
	write_out();
	check_node_1();
	check_member(HS_MEMBER_EVENTS, 12,
		     (uint8_t[]){
			     0,    1,    0,    1,    1,    0,     /* from 0 to 1 us */
			     0,    0,    0,    0,                 /* no copies */
			     3,    0x44, 0x44, 0x44, 2,    23, 1, /* thread 1 */
			     1,    0,                             /* none at 0 us */
			     6,    3,    1,    0,    0,    0,  0, /* nodes */
			     18,                                  /* 1 + 5 * 2^30, 1 + 8, 3 + 5 * 2^30... */
			     0x81, 0x80, 0x80, 0x80, 0x14, 9,  0x83, 0x80, 0x80, 0x80, 0x14, 9, 0x85,
			     0x80, 0x80, 0x80, 0x14, 9,    6,  0,    0,    0,    0,    0,    0, /* each the
												   latest */
			     0,    0,    0,    0,    0, /* no far blocks, no other lanes */
		     },
		     57);
	end();
}

/* Thousands of times: events are counted in units of 16 us, rounded down to grains; what that leaves goes to
 * the next unit, and no further. */
static void test_coarse_times(void)
{
	enum { DENSE = 4800, SPARSE = 100, EVENTS = DENSE + SPARSE };
	static uint8_t payload[600] = {0, 0x80, 0x32, 0, 16, 4,
				       0, /* from 0 to 6400 us, no allocations before */
				       /* three events, then 4897 like the one before */
				       1, 3, 2, 0xa1, 0x26, 1, 1, 1, 0, 1, 0, /* allocations */
				       3, 0xc7, 0x4c, 1};                     /* 2 * 4899 + 1, thread 1 */
	size_t at = 22;
	begin();
	for (uint64_t i = 0; i < EVENTS; i++)
		item(HS_ITEM_ALLOC, 0, i < DENSE ? 1 + i : DENSE + (i - DENSE + 1) * 16, 0x10000 + i * 16, 8,
		     1);
	write_out();
	check_node_1();
	payload[at++] = 0xc1; /* bytes of the column: 1 + 299 + 1 + 50 + 2 * 49 = 449 */
	payload[at++] = 3;
	/* 4900 events in 401 units: half of the usual 12.2 is 6.1, of which the power of two is 4. The first
	 * unit has 15 events: 3 grains, and 3 left. The next 299 have 16: 4 grains, and again 3 left, which
	 * with the event at 4800 us are one. */
	payload[at++] = 3 << 1;
	for (int i = 0; i < 299; i++)
		payload[at++] = 4 << 1;
	payload[at++] = 1 << 1;
	/* Then one a unit: it may go to the next one, but with that one's own event it must be told. */
	for (int i = 0; i < SPARSE - 1; i++) {
		payload[at++] = i % 2 ? 2 << 1 | 1 : 0;
		if (i % 2)
			payload[at++] = 0;
	}
	memcpy(payload + at, ((uint8_t[]){3, 3, 1, 0, 3, 9, 0, 0}), 8); /* nodes, sizes; no ended blocks */
	check_member(HS_MEMBER_EVENTS, EVENTS, payload, at + 8 + 6);
	end();
}

/* Thread 2 frees thread 1's blocks, 200 of them, in an order without a pattern. Block n has 199 - n younger
 * ones; the smaller of twice that, and of twice the zigzag of the way from the one before, 0 at first, and 1:
 * 100: 198 (2 * 200 + 1);  20: 358, 2 * 159 + 1 = 319;  120: 158 (401);  60: 278, 239;  10: 378, 199;
 * 90: 218 (321);  40: 318, 199;  2: 394, 151;  1: 3, which is near. */
static void test_far(void)
{
	static const unsigned order[] = {100, 20, 120, 60, 10, 90, 40, 2, 1};
	begin();
	for (uint64_t i = 0; i < 200; i++)
		item(HS_ITEM_ALLOC, 0, 1, 0x1000 + i * 16, 8, 1);
	for (unsigned i = 0; i < 9; i++)
		item(HS_ITEM_FREE, 1, 1, 0x1000 + order[i] * 16, 0, 0);
	write_out();
	check_node_1();
	check_member(HS_MEMBER_EVENTS, 209,
		     (uint8_t[]){
			     0,
			     1,
			     0,
			     1,
			     1,
			     0, /* from 0 to 1 us */
			     /* three events, 197 like the one before; one, of thread 2, and seven like that:
			      * ends of far blocks are alike */
			     2,
			     3,
			     1,
			     3,
			     0xc5,
			     1,
			     7,
			     2,
			     1,
			     1,
			     2,
			     0,
			     0,
			     /* allocations, a far block that ends, one seven lanes on */
			     2,
			     0x40,
			     1,
			     5,
			     0x8f,
			     3,
			     1,
			     17,
			     2, /* 200 events, then nine */
			     1,
			     0, /* none at 0 us */
			     3,
			     3,
			     1,
			     0,
			     3,
			     9,
			     0,
			     0, /* nodes, sizes */
			     2,
			     127,
			     3, /* far, near */
			     8,
			     198,
			     319 - 256,
			     158,
			     239,
			     199,
			     218,
			     199,
			     151, /* lowest bytes, */
			     8,
			     0,
			     1,
			     0,
			     0,
			     0,
			     0,
			     0,
			     0, /* middle, */
			     0, /* highest: all are 0; */
			     8,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7,
			     7, /* lanes; of the near one: */
			     5,
			     0,
			     0,
			     0,
			     0,
			     7,
		     },
		     75);
	end();
}

/* What three bytes do not hold stands among the near ones. */
static void test_very_far(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 8, 1);
	encoder.lanes[1]->allocations += 1 << 24; /* as if there had been so many */
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	off_t first = lseek(file, 0, SEEK_CUR);
	item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0);
	write_out();
	lseek(file, first, SEEK_SET);
	/* 2^24 blocks are younger: 2^25. The last before the payload is 2^24 + 1 further on. */
	check_member(HS_MEMBER_EVENTS, 1, (uint8_t[]){1, 0, 1, 1, 1, 0,    0,    0,    0,    0, 1, 1, 2, 1,
						      1, 0, 0, 0, 4, 0x80, 0x80, 0x80, 0x10, 0, 0, 0, 0, 0},
		     28);
	end();
}

/* All sizes apart from copies, by their nodes' ids. */
static void test_sizes_apart(void)
{
	begin();
	encoder.columns.sizes = HS_SIZES_APART;
	hs_event_columns_start(&encoder.columns, 0, 0, 0);
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 16, 1);
	item(HS_ITEM_ALLOC, 0, 1, 0xb0, 24, 2);
	item(HS_ITEM_DETACH, 0, 1, 0xa0, 64, 2);
	item(HS_ITEM_ATTACH, 0, 1, 0xc0, 64, 2);
	item(HS_ITEM_RESIZE, 0, 1, 0xc0, 32, 2);
	item(HS_ITEM_ALLOC, 1, 1, 0xd0, 8, 1);
	write_out();
	check_member(HS_MEMBER_NODES, 2, (uint8_t[]){1, 1, 0, 0x80, 0x40, 1, 0, 16}, 8);
	check_member(HS_MEMBER_EVENTS, 5,
		     (uint8_t[]){
			     0, 1,    0,  1,    1, 1, /* from 0 to 1 us; sizes apart */
			     0, 0,    0,  0,          /* no copies */
			     2, 0xa0, 0,              /* both reallocs have the same kind */
			     4, 7,    1,  1,    2,    /* four events of thread 1, one of thread 2 */
			     1, 0,                    /* none at 0 us */
			     5, 3,    3,  1,    0, 3, /* nodes 1, 2, 2, 2; 1 */
			     2, 0,    0,              /* of nodes 8, 16... neither lane has any; */
			     4, 1,    16, 1,    8,    /* of nodes 1, 9... each has one; */
			     6, 4,    24, 0x80, 1, 2 * 32 + 1, 0, /* 24; moved, 64; in place, 32; */
			     2, 0,    0,  2,    0, 0,          2, 0, 0, 2,
			     0, 0,    2,  0,    0, 2,          1, 0, /* 0 as before the payload, the latest */
			     0, 0,    0,  0,    0,                   /* no far blocks, no other lanes */
		     },
		     64);
	end();
}

/* Where sizes stand is tried after 8 payloads, and again after 8 more or, if that was not worth it, 16. */
static void test_trials(void)
{
	enum { IN_COPIES = HS_SIZES_IN_COPIES, APART = HS_SIZES_APART, EVENTS = HS_EVENTS_A_MEMBER };
	static const struct {
		unsigned payloads, before, bytes, after;
	} steps[] = {
		{100, IN_COPIES, EVENTS / 4 - 64, IN_COPIES}, /* so little: never */
		{7, IN_COPIES, EVENTS, IN_COPIES},
		{1, IN_COPIES, EVENTS, APART},
		{1, APART, EVENTS / 8 * 7 + 64, IN_COPIES}, /* more than 7/8 */
		{15, IN_COPIES, EVENTS, IN_COPIES},
		{1, IN_COPIES, EVENTS, APART},
		{1, APART, EVENTS / 8 * 7, APART},
		{7, APART, EVENTS / 8 * 7, APART},
		{1, APART, EVENTS / 2, IN_COPIES},
		{1, IN_COPIES, EVENTS / 2, APART},
		{15, APART, EVENTS, APART},
		{1, APART, EVENTS, IN_COPIES},
	};
	struct hs_event_columns columns;
	hs_event_columns_init(&columns);
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		for (unsigned k = 0; k < steps[i].payloads; k++) {
			CHECK_NUMBER(columns.sizes, k ? steps[i].after : steps[i].before);
			columns.count = EVENTS;
			hs_event_columns_weigh(&columns, steps[i].bytes, false);
		}
		CHECK_NUMBER(columns.sizes, steps[i].after);
		columns.count = EVENTS / 2 - 1; /* a small one tells nothing */
		hs_event_columns_weigh(&columns, EVENTS, false);
	}
	hs_event_columns_free(&columns);
}

/* Payloads in a hurry are compared among themselves. An attempt that cannot be compared is made again later.
 */
static void test_trials_in_a_hurry(void)
{
	enum { EVENTS = HS_EVENTS_A_MEMBER, BEFORE = 8 };
	struct hs_event_columns columns;
	hs_event_columns_init(&columns);
	columns.count = EVENTS;
	for (unsigned attempt = 0; attempt < 3; attempt++) {
		for (unsigned k = 0; k < BEFORE; k++) {
			CHECK_NUMBER(columns.sizes, HS_SIZES_IN_COPIES);
			hs_event_columns_weigh(&columns, EVENTS, attempt > 0);
		}
		CHECK_NUMBER(columns.sizes, HS_SIZES_APART);
		hs_event_columns_weigh(&columns, EVENTS / 2, attempt != 1);
	}
	CHECK_NUMBER(columns.sizes, HS_SIZES_APART);
	hs_event_columns_free(&columns);
}

/* After a payload of which more than 7/8 were no copies, only what must be is far, but in each 16th. */
static void test_all_near(void)
{
	enum { ALL = (1 << 24) - 127 };
	struct hs_event_columns columns;
	struct hs_event_lane lane;
	hs_event_columns_init(&columns);
	hs_event_columns_start(&columns, 0, 0, 0);
	CHECK_NUMBER(columns.far_codes, ALL);
	hs_event_columns_add(&columns, 0, &lane);
	for (uint64_t payload = 1; payload <= 17; payload++) {
		columns.count = 1000;
		columns.members = payload;
		lane.parts[HS_COLUMN_KIND].count = payload == 9 ? 875 : 876;
		hs_event_columns_start(&columns, 0, 0, 0);
		CHECK_NUMBER(columns.far_codes, payload == 9 || payload == 16 ? ALL : 1);
	}
	hs_event_lane_free(&lane);
	hs_event_columns_free(&columns);
}

/* Which is code 127. */
static void test_near_codes(void)
{
	begin();
	for (uint64_t i = 0; i < 200; i++)
		item(HS_ITEM_ALLOC, 0, 1, 0x1000 + i * 16, 8, 1);
	encoder.columns.far_codes = 1;
	item(HS_ITEM_FREE, 0, 1, 0x1000 + 135 * 16, 0, 0); /* 2 * 64 = 128; 2 * 270 + 1 */
	item(HS_ITEM_FREE, 0, 1, 0x1000 + 103 * 16, 0, 0); /* 2 * 96; 2 * (2 * 32 - 1) + 1 = 127 */
	CHECK_NUMBER(encoder.lanes[1]->events.far_next - encoder.lanes[1]->events.far, 1);
	CHECK_NUMBER(encoder.lanes[1]->events.far[0], 127);
	CHECK_NUMBER(encoder.next[-2].ended, 128 << HS_CODED_KIND_BITS | HS_EVENT_FREE);
	CHECK_NUMBER(encoder.next[-1].ended, 127 << HS_CODED_KIND_BITS | HS_EVENT_FREE);
	end();
}

static void test_modules(void)
{
	begin();
	const struct hs_encoded_module module = {.id = 0,
						 .start = 0x1000,
						 .size = 0x200,
						 .bias = 0x1000,
						 .load_us = 5,
						 .path = "/a",
						 .build_id = (const uint8_t *)"\1\2",
						 .build_id_bytes = 2,
						 .flags = 1};
	hs_encoder_module(&encoder, &module);
	hs_encoder_unload(&encoder, 0, 9);
	write_out();
	check_member(HS_MEMBER_MODULES, 2,
		     (uint8_t[]){1, 0, 0x80, 0x20, 0x80, 4, 0x80, 0x20, 5, 2, '/', 'a', 2, 1, 2, 1, 2, 0, 9},
		     19);
	end();
}

static void test_repairs(void)
{
	begin();
	item(HS_ITEM_FREE, 0, 1, 0xa0, 0, 0); /* nobody knows it */
	CHECK_NUMBER(pairing.unknown_frees, 1);
	CHECK_NUMBER(encoder.now.events, 0);
	item(HS_ITEM_ALLOC, 0, 2, 0xa0, 100, 1);
	item(HS_ITEM_ALLOC, 1, 3, 0xa0, 7, 1); /* its free is missing */
	CHECK_NUMBER(pairing.repaired_frees, 1);
	CHECK_NUMBER(encoder.now.events, 3);
	CHECK_NUMBER(encoder.now.frees, 1);
	CHECK_NUMBER(encoder.now.live_bytes, 7);
	/* realloc of unknown blocks, moved and in place: allocations */
	item(HS_ITEM_DETACH, 0, 4, 0xb0, 30, 1);
	item(HS_ITEM_ATTACH, 0, 5, 0xc0, 30, 1);
	item(HS_ITEM_RESIZE, 0, 6, 0xd0, 40, 1);
	CHECK_NUMBER(encoder.now.allocations, 4);
	CHECK_NUMBER(encoder.now.live_bytes, 7 + 30 + 40);
	/* a block that moves to a live address */
	item(HS_ITEM_DETACH, 0, 7, 0xd0, 50, 1);
	item(HS_ITEM_ATTACH, 0, 8, 0xc0, 50, 1);
	CHECK_NUMBER(pairing.repaired_frees, 2);
	CHECK_NUMBER(encoder.now.live_bytes, 7 + 50);
	CHECK_NUMBER(encoder.now.live_blocks, 2);
	CHECK_NUMBER(pairing.unknown_frees, 1);
	end();
}

/* Thread 1 moves a block; thread 0 gets its old address before the move is complete, and keeps it. */
static void test_realloc_race(void)
{
	begin();
	item(HS_ITEM_ALLOC, 1, 1, 0xa0, 10, 1);
	item(HS_ITEM_DETACH, 1, 2, 0xa0, 20, 2);
	item(HS_ITEM_ALLOC, 0, 3, 0xa0, 100, 1);
	CHECK_NUMBER(encoder.now.live_bytes, 110); /* the old block lives until it has moved */
	item(HS_ITEM_ATTACH, 1, 4, 0xb0, 20, 2);
	CHECK_NUMBER(encoder.now.live_bytes, 120);
	CHECK_NUMBER(pairing.repaired_frees, 0);
	item(HS_ITEM_FREE, 0, 5, 0xb0, 0, 0);
	item(HS_ITEM_FREE, 0, 6, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.live_bytes, 0);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(pairing.unknown_frees, 0);
	CHECK_NUMBER(encoder.now.peak_bytes, 120);
	end();
}

/* Freed before its own thread allocates again, whoever frees it. */
static void test_temporary(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 1, 1);
	item(HS_ITEM_ALLOC, 1, 2, 0xb0, 1, 1);
	item(HS_ITEM_FREE, 1, 3, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 1);
	item(HS_ITEM_ALLOC, 1, 4, 0xc0, 1, 1);
	item(HS_ITEM_FREE, 1, 5, 0xb0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 1);
	item(HS_ITEM_FREE, 1, 6, 0xc0, 0, 0);
	CHECK_NUMBER(encoder.now.temporary, 2);
	end();
}

/* The last of equal peaks; time never goes back. */
static void test_peak(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 5, 0xa0, 9, 1);
	item(HS_ITEM_FREE, 0, 6, 0xa0, 0, 0);
	item(HS_ITEM_ALLOC, 0, 8, 0xa0, 9, 1);
	item(HS_ITEM_FREE, 0, 7, 0xa0, 0, 0);
	CHECK_NUMBER(encoder.now.peak_bytes, 9);
	CHECK_NUMBER(encoder.now.peak_us, 8);
	CHECK_NUMBER(encoder.time_us, 8);
	end();
}

/* More blocks than the first table holds, taken out in another order than they came in. */
static void test_table(void)
{
	enum { BLOCKS = 50000 };
	begin();
	for (uint64_t i = 0; i < BLOCKS; i++)
		item(HS_ITEM_ALLOC, 0, i, 0x10000 + i * 16, 1 + i % 7, 1);
	CHECK_NUMBER(encoder.now.live_blocks, BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i++)
		item(HS_ITEM_FREE, 0, BLOCKS + i, 0x10000 + i * 7919 % BLOCKS * 16, 0, 0);
	CHECK_NUMBER(encoder.now.live_blocks, 0);
	CHECK_NUMBER(encoder.now.live_bytes, 0);
	CHECK_NUMBER(pairing.unknown_frees, 0);
	CHECK_NUMBER(pairing.live.count, 0);
	/* 65,536 events fill a member: the rest is still in the columns. */
	CHECK_NUMBER(encoder.written.events, 65536);
	CHECK_NUMBER(encoder.now.events, 2 * BLOCKS);
	end();
}

/* A node that was never written, and one whose parent is younger than itself: both stand below the root. */
static void test_bad_nodes(void)
{
	begin();
	CHECK_NUMBER(hs_nodes_file_id(&nodes, 5), 0);
	CHECK_NUMBER(hs_nodes_file_id(&nodes, UINT32_MAX), 0);
	set_node(5, 900, 0x2000);
	CHECK_NUMBER(hs_nodes_file_id(&nodes, 5), 1);
	CHECK_NUMBER(hs_nodes_file_id(&nodes, 2), 3); /* its parent first: 2 */
	CHECK_NUMBER(hs_nodes_file_id(&nodes, 1), 2);
	CHECK_NUMBER(encoder.node_count, 4);
	end();
}

/* A full disk: nothing half-written stays, the totals are those of what was written, and smaller things still
 * find room. */
static void test_full_disk(void)
{
	begin();
	item(HS_ITEM_ALLOC, 0, 1, 0xa0, 16, 1);
	CHECK_NUMBER(hs_encoder_flush(&encoder), 0);
	off_t good = lseek(file, 0, SEEK_CUR);
	close(encoder.writer.fd);
	encoder.writer.fd = open("/dev/full", O_WRONLY);
	item(HS_ITEM_ALLOC, 0, 2, 0xb0, 16, 1);
	CHECK_NUMBER(hs_encoder_flush(&encoder), -1);
	CHECK_NUMBER(encoder.writer.error, ENOSPC);
	CHECK_NUMBER(encoder.writer.offset, good);
	CHECK_NUMBER(encoder.written.events, 1);
	CHECK_NUMBER(encoder.written.live_bytes, 16);
	CHECK_NUMBER(hs_encoder_json(&encoder, HS_MEMBER_FOOTER, "{}"), -1);
	close(encoder.writer.fd);
	file = -1;
	end();
}

int main(void)
{
	test_bytes();
	test_nodes();
	test_runs();
	test_thread_runs();
	test_copies();
	test_copies_from_afar();
	test_later_copy();
	test_pieces();
	test_hurry();
	test_lanes();
	test_copies_in_lanes();
	test_equal_work();
	test_large_sizes();
	test_coarse_times();
	test_far();
	test_very_far();
	test_sizes_apart();
	test_trials_in_a_hurry();
	test_trials();
	test_all_near();
	test_near_codes();
	test_modules();
	test_repairs();
	test_realloc_race();
	test_temporary();
	test_peak();
	test_table();
	test_bad_nodes();
	test_full_disk();
	return check_failures != 0;
}
