#include "made.h"

#include "heapscope/format.h"

#include "../unit/profile/writer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MEMBER_HEAD = 9, FILE_HEADER = 32 };

static uint32_t little32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint8_t *fuzz_pack(const uint8_t *data, size_t size, size_t *file_size)
{
	struct writer writer = {0};
	while (size >= MEMBER_HEAD) {
		uint8_t kind = data[0];
		uint32_t items = little32(data + 1), length = little32(data + 5);
		data += MEMBER_HEAD;
		size -= MEMBER_HEAD;
		if (length > size)
			length = (uint32_t)size;
		struct bytes payload = {(uint8_t *)data, length, length};
		write_member(&writer, kind, &payload, items);
		data += length;
		size -= length;
	}
	*file_size = writer.file.count;
	return writer.file.data;
}

struct hs_profile *fuzz_load(const uint8_t *data, size_t size)
{
	size_t file_size;
	uint8_t *packed = fuzz_pack(data, size, &file_size);
	struct fuzz_file file = fuzz_file_make(packed, file_size);
	free(packed);
	struct hs_error error = {{0}};
	struct hs_profile *profile = hs_profile_load(file.path, &error);
	FUZZ_CHECK((profile != NULL) == (error.text[0] == 0));
	fuzz_file_close(&file);
	return profile;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

/* A recording in small with one of everything. */
static void write_small(struct writer *w)
{
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	add_module(w, "/usr/lib/libc.so.6", 0);
	add_module(w, "/usr/lib/heapscope/libheapscope.so", OWN_LIBRARY);
	write_modules(w);
	uint32_t start = add_node(w, 0, 1, 0x1000), main_node = add_node(w, start, 0, 0x2001);
	uint32_t keep = add_node(w, main_node, 0, 0x3001), drop = add_node(w, main_node, 0, 0x4001);
	uint32_t own = add_node(w, keep, 2, 0x77), jit = add_node(w, main_node, -1, 0x7f0012345678);
	uint32_t cut = add_node(w, 0, -1, 1), deep = add_node(w, cut, 0, 0x3001);
	write_nodes(w);
	uint64_t first = event_alloc(w, 1, 1, keep, 100), second = event_alloc(w, 2, 2, drop, 20);
	event_free(w, 2, 3, second);
	first = event_move(w, 1, 4, first, own, 3000);
	first = event_resize(w, 2, 9, first, keep, 2000);
	write_events(w);
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t block = event_alloc(w, 1 + i % 3, 10 + i, i % 2 ? jit : deep, i * i);
		if (i % 4)
			event_free(w, 1 + i % 2, 10 + i, block);
	}
	write_events(w);
}

/* Two phases that overlap, one in a pause, one that stays open, a moment. */
static void write_marks(struct writer *w, struct bytes *payload)
{
	enum { BEGIN = 1, END, MOMENT, PAUSE, RESUME };
	static const struct {
		uint8_t kind, us, events, phase;
		const char *name;
	} marks[] = {{BEGIN, 1, 0, 0, "a"},  {BEGIN, 1, 1, 0, "b"},  {END, 2, 3, 0, NULL},
		     {MOMENT, 0, 0, 0, "x"}, {PAUSE, 3, 9, 0, NULL}, {BEGIN, 0, 0, 0, "a"},
		     {END, 1, 1, 1, NULL},   {RESUME, 2, 2, 0, NULL}};
	put_number(payload, 0);
	put_number(payload, 0);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		put_number(payload, marks[i].kind);
		put_number(payload, marks[i].us);
		put_number(payload, marks[i].events);
		if (marks[i].name) {
			put_number(payload, 1);
			put_text(payload, marks[i].name);
		} else if (marks[i].kind == END) {
			put_number(payload, marks[i].phase);
		}
	}
	write_member(w, HS_MEMBER_MARKS, payload, sizeof marks / sizeof *marks);
}

