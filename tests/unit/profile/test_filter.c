/* What filters select, and that it and what they leave out are the whole: by hand. */
#include "check.h"
#include "profile/filter.h"
#include "profile/metrics.h"
#include "profile/profile.h"
#include "writer.h"

#include <stdlib.h>
#include <unistd.h>

/* 1: main (main.c:5); 2: parse (parse.c:8) called by main; 3: get of libfoo called by main; 4: a vector's
 * push_back called by get. Threads 7 (tid 70, "main") and 9 (tid 90, "worker-1").
 *
 *   us  thread                     heap
 *    1     7   A: 100 by 2          100
 *    2     9   B: 60 by 3           160
 *    3     7   free A                60   temporary
 *    4     9   B moves: C, 300 by 4 300
 *    5     7   D: 40 by 2           340   the peak
 *    6     9   free C                40   temporary
 *    7     7   E: 10 by 1            50 */
static struct hs_profile *load(void)
{
	struct writer w;
	struct bytes threads = {0};
	struct hs_error error = {""};
	writer_start(&w);
	write_header(&w);
	int prog = (int)add_module(&w, "/home/me/prog", MAIN_PROGRAM);
	int foo = (int)add_module(&w, "/opt/lib/libfoo.so.1", 0);
	write_modules(&w);
	add_node(&w, 0, prog, 0x1001);
	add_node(&w, 1, prog, 0x2001);
	add_node(&w, 1, foo, 0x3001);
	add_node(&w, 3, prog, 0x4001);
	write_nodes(&w);
	uint32_t main_name = add_name(&w, "main"), main_c = add_name(&w, "/src/main.c");
	uint32_t parse = add_name(&w, "parse"), parse_c = add_name(&w, "/src/parse.c");
	uint32_t get = add_name(&w, "get");
	uint32_t vector = add_name(&w, "std::vector<int>::push_back(int&&)");
	add_symbol(&w, prog, 0x1001, 1, (const uint32_t[][4]){{main_name, main_c, 5, 0}});
	add_symbol(&w, prog, 0x2001, 1, (const uint32_t[][4]){{parse, parse_c, 8, 0}});
	add_symbol(&w, foo, 0x3001, 1, (const uint32_t[][4]){{get, 0, 0, 0}});
	add_symbol(&w, prog, 0x4001, 1, (const uint32_t[][4]){{vector, 0, 0, 0}});
	write_symbols(&w);
	put_number(&threads, 7);
	put_number(&threads, 70);
	put_text(&threads, "main");
	put_number(&threads, 9);
	put_number(&threads, 90);
	put_text(&threads, "worker-1");
	write_member(&w, THREADS, &threads, 2);
	uint64_t a = event_alloc(&w, 7, 1, 2, 100);
	uint64_t b = event_alloc(&w, 9, 2, 3, 60);
	event_free(&w, 7, 3, a);
	uint64_t c = event_move(&w, 9, 4, b, 4, 300);
	event_alloc(&w, 7, 5, 2, 40);
	event_free(&w, 9, 6, c);
	event_alloc(&w, 7, 7, 1, 10);
	write_events(&w);
	write_json(&w, FOOTER,
		   "{\"events\":7,\"allocations\":5,\"frees\":2,\"allocated_bytes\":510,\"peak_bytes\":340,"
		   "\"live_bytes\":50,\"live_blocks\":2,\"temporary\":2,\"duration_us\":9,\"end\":{\"exit\":"
		   "0}}");
	const char *path = save(&w);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	unlink(path);
	free(threads.data);
	writer_free(&w);
	if (!profile)
		exit(1);
	return profile;
}

static struct hs_replay replay(struct hs_profile *profile, const struct hs_filter *filter,
			       const struct hs_replay_how *how)
{
	uint32_t group[5] = {0, 1, 2, 3, 4};
	struct hs_replay replay;
	struct hs_error error = {""};
	CHECK_NUMBER(profile->node_count, 5);
	profile->filter = filter;
	CHECK(hs_replay_run_as(profile, group, 5, how, &replay, &error) == 0);
	profile->filter = NULL;
	CHECK(profile->facts.warning == NULL);
	return replay;
}

/* What is wanted of a selection. */
struct wanted {
	uint64_t allocated_bytes, allocations, peak_bytes, live_bytes, temporary, moved_bytes, max_bytes,
		max_us, events, frees;
};

