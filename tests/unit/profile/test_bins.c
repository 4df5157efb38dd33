/* Changes over time and histograms of groups: by hand, and random events against sums made the plain way,
 * with limits that force bins to be joined. */
#include "check.h"
#include "profile/bins.h"
#include "writer.h"

#include <stdlib.h>
#include <unistd.h>

enum { GROUPS = 7, EVENTS_MOST = 4000 };

static struct hs_profile *load(struct writer *writer)
{
	struct hs_error error = {""};
	write_events(writer);
	const char *path = save(writer);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	unlink(path);
	writer_free(writer);
	if (!profile)
		exit(1);
	return profile;
}

/* Each node is a group of its own. Replays once before, as hs_bins_make wants it. */
static int make(struct hs_profile *profile, const struct hs_bins_limits *limits, struct hs_bins *bins)
{
	uint32_t group[GROUPS];
	struct hs_error error = {""};
	struct hs_replay replay;
	for (uint32_t i = 0; i < GROUPS; i++)
		group[i] = i;
	CHECK_NUMBER(profile->node_count, GROUPS);
	CHECK(hs_replay_run(profile, group, GROUPS, &replay, &error) == 0);
	hs_replay_free(&replay);
	return hs_bins_make(profile, group, GROUPS, limits, bins, &error);
}

static void start(struct writer *writer)
{
	writer_start(writer);
	write_header(writer);
	add_module(writer, "/home/me/prog", MAIN_PROGRAM);
	write_modules(writer);
	for (uint32_t i = 1; i < GROUPS; i++)
		add_node(writer, 0, 0, 0x1000 + 16 * i);
	write_nodes(writer);
}

static void check_change(const struct hs_change *change, uint32_t group, uint64_t allocated_bytes,
			 uint64_t allocations, uint64_t freed_bytes, uint64_t frees)
{
	CHECK_NUMBER(change->group, group);
	CHECK_NUMBER(change->allocated_bytes, allocated_bytes);
	CHECK_NUMBER(change->allocations, allocations);
	CHECK_NUMBER(change->freed_bytes, freed_bytes);
	CHECK_NUMBER(change->frees, frees);
}

/* 0..15 us in four bins of 4 us. */
static void test_by_hand(void)
{
	struct hs_bins_limits limits = {
		.bins_most = 4, .bins_least = 4, .changes_most = 100, .buckets_most = 100};
	struct hs_bins bins;
	struct writer w;
	start(&w);
	uint64_t first = event_alloc(&w, 1, 1, 2, 100);
	event_alloc(&w, 1, 3, 1, 0);
	event_alloc(&w, 1, 3, 2, 5);
	uint64_t moved = event_move(&w, 1, 9, first, 1, 200);
	event_free(&w, 2, 15, moved);
	struct hs_profile *profile = load(&w);
	CHECK(make(profile, &limits, &bins) == 0);
	CHECK_NUMBER(bins.bin_us, 4);
	CHECK_NUMBER(bins.bin_count, 4);
	const uint32_t ends[] = {2, 2, 4, 5};
	for (unsigned i = 0; i < 4; i++)
		CHECK_NUMBER(bins.ends[i], ends[i]);
	check_change(&bins.changes[0], 1, 0, 1, 0, 0);
	check_change(&bins.changes[1], 2, 105, 2, 0, 0);
	check_change(&bins.changes[2], 1, 200, 1, 0, 0);
	check_change(&bins.changes[3], 2, 0, 0, 100, 1);
	check_change(&bins.changes[4], 1, 0, 0, 200, 1);
	/* sizes 0 and 200 (below 2^8); 5 (below 2^3) and 100 (below 2^7) */
	const uint32_t buckets[][4] = {{1, 0, 1, 0}, {1, 8, 1, 200}, {2, 3, 1, 5}, {2, 7, 1, 100}};
	CHECK_NUMBER(bins.size_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		CHECK_NUMBER(bins.sizes[i].group, buckets[i][0]);
		CHECK_NUMBER(bins.sizes[i].bucket, buckets[i][1]);
		CHECK_NUMBER(bins.sizes[i].blocks, buckets[i][2]);
		CHECK_NUMBER(bins.sizes[i].bytes, buckets[i][3]);
	}
	/* group 1: 6 us (below 2^3), and 12 us to the end (below 2^4); group 2: 8 us and 12 us (both below
	 * 2^4) */
	CHECK_NUMBER(bins.lifetime_count, 3);
	CHECK_NUMBER(bins.lifetimes[2].bucket, 4);
	CHECK_NUMBER(bins.lifetimes[2].blocks, 2);
	hs_bins_free(&bins);
	/* one change a bin does not fit; three entries are too few for the four of the histograms */
	limits.changes_most = 4;
	CHECK(make(profile, &limits, &bins) == 1);
	limits = (struct hs_bins_limits){
		.bins_most = 4, .bins_least = 4, .changes_most = 5, .buckets_most = 3};
	CHECK(make(profile, &limits, &bins) == 0);
	CHECK(bins.sizes == NULL);
	CHECK_NUMBER(bins.size_count, 0);
	CHECK_NUMBER(bins.lifetime_count, 3);
	hs_bins_free(&bins);
	hs_profile_free(profile);
}

