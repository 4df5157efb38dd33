/* Counts of small recordings, worked out by hand, and of random ones, worked out by a slow replay of our own.
 */
#include "check.h"
#include "profile/event.h"
#include "profile/filter.h"
#include "profile/node_counts.h"
#include "profile/profile.h"
#include "writer.h"

#include <stdlib.h>
#include <unistd.h>

/* Two modules' worth of nodes that are roots: 1, 2, 3... */
static void start(struct writer *writer, uint32_t nodes)
{
	writer_start(writer);
	write_header(writer);
	add_module(writer, "/home/me/prog", MAIN_PROGRAM);
	write_modules(writer);
	for (uint32_t i = 0; i < nodes; i++)
		add_node(writer, 0, 0, 0x1000 + 16 * i);
	write_nodes(writer);
}

struct outcome {
	struct hs_profile *profile;
	struct hs_replay replay;
};

/* Each node is a group of its own: groups[node]. */
static struct outcome finish_as(struct writer *writer, const char *footer, const struct hs_replay_how *how)
{
	struct outcome outcome = {0};
	struct hs_error error = {""};
	write_events(writer);
	if (footer)
		write_json(writer, FOOTER, footer);
	const char *path = save(writer);
	outcome.profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	if (!outcome.profile)
		exit(1);
	uint32_t count = outcome.profile->node_count;
	uint32_t *group = malloc(count * sizeof *group);
	for (uint32_t i = 0; i < count; i++)
		group[i] = i;
	CHECK(hs_replay_run_as(outcome.profile, group, count, how, &outcome.replay, &error) == 0);
	free(group);
	unlink(path);
	writer_free(writer);
	return outcome;
}

static struct outcome finish(struct writer *writer, const char *footer)
{
	return finish_as(writer, footer, &(struct hs_replay_how){0});
}

static void end(struct outcome *outcome)
{
	hs_replay_free(&outcome->replay);
	hs_profile_free(outcome->profile);
}

/* heap: 100, 0, 60, 100, 40, 90: the peak is the second 100. */
static void test_equal_peaks(void)
{
	struct writer w;
	start(&w, 2);
	uint64_t first = event_alloc(&w, 1, 1, 1, 100);
	event_free(&w, 1, 2, first);
	uint64_t second = event_alloc(&w, 1, 3, 2, 60);
	event_alloc(&w, 1, 4, 2, 40);
	event_free(&w, 1, 5, second);
	event_alloc(&w, 1, 6, 1, 50);
	struct outcome o = finish(
		&w, "{\"events\":6,\"allocations\":4,\"frees\":2,\"allocated_bytes\":250,\"peak_bytes\":100,"
		    "\"live_bytes\":90,\"live_blocks\":2,\"temporary\":1,\"duration_us\":10,"
		    "\"end\":{\"exit\":3},\"peak_rss_bytes\":4096,\"unknown_frees\":5,\"stopped\":null}");
	const struct hs_counts *a = &o.replay.groups[1], *b = &o.replay.groups[2],
			       *all = &o.replay.totals.counts;
	CHECK(o.profile->facts.warning == NULL);
	CHECK_NUMBER(o.profile->facts.end, HS_END_EXIT);
	CHECK_NUMBER(o.profile->facts.end_value, 3);
	CHECK_NUMBER(o.profile->facts.duration_us, 10);
	CHECK_NUMBER(o.profile->facts.unknown_frees, 5);
	CHECK(o.profile->facts.stopped == NULL);
	CHECK_NUMBER(o.replay.totals.events, 6);
	CHECK_NUMBER(o.replay.totals.frees, 2);
	CHECK_NUMBER(o.replay.totals.peak_us, 4);
	CHECK_NUMBER(all->peak_bytes, 100);
	CHECK_NUMBER(all->peak_blocks, 2);
	CHECK_NUMBER(all->allocated_bytes, 250);
	CHECK_NUMBER(all->allocations, 4);
	CHECK_NUMBER(all->live_bytes, 90);
	CHECK_NUMBER(all->live_blocks, 2);
	CHECK_NUMBER(all->temporary, 1);
	CHECK_NUMBER(all->temporary_bytes, 100);
	CHECK_NUMBER(all->lifetime_us, 1 + 2 + 6 + 4);
	CHECK_NUMBER(a->peak_bytes, 0);
	CHECK_NUMBER(a->peak_blocks, 0);
	CHECK_NUMBER(a->max_bytes, 100);
	CHECK_NUMBER(a->max_blocks, 1);
	CHECK_NUMBER(a->live_bytes, 50);
	CHECK_NUMBER(a->lifetime_us, 1 + 4);
	CHECK_NUMBER(b->peak_bytes, 100);
	CHECK_NUMBER(b->peak_blocks, 2);
	CHECK_NUMBER(b->live_bytes, 40);
	CHECK_NUMBER(b->live_blocks, 1);
	CHECK_NUMBER(b->lifetime_us, 2 + 6);
	CHECK(o.replay.node_used[1] && o.replay.node_used[2] && !o.replay.node_used[0]);

	static const uint64_t heap[] = {0, 100, 100, 60, 100, 100, 90, 90, 90, 90, 90};
	CHECK_NUMBER(o.replay.point_count, 11);
	for (uint32_t i = 0; i < o.replay.point_count && i < 11; i++) {
		CHECK_NUMBER(o.replay.timeline[i].time_us, i);
		CHECK_NUMBER(o.replay.timeline[i].heap_bytes, heap[i]);
	}
	end(&o);
}

