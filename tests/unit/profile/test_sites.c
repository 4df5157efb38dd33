/* Loading names and grouping stacks to sites. One program with inlined callers, a container, a system
 * library, JIT code and marks; what people should see of it, by hand. */
#include "check.h"
#include "profile/fold.h"
#include "profile/own.h"
#include "profile/profile.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hs_profile *load(struct writer *writer)
{
	struct hs_error error = {""};
	const char *path = save(writer);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	unlink(path);
	writer_free(writer);
	if (!profile)
		exit(1);
	return profile;
}

static const char *function(const struct hs_profile *profile, const struct hs_site *site, uint32_t position)
{
	if (position >= site->frame_count)
		return "(no such frame)";
	return profile->strings.items[profile->frames[site->frames[position]].function];
}

/* Addresses are return addresses; a name is at the node's address.
 *   program 0: 0x1001 main (main.c:5); 0x2001 fill (fill.c:8) inlined into run (run.c:20);
 *              0x2101 the same two lines again; 0x3001 std::vector<int>::push_back
 *   libc 1:    0x5001 strdup; 0x6001 has no name
 *   shim 2:    0x7001
 *   no module: 0x99000001 */
static void write_program(struct writer *w)
{
	writer_start(w);
	write_header(w);
	int prog = (int)add_module(w, "/usr/lib/prog/prog", MAIN_PROGRAM);
	int libc = (int)add_module(w, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	int shim = (int)add_module(w, "/opt/heapscope/libheapscope.so", OWN_LIBRARY);
	write_modules(w);
	uint32_t main_node = add_node(w, 0, prog, 0x1001);     /* 1 */
	uint32_t run = add_node(w, main_node, prog, 0x2001);   /* 2 */
	uint32_t again = add_node(w, main_node, prog, 0x2101); /* 3 */
	uint32_t vector = add_node(w, run, prog, 0x3001);      /* 4 */
	add_node(w, again, libc, 0x5001);                      /* 5: strdup */
	add_node(w, main_node, libc, 0x6001);                  /* 6 */
	uint32_t jit = add_node(w, main_node, -1, 0x99000001); /* 7 */
	add_node(w, vector, shim, 0x7001);                     /* 8 */
	uint32_t cut = add_node(w, 0, -1, 1);                  /* 9 */
	add_node(w, cut, prog, 0x3001);                        /* 10 */
	add_node(w, 0, prog, 0x3001);                          /* 11: nothing but internals */
	add_node(w, jit, prog, 0x3001);                        /* 12 */
	write_nodes(w);
	uint32_t main_c = add_name(w, "/src/main.c"), main_name = add_name(w, "main");
	uint32_t fill = add_name(w, "fill"), fill_c = add_name(w, "/src/fill.c");
	uint32_t run_name = add_name(w, "run"), run_c = add_name(w, "/src/run.c");
	uint32_t push = add_name(w, "std::vector<int, std::allocator<int> >::push_back(int const&)");
	uint32_t vector_h = add_name(w, "/usr/include/c++/12/bits/stl_vector.h"),
		 strdup_name = add_name(w, "strdup");
	add_symbol(w, prog, 0x1001, 1, (const uint32_t[][4]){{main_name, main_c, 5, 0}});
	add_symbol(w, prog, 0x2001, 2, (const uint32_t[][4]){{fill, fill_c, 8, 1}, {run_name, run_c, 20, 0}});
	add_symbol(w, prog, 0x2101, 2, (const uint32_t[][4]){{fill, fill_c, 8, 1}, {run_name, run_c, 20, 0}});
	add_symbol(w, prog, 0x3001, 1, (const uint32_t[][4]){{push, vector_h, 1280, 0}});
	add_symbol(w, libc, 0x5001, 1, (const uint32_t[][4]){{strdup_name, 0, 0, 0}});
	write_symbols(w);
	struct bytes threads = {0};
	put_number(&threads, 1);
	put_number(&threads, 4711);
	put_text(&threads, "prog");
	put_number(&threads, 2);
	put_number(&threads, 4712);
	put_text(&threads, "worker");
	write_member(w, THREADS, &threads, 2);
	free(threads.data);
	struct bytes samples = {0};
	put_number(&samples, 100);
	put_number(&samples, 50);
	put_number(&samples, 4096);
	put_number(&samples, 200);
	put_number(&samples, 8192);
	write_member(w, SAMPLES, &samples, 2);
	free(samples.data);
}

static void test_load(void)
{
	struct writer w;
	write_program(&w);
	write_json(
		&w, FOOTER,
		"{\"end\":{\"exec\":true},\"duration_us\":77,\"lost_events\":3,\"stopped\":\"no memory\"}");
	struct hs_profile *p = load(&w);
	char **strings = p->strings.items;
	CHECK_TEXT(p->facts.program, "/home/me/prog");
	CHECK_TEXT(p->facts.command[0], "./prog");
	CHECK_TEXT(p->facts.command[1], "--once");
	CHECK(p->facts.command[2] == NULL);
	CHECK_TEXT(p->facts.cwd, "/home/me");
	CHECK_NUMBER(p->facts.pid, 4711);
	CHECK_NUMBER(p->facts.start_unix_us, 1700000000000000);
	CHECK_NUMBER(p->facts.end, HS_END_EXEC);
	CHECK_NUMBER(p->facts.lost_events, 3);
	CHECK_TEXT(p->facts.stopped, "no memory");
	CHECK(!p->facts.forked);
	CHECK_NUMBER(p->module_count, 3);
	CHECK_TEXT(strings[p->modules[1].path], "/usr/lib/x86_64-linux-gnu/libc.so.6");
	CHECK_NUMBER(p->modules[1].start, 0x500010000000);
	CHECK_NUMBER(p->modules[1].build_id_bytes, 3);
	CHECK_NUMBER(p->modules[1].build_id[2], 3);
	CHECK_NUMBER(p->modules[1].unload_us, UINT64_MAX);
	CHECK_NUMBER(p->thread_count, 3);
	CHECK_NUMBER(p->threads[2].tid, 4712);
	CHECK_TEXT(strings[p->threads[2].name], "worker");
	CHECK_NUMBER(p->sample_count, 2);
	CHECK_NUMBER(p->samples[1].time_us, 350);
	CHECK_NUMBER(p->samples[1].rss_bytes, 8192);

	CHECK_NUMBER(p->node_count, 13);
	CHECK_NUMBER(p->nodes[5].parent, 3);
	CHECK_NUMBER(hs_call_of(p, 2).frame_count, 2);
	const struct hs_frame *frame = &p->frames[hs_call_of(p, 2).first_frame];
	CHECK_TEXT(strings[frame[0].function], "fill");
	CHECK(frame[0].inlined && !frame[1].inlined && !frame[0].internal);
	CHECK_TEXT(strings[frame[1].function], "run");
	CHECK_TEXT(strings[frame[1].file], "/src/run.c");
	CHECK_NUMBER(frame[1].line, 20);
	CHECK_NUMBER(frame[1].address, 0x2000);
	CHECK(p->frames[hs_call_of(p, 4).first_frame].internal);
	CHECK_NUMBER(hs_call_of(p, 4).first_frame, hs_call_of(p, 10).first_frame); /* the same place */
	CHECK_NUMBER(hs_call_of(p, 8).frame_count, 0);                             /* heapscope's own */
	frame = &p->frames[hs_call_of(p, 6).first_frame];
	CHECK_NUMBER(frame->function, 0);
	CHECK_NUMBER(frame->module, 1);
	CHECK_NUMBER(frame->address, 0x6000);
	frame = &p->frames[hs_call_of(p, 7).first_frame];
	CHECK_NUMBER(frame->module, UINT32_MAX);
	CHECK_NUMBER(frame->address, 0x99000000);
	frame = &p->frames[hs_call_of(p, 9).first_frame];
	CHECK_NUMBER(frame->address, 0);
	CHECK_TEXT(strings[frame->function], "[callers beyond the depth limit]");
	hs_fold_mark(p, HS_FOLD_C);
	CHECK(!p->frames[hs_call_of(p, 4).first_frame].internal);
	hs_profile_free(p);
}

static struct hs_profile *record_program(void)
{
	struct writer w;
	write_program(&w);
	event_alloc(&w, 1, 1, 4, 1000); /* push_back < fill < run < main */
	event_alloc(&w, 1, 2, 2, 10);   /* fill < run < main */
	event_alloc(&w, 1, 3, 3, 200);  /* likewise, called from another address */
	event_alloc(&w, 2, 4, 8, 3);    /* heapscope's frame, push_back < fill < run < main */
	event_alloc(&w, 1, 5, 5, 500);  /* strdup < fill < run < main */
	event_alloc(&w, 1, 6, 6, 400);  /* ??? < main */
	event_alloc(&w, 1, 7, 12, 300); /* push_back < JIT < main */
	event_alloc(&w, 1, 8, 10, 50);  /* push_back < cut */
	event_alloc(&w, 1, 9, 11, 40);  /* push_back */
	event_alloc(&w, 1, 10, 0, 30);  /* no stack */
	write_events(&w);
	return load(&w);
}

static void test_sites(void)
{
	struct hs_profile *p = record_program();
	struct hs_sites sites;
	struct hs_error error;
	CHECK(hs_sites_make(p, false, &sites, &error) == 0);
	static const struct {
		uint64_t bytes, blocks;
		uint32_t frames, folded, own;
		const char *first, *own_function;
	} expected[] = {
		{1213, 4, 3, 1, 0, "fill", "fill"},
		{500, 1, 4, 0, 1, "strdup", "fill"},
		{400, 1, 2, 0, 1, "", "main"},
		{300, 1, 2, 1, 1, "", "main"}, /* JIT code is in no module */
		{50, 1, 1, 1, 0, "[callers beyond the depth limit]", "[callers beyond the depth limit]"},
		{40, 1, 1, 0, 0, "std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{30, 1, 0, 0, 0, "(no such frame)", "(no such frame)"},
	};
	CHECK_NUMBER(sites.count, 7);
	for (uint32_t i = 0; i < sites.count && i < 7; i++) {
		const struct hs_site *site = &sites.items[i];
		CHECK_NUMBER(site->counts->peak_bytes, expected[i].bytes);
		CHECK_NUMBER(site->counts->max_bytes, expected[i].bytes);
		CHECK_NUMBER(site->counts->live_blocks, expected[i].blocks);
		CHECK_NUMBER(site->frame_count, expected[i].frames);
		CHECK_NUMBER(site->folded_frames, expected[i].folded);
		CHECK_NUMBER(site->own_frame, expected[i].own);
		CHECK_TEXT(function(p, site, 0), expected[i].first);
		CHECK_TEXT(function(p, site, site->own_frame), expected[i].own_function);
	}
	static const uint32_t site_of_node[] = {6,          UINT32_MAX, 0,          0, 0, 1, 2,
						UINT32_MAX, 0,          UINT32_MAX, 4, 5, 3};
	for (uint32_t i = 0; i < p->node_count; i++)
		CHECK_NUMBER(sites.site_of_node[i], site_of_node[i]);
	CHECK_TEXT(function(p, &sites.items[0], 1), "run");
	CHECK_TEXT(function(p, &sites.items[0], 2), "main");
	hs_sites_free(&sites);

	/* Raw: push_back is a site of its own, with the three bytes of node 8. */
	CHECK(hs_sites_make(p, true, &sites, &error) == 0);
	CHECK_NUMBER(sites.count, 8);
	CHECK_NUMBER(sites.items[0].counts->peak_bytes, 1003);
	CHECK_NUMBER(sites.items[0].frame_count, 4);
	CHECK_NUMBER(sites.items[0].folded_frames, 0);
	CHECK_NUMBER(sites.items[0].own_frame, 1);
	CHECK_TEXT(function(p, &sites.items[0], 1), "fill");
	hs_sites_free(&sites);
	hs_profile_free(p);
}

/* The same before they are finished, by what reports ask then. */
static void test_begun_sites(void)
{
	struct hs_profile *p = record_program();
	struct hs_sites sites;
	struct hs_error error;
	static const struct {
		uint64_t bytes;
		uint32_t depth;
		const char *functions[3], *own_function;
	} expected[] = {
		/* in the order of events */
		{1213, 3, {"fill", "run", "main"}, "fill"},
		{500, 4, {"strdup", "fill", "run"}, "fill"},
		{400, 2, {"", "main"}, "main"},
		{300, 2, {"", "main"}, "main"},
		{50, 1, {"[callers beyond the depth limit]"}, "[callers beyond the depth limit]"},
		{40,
		 1,
		 {"std::vector<int, std::allocator<int> >::push_back(int const&)"},
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{30, 0, {NULL}, NULL},
	};
	CHECK(hs_sites_begin(p, false, NULL, &sites, &error) == 0);
	CHECK_NUMBER(sites.count, 7);
	for (uint32_t i = 0; i < sites.count && i < 7; i++) {
		const struct hs_site *site = &sites.items[i];
		uint32_t frames[4];
		CHECK_NUMBER(hs_site_counts(&sites, site).peak_bytes, expected[i].bytes);
		CHECK_NUMBER(hs_site_depth(&sites, site), expected[i].depth);
		hs_site_write_frames(&sites, site, expected[i].depth, frames);
		for (uint32_t k = 0; k < 3 && expected[i].functions[k]; k++)
			CHECK_TEXT(p->strings.items[p->frames[frames[k]].function], expected[i].functions[k]);
		if (expected[i].own_function)
			CHECK_TEXT(p->strings.items[p->frames[site->own].function], expected[i].own_function);
		else
			CHECK_NUMBER(site->own, HS_NO_FRAME);
		CHECK_NUMBER(sites.own.frames[sites.own.of_site[i]], site->own);
		CHECK(i == 0 || !hs_site_is_before(&sites, i, i - 1));
	}
	/* what is further out than fill is in the same call as that; strdup's own frame likewise */
	CHECK_NUMBER(sites.items[0].callers, 2);
	CHECK_NUMBER(sites.items[0].callers_cut, 1);
	CHECK_NUMBER(sites.items[1].callers, 3);
	CHECK_NUMBER(sites.items[1].callers_cut, 1);
	/* beyond main is nothing; and beyond the only frame */
	CHECK_NUMBER(sites.items[3].callers, 0);
	CHECK_NUMBER(sites.items[5].callers, 0);
	hs_sites_free(&sites);
	hs_profile_free(p);
}

/* Containers that call themselves, LONG deep, below main and below nothing, and allocate a byte at every
 * depth: below main all of it is main's; where nothing else is there each stack stays as it is. */
static void test_long_run_of_internals(void)
{
	enum { LONG = 150 };
	struct writer w;
	writer_start(&w);
	write_header(&w);
	add_module(&w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(&w);
	uint32_t inner = add_node(&w, 0, 0, 0x1001), outer = 0;
	uint32_t inners[LONG], outers[LONG];
	for (int i = 0; i < LONG; i++) {
		inners[i] = inner = add_node(&w, inner, 0, 0x3001);
		outers[i] = outer = add_node(&w, outer, 0, 0x3001);
	}
	write_nodes(&w);
	uint32_t main_name = add_name(&w, "main"), sort = add_name(&w, "void std::sort<int*>(int*, int*)");
	add_symbol(&w, 0, 0x1001, 1, (const uint32_t[][4]){{main_name, 0, 0, 0}});
	add_symbol(&w, 0, 0x3001, 1, (const uint32_t[][4]){{sort, 0, 0, 0}});
	write_symbols(&w);
	for (int i = 0; i < LONG; i++) {
		event_alloc(&w, 1, 1, inners[i], 1);
		event_alloc(&w, 1, 1, outers[i], 1);
	}
	write_events(&w);
	struct hs_profile *p = load(&w);
	struct hs_error error;
	for (int finished = 0; finished < 2; finished++) {
		struct hs_sites sites;
		CHECK(finished ? hs_sites_make(p, false, &sites, &error) == 0
			       : hs_sites_begin(p, false, NULL, &sites, &error) == 0);
		CHECK_NUMBER(sites.count, LONG + 1);
		/* the one with most bytes, then by depth */
		CHECK_NUMBER(hs_site_counts(&sites, &sites.items[0]).peak_bytes, LONG);
		CHECK_NUMBER(hs_site_depth(&sites, &sites.items[0]), 1);
		for (uint32_t i = 1; i < sites.count; i++) {
			CHECK_NUMBER(hs_site_counts(&sites, &sites.items[i]).peak_bytes, 1);
			CHECK_NUMBER(hs_site_depth(&sites, &sites.items[i]), i);
		}
		hs_sites_free(&sites);
	}
	hs_profile_free(p);
}

/* Two stacks become one site; its maximum is that of both together, not the sum of two maxima: 100 + 0, then
 * 0 + 150. */
static void test_maximum_of_merged(void)
{
	struct writer w;
	write_program(&w);
	uint64_t first = event_alloc(&w, 1, 1, 2, 100);
	event_free(&w, 1, 2, first);
	event_alloc(&w, 1, 3, 3, 150);
	write_events(&w);
	struct hs_profile *p = load(&w);
	struct hs_sites sites;
	struct hs_error error;
	CHECK(hs_sites_make(p, false, &sites, &error) == 0);
	CHECK_NUMBER(sites.count, 1);
	CHECK_NUMBER(sites.items[0].counts->max_bytes, 150);
	CHECK_NUMBER(sites.items[0].counts->allocations, 2);
	hs_sites_free(&sites);
	hs_profile_free(p);
}

/* A recursion of 3 that allocates at every depth: each site has its own stack, whatever memory they share. */
static void test_recursion(void)
{
	struct writer w;
	writer_start(&w);
	write_header(&w);
	add_module(&w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(&w);
	uint32_t node = add_node(&w, 0, 0, 0x1001), inner[3];
	for (int i = 0; i < 3; i++)
		inner[i] = node = add_node(&w, node, 0, 0x2001 + 16 * (uint64_t)i);
	write_nodes(&w);
	for (int i = 0; i < 3; i++)
		event_alloc(&w, 1, 1, inner[i], 10 * (uint64_t)(3 - i));
	event_alloc(&w, 1, 1, 1, 5);
	write_events(&w);
	struct hs_profile *p = load(&w);
	struct hs_sites sites;
	struct hs_error error;
	CHECK(hs_sites_make(p, false, &sites, &error) == 0);
	CHECK_NUMBER(sites.count, 4);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_NUMBER(sites.items[i].frame_count, i + 2);
		for (uint32_t k = 0; k <= i; k++)
			CHECK_NUMBER(p->frames[sites.items[i].frames[k]].address, 0x2000 + 16 * (i - k));
		CHECK_NUMBER(p->frames[sites.items[i].frames[i + 1]].address, 0x1000);
	}
	CHECK_NUMBER(sites.items[3].frame_count, 1);
	hs_sites_free(&sites);
	hs_profile_free(p);
}

/* A recording without any event, or without any node, has no sites. */
static void test_nothing_recorded(void)
{
	struct writer w;
	writer_start(&w);
	write_header(&w);
	struct hs_profile *p = load(&w);
	struct hs_sites sites;
	struct hs_error error;
	CHECK(hs_sites_make(p, false, &sites, &error) == 0);
	CHECK_NUMBER(sites.count, 0);
	CHECK_NUMBER(sites.replay.totals.counts.peak_bytes, 0);
	hs_sites_free(&sites);
	hs_profile_free(p);
}

/* The program and what is not in the system's folders; for a program of the system, all but the runtime. */
static void test_own_modules(void)
{
	static char *names[] = {"",
				"/usr/bin/tool",
				"/srv/tool",
				"/usr/lib/x86_64-linux-gnu/libwork.so.1",
				"/lib/x86_64-linux-gnu/libc.so.6",
				"/opt/lib/libc++.so.1",
				"[vdso]"};
	enum { VDSO = 2 };
	struct hs_module modules[] = {{.path = 1, .flags = MAIN_PROGRAM},
				      {.path = 3},
				      {.path = 4},
				      {.path = 5},
				      {.path = 6, .flags = VDSO}};
	struct hs_profile profile = {
		.strings = {.items = names, .count = 7}, .modules = modules, .module_count = 5};
	bool *own = hs_own_modules(&profile);
	CHECK(own[0] && own[1] && !own[2] && !own[3] && !own[4]);
	free(own);
	modules[0].path = 2;
	own = hs_own_modules(&profile);
	CHECK(own[0] && !own[1] && !own[2] && own[3] && !own[4]);
	free(own);
}

enum { MANY = 10000 };

/* MANY sites of two nodes each, that allocate 1 and 2 bytes: enough for stacks to be read in a thread beside
 * the replay. damaged: so is the member with one more node, which has blocks, too. */
static void write_many(struct writer *w, bool damaged)
{
	writer_start(w);
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
	uint32_t main_node = add_node(w, 0, 0, 0x1001), first = 0;
	for (unsigned i = 0; i < 2 * MANY; i++) {
		uint32_t node = add_node(w, main_node, 0, 0x10001 + 16 * (uint64_t)(i / 2));
		first = first ? first : node;
	}
	write_nodes(w);
	uint32_t last = add_node(w, main_node, 0, 0x2001);
	write_nodes(w);
	if (damaged)
		w->file.data[w->file.count - 5] ^= 1; /* of its checksum */
	for (unsigned i = 0; i < 2 * MANY; i++)
		event_alloc(w, 1, i, first + i, 1 + i % 2);
	event_alloc(w, 1, 2 * MANY, last, 5);
	write_events(w);
}

/* What the caller is told while sites are begun: nodes when they are there, then sites; sums if more than
 * once. */
struct told {
	uint64_t prepared, replayed;
	uint32_t *last;           /* of each site 1 if it is the last one that was met, else 0 */
	struct hs_counts sums[2]; /* of these and of those */
};

static void note_prepared(struct hs_profile *p, void *context)
{
	struct told *told = context;
	told->prepared += p->node_count;
}

static struct hs_site_sums note_replayed(const struct hs_sites *sites, void *context)
{
	struct told *told = context;
	CHECK(told->prepared != 0);
	told->replayed += sites->count;
	told->last = calloc(sites->count, sizeof *told->last);
	told->last[sites->count - 1] = 1;
	return (struct hs_site_sums){told->last, told->sums};
}

static void test_beside_replay(void)
{
	struct writer w;
	struct hs_error error = {""};
	struct hs_sites sites;
	write_many(&w, false);
	const char *path = save(&w);
	struct hs_profile *p = hs_profile_begin(path, &error);
	struct told told = {0};
	struct hs_meanwhile meanwhile = {note_prepared, note_replayed, &told};
	CHECK(p && hs_sites_begin(p, false, &meanwhile, &sites, &error) == 0);
	CHECK_NUMBER(told.prepared, 2 * MANY + 3);
	CHECK_NUMBER(told.replayed, MANY + 1);
	CHECK_NUMBER(p->node_count, 2 * MANY + 3);
	CHECK_NUMBER(sites.count, MANY + 1);
	CHECK_NUMBER(sites.replay.totals.counts.allocations, 2 * MANY + 1);
	CHECK_NUMBER(sites.replay.totals.counts.max_bytes, 3 * MANY + 5);
	CHECK_NUMBER(told.sums[0].allocations, 2 * MANY);
	CHECK_NUMBER(told.sums[0].live_bytes, 3 * MANY);
	CHECK_NUMBER(told.sums[1].allocations, 1);
	CHECK_NUMBER(told.sums[1].peak_bytes, 5);
	free(told.last);
	CHECK_NUMBER(sites.own.site_count, MANY + 1); /* by address, and the last one */
	CHECK_NUMBER(sites.own.count, MANY + 1);
	hs_sites_finish(&sites);
	CHECK_NUMBER(sites.own.site_count, 0);
	CHECK_NUMBER(sites.items[0].counts->peak_bytes, 5);
	CHECK_NUMBER(p->frames[sites.items[0].frames[0]].address, 0x2000);
	for (uint32_t i = 1; i < sites.count; i++) { /* equals by address */
		const struct hs_site *site = &sites.items[i];
		CHECK_NUMBER(site->counts->live_bytes, 3);
		CHECK_NUMBER(site->counts->allocations, 2);
		CHECK_NUMBER(site->frame_count, 2);
		CHECK_NUMBER(p->frames[site->frames[0]].address, 0x10000 + 16 * (i - 1));
		CHECK_NUMBER(sites.site_of_node[2 * i], i);
		CHECK_NUMBER(sites.site_of_node[2 * i + 1], i);
	}
	hs_sites_free(&sites);
	hs_profile_free(p);
	unlink(path);
	writer_free(&w);
}

/* The replay finds a node that is not there, as if the stacks had been read before. */
static void test_damaged_beside_replay(void)
{
	struct writer w;
	struct hs_error error = {""};
	struct hs_sites sites, begun;
	write_many(&w, true);
	const char *path = save(&w);
	struct hs_profile *p = hs_profile_load(path, &error), *half = hs_profile_begin(path, &error);
	CHECK(p && hs_sites_make(p, false, &sites, &error) == 0);
	struct told told = {0};
	struct hs_meanwhile meanwhile = {note_prepared, note_replayed, &told};
	CHECK(half && hs_sites_begin(half, false, &meanwhile, &begun, &error) == 0);
	CHECK_NUMBER(told.prepared, half->node_count);
	CHECK_NUMBER(told.replayed, MANY); /* and not as well what was found beside the first replay */
	CHECK_TEXT(half->facts.warning, p->facts.warning);
	CHECK(strstr(p->facts.warning, "a list of stacks at byte") &&
	      strstr(p->facts.warning, "an allocation has a stack that is not in the file"));
	CHECK_NUMBER(begun.count, MANY);
	CHECK_NUMBER(begun.replay.totals.counts.allocations, 2 * MANY);
	CHECK_NUMBER(told.sums[0].allocations, 2 * (MANY - 1));
	CHECK_NUMBER(told.sums[1].live_bytes, 3);
	free(told.last);
	hs_sites_free(&sites);
	hs_sites_free(&begun);
	hs_profile_free(p);
	hs_profile_free(half);
	unlink(path);
	writer_free(&w);
}

int main(void)
{
	test_load();
	test_sites();
	test_begun_sites();
	test_long_run_of_internals();
	test_maximum_of_merged();
	test_recursion();
	test_nothing_recorded();
	test_beside_replay();
	test_damaged_beside_replay();
	test_own_modules();
	return check_failures();
}