struct happened {
	uint64_t time_us, size;
	uint32_t group;
	int begun;
};

static struct happened events[EVENTS_MOST];
static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_number(void) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void check_bin(const struct hs_bins *bins, uint32_t bin)
{
	struct hs_change expected[GROUPS] = {{0}};
	for (unsigned i = 0; i < EVENTS_MOST; i++) {
		struct hs_change *change = &expected[events[i].group];
		if (events[i].time_us / bins->bin_us != bin)
			continue;
		if (events[i].begun) {
			change->allocations++;
			change->allocated_bytes += events[i].size;
		} else {
			change->frees++;
			change->freed_bytes += events[i].size;
		}
	}
	uint32_t at = bin ? bins->ends[bin - 1] : 0;
	for (uint32_t group = 0; group < GROUPS; group++) {
		const struct hs_change *change = &expected[group];
		if (change->allocations + change->frees == 0)
			continue;
		CHECK(at < bins->ends[bin]);
		check_change(&bins->changes[at++], group, change->allocated_bytes, change->allocations,
			     change->freed_bytes, change->frees);
	}
	CHECK_NUMBER(at, bins->ends[bin]);
}

static void test_random(void)
{
	static uint64_t blocks[EVENTS_MOST];
	static struct happened live[EVENTS_MOST];
	unsigned live_count = 0;
	uint64_t now = 0;
	struct writer w;
	start(&w);
	for (unsigned i = 0; i < EVENTS_MOST; i++) {
		now += random_number() % 5 ? 0 : random_number() % 40;
		if (live_count && random_number() % 2) {
			unsigned which = (unsigned)(random_number() % live_count);
			events[i] = live[which];
			events[i].begun = 0;
			event_free(&w, 1, now, blocks[which]);
			live[which] = live[--live_count];
			blocks[which] = blocks[live_count];
		} else {
			events[i] = (struct happened){.size = random_number() % 1000,
						      .group = 1 + (uint32_t)(random_number() % (GROUPS - 1)),
						      .begun = 1};
			blocks[live_count] = event_alloc(&w, 1, now, events[i].group, events[i].size);
			live[live_count++] = events[i];
		}
		events[i].time_us = now;
	}
	struct hs_profile *profile = load(&w);
	uint32_t fewest = 256;
	for (uint32_t most = 2000; most > 10; most = most * 3 / 4) {
		struct hs_bins_limits limits = {
			.bins_most = 256, .bins_least = 1, .changes_most = most, .buckets_most = 1000};
		struct hs_bins bins;
		CHECK(make(profile, &limits, &bins) == 0);
		CHECK(bins.change_count <= most);
		CHECK_NUMBER(bins.bin_count, now / bins.bin_us + 1);
		fewest = bins.bin_count < fewest ? bins.bin_count : fewest;
		for (uint32_t bin = 0; bin < bins.bin_count; bin++)
			check_bin(&bins, bin);
		hs_bins_free(&bins);
	}
	CHECK(fewest <= 2);
	hs_profile_free(profile);
}

int main(void)
{
	test_by_hand();
	test_random();
	return check_failures();
}