/* One block grows from 100 to 150, which moves it, then shrinks to 80 where it is: the heap never holds 250.
 */
static void test_realloc(void)
{
	struct writer w;
	start(&w, 1);
	uint64_t block = event_alloc(&w, 1, 1, 1, 100);
	block = event_move(&w, 1, 2, block, 1, 150);
	block = event_resize(&w, 1, 3, block, 1, 80);
	event_free(&w, 1, 4, block);
	struct outcome o = finish(&w, NULL);
	const struct hs_counts *a = &o.replay.groups[1];
	CHECK_NUMBER(a->allocations, 3);
	CHECK_NUMBER(a->allocated_bytes, 330);
	CHECK_NUMBER(a->peak_bytes, 150);
	CHECK_NUMBER(a->peak_blocks, 1);
	CHECK_NUMBER(a->max_bytes, 150);
	CHECK_NUMBER(a->max_blocks, 1);
	CHECK_NUMBER(a->live_blocks, 0);
	CHECK_NUMBER(a->reallocations, 2);
	CHECK_NUMBER(a->moved, 1);
	CHECK_NUMBER(a->moved_bytes, 100);
	CHECK_NUMBER(a->temporary, 1); /* the last life: freed at once */
	CHECK_NUMBER(a->temporary_bytes, 80);
	CHECK_NUMBER(a->lifetime_us, 3);
	CHECK_NUMBER(o.replay.totals.frees, 1);
	CHECK_NUMBER(o.replay.totals.peak_us, 2);
	CHECK_NUMBER(o.replay.size_blocks[7], 2); /* 64..127: 100 and 80 */
	CHECK_NUMBER(o.replay.size_bytes[7], 180);
	CHECK_NUMBER(o.replay.size_blocks[8], 1); /* 128..255: 150 */
	CHECK_NUMBER(o.replay.lifetime_blocks[1], 3);
	CHECK_NUMBER(o.replay.lifetime_bytes_blocks[0], 3);
	CHECK_NUMBER(o.profile->facts.end, HS_END_RUNNING);
	CHECK_SAYS(o.profile->facts.warning, "after 4 events");
	CHECK_SAYS(o.profile->facts.warning, "still running");
	CHECK_NUMBER(o.profile->facts.duration_us, 4);
	end(&o);
}

/* A block of site 1 becomes one of site 2: neither dips or peaks by both. */
static void test_realloc_elsewhere(void)
{
	struct writer w;
	start(&w, 2);
	uint64_t block = event_alloc(&w, 1, 1, 1, 100);
	event_alloc(&w, 1, 1, 2, 10);
	event_move(&w, 1, 2, block, 2, 120);
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.totals.counts.peak_bytes, 130);
	CHECK_NUMBER(o.replay.totals.counts.peak_blocks, 2);
	CHECK_NUMBER(o.replay.groups[1].peak_bytes, 0);
	CHECK_NUMBER(o.replay.groups[1].max_bytes, 100);
	CHECK_NUMBER(o.replay.groups[1].moved_bytes, 0);
	CHECK_NUMBER(o.replay.groups[2].peak_bytes, 130);
	CHECK_NUMBER(o.replay.groups[2].peak_blocks, 2);
	CHECK_NUMBER(o.replay.groups[2].max_bytes, 130);
	CHECK_NUMBER(o.replay.groups[2].moved_bytes, 100);
	CHECK_NUMBER(o.replay.groups[2].reallocations, 1);
	end(&o);
}

/* At the peak of 700 the sites have what none of them has as its own maximum but the last:
 * site 1: 300, later 100; site 2: 400, later 200; site 3: 400 at the peak. */
