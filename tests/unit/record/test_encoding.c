/* Numbers, members and what is no event: worked out by hand from FORMAT.md. */
#include "encoding.h"

#include <errno.h>
#include <fcntl.h>

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
	test_pieces();
	test_hurry();
	test_modules();
	test_bad_nodes();
	test_full_disk();
	return check_failures != 0;
}