static void write_rest(struct writer *w)
{
	struct bytes payload = {0};
	put_number(&payload, 0);
	for (int i = 0; i < 5; i++) {
		put_number(&payload, 10);
		put_number(&payload, 4096u << i);
	}
	write_member(w, SAMPLES, &payload, 5);
	payload.count = 0;
	put_number(&payload, 1);
	put_number(&payload, 4711);
	put_text(&payload, "prog");
	write_member(w, THREADS, &payload, 1);
	payload.count = 0;
	write_marks(w, &payload);
	free(payload.data);
	uint32_t file = add_name(w, "/home/me/prog.c"), name = add_name(w, "main");
	uint32_t inner = add_name(w, "std::vector<int, std::allocator<int> >::push_back(int const&)");
	uint32_t rust = add_name(w, "<alloc::vec::Vec<u8> as core::clone::Clone>::clone");
	uint32_t odd = add_name(w, "\xff\xfe\x1b[31m\n\t"), libc = add_name(w, "__libc_start_main");
	add_symbol(w, 0, 0x2001, 1, (const uint32_t[][4]){{name, file, 3, 0}});
	add_symbol(w, 0, 0x3001, 3,
		   (const uint32_t[][4]){{inner, file, 70, 1}, {rust, 0, 0, 1}, {odd, file, 7, 0}});
	add_symbol(w, 1, 0x1000, 1, (const uint32_t[][4]){{libc, 0, 0, 0}});
	write_symbols(w);
	write_json(w, FOOTER,
		   "{\"events\":75,\"duration_us\":99,\"end\":{\"signal\":11},\"lost_events\":3,"
		   "\"truncated_stacks\":1,\"broken_stacks\":2,\"peak_rss_bytes\":65536,\"stopped\":null}");
}

/* Recursion and stacks that look the same; a module that comes again; a fork. */
static void write_recursive(struct writer *w)
{
	write_json(w, HEADER,
		   "{\"version\":" FORMAT ",\"program\":\"/bin/"
		   "f\",\"command\":[\"f\",\"\\u001b[1m\"],\"origin\":\"fork\","
		   "\"start_us\":1,\"pid\":1}");
	add_module(w, "", MAIN_PROGRAM);
	add_module(w, "/plugin.so", 0);
	add_module(w, "/plugin.so", 0);
	write_modules(w);
	uint32_t node = 0;
	for (uint64_t i = 0; i < 60; i++) {
		node = add_node(w, node, (int)(i % 3), 0x1001 + i % 4 * 16);
		if (i % 7 == 0)
			write_nodes(w);
	}
	write_nodes(w);
	for (uint32_t i = 1; i <= node; i++)
		event_alloc(w, 1, i, i, UINT64_C(1) << i);
	for (uint32_t i = 0; i < node; i += 2)
		event_free(w, 1, 100, i);
	write_events(w);
	uint32_t name = add_name(w, "f(int)");
	for (uint64_t i = 0; i < 4; i++)
		add_symbol(w, 0, 0x1001 + i * 16, 1, (const uint32_t[][4]){{name, 0, 0, 0}});
	write_symbols(w);
}

/* Allocations by our own library alone: stacks without a frame that is shown. */
static void write_frameless(struct writer *w)
{
	write_header(w);
	add_module(w, "/usr/lib/heapscope/libheapscope.so", OWN_LIBRARY);
	write_modules(w);
	uint32_t node = add_node(w, 0, 0, 0x1001);
	write_nodes(w);
	event_alloc(w, 1, 1, node, 10);
	write_events(w);
}

/* Copies, coarse times, runs that go back. */
static void write_packed(struct writer *w)
{
	static const uint8_t payload[] = {
		0, 60,   0, 16, 2, 0, /* from 0 to 60 us, units of 16 us, grains of 2 events */
		2, 4,    0, 2,  6, 4,  2, 2,
		4, 2,    0, 0,         /* four events, six of those two before; four of those four before */
		1, 0x84,               /* allocation, free, allocation, move */
		5, 5,    1, 1,  9, 18, /* threads 1, 9, 1: three, one and ten events */
		3, 4,    3, 1, /* four events in the first unit, one in the second; the rest in the fourth */
		3, 3,    1, 1,  3, 11, 0, 101, /* nodes 1, 1, none; 10 bytes, the same, 100 */
		2, 0,    0, 0,  0, 0,  0, 0};
	struct bytes copy = {(uint8_t *)payload, sizeof payload, sizeof payload};
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
	add_node(w, 0, 0, 0x1001);
	write_nodes(w);
	write_member(w, EVENTS, &copy, 14);
}