static void test_mixed_peak(void)
{
	struct writer w;
	start(&w, 3);
	uint64_t a = event_alloc(&w, 1, 10, 1, 200), a2 = event_alloc(&w, 1, 11, 1, 100);
	event_free(&w, 1, 12, a);
	uint64_t b = event_alloc(&w, 1, 13, 2, 200), b2 = event_alloc(&w, 1, 14, 2, 200);
	event_free(&w, 1, 15, b);
	uint64_t c = event_alloc(&w, 1, 16, 3, 150), c2 = event_alloc(&w, 1, 17, 3, 250);
	event_free(&w, 1, 18, c2);
	event_free(&w, 1, 19, c);
	event_free(&w, 1, 20, a2);
	event_free(&w, 1, 21, b2);
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.totals.counts.peak_bytes, 700);
	CHECK_NUMBER(o.replay.totals.counts.peak_blocks, 4);
	CHECK_NUMBER(o.replay.totals.peak_us, 17);
	static const uint64_t peak[] = {0, 100, 200, 400}, most[] = {0, 300, 400, 400},
			      blocks[] = {0, 2, 2, 2};
	for (int site = 1; site <= 3; site++) {
		CHECK_NUMBER(o.replay.groups[site].peak_bytes, peak[site]);
		CHECK_NUMBER(o.replay.groups[site].max_bytes, most[site]);
		CHECK_NUMBER(o.replay.groups[site].max_blocks, blocks[site]);
		CHECK_NUMBER(o.replay.groups[site].live_blocks, 0);
	}
	end(&o);
}

/* Whose thread has allocated since counts, not who frees. */
static void test_temporary_across_threads(void)
{
	struct writer w;
	start(&w, 3);
	uint64_t block0 = event_alloc(&w, 1, 1, 1, 8);
	uint64_t block1 = event_alloc(&w, 2, 2, 2, 16);
	event_free(&w, 2, 3, block0); /* thread 1 has not allocated since: temporary */
	uint64_t block2 = event_alloc(&w, 1, 4, 3, 32);
	event_free(&w, 1, 5, block1); /* nor has thread 2 */
	event_alloc(&w, 1, 6, 3, 64);
	event_free(&w, 2, 7, block2); /* thread 1 has */
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.groups[1].temporary_bytes, 8);
	CHECK_NUMBER(o.replay.groups[2].temporary_bytes, 16);
	CHECK_NUMBER(o.replay.groups[3].temporary, 0);
	CHECK_NUMBER(o.replay.totals.counts.temporary, 2);
	end(&o);
}

/* A thread's latest block is still temporary when it ends long after, packed with others, all of that thread
 * (9) or not (17). The threads share a lane. */
static void test_temporary_after_long(void)
{
	struct writer w;
	start(&w, 3);
	event_alloc(&w, 1, 1, 1, 8);
	uint64_t latest17 = event_alloc(&w, 17, 1, 3, 32), latest9 = 0;
	while (latest9 < 1023)
		latest9 = event_alloc(&w, 9, 2, 2, 16);
	for (int i = 0; i < 100000; i++)
		event_alloc(&w, 1, 3, 1, 8);
	event_free(&w, 1, 4, latest17);
	event_free(&w, 1, 4, latest9);
	event_free(&w, 1, 4, latest9 - 1); /* thread 9 has allocated since */
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.groups[2].temporary_bytes, 16);
	CHECK_NUMBER(o.replay.groups[3].temporary_bytes, 32);
	CHECK_NUMBER(o.replay.totals.counts.temporary, 2);
	end(&o);
}

/* Lifetimes 0, 5 and 1000 us; 0, 24 and 8 bytes allocated meanwhile; one block lives on to the end at 2000.
 */
static void test_lifetimes(void)
{
	struct writer w;
	start(&w, 1);
	event_free(&w, 1, 10, event_alloc(&w, 1, 10, 1, 100));
	uint64_t five = event_alloc(&w, 1, 20, 1, 4);
	uint64_t thousand = event_alloc(&w, 1, 20, 1, 16);
	event_alloc(&w, 1, 24, 1, 8);
	event_free(&w, 1, 25, five);
	event_free(&w, 1, 1020, thousand);
	struct outcome o = finish(
		&w, "{\"events\":7,\"allocations\":4,\"frees\":3,\"allocated_bytes\":128,\"peak_bytes\":100,"
		    "\"live_bytes\":8,\"live_blocks\":1,\"temporary\":1,\"duration_us\":2000,"
		    "\"end\":{\"signal\":9}}");
	CHECK(o.profile->facts.warning == NULL);
	CHECK_NUMBER(o.profile->facts.end, HS_END_SIGNAL);
	CHECK_NUMBER(o.profile->facts.end_value, 9);
	CHECK_NUMBER(o.replay.groups[1].lifetime_us, 0 + 5 + 1000 + 1976);
	CHECK_NUMBER(o.replay.lifetime_blocks[0], 1);
	CHECK_NUMBER(o.replay.lifetime_blocks[3], 1);       /* 4..7 */
	CHECK_NUMBER(o.replay.lifetime_blocks[10], 1);      /* 512..1023 */
	CHECK_NUMBER(o.replay.lifetime_blocks[11], 1);      /* 1024..2047 */
	CHECK_NUMBER(o.replay.lifetime_bytes_blocks[0], 2); /* the first and the last */
	CHECK_NUMBER(o.replay.lifetime_bytes_blocks[5], 1); /* 16..31: 16 + 8 */
	CHECK_NUMBER(o.replay.lifetime_bytes_blocks[4], 1); /* 8..15: 8 */
	end(&o);
}