static void check(struct hs_profile *profile, struct hs_filter *filter, int line, struct wanted wanted)
{
	struct hs_replay r = replay(profile, filter, &(struct hs_replay_how){0});
	const struct hs_counts *counts = &r.totals.counts, *rest = &r.left_out.counts, *all = &r.all.counts;
	int before = failures;
	CHECK_NUMBER(counts->allocated_bytes, wanted.allocated_bytes);
	CHECK_NUMBER(counts->allocations, wanted.allocations);
	CHECK_NUMBER(counts->peak_bytes, wanted.peak_bytes);
	CHECK_NUMBER(counts->live_bytes, wanted.live_bytes);
	CHECK_NUMBER(counts->temporary, wanted.temporary);
	CHECK_NUMBER(counts->moved_bytes, wanted.moved_bytes);
	CHECK_NUMBER(counts->max_bytes, wanted.max_bytes);
	CHECK_NUMBER(r.totals.max_us, wanted.max_us);
	CHECK_NUMBER(r.totals.events, wanted.events);
	CHECK_NUMBER(r.totals.frees, wanted.frees);
	/* the whole */
	CHECK_NUMBER(all->allocated_bytes, 510);
	CHECK_NUMBER(all->allocations, 5);
	CHECK_NUMBER(all->temporary, 2);
	CHECK_NUMBER(all->moved_bytes, 60);
	CHECK_NUMBER(all->live_bytes, 50);
	CHECK_NUMBER(r.all.events, 7);
	CHECK_NUMBER(r.all.frees, 2);
	if (filter->at_us == HS_TIME_NONE) {
		CHECK_NUMBER(all->peak_bytes, 340);
		CHECK_NUMBER(r.totals.peak_us, 5);
	}
	/* and the rest, in everything that adds up */
	for (int metric = 0; metric < HS_METRICS; metric++)
		CHECK_NUMBER(hs_metric_value(counts, (enum hs_metric)metric) +
				     hs_metric_value(rest, (enum hs_metric)metric),
			     hs_metric_value(all, (enum hs_metric)metric));
	CHECK_NUMBER(counts->peak_blocks + rest->peak_blocks, all->peak_blocks);
	CHECK_NUMBER(counts->live_blocks + rest->live_blocks, all->live_blocks);
	CHECK_NUMBER(r.totals.events + r.left_out.events, 7);
	CHECK_NUMBER(r.totals.frees + r.left_out.frees, 2);
	if (failures > before)
		fprintf(stderr, "  (for the selection in line %d)\n", line);
	hs_replay_free(&r);
	hs_filter_free(filter); /* its patterns: the next check adds its own */
}

static void add(struct hs_patterns *patterns, const char *text)
{
	struct hs_error error = {""};
	CHECK(hs_patterns_add(patterns, text, &error) == 0);
	CHECK_TEXT(error.text, "");
}

#define CHECK_SELECTION(filter, ...) check(profile, &(filter), __LINE__, (struct wanted){__VA_ARGS__})

static void test_stacks(struct hs_profile *profile)
{
	const struct wanted parsed = {140, 2, 40, 40, 1, 0, 100, 1, 3, 1};
	static const char *const same[] = {"parse", "^parse$", "parse\\.c", "/src/p", "parse.c:8$"};
	for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
		struct hs_filter f = HS_FILTER_ALL;
		add(&f.focus, same[i]);
		check(profile, &f, __LINE__, parsed);
	}
	struct hs_filter f = HS_FILTER_ALL;
	CHECK_SELECTION(f, 510, 5, 340, 50, 2, 60, 340, 5, 7, 2);
	add(&f.focus, "main.c"); /* outermost of all */
	CHECK_SELECTION(f, 510, 5, 340, 50, 2, 60, 340, 5, 7, 2);
	add(&f.focus, "libfoo"); /* the frame's module */
	CHECK_SELECTION(f, 360, 2, 300, 0, 1, 60, 300, 4, 3, 1);
	add(&f.focus, "libfoo");
	add(&f.focus, "push_back"); /* both */
	CHECK_SELECTION(f, 300, 1, 300, 0, 1, 60, 300, 4, 2, 1);
	add(&f.ignore, "parse");
	CHECK_SELECTION(f, 370, 3, 300, 10, 1, 60, 300, 4, 4, 1);
	add(&f.ignore, "parse");
	add(&f.ignore, "libfoo"); /* either */
	CHECK_SELECTION(f, 10, 1, 0, 10, 0, 0, 10, 7, 1, 0);
	add(&f.focus, "libfoo");
	add(&f.ignore, "vector");
	CHECK_SELECTION(f, 60, 1, 0, 0, 0, 0, 60, 2, 2, 0);
	add(&f.focus, "nobody");
	CHECK_SELECTION(f, 0);
	add(&f.modules, "foo"); /* the vector is no reason to say prog */
	CHECK_SELECTION(f, 360, 2, 300, 0, 1, 60, 300, 4, 3, 1);
	add(&f.modules, "/prog$");
	CHECK_SELECTION(f, 150, 3, 40, 50, 1, 0, 100, 1, 4, 1);
}

