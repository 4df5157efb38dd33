/* Calls of nodes that are not told but follow from their parents': worked out by hand from FORMAT.md. The
 * keys of the calls here, by another program: 12687 for 0x1001 in module 0, 43307 for 0x2001 there, 30619
 * without a module for 0x1000 and for 0x13511. */
#include "check.h"
#include "profile/profile.h"
#include "writer.h"

#include <stdlib.h>
#include <unistd.h>

/* A header and a module. */
static void start(struct writer *w)
{
	writer_start(w);
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
}

static void write_payload(struct writer *w, uint32_t items, const uint8_t *bytes, size_t count)
{
	struct bytes payload = {0};
	for (size_t i = 0; i < count; i++)
		put_byte(&payload, bytes[i]);
	write_member(w, NODES, &payload, items);
	free(payload.data);
}
#define WRITE_PAYLOAD(w, items, ...)                                                                         \
	write_payload(w, items, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

struct due {
	uint32_t parent;
	bool in_module;
	uint64_t address;
};

/* The file's nodes are these, from 1 on. */
static void check(struct writer *w, const struct due *due, uint32_t count)
{
	struct hs_error error = {""};
	write_json(w, FOOTER, "{}");
	const char *path = save(w);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	CHECK(profile && !profile->facts.warning);
	CHECK_NUMBER(profile->node_count, count + 1);
	for (uint32_t i = 0; i < count && i + 1 < profile->node_count; i++) {
		struct hs_call call = hs_call_of(profile, i + 1);
		CHECK_NUMBER(profile->nodes[i + 1].parent, due[i].parent);
		CHECK_NUMBER(call.frame_count, 1);
		const struct hs_frame *frame = &profile->frames[call.first_frame];
		CHECK_NUMBER(frame->address, due[i].address - 1); /* before the return */
		CHECK_NUMBER(frame->module, due[i].in_module ? 0 : UINT32_MAX);
	}
	hs_profile_free(profile);
	unlink(path);
	writer_free(w);
}

static void test_follow(void)
{
	struct writer w;
	start(&w);
	WRITE_PAYLOAD(&w, 8, 1,         /* the first one's id */
		      1, 1, 0x82, 0x40, /* told, of the root, module 0, 0x1001 */
		      1, 1, 0x80, 0x40, /* of node 1, 0x1000 more */
		      5, 1, 0xff, 0x3f, /* 2 * (3 - 0 - 1) + 1, told although it need not be: 0x1000 less */
		      0,                /* of node 3, whose call node 1 has */
		      3, 0, 0xfe, 0x7f, /* of node 3, no module, 0x1fff more than node 3, the last one told */
		      8, 12, 0);        /* of node 1, the root, and node 7 */
	check(&w,
	      (struct due[]){{0, true, 0x1001},
			     {1, true, 0x2001},
			     {0, true, 0x1001},
			     {3, true, 0x2001},
			     {3, false, 0x3000},
			     {1, false, 0x3000},
			     {0, true, 0x1001},
			     {7, false, 0x3000}},
	      8);
}

/* Successors carry on from payload to payload, while addresses are told from 0 on again. */
static void test_payloads(void)
{
	struct writer w;
	start(&w);
	WRITE_PAYLOAD(&w, 2, 1, 1, 1, 0x82, 0x40, 1, 1, 0x80, 0x40);
	WRITE_PAYLOAD(&w, 2, 3, 4, 0);                      /* of the root, of node 3 */
	WRITE_PAYLOAD(&w, 2, 5, 2, 1, 1, 0x92, 0x80, 0x01); /* of node 3; told: 0x2009 */
	check(&w,
	      (struct due[]){{0, true, 0x1001},
			     {1, true, 0x2001},
			     {0, true, 0x1001},
			     {3, true, 0x2001},
			     {3, true, 0x2001},
			     {5, true, 0x2009}},
	      6);
}

/* Calls with one key have one successor; the root's key is 0, which no call here has. */
static void test_same_keys(void)
{
	struct writer w;
	start(&w);
	WRITE_PAYLOAD(&w, 7, 1,               /* the first one's id */
		      1, 0, 0x80, 0x40,       /* of the root, no module, 0x1000 */
		      3, 0, 0xa2, 0x94, 0x09, /* likewise, 0x12511 more */
		      3, 1, 0x9f, 0xd4, 0x08, /* of node 1, module 0, 0x11510 less */
		      2,                      /* of node 2 */
		      5, 1, 0xff, 0x3f,       /* of node 2, 0x1000 less */
		      8, 12);                 /* of node 1, of the root */
	check(&w,
	      (struct due[]){{0, false, 0x1000},
			     {0, false, 0x13511},
			     {1, true, 0x2001},
			     {2, true, 0x2001},
			     {2, true, 0x1001},
			     {1, true, 0x1001},
			     {0, false, 0x13511}},
	      7);
}

int main(void)
{
	test_follow();
	test_payloads();
	test_same_keys();
	return check_failures();
}