/* Events of a unit of 16 us are spread over it; those of the last one up to the time of the last event. */
static void test_coarse_times(void)
{
	static const uint8_t columns[] = {0, 0, 0, 0,    /* no copies */
					  2, 0x44, 0x44, /* allocations and frees in turn */
					  2, 15, 1,      /* thread 1 */
					  /* two grains of two: 0, 4, 8, 12 us; one event: 16 us; then two
					   * units on the rest: 48, 49, 50 us */
					  3, 2 << 1, 1 << 1 | 1, 1, 4, 3, 1, 0, 0, 4, 11, 0, 0,
					  0, /* node 1, 10 B */
					  4, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	struct writer w;
	struct bytes payload = {0};
	start(&w, 1);
	put_number(&payload, 0);
	put_number(&payload, 50);
	put_number(&payload, 0);
	put_number(&payload, 16);
	put_number(&payload, 2);
	put_number(&payload, 0);
	for (size_t i = 0; i < sizeof columns; i++)
		put_byte(&payload, columns[i]);
	write_member(&w, EVENTS, &payload, 8);
	free(payload.data);
	w.time_us = 50;
	for (int i = 0; i < 4; i++)
		count_allocation(&w, 1);
	w.lanes[1].successor[1] = w.previous_node[1] = 1;
	w.lanes[1].last_size[1] = 10;
	event_alloc(&w, 1, 60, 1, 7); /* exact again */
	struct outcome o = finish(&w, "{\"duration_us\":100}");
	CHECK_NUMBER(o.replay.groups[1].lifetime_us, 4 + 4 + 32 + 1 + 40);
	CHECK_NUMBER(o.replay.lifetime_blocks[3], 2); /* 4..7 */
	CHECK_NUMBER(o.replay.lifetime_blocks[6], 2); /* 32..63 */
	CHECK_NUMBER(o.replay.lifetime_blocks[1], 1);
	CHECK_NUMBER(o.replay.totals.peak_us, 49);
	CHECK_NUMBER(o.profile->facts.time_resolution_us, 32);
	end(&o);
}

/* 200 blocks; then one ends and one begins, 120 times: copies of copies, whose ended blocks are all far. The
 * youngest of the first 70 is first to end, and with each that ends before it another has begun: 130 are
 * younger than the first of them, 132 than the second... Then those of the next 50, likewise: 150, 152... */
static void test_copies_of_far(void)
{
	enum { FIRST = 70, THEN = 50, ENDS = FIRST + THEN };
	static const uint8_t head[] = {0, 1, 0, 1, 1, 0}; /* from 0 to 1 us */
	static const uint8_t columns[] = {
		3, 2,    2, 0,           /* two blocks, and 198 like the second; an end and a beginning, */
		5, 198,  1, 138, 1, 100, /* and 138 like these; 100 of them */
		3, 1,    2, 100, 3, 0,   0, 0, /* from 1, 2 and 100 events before */
		1, 0x10,                       /* kinds: the third is a free */
		3, 0xef, 6, 1,                 /* 2 * 439 + 1, thread 1 */
		1, 0,                          /* none at 0 us */
		3, 3,    1, 1,                 /* node 1, again */
		3, 11,   0, 0,                 /* 10 bytes, again */
		1, 127};
	struct writer w;
	struct bytes payload = {0};
	start(&w, 1);
	for (size_t i = 0; i < sizeof head; i++)
		put_byte(&payload, head[i]);
	for (size_t i = 0; i < sizeof columns; i++)
		put_byte(&payload, columns[i]);
	for (int shift = 0; shift <= 8; shift += 8) {
		put_byte(&payload, ENDS);
		for (unsigned i = 0; i < ENDS; i++) {
			unsigned younger = i < FIRST ? 130 + 2 * i : 150 + 2 * (i - FIRST);
			put_byte(&payload, (uint8_t)(2 * younger >> shift));
		}
	}
	for (int i = 0; i < 3; i++) /* highest bytes and lanes: all are 0 */
		put_byte(&payload, 0);
	write_member(&w, EVENTS, &payload, 200 + 2 * ENDS);
	free(payload.data);
	struct outcome o =
		finish(&w, "{\"events\":440,\"allocations\":320,\"frees\":120,\"allocated_bytes\":3200,"
			   "\"peak_bytes\":2000,\"live_bytes\":2000,\"live_blocks\":200,\"temporary\":0}");
	CHECK(o.profile->facts.warning == NULL);
	CHECK_NUMBER(o.replay.totals.events, 200 + 2 * ENDS);
	CHECK_NUMBER(o.replay.totals.frees, ENDS);
	CHECK_NUMBER(o.replay.groups[1].allocations, 200 + ENDS);
	CHECK_NUMBER(o.replay.groups[1].live_blocks, 200);
	CHECK_NUMBER(o.replay.groups[1].live_bytes, 2000);
	end(&o);
}

/* Blocks of 0 bytes are blocks. */
static void test_nothing_requested(void)
{
	struct writer w;
	start(&w, 1);
	event_alloc(&w, 1, 1, 1, 0);
	event_free(&w, 1, 3, event_alloc(&w, 1, 2, 1, 0));
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.groups[1].allocations, 2);
	CHECK_NUMBER(o.replay.groups[1].live_blocks, 1);
	CHECK_NUMBER(o.replay.groups[1].peak_blocks,
		     2); /* the last moment at which a block began with the most */
	CHECK_NUMBER(o.replay.size_blocks[0], 2);
	end(&o);
}