static void test_blocks(struct hs_profile *profile)
{
	struct hs_filter f = HS_FILTER_ALL;
	add(&f.threads, "work");
	CHECK_SELECTION(f, 360, 2, 300, 0, 1, 60, 300, 4, 3, 1);
	add(&f.threads, "90"); /* tid */
	CHECK_SELECTION(f, 360, 2, 300, 0, 1, 60, 300, 4, 3, 1);
	add(&f.threads, "7"); /* no tid: the number in the list */
	CHECK_SELECTION(f, 150, 3, 40, 50, 1, 0, 100, 1, 4, 1);
	add(&f.threads, "main");
	add(&f.threads, "90"); /* either */
	CHECK_SELECTION(f, 510, 5, 340, 50, 2, 60, 340, 5, 7, 2);
	f.least_bytes = 60;
	CHECK_SELECTION(f, 460, 3, 300, 0, 2, 60, 300, 4, 5, 2);
	f.most_bytes = 100;
	CHECK_SELECTION(f, 160, 2, 0, 0, 1, 0, 160, 2, 4, 1);
	f.least_bytes = 0;
	CHECK_SELECTION(f, 210, 4, 40, 50, 1, 0, 160, 2, 6, 1);
	f.most_bytes = UINT64_MAX;
	f.from_us = 4;
	CHECK_SELECTION(f, 350, 3, 340, 50, 1, 60, 340, 5, 4, 1);
	f.to_us = 7; /* E comes at 7 */
	CHECK_SELECTION(f, 340, 2, 340, 40, 1, 60, 340, 5, 3, 1);
	f.from_us = 5;
	CHECK_SELECTION(f, 40, 1, 40, 40, 0, 0, 40, 5, 1, 0);
	f.to_us = 5;
	CHECK_SELECTION(f, 0);
	f.from_us = 0;
	f.to_us = 6;
	add(&f.focus, "parse");
	add(&f.threads, "main");
	f.most_bytes = 40;
	CHECK_SELECTION(f, 40, 1, 40, 40, 0, 0, 40, 5, 1, 0);
}

/* Those that are live at the moment: the moment takes the place of the peak. */
static void test_moment(struct hs_profile *profile)
{
	struct hs_filter f = HS_FILTER_ALL;
	f.at_us = 5; /* C, D */
	CHECK_SELECTION(f, 340, 2, 340, 40, 1, 60, 340, 5, 3, 1);
	f.at_us = 3; /* B: A's end at 3 has happened */
	CHECK_SELECTION(f, 60, 1, 60, 0, 0, 0, 60, 2, 2, 0);
	f.at_us = 1000; /* after the end: D, E */
	CHECK_SELECTION(f, 50, 2, 50, 50, 0, 0, 50, 7, 2, 0);
	f.at_us = 0;
	CHECK_SELECTION(f, 0);
	f.at_us = 5;
	add(&f.focus, "parse");
	CHECK_SELECTION(f, 40, 1, 40, 40, 0, 0, 40, 5, 1, 0);
	f.to_us = 5; /* allocated before 5, live at 5: C */
	CHECK_SELECTION(f, 300, 1, 300, 0, 1, 60, 300, 4, 2, 1);
	f.to_us = HS_TIME_NONE;
	f.at_us = 3;
	struct hs_replay r = replay(profile, &f, &(struct hs_replay_how){0});
	CHECK_NUMBER(r.totals.peak_us, 3);
	CHECK_NUMBER(r.all.counts.peak_bytes, 60);
	CHECK_NUMBER(r.groups[3].peak_bytes, 60);
	CHECK_NUMBER(r.groups[3].peak_blocks, 1);
	CHECK_NUMBER(r.groups[3].lifetime_us, 2);
	CHECK(r.node_used[3] && !r.node_used[2] && !r.node_used[4]);
	hs_replay_free(&r);
}

static const struct hs_counts *part(const struct hs_replay *replay, uint32_t group, uint32_t bucket)
{
	static const struct hs_counts none;
	for (uint32_t g = 0; g < replay->group_count; g++)
		if (replay->parts[g].group == group && replay->parts[g].bucket == bucket && (bucket || g < 5))
			return &replay->groups[g];
	return &none;
}

