/* Files with counts instead of events, written by hand: what they give, what they must not say, and what
 * merging recordings makes of them. */
#include "check.h"
#include "profile/tally.h"
#include "writer.h"

#include <stdlib.h>

enum { COUNTS = 10 };

/* main > keep, main > drop; a member of counts follows. */
static void start(struct writer *w, const char *header)
{
	writer_start(w);
	write_json(w, HEADER, header);
	add_module(w, "/srv/made", MAIN_PROGRAM);
	write_modules(w);
	uint32_t main_node = add_node(w, 0, 0, 0x1001);
	add_node(w, main_node, 0, 0x2001);
	add_node(w, main_node, 0, 0x3001);
	write_nodes(w);
}

static const char plain[] = "{\"version\":" FORMAT "}";

/* A member of the numbers, which are the payload's. */
static void write_counts(struct writer *w, uint32_t items, unsigned count, const uint64_t *numbers)
{
	struct bytes payload = {0};
	for (unsigned i = 0; i < count; i++)
		put_number(&payload, numbers[i]);
	write_member(w, COUNTS, &payload, items);
	free(payload.data);
}

static struct hs_profile *load(struct writer *w)
{
	struct hs_error error = {{0}};
	struct hs_profile *profile = hs_profile_load(save(w), &error);
	CHECK_TEXT(error.text, "");
	writer_free(w);
	return profile;
}

/* allocated, allocations, peak bytes and live bytes, of keep and drop; both in one group and apart. */
static void test_replay(void)
{
	enum { FIELDS = 1 | 2 | 4 | 16 };
	struct writer w;
	start(&w, "{\"version\":" FORMAT
		  ",\"imported\":\"dhat\",\"unknown\":[\"process\",\"duration_us\",\"later\"]}");
	write_counts(&w, 1, 6, (uint64_t[]){FIELDS, 2, 1000, 10, 600, 300});
	write_counts(&w, 1, 6, (uint64_t[]){FIELDS, 0, 50, 1, 0, 50});
	write_json(&w, FOOTER,
		   "{\"allocations\":11,\"allocated_bytes\":1050,\"peak_bytes\":600,\"live_bytes\":350,"
		   "\"end\":{\"unknown\":true}}");
	struct hs_profile *profile = load(&w);
	struct hs_error error;
	struct hs_replay replay;
	CHECK(profile->facts.warning == NULL);
	CHECK_TEXT(profile->facts.imported, "dhat");
	CHECK(profile->facts.unknown & HS_TOLD_PROCESS);
	CHECK(profile->facts.unknown & HS_TOLD_EVENTS);
	CHECK(profile->facts.unknown & HS_TOLD_TEMPORARY);
	CHECK(!(profile->facts.unknown & (HS_TOLD_PEAK_BYTES | HS_TOLD_THREADS)));
	CHECK(hs_replay_run(profile, (uint32_t[]){0, 0, 1, 2}, 3, &replay, &error) == 0);
	CHECK_NUMBER(replay.totals.counts.allocated_bytes, 1050);
	CHECK_NUMBER(replay.totals.counts.allocations, 11);
	CHECK_NUMBER(replay.totals.counts.peak_bytes, 600);
	CHECK_NUMBER(replay.totals.counts.live_bytes, 350);
	CHECK_NUMBER(replay.groups[1].allocated_bytes, 1000);
	CHECK_NUMBER(replay.groups[1].max_bytes, 600); /* at least what it had at the peak */
	CHECK_NUMBER(replay.groups[2].live_bytes, 50);
	CHECK_NUMBER(replay.groups[2].max_bytes, 50);
	CHECK(!replay.node_used[1] && replay.node_used[2] && replay.node_used[3]);
	CHECK_NUMBER(replay.point_count, 0);
	hs_replay_free(&replay);
	hs_profile_free(profile);
}

/* Two stacks that each had 100 at most, but 150 together at the peak: that much is certain. */
static void test_maxima(void)
{
	enum { FIELDS = 1 | 4 | 64 };
	struct writer w;
	struct hs_error error;
	struct hs_replay replay;
	start(&w, plain);
	write_counts(&w, 2, 9, (uint64_t[]){FIELDS, 2, 500, 70, 100, 0, 400, 80, 90});
	write_json(&w, FOOTER, "{\"allocated_bytes\":900,\"peak_bytes\":150,\"end\":{\"exit\":0}}");
	struct hs_profile *profile = load(&w);
	CHECK(hs_replay_run(profile, (uint32_t[]){0, 0, 1, 2}, 3, &replay, &error) == 0);
	CHECK(!(replay.unknown & HS_TOLD_MAX_BYTES));
	CHECK_NUMBER(replay.groups[1].max_bytes, 100);
	CHECK_NUMBER(replay.groups[2].max_bytes, 90);
	hs_replay_free(&replay);
	CHECK(hs_replay_run(profile, (uint32_t[]){0, 0, 0, 0}, 1, &replay, &error) == 0);
	CHECK(replay.unknown & HS_TOLD_MAX_BYTES);
	CHECK_NUMBER(replay.groups[0].max_bytes, 150);
	CHECK_NUMBER(replay.totals.counts.peak_bytes, 150);
	hs_replay_free(&replay);
	CHECK(profile->facts.warning == NULL);
	hs_profile_free(profile);
}