/* 1 MiB at 5 s, freed at 7 s; the run takes 10 s: 10^7 us in steps of 4096 us. */
static void test_timeline(void)
{
	struct writer w;
	start(&w, 1);
	uint64_t block = event_alloc(&w, 1, 5000000, 1, 1 << 20);
	event_free(&w, 1, 7000000, block);
	struct outcome o =
		finish(&w, "{\"events\":2,\"allocations\":1,\"frees\":1,\"allocated_bytes\":1048576,"
			   "\"peak_bytes\":1048576,\"live_bytes\":0,\"live_blocks\":0,\"temporary\":1,"
			   "\"duration_us\":10000000,\"end\":{\"exit\":0}}");
	CHECK(o.profile->facts.warning == NULL);
	CHECK_NUMBER(o.replay.point_count, 10000000 / 4096 + 1);
	for (uint32_t i = 0; i < o.replay.point_count; i++) {
		uint64_t from = i * 4096ULL;
		CHECK_NUMBER(o.replay.timeline[i].time_us, from);
		CHECK_NUMBER(o.replay.timeline[i].heap_bytes,
			     from + 4096 > 5000000 && from <= 7000000 ? 1048576 : 0);
	}
	end(&o);
}

static void test_footer_that_disagrees(void)
{
	struct writer w;
	start(&w, 1);
	event_alloc(&w, 1, 1, 1, 10);
	struct outcome o = finish(
		&w, "{\"events\":1,\"allocations\":1,\"frees\":0,\"allocated_bytes\":11,\"peak_bytes\":10,"
		    "\"live_bytes\":10,\"live_blocks\":1,\"temporary\":0,\"duration_us\":2}");
	CHECK_SAYS(o.profile->facts.warning, "10 allocated bytes where the recorder counted 11");
	end(&o);
}

/* ---- by thread, and watched -------------------------------------------------------------------------
 */

struct seen {
	uint64_t begun_bytes[8], ended_bytes[8], begun[8], ended[8], lived_us[8], latest_us; /* by group */
};

static void see_begin(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct seen *seen = context;
	seen->begun[group]++;
	seen->begun_bytes[group] += size;
	seen->latest_us = now_us;
}

static void see_end(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct seen *seen = context;
	seen->ended[group]++;
	seen->ended_bytes[group] += size;
	seen->latest_us = now_us;
}

static void see_life(void *context, uint32_t group, uint64_t lived_us)
{
	((struct seen *)context)->lived_us[group] += lived_us;
}

static struct writer write_two_threads(void)
{
	struct writer w;
	start(&w, 2);
	event_alloc(&w, 7, 1, 1, 100);
	uint64_t freed = event_alloc(&w, 9, 2, 1, 60);
	uint64_t grown = event_alloc(&w, 9, 3, 2, 40); /* 200: the peak */
	event_free(&w, 7, 4, freed);
	event_resize(&w, 9, 5, grown, 2, 90);
	return w;
}

static void test_by_thread(void)
{
	struct writer w = write_two_threads();
	struct outcome o = finish_as(&w, NULL, &(struct hs_replay_how){.by_thread = true});
	CHECK_NUMBER(o.replay.group_count, 3 + 2); /* nodes, parts of thread 9 */
	CHECK_NUMBER(o.replay.thread_count, 2);
	CHECK_NUMBER(o.replay.threads[0], 7);
	CHECK_NUMBER(o.replay.threads[1], 9);
	CHECK_NUMBER(o.replay.parts[1].group, 1);
	CHECK_NUMBER(o.replay.parts[1].thread, 0);
	CHECK_NUMBER(o.replay.parts[3].group, 1);
	CHECK_NUMBER(o.replay.parts[3].thread, 1);
	CHECK_NUMBER(o.replay.parts[4].group, 2);
	CHECK_NUMBER(o.replay.parts[4].thread, 1);
	CHECK_NUMBER(o.replay.groups[1].peak_bytes, 100);
	CHECK_NUMBER(o.replay.groups[1].live_bytes, 100);
	CHECK_NUMBER(o.replay.groups[2].allocations, 0);
	CHECK_NUMBER(o.replay.groups[3].peak_bytes, 60);
	CHECK_NUMBER(o.replay.groups[3].live_bytes, 0);
	CHECK_NUMBER(o.replay.groups[3].temporary, 0);
	CHECK_NUMBER(o.replay.groups[4].peak_bytes, 40);
	CHECK_NUMBER(o.replay.groups[4].live_bytes, 90);
	CHECK_NUMBER(o.replay.groups[4].allocations, 2);
	CHECK_NUMBER(o.replay.groups[4].reallocations, 1);
	CHECK_NUMBER(o.replay.totals.counts.allocated_bytes, 100 + 60 + 40 + 90);
	CHECK_NUMBER(o.replay.totals.counts.peak_bytes, 200);
	end(&o);
}