static void test_parts(struct hs_profile *profile)
{
	struct hs_filter f = HS_FILTER_ALL;
	struct hs_replay r = replay(profile, &f, &(struct hs_replay_how){.by_size = true});
	CHECK_NUMBER(r.group_count, 5 + 5);
	CHECK_NUMBER(part(&r, 2, 7)->allocated_bytes, 100); /* [64, 128) */
	CHECK_NUMBER(part(&r, 2, 7)->temporary, 1);
	CHECK_NUMBER(part(&r, 2, 6)->allocated_bytes, 40);
	CHECK_NUMBER(part(&r, 2, 6)->peak_bytes, 40);
	CHECK_NUMBER(part(&r, 3, 6)->allocated_bytes, 60);
	CHECK_NUMBER(part(&r, 4, 9)->peak_bytes, 300);
	CHECK_NUMBER(part(&r, 1, 4)->live_bytes, 10);
	CHECK_NUMBER(r.totals.counts.peak_bytes, 340);
	CHECK_NUMBER(r.size_blocks[6], 2);
	CHECK_NUMBER(r.size_bytes[6], 100);
	hs_replay_free(&r);

	f.most_bytes = 100;
	r = replay(profile, &f, &(struct hs_replay_how){.by_size = true});
	CHECK_NUMBER(r.group_count, 5 + 4);
	CHECK_NUMBER(r.size_blocks[9], 0);
	CHECK_NUMBER(r.left_out.counts.allocated_bytes, 300);
	hs_replay_free(&r);

	/* A, B and C lived for 2 us; D and E are live at the end, 9 */
	r = replay(profile, &f, &(struct hs_replay_how){.by_lifetime = true});
	CHECK_NUMBER(part(&r, 2, 2)->allocations, 1);
	CHECK_NUMBER(part(&r, 2, 2)->allocated_bytes, 100);
	CHECK_NUMBER(part(&r, 2, 2)->lifetime_us, 2);
	CHECK_NUMBER(part(&r, 3, 2)->allocations, 1);
	CHECK_NUMBER(part(&r, 4, 2)->allocations, 0); /* left out */
	CHECK_NUMBER(part(&r, 2, HS_BUCKET_LIVE)->allocated_bytes, 40);
	CHECK_NUMBER(part(&r, 2, HS_BUCKET_LIVE)->lifetime_us, 4);
	CHECK_NUMBER(part(&r, 1, HS_BUCKET_LIVE)->lifetime_us, 2);
	CHECK_NUMBER(r.groups[2].allocations, 2);
	CHECK_NUMBER(r.totals.counts.allocations, 4);
	CHECK_NUMBER(r.totals.counts.lifetime_us, 2 + 2 + 4 + 2);
	CHECK_NUMBER(r.lifetime_blocks[2], 3); /* E's 2 us too */
	hs_replay_free(&r);

	add(&f.threads, "worker");
	r = replay(profile, &f, &(struct hs_replay_how){.by_thread = true});
	CHECK_NUMBER(r.thread_count, 2);
	CHECK_NUMBER(r.totals.counts.allocated_bytes, 60);
	CHECK_NUMBER(r.group_count, 5 + 1);
	CHECK_NUMBER(r.threads[r.parts[5].thread], 9);
	hs_replay_free(&r);
	hs_filter_free(&f);
}

static void test_patterns(struct hs_profile *profile)
{
	struct hs_patterns patterns = {0};
	struct hs_error error;
	static const char *const wrong[][2] = {
		{"", "matches everything"},     {"(", "Unmatched"},
		{"a{1,300}{1,300}", "repeats"}, {"a{99999999999999999999}", "repeats"},
		{"(a{,9}){5000}", "repeats"},   {"[z-a]", "range"},
	};
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		CHECK(hs_patterns_add(&patterns, wrong[i][0], &error) == -1);
		CHECK_SAYS(error.text, wrong[i][1]);
	}
	char large[1200];
	memset(large, '(', sizeof large);
	large[sizeof large - 1] = 0;
	CHECK(hs_patterns_add(&patterns, large, &error) == -1);
	CHECK_SAYS(error.text, "longer than");
	CHECK_NUMBER(patterns.count, 0);
	add(&patterns, "a{2,3}|^ge");
	CHECK_NUMBER(hs_patterns_hide(&patterns, profile), 1); /* get */
	CHECK(profile->frames[hs_call_of(profile, 3).first_frame].internal);
	CHECK_NUMBER(hs_patterns_hide(&patterns, profile), 0); /* is hidden already */
	/* what get allocated is main's now */
	struct hs_filter f = HS_FILTER_ALL;
	add(&f.modules, "/prog$");
	CHECK_SELECTION(f, 510, 5, 340, 50, 2, 60, 340, 5, 7, 2);
	hs_patterns_free(&patterns);
}

int main(void)
{
	struct hs_profile *profile = load();
	test_stacks(profile);
	test_blocks(profile);
	test_moment(profile);
	test_parts(profile);
	test_patterns(profile);
	hs_profile_free(profile);
	return check_failures();
}
