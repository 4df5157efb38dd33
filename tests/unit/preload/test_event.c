/* What event.h writes, decode.h reads: every form, at the edges where the short one ends and the wide one
 * begins. */
#include "event.h"
#include "record/decode.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
		}                                                                                            \
	} while (0)

static _Alignas(64) char chunk[HS_CHUNK_BYTES];
static struct thread writer;

/* A new chunk whose deltas count from `stamp`. */
static const uint64_t *begin(uint64_t stamp)
{
	memset(chunk, 0, sizeof chunk);
	writer = (struct thread){.chunk = (struct hs_chunk_header *)chunk, .last_stamp = stamp};
	writer.at = (uint64_t *)(writer.chunk + 1);
	writer.end = (uint64_t *)(chunk + HS_CHUNK_BYTES - HS_MOST_RECORD_BYTES);
	return writer.at;
}

static const uint64_t addresses[] = {8,          0x7ffffffffff8,     0x555555554000, 1, 0x555555554004,
				     1ull << 47, 0x7ffffffffffffff8, INT64_MAX /* the last of user space */};
static const uint64_t deltas[] = {0,       1,          (1 << 18) - 1,
				  1 << 18, 1ull << 40, UINT64_MAX - 1000 /* a step back */};
static const uint64_t sizes[] = {0, 1, UINT32_MAX, 1ull << 32, 1ull << 47};
static const uint32_t nodes[] = {0, 1, UINT32_MAX};
#define EACH(index, array) for (size_t index = 0; index < sizeof(array) / sizeof *(array); index++)

/* Whether the short form has room for it. */
static bool is_short(uint64_t delta, uint64_t address)
{
	return delta < 1 << 18 && address % 8 == 0 && address < 1ull << 47;
}

static struct hs_item item;
static struct hs_decoded decoded;

/* Decodes the only record, which must be of so many words. */
static void decode(const uint64_t *words, uint64_t base, uint32_t count)
{
	uint32_t written = (uint32_t)(writer.at - words);
	CHECK(written == count && writer.chunk->committed == count * 8);
	/* Cut anywhere it is seen to be cut. */
	for (uint32_t less = 1; less < count; less++)
		CHECK(hs_decode(words, less, base, &item, &decoded) == HS_DECODE_DAMAGED);
	CHECK(hs_decode(words, count, base, &item, &decoded) == HS_DECODE_ITEM);
	CHECK(decoded.words == count);
}

static void test_free(void)
{
	EACH(a, addresses) EACH(d, deltas)
	{
		uint64_t base = 1ull << 50, stamp = base + deltas[d];
		const uint64_t *words = begin(base);
		event_free(&writer, addresses[a], stamp);
		decode(words, base, is_short(deltas[d], addresses[a]) ? 1 : 3);
		CHECK(item.kind == HS_ITEM_FREE && item.address == addresses[a] && item.stamp == stamp);
		CHECK(!decoded.has_second && decoded.stamp == stamp && writer.last_stamp == stamp);
	}
}

static void test_alloc(void)
{
	EACH(a, addresses) EACH(d, deltas) EACH(s, sizes) EACH(n, nodes)
	{
		uint64_t base = 1ull << 50, stamp = base + deltas[d];
		const uint64_t *words = begin(base);
		event_alloc(&writer, addresses[a], stamp, sizes[s], nodes[n]);
		decode(words, base, is_short(deltas[d], addresses[a]) && sizes[s] < 1ull << 32 ? 2 : 5);
		CHECK(item.kind == HS_ITEM_ALLOC && item.address == addresses[a] && item.stamp == stamp);
		CHECK(item.size == sizes[s] && item.node == nodes[n]);
		CHECK(!decoded.has_second && decoded.stamp == stamp);
	}
}

static void check_realloc(uint64_t old_address, uint64_t new_address, uint64_t delta, uint64_t call,
			  uint64_t size)
{
	uint64_t base = 1ull << 50, before = base + delta, after = before + call;
	const uint64_t *words = begin(base);
	event_realloc(&writer, old_address, before, new_address, after, size, 77);
	bool fits = is_short(delta, old_address) && is_short(call, new_address) && size < 1ull << 32;
	decode(words, base, fits ? 3 : 7);
	CHECK(item.size == size && item.node == 77 && decoded.stamp == after && writer.last_stamp == after);
	if (old_address == new_address) {
		CHECK(item.kind == HS_ITEM_RESIZE && item.address == new_address && item.stamp == after);
		CHECK(!decoded.has_second);
	} else {
		CHECK(item.kind == HS_ITEM_DETACH && item.address == old_address && item.stamp == before);
		CHECK(decoded.has_second && decoded.second_address == new_address);
	}
}

static void test_realloc(void)
{
	EACH(a, addresses)
	EACH(b, addresses)
	EACH(d, deltas)
	EACH(c, deltas)
	EACH(s, sizes) check_realloc(addresses[a], addresses[b], deltas[d], deltas[c], sizes[s]);
}

/* Records of all forms after each other: each one's stamp is where the next delta counts from. */
static void test_sequence(void)
{
	const uint64_t *words = begin(1000), *at = words;
	uint64_t stamp = 1000;
	for (unsigned i = 0; i < 300; i++) {
		stamp += i % 7 == 3 ? 1ull << 20 : i;
		uint64_t address = i % 5 == 2 ? i : 8 * (uint64_t)i + 8;
		if (i % 3 == 0)
			event_free(&writer, address, stamp);
		else if (i % 3 == 1)
			event_alloc(&writer, address, stamp, i, i);
		else
			event_realloc(&writer, address, stamp, address + 8, stamp + 5, i, i);
		stamp += i % 3 == 2 ? 5 : 0;
	}
	uint64_t base = 1000, due = 1000;
	for (unsigned i = 0; i < 300; i++) {
		CHECK(hs_decode(at, (uint32_t)(writer.at - at), base, &item, &decoded) == HS_DECODE_ITEM);
		due += i % 7 == 3 ? 1ull << 20 : i;
		CHECK(item.stamp == due && item.address == (i % 5 == 2 ? i : 8 * (uint64_t)i + 8));
		due += i % 3 == 2 ? 5 : 0;
		CHECK(decoded.stamp == due);
		base = decoded.stamp;
		at += decoded.words;
	}
	CHECK(at == writer.at);
}

/* Memory is one stream's until another one has an event there, and then nobody's for good. */
static void test_claims(void)
{
	const uint64_t piece = 0x555555550000, next = piece + 0x10000;
	CHECK(hs_claim(piece, 1) && hs_claim(piece + 0xffff, 1));
	CHECK(hs_claim(next, 2) && hs_claim(next, 2));
	CHECK(!hs_claim(piece + 8, 2) && !hs_claim(piece, 2));
	CHECK(!hs_claim(piece, 1) && !hs_claim(piece, 3));
	CHECK(hs_claim(next, 2) && !hs_claim(next, 1) && !hs_claim(next, 2));
}

int main(void)
{
	test_claims();
	test_free();
	test_alloc();
	test_realloc();
	test_sequence();
	return failures != 0;
}