static void check_part(const struct outcome *o, uint32_t index, uint32_t group, uint32_t slice,
		       uint64_t peak_bytes, uint64_t live_bytes)
{
	CHECK_NUMBER(o->replay.parts[index].group, group);
	CHECK_NUMBER(o->replay.parts[index].slice, slice);
	CHECK_NUMBER(o->replay.groups[index].allocations, 1);
	CHECK_NUMBER(o->replay.groups[index].peak_bytes, peak_bytes);
	CHECK_NUMBER(o->replay.groups[index].live_bytes, live_bytes);
}

/* Five events, of which four are allocations: one a slice. Then all in one, whatever the file says. */
static void test_slices(void)
{
	static const uint64_t begins_us[] = {1, 2, 3, 5};
	struct writer w = write_two_threads();
	struct outcome o = finish_as(&w, NULL, &(struct hs_replay_how){.slices = 5});
	CHECK_NUMBER(o.replay.group_count, 3 + 3);
	CHECK_NUMBER(o.replay.slice_count, 4);
	for (unsigned i = 0; i < 4; i++)
		CHECK_NUMBER(o.replay.slice_us[i], begins_us[i]);
	check_part(&o, 1, 1, 0, 100, 100);
	CHECK_NUMBER(o.replay.groups[2].allocations, 0); /* that stack has none in the first slice */
	check_part(&o, 3, 1, 1, 60, 0);
	check_part(&o, 4, 2, 2, 40, 0);
	check_part(&o, 5, 2, 3, 0, 90);
	CHECK_NUMBER(o.replay.totals.counts.allocated_bytes, 100 + 60 + 40 + 90);
	end(&o);

	w = write_two_threads();
	o = finish_as(&w, "{\"events\":5,\"allocations\":0,\"end\":{\"exit\":0}}",
		      &(struct hs_replay_how){.slices = 2});
	CHECK_NUMBER(o.replay.slice_count, 2);
	CHECK_NUMBER(o.replay.groups[1].allocations, 1);
	CHECK_NUMBER(o.replay.totals.counts.allocations, 4);
	end(&o);
}

static void test_watch(void)
{
	struct seen seen = {0};
	struct hs_watch watch = {see_begin, see_end, see_life, &seen, NULL};
	struct writer w = write_two_threads();
	struct outcome o = finish_as(&w, NULL, &(struct hs_replay_how){.watch = &watch});
	CHECK_NUMBER(o.replay.group_count, 3);
	CHECK(o.replay.parts == NULL);
	CHECK_NUMBER(seen.begun[1], 2);
	CHECK_NUMBER(seen.begun_bytes[1], 160);
	CHECK_NUMBER(seen.ended[1], 1);
	CHECK_NUMBER(seen.ended_bytes[1], 60);
	CHECK_NUMBER(seen.begun[2], 2);
	CHECK_NUMBER(seen.begun_bytes[2], 130);
	CHECK_NUMBER(seen.ended_bytes[2], 40);
	CHECK_NUMBER(seen.latest_us, 5);
	CHECK_NUMBER(seen.lived_us[1], 2 + 4); /* the run ends with its last event, at 5 */
	CHECK_NUMBER(seen.lived_us[2], 2);
	end(&o);
}

/* ---- random events against a slow replay ----------------------------------------------------------------
 */

enum { GROUPS = 6, SLOW_BLOCKS = 200000, THREADS_MOST = 20 };

struct slow_block {
	uint64_t size, born, born_bytes;
	uint32_t node, thread;
	int live;
};

static struct slow_block slow[SLOW_BLOCKS];
static struct hs_counts expected[GROUPS];
static uint64_t slow_heap, slow_peak, slow_peak_us, slow_allocated;
static uint64_t slow_lived_bytes[65]; /* blocks by what was allocated while they lived: [n] below 2^n */

/* Adds up everything anew from the list of the last `window` blocks: slow, but sure. */
static void slow_check_peak(uint64_t count, uint64_t now)
{
	if (slow_heap < slow_peak)
		return;
	slow_peak = slow_heap;
	slow_peak_us = now;
	for (int g = 0; g < GROUPS; g++)
		expected[g].peak_bytes = expected[g].peak_blocks = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (!slow[i].live)
			continue;
		expected[slow[i].node].peak_bytes += slow[i].size;
		expected[slow[i].node].peak_blocks++;
	}
}

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_number(void) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void slow_begin(uint64_t number, uint32_t node, uint64_t size, uint32_t thread, uint64_t now)
{
	slow_allocated += size;
	slow[number] = (struct slow_block){size, now, slow_allocated, node, thread, 1};
	expected[node].allocations++;
	expected[node].allocated_bytes += size;
	expected[node].live_bytes += size;
	expected[node].live_blocks++;
	if (expected[node].live_bytes >= expected[node].max_bytes) {
		expected[node].max_bytes = expected[node].live_bytes;
		expected[node].max_blocks = expected[node].live_blocks;
	}
	slow_heap += size;
}