/* ---- damage ---------------------------------------------------------------------------------------------
 */

static void damaged(uint32_t items, unsigned count, const uint64_t *numbers, const char *because)
{
	struct writer w;
	start(&w, plain);
	write_counts(&w, items, count, numbers);
	write_json(&w, FOOTER, "{\"end\":{\"exit\":0}}");
	struct hs_profile *profile = load(&w);
	CHECK_SAYS(profile->facts.warning, because);
	hs_profile_free(profile);
}

#define NUMBERS(...)                                                                                         \
	sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[])                                   \
	{                                                                                                    \
		__VA_ARGS__                                                                                  \
	}

static void test_damage(void)
{
	const uint64_t most = INT64_MAX;
	damaged(0, NUMBERS(0), "does not say which counts it has");
	damaged(1, NUMBERS(1 << 14, 1, 1), "does not say which counts it has");
	damaged(1, NUMBERS(1, 4, 1), "is not in the file, or comes twice");
	damaged(2, NUMBERS(1, 3, 1, 0, 1), "is not in the file, or comes twice");
	damaged(2, NUMBERS(1, 1, 1), "ends too early");
	damaged(1, NUMBERS(1, 1, 1, 7), "1 bytes follow its last item");
	damaged(1, NUMBERS(1, 1, most + 1), "a number in it is impossible");
	damaged(2, NUMBERS(1, 1, most, 0, 1), "a number in it is impossible");
	damaged(1, NUMBERS(1 | 4, 1, 10, 11), "contradict each other");      /* more at the peak */
	damaged(1, NUMBERS(1 | 16, 1, 10, 11), "contradict each other");     /* more at the end */
	damaged(1, NUMBERS(2 | 512, 1, 10, 11), "contradict each other");    /* more temporary */
	damaged(1, NUMBERS(4 | 64, 1, 10, 9), "contradict each other");      /* less than at the peak */
	damaged(1, NUMBERS(2048 | 4096, 1, 10, 9), "contradict each other"); /* moves without reallocs */
	damaged(1, NUMBERS(2 | 4096, 1, 10, 11), "contradict each other");   /* more reallocs than calls */
}

static void test_other_members(void)
{
	struct writer w;
	start(&w, plain);
	write_counts(&w, 1, NUMBERS(1, 1, 10));
	write_counts(&w, 1, NUMBERS(2, 0, 10));
	struct hs_profile *profile = load(&w);
	CHECK_SAYS(profile->facts.warning, "other counts than the one before");
	hs_profile_free(profile);

	start(&w, plain);
	event_alloc(&w, 1, 1, 2, 77);
	write_events(&w);
	write_counts(&w, 1, NUMBERS(1, 1, 10));
	profile = load(&w);
	CHECK_SAYS(profile->facts.warning, "both events and counts");
	struct hs_replay replay;
	struct hs_error error;
	CHECK(hs_replay_run(profile, (uint32_t[]){0, 0, 0, 0}, 1, &replay, &error) == 0);
	CHECK_NUMBER(replay.totals.counts.allocated_bytes, 10);
	hs_replay_free(&replay);
	hs_profile_free(profile);

	/* the recorder's sums are another matter */
	start(&w, plain);
	write_counts(&w, 1, NUMBERS(1, 1, 10));
	write_json(&w, FOOTER, "{\"allocated_bytes\":11,\"end\":{\"exit\":0}}");
	profile = load(&w);
	CHECK(hs_replay_run(profile, (uint32_t[]){0, 0, 0, 0}, 1, &replay, &error) == 0);
	CHECK_SAYS(profile->facts.warning, "10 allocated bytes where the recorder counted 11");
	hs_replay_free(&replay);
	hs_profile_free(profile);
}

/* ---- merging --------------------------------------------------------------------------------------------
 */