/* Sizes apart from the events of two threads; blocks that are far. */
static void write_apart(struct writer *w)
{
	static const uint8_t payload[] = {
		0, 1,      0,  1,  1, 1,  /* from 0 to 1 us, sizes apart */
		0, 0,      0,  0,         /* no copies */
		1, 2 << 2,                /* allocation, realloc, and in the other lane allocation */
		4, 3,      1,  1,  2,     /* thread 1 twice, thread 2 */
		1, 0,      3,  3,  1, 3,  /* none at 0 us; node 1 */
		2, 0,      0,             /* no nodes 0, 8... in either lane; */
		5, 2,      10, 41, 1, 30, /* 10 bytes, 20 in place; 30 */
		2, 0,      0,  2,  0, 0,  2, 0, 0, 2, 0, 0, 2,
		0, 0,      2,  0,  0, 1,  0, 0, 0, 0, 0, 0}; /* the latest block; none is far */
	struct bytes copy = {(uint8_t *)payload, sizeof payload, sizeof payload};
	uint64_t blocks[100];
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
	add_node(w, 0, 0, 0x1001);
	write_nodes(w);
	write_member(w, EVENTS, &copy, 3);
	w->time_us = 1;
	count_allocation(w, 1);
	count_allocation(w, 1);
	count_allocation(w, 2);
	for (int i = 1; i <= 2; i++) {
		w->previous_node[i] = w->lanes[i].successor[0] = 1;
		w->lanes[i].last_size[1] = i == 1 ? 20 : 30;
	}
	w->lanes[1].successor[1] = 1;
	for (int i = 0; i < 100; i++)
		blocks[i] = event_alloc(w, 1, 1, 1, 8);
	for (int i = 0; i < 20; i++)
		event_free(w, 1 + i % 2, 2, blocks[i * 37 % 100]);
	write_events(w);
}

/* What is written here by hand follows the format as it is now. */
static void check_events(const struct bytes *written, uint64_t events)
{
	struct fuzz_file file = fuzz_file_make(written->data, written->count);
	struct hs_error error = {{0}};
	struct hs_sites sites;
	struct hs_profile *profile = hs_profile_load(file.path, &error);
	FUZZ_CHECK(profile && hs_sites_make(profile, false, &sites, &error) == 0);
	FUZZ_CHECK(sites.replay.totals.events == events);
	hs_sites_free(&sites);
	hs_profile_free(profile);
	fuzz_file_close(&file);
}

void fuzz_seed_files(fuzz_add *add, void *context)
{
	static const uint64_t events[] = {75, 75, 56 /* the next size is impossible */, 1, 14, 123};
	for (int i = 0; i < 6; i++) {
		struct writer writer;
		writer_start(&writer);
		if (i < 2)
			write_small(&writer);
		else if (i == 2)
			write_recursive(&writer);
		else if (i == 3)
			write_frameless(&writer);
		else if (i == 4)
			write_packed(&writer);
		else
			write_apart(&writer);
		if (i == 1)
			write_rest(&writer);
		check_events(&writer.file, events[i]);
		add(context, writer.file.data, writer.file.count);
		writer_free(&writer);
	}
}

struct member_adder {
	fuzz_add *add;
	void *context;
};

/* Takes a recording apart. */
static void add_members(void *context, const void *data, size_t size)
{
	struct member_adder *adder = context;
	struct bytes out = {0};
	const uint8_t *at = data, *end = at + size;
	while (at < end) {
		uint32_t bytes = little32(at + 20), raw = little32(at + 24);
		put_byte(&out, at[16]);
		for (int i = 0; i < 4; i++)
			put_byte(&out, at[28 + i]);
		for (int i = 0; i < 4; i++)
			put_byte(&out, (uint8_t)(raw >> 8 * i));
		uint8_t *payload = malloc(raw + 1);
		z_stream stream = {.next_in = (uint8_t *)at + FILE_HEADER,
				   .avail_in = bytes - FILE_HEADER,
				   .next_out = payload,
				   .avail_out = raw + 1};
		FUZZ_CHECK(inflateInit2(&stream, -15) == Z_OK);
		FUZZ_CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == raw);
		inflateEnd(&stream);
		for (uint32_t i = 0; i < raw; i++)
			put_byte(&out, payload[i]);
		free(payload);
		at += bytes;
	}
	adder->add(adder->context, out.data, out.count);
	free(out.data);
}

void fuzz_seed_members(fuzz_add *add, void *context)
{
	struct member_adder adder = {add, context};
	fuzz_seed_files(add_members, &adder);
	add(context, "\1\1\0\0\0\0\0\0\0", MEMBER_HEAD); /* a header without contents */
}