static void slow_live(const struct slow_block *block, uint64_t now)
{
	unsigned power = 0;
	while (slow_allocated - block->born_bytes >= 1ULL << power)
		power++;
	slow_lived_bytes[power]++;
	expected[block->node].lifetime_us += now - block->born;
}

static void slow_end(uint64_t number, uint64_t now)
{
	struct slow_block *block = &slow[number];
	slow_live(block, now);
	block->live = 0;
	expected[block->node].live_bytes -= block->size;
	expected[block->node].live_blocks--;
	slow_heap -= block->size;
}

/* The same by nodes: without maxima, lifetimes, temporary bytes and, if there is no filter, histograms. */
static void check_by_node(struct hs_profile *profile, uint64_t count)
{
	static const uint64_t none[65];
	uint32_t nodes[GROUPS];
	struct hs_met met = {.nodes = nodes};
	struct hs_replay_how how = {.by_node = &met};
	struct hs_filter filter = HS_FILTER_ALL;
	struct hs_replay replay;
	struct hs_error error = {""};
	CHECK(hs_replay_run_as(profile, NULL, 0, &how, &replay, &error) == 0);
	CHECK_NUMBER(replay.group_count, GROUPS - 1);
	CHECK_NUMBER(met.count, GROUPS - 1);
	bool seen[GROUPS] = {false};
	for (uint32_t group = 0; group < replay.group_count; group++) {
		struct hs_counts counts = expected[nodes[group]];
		counts.max_bytes = counts.max_blocks = counts.lifetime_us = counts.temporary_bytes = 0;
		CHECK(nodes[group] != 0 && !seen[nodes[group]]);
		seen[nodes[group]] = true;
		struct hs_counts found = {0};
		hs_node_table_add_to(replay.nodes, group, false, &found);
		CHECK(memcmp(&found, &counts, sizeof counts) == 0);
	}
	CHECK(memcmp(replay.lifetime_blocks, none, sizeof none) == 0);
	hs_replay_free(&replay);

	uint64_t large = 0, large_bytes = 0;
	for (uint64_t i = 0; i < count; i++) {
		large += slow[i].size >= 1000;
		large_bytes += slow[i].size >= 1000 ? slow[i].size : 0;
	}
	filter.least_bytes = 1000;
	profile->filter = &filter;
	CHECK(hs_replay_run_as(profile, NULL, 0, &how, &replay, &error) == 0);
	CHECK_NUMBER(replay.totals.counts.allocations, large);
	CHECK_NUMBER(replay.totals.counts.allocated_bytes, large_bytes);
	CHECK_NUMBER(replay.all.counts.allocations, count);
	hs_replay_free(&replay);
	profile->filter = NULL;
}

/* 500,000 events. Of 20 threads some share a lane; blocks of any age end, so that pages of all kinds come up:
 * open, whole, packed, packed again, dead; and wide ones, whose sizes or times do not fit in 32 bits or which
 * have several threads' blocks. */