/* main > keep by events, with its places at `base`: 100 bytes, then 40 that a realloc makes 60. */
static struct hs_profile *recorded(uint64_t base, const char *path)
{
	struct writer w;
	writer_start(&w);
	write_header(&w);
	add_module(&w, path, MAIN_PROGRAM);
	write_modules(&w);
	uint32_t keep = add_node(&w, add_node(&w, 0, 0, base + 0x10), 0, base + 0x20);
	write_nodes(&w);
	event_alloc(&w, 1, 10, keep, 100);
	uint64_t block = event_alloc(&w, 1, 20, keep, 40);
	event_move(&w, 1, 30, block, keep, 60);
	write_events(&w);
	uint32_t main_name = add_name(&w, "main"), keep_name = add_name(&w, "keep"),
		 file = add_name(&w, "a.c");
	add_symbol(&w, 0, base + 0x10, 1, (const uint32_t[][4]){{main_name, file, 1, 0}});
	add_symbol(&w, 0, base + 0x20, 1, (const uint32_t[][4]){{keep_name, file, 2, 0}});
	write_symbols(&w);
	write_json(&w, FOOTER,
		   "{\"events\":3,\"allocations\":3,\"allocated_bytes\":200,\"peak_bytes\":160,"
		   "\"live_bytes\":160,\"live_blocks\":2,\"duration_us\":50,\"end\":{\"exit\":0},\"lost_"
		   "events\":2}");
	return load(&w);
}

static void test_merge(void)
{
	struct hs_tally tally;
	struct hs_error error = {{0}};
	struct hs_counts totals;
	hs_tally_init(&tally);
	for (unsigned i = 0; i < 3; i++) {
		struct hs_profile *profile = recorded(i * 0x1000, i < 2 ? "/srv/a" : "/srv/b");
		CHECK(hs_tally_merge(&tally, profile, &error) == 0);
		hs_profile_free(profile);
	}
	/* other addresses are the same stacks, another module's are not */
	CHECK_NUMBER(tally.nodes.count, 4);
	CHECK_NUMBER(tally.count_count, 2);
	CHECK_NUMBER(tally.counts[0].allocations, 6);
	CHECK_NUMBER(tally.counts[0].allocated_bytes, 400);
	CHECK_NUMBER(tally.counts[0].peak_bytes, 320);
	CHECK_NUMBER(tally.counts[0].max_bytes, 320);
	CHECK_NUMBER(tally.counts[0].moved_bytes, 80);
	CHECK_NUMBER(tally.counts[0].reallocations, 2);
	CHECK_NUMBER(tally.counts[1].allocations, 3);
	CHECK(hs_tally_totals(&tally, &totals, &error) == 0);
	CHECK_NUMBER(totals.live_bytes, 480);
	CHECK_NUMBER(tally.facts.lost_events, 6);
	CHECK_NUMBER(tally.facts.merged.recordings, 3);
	CHECK_NUMBER(tally.facts.merged.incomplete, 0);
	CHECK_NUMBER(tally.facts.merged.sum_us, 150);
	CHECK_NUMBER(tally.facts.merged.longest_us, 50);
	CHECK_NUMBER(tally.events, 9);
	CHECK(!(tally.facts.unknown & HS_TOLD_FIELDS));
	CHECK(tally.facts.unknown & HS_TOLD_EVENTS);
	hs_tally_free(&tally);
}

/* Sums that a file cannot hold are refused, not wrapped around. */
static void test_large_sums(void)
{
	struct hs_tally tally;
	struct hs_error error = {{0}};
	hs_tally_init(&tally);
	for (unsigned i = 0; i < 2; i++) {
		struct writer w;
		start(&w, plain);
		write_counts(&w, 1, NUMBERS(1, 1, INT64_MAX));
		write_json(&w, FOOTER, "{\"allocated_bytes\":9223372036854775807,\"end\":{\"exit\":0}}");
		struct hs_profile *profile = load(&w);
		CHECK_NUMBER(hs_tally_merge(&tally, profile, &error) == 0, i == 0);
		hs_profile_free(profile);
	}
	CHECK_SAYS(error.text, "the sum of allocated_bytes is larger than a recording can hold");
	hs_tally_free(&tally);
}

/* Calls of one, bytes of the other: nothing is left. */
static void test_nothing_in_common(void)
{
	struct hs_tally tally;
	struct hs_error error = {{0}};
	hs_tally_init(&tally);
	for (unsigned i = 0; i < 2; i++) {
		struct writer w;
		start(&w, plain);
		write_counts(&w, 1, NUMBERS(1 + i, 1, 10));
		write_json(&w, FOOTER, "{\"end\":{\"exit\":0}}");
		struct hs_profile *profile = load(&w);
		CHECK_NUMBER(hs_tally_merge(&tally, profile, &error) == 0, i == 0);
		hs_profile_free(profile);
	}
	CHECK_SAYS(error.text, "do not add up");
	hs_tally_free(&tally);
}

int main(void)
{
	test_replay();
	test_maxima();
	test_damage();
	test_other_members();
	test_merge();
	test_large_sums();
	test_nothing_in_common();
	return check_failures();
}