static void test_random_events(uint32_t threads, uint64_t size_end, uint64_t large_end)
{
	struct writer w;
	static uint64_t live[4096];
	uint32_t live_count = 0;
	uint64_t now = 0, count = 0, frees = 0, latest[THREADS_MOST + 1];
	memset(latest, 0xff, sizeof latest);
	memset(expected, 0, sizeof expected);
	memset(slow_lived_bytes, 0, sizeof slow_lived_bytes);
	slow_heap = slow_peak = slow_peak_us = slow_allocated = 0;
	start(&w, GROUPS - 1);
	while (count < SLOW_BLOCKS - 1) {
		uint32_t thread = 1 + (uint32_t)(random_number() % threads),
			 node = 1 + (uint32_t)(random_number() % (GROUPS - 1));
		uint64_t what = random_number() % 100,
			 size = random_number() % 3 ? random_number() % size_end : 64;
		if (random_number() % 2000 == 0)
			size = random_number() % large_end;
		now += random_number() % 2000 ? random_number() % 4 : 1ULL << 31;
		/* mostly young blocks, sometimes any */
		uint32_t which = live_count ? (uint32_t)(random_number() % live_count) : 0;
		if (live_count > 20 && what % 4)
			which = live_count - 1 - (uint32_t)(random_number() % 20);
		if (live_count == 0 || (what < 50 && live_count < 4096)) {
			CHECK_NUMBER(event_alloc(&w, thread, now, node, size), count);
			slow_begin(count, node, size, thread, now);
			slow_check_peak(count + 1, now);
			live[live_count++] = latest[thread] = count++;
		} else if (what < 90) {
			uint64_t number = live[which];
			event_free(&w, thread, now, number);
			if (latest[slow[number].thread] == number) {
				expected[slow[number].node].temporary++;
				expected[slow[number].node].temporary_bytes += slow[number].size;
			}
			slow_end(number, now);
			memmove(&live[which], &live[which + 1], (--live_count - which) * sizeof *live);
			frees++;
		} else {
			uint64_t number = live[which], old_size = slow[number].size;
			if (what < 95)
				event_move(&w, thread, now, number, node, size);
			else
				event_resize(&w, thread, now, number, node, size);
			slow_end(number, now);
			slow_begin(count, node, size, thread, now);
			slow_check_peak(count + 1, now);
			expected[node].reallocations++;
			if (what < 95) {
				expected[node].moved++;
				expected[node].moved_bytes += old_size < size ? old_size : size;
			}
			live[which] = latest[thread] = count++;
		}
	}
	for (uint64_t i = 0; i < count; i++)
		if (slow[i].live)
			slow_live(&slow[i], now);
	struct outcome o = finish(&w, NULL);
	CHECK(o.profile->recording != NULL);
	CHECK_NUMBER(o.replay.totals.counts.peak_bytes, slow_peak);
	CHECK_NUMBER(o.replay.totals.peak_us, slow_peak_us);
	CHECK_NUMBER(o.replay.totals.frees, frees);
	CHECK_NUMBER(o.replay.totals.counts.live_bytes, slow_heap);
	CHECK_NUMBER(o.replay.totals.counts.live_blocks, live_count);
	for (int g = 1; g < GROUPS; g++)
		CHECK(memcmp(&o.replay.groups[g], &expected[g], sizeof expected[g]) == 0);
	CHECK(memcmp(o.replay.lifetime_bytes_blocks, slow_lived_bytes, sizeof slow_lived_bytes) == 0);
	CHECK(!strstr(o.profile->facts.warning, "damaged"));
	check_by_node(o.profile, count);
	end(&o);
}

/* Sizes around the least one that stands apart from its event, in turn: 1 less, the same, 1 more. Whole
 * members have nothing else. */
static void test_large_sizes(void)
{
	enum { BLOCKS = 210000, FREED = 90000 };
	struct writer w;
	uint32_t nodes[2];
	struct hs_met met = {.nodes = nodes};
	struct hs_replay_how how = {.by_node = &met};
	struct hs_replay replay;
	struct hs_error error = {""};
	start(&w, 1);
	for (uint64_t i = 0; i < BLOCKS; i++)
		event_alloc(&w, 1, i, 1, HS_VALUE_LARGE - 1 + i % 3);
	for (uint64_t i = 0; i < FREED; i++)
		event_free(&w, 1, BLOCKS, i);
	struct outcome o = finish(&w, NULL);
	CHECK_NUMBER(o.replay.groups[1].allocations, BLOCKS);
	CHECK_NUMBER(o.replay.groups[1].allocated_bytes, (uint64_t)BLOCKS * HS_VALUE_LARGE);
	CHECK_NUMBER(o.replay.groups[1].peak_bytes, (uint64_t)BLOCKS * HS_VALUE_LARGE);
	CHECK_NUMBER(o.replay.groups[1].live_bytes, (uint64_t)(BLOCKS - FREED) * HS_VALUE_LARGE);
	CHECK_NUMBER(o.replay.size_blocks[24], BLOCKS); /* less than 2^24 */

	struct hs_counts found = {0};
	CHECK(hs_replay_run_as(o.profile, NULL, 0, &how, &replay, &error) == 0);
	hs_node_table_add_to(replay.nodes, 0, false, &found);
	CHECK_NUMBER(found.allocated_bytes, (uint64_t)BLOCKS * HS_VALUE_LARGE);
	CHECK_NUMBER(found.peak_bytes, (uint64_t)BLOCKS * HS_VALUE_LARGE);
	CHECK_NUMBER(found.live_bytes, (uint64_t)(BLOCKS - FREED) * HS_VALUE_LARGE);
	CHECK_NUMBER(replay.totals.counts.peak_blocks, BLOCKS);
	hs_replay_free(&replay);
	end(&o);
}

int main(void)
{
	test_equal_peaks();
	test_realloc();
	test_realloc_elsewhere();
	test_mixed_peak();
	test_temporary_across_threads();
	test_temporary_after_long();
	test_lifetimes();
	test_coarse_times();
	test_copies_of_far();
	test_nothing_requested();
	test_timeline();
	test_footer_that_disagrees();
	test_by_thread();
	test_slices();
	test_watch();
	test_large_sizes();
	test_random_events(THREADS_MOST, 4000, 1ULL << 34);
	test_random_events(1, 4000, 1ULL << 34);
	test_random_events(1, 100, 1 << 17);
	return check_failures();
}
