/* The report of a small profile made by hand. The heap: `cache_put` holds 3 MiB of the 4 MiB at the peak and
 * leaks a quarter of it from one of its two callers; `parse` makes 90 of the 100 calls, 80 of them temporary.
 */
#include "check.h"
#include "cli/report_shown.h"

#include "base/memory.h"

#include <jansson.h>
#include <locale.h>

enum { MIB = 1048576 };

/* function, file, line */
static char *strings[] = {"",
			  "main",
			  "cache_put",
			  "parse<int>(int)",
			  "serve",
			  "/home/me/server/main.c",
			  "/home/me/server/src/cache.c",
			  "/home/me/server/src/parse.cc",
			  "/usr/lib/libplug.so.1",
			  "/home/me/server/server",
			  "strdup"};
static struct hs_module modules[] = {{.path = 9, .unload_us = UINT64_MAX},
				     {.path = 8, .unload_us = UINT64_MAX}};
static struct hs_frame frames[] = {
	{.function = 1, .file = 5, .line = 31, .module = 0, .address = 0x1100},  /* 0 main */
	{.function = 2, .file = 6, .line = 203, .module = 0, .address = 0x1200}, /* 1 cache_put */
	{.function = 3, .file = 7, .line = 77, .module = 0, .address = 0x1300, .inlined = true}, /* 2 parse */
	{.function = 4, .file = 5, .line = 55, .module = 0, .address = 0x1400},                  /* 3 serve */
	{.function = 0, .module = 1, .address = 0x777},  /* 4 in libplug */
	{.function = 10, .module = 1, .address = 0x888}, /* 5 strdup */
};
static uint32_t put_from_main[] = {1, 0}, put_from_serve[] = {1, 3, 0}, parse_stack[] = {5, 2, 3, 0},
		plug_stack[] = {4};
static struct hs_site sites[] = {
	{.frames = put_from_main,
	 .frame_count = 2,
	 .own = 1,
	 .counts = &(struct hs_counts){.allocated_bytes = 2 * MIB,
				       .allocations = 4,
				       .peak_bytes = 2 * MIB,
				       .peak_blocks = 4}},
	{.frames = put_from_serve,
	 .frame_count = 3,
	 .own = 1,
	 .counts = &(struct hs_counts){.allocated_bytes = MIB,
				       .allocations = 2,
				       .peak_bytes = MIB,
				       .peak_blocks = 2,
				       .live_bytes = MIB,
				       .live_blocks = 2}},
	{.frames = parse_stack,
	 .frame_count = 4,
	 .own_frame = 1,
	 .own = 2,
	 .counts = &(struct hs_counts){.allocated_bytes = 9 * MIB,
				       .allocations = 90,
				       .peak_bytes = MIB - 1024,
				       .peak_blocks = 10,
				       .temporary_bytes = 8 * MIB,
				       .temporary = 80}},
	{.frames = plug_stack,
	 .frame_count = 1,
	 .own = 4,
	 .counts =
		 &(struct hs_counts){
			 .allocated_bytes = 4096, .allocations = 4, .peak_bytes = 1024, .peak_blocks = 1}},
};
static struct hs_point timeline[] = {{0, 0}, {1000000, 2 * MIB}, {3000000, 4 * MIB}, {4000000, MIB}};
static struct hs_sample samples[] = {{0, 4 * MIB}, {2000000, 8 * MIB}};
static char *command[] = {"./server", "--once", NULL};

static struct hs_profile profile = {
	.facts = {.program = "./server",
		  .command = command,
		  .cwd = "/home/me/server",
		  .pid = 4242,
		  .duration_us = 5000000,
		  .end = HS_END_EXIT,
		  .peak_rss_bytes = 8 * MIB},
	.strings = {.items = strings, .count = 11},
	.modules = modules,
	.module_count = 2,
	.frames = frames,
	.frame_count = 6,
	.samples = samples,
	.sample_count = 2,
};
static struct hs_sites all = {
	.items = sites,
	.count = 4,
	.replay = {.totals = {.counts = {.allocated_bytes = 12 * MIB + 4096,
					 .allocations = 100,
					 .peak_bytes = 4 * MIB,
					 .peak_blocks = 17,
					 .live_bytes = MIB,
					 .live_blocks = 2,
					 .temporary = 80,
					 .temporary_bytes = 8 * MIB},
			      .peak_us = 3500000,
			      .events = 198,
			      .frees = 98},
		   .timeline = timeline,
		   .point_count = 4},
};

static char *report_text(struct hs_report report)
{
	struct hs_text text = {0};
	report.profile = &profile;
	report.sites = &all;
	report.path = "server.hs.gz";
	report.columns = report.columns ? report.columns : 80;
	hs_report_text(&text, &report);
	hs_text_strip_colour(&text);
	return text.bytes;
}

/* clang-format off */
static const char whole[] =
"./server --once\n"
"pid 4242, 5.00 s, exit status 0\n"
"\n"
"  peak          4.0 MiB   at 3.50 s, in 17 blocks\n"
"  at exit       1.0 MiB   in 2 blocks that nobody freed\n"
"  allocated    12.0 MiB   in 100 calls, 80.0% of them temporary\n"
"  peak RSS      8.0 MiB   of the process, heapscope's buffers included\n"
"\n"
/* 56 columns for 5 s: 1 s is column 11, 3 to 4 s are 33 to 44, the peak (3.5 s) is 39; 2 MiB are four rows */
"    4.0 MiB |                                 ############\n"
"            |                                 ############\n"
"            |                                 ############\n"
"            |                                 ############\n"
"    2.0 MiB |           ##################################\n"
"            |           ##################################\n"
"            |           #############################################\n"
"            |           #############################################\n"
"            +--------------------------------------------------------\n"
"             0 s                        peak 3.50 s ^          5.00 s\n"
"        RSS  ::::::::::::::::::::::################################## 8.0 MiB\n"
"\n"
"TOP SITES BY PEAK                                2 of 3 sites, >99.9% of 4.0 MiB\n"
" #        peak      %   cum%  blocks  site\n"
" 1     3.0 MiB  75.0%  75.0%       6  cache_put                  src/cache.c:203\n"
" 2  1023.0 KiB  25.0% >99.9%      10  parse<...>                 src/parse.cc:77\n"
"    1 more site, 1.0 KiB (<0.1%); -n 0 shows all\n"
"\n"
"TOP SITES BY CALLS                              2 of 3 sites, 96.0% of 100 calls\n"
" #  calls      %   cum%  allocated  site\n"
" 2     90  90.0%  90.0%    9.0 MiB  parse<...>                   src/parse.cc:77\n"
" 1      6   6.0%  96.0%    3.0 MiB  cache_put                    src/cache.c:203\n"
"    1 more site, 4 (4.0%); -n 0 shows all\n"
"\n"
"TOP SITES BY TEMPORARY ALLOCATIONS           1 of 1 site, 100.0% of 80 temporary\n"
" #  temporary      %   cum%  of calls  site\n"
" 2         80 100.0% 100.0%     88.9%  parse<...>                src/parse.cc:77\n"
"\n"
"TOP SITES BY LEAK                    1 of 1 site, 100.0% of 1.0 MiB live at exit\n"
" #     live      %   cum%  blocks  site\n"
" 1  1.0 MiB 100.0% 100.0%       2  cache_put                     src/cache.c:203\n"
"\n"
"STACKS                                 innermost frame first; > is your own line\n"
"\n"
"#1  cache_put  src/cache.c:203\n"
"    peak 3.0 MiB in 6 blocks, allocated 3.0 MiB in 6 calls, 1.0 MiB in 2 blocks\n"
"    live at exit\n"
"  stack 1 of 2: peak 2.0 MiB in 4 blocks, allocated 2.0 MiB in 4 calls\n"
"    > cache_put  src/cache.c:203\n"
"      main       main.c:31\n"
"  stack 2 of 2: peak 1.0 MiB in 2 blocks, allocated 1.0 MiB in 2 calls, 1.0 MiB\n"
"                in 2 blocks live at exit\n"
"    > cache_put  src/cache.c:203\n"
"      serve      main.c:55\n"
"      main       main.c:31\n"
"\n"
"#2  parse<...>  src/parse.cc:77\n"
"    peak 1023.0 KiB in 10 blocks, allocated 9.0 MiB in 90 calls, 88.9% temporary\n"
"      strdup      libplug.so.1\n"
"    > parse<...>  src/parse.cc:77 (inlined)\n"
"      serve       main.c:55\n"
"      main        main.c:31\n"
"\n"
"note: no line numbers for libplug.so.1, which makes 4.0% of the calls: build it\n"
"      with -g, or install its debug symbols (on Debian a package that ends in\n"
"      -dbgsym)\n"
"note: stacks are shown without the insides of allocators, containers and libc;\n"
"      --raw shows them whole\n"
"next: heapscope view --open server.hs.gz   the same in the browser\n"
"      heapscope print -n 0 server.hs.gz   all sites; --json for programs\n";
/* clang-format on */

static void test_whole(void)
{
	char *text = report_text((struct hs_report){.rows = 2});
	CHECK_TEXT(text, whole);
	free(text);
}

static void check_has(const char *text, const char *wanted)
{
	if (strstr(text, wanted))
		return;
	fprintf(stderr, "%s\nlacks\n%s\n", text, wanted);
	exit(1);
}

/* Every width: no line is longer than that, and the lines of the code are never cut. */
static void test_widths(void)
{
	for (unsigned columns = 70; columns <= 250; columns += 5) {
		char *text = report_text((struct hs_report){.columns = columns, .utf8 = true});
		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			if (strncmp(line, "next:", 5) != 0 && strncmp(line, "      heapscope", 15) != 0)
				CHECK_TEXT(hs_text_columns(line) <= columns ? "" : line, "");
			*end = '\n';
		}
		check_has(text, columns < 76 ? "e.c:203\n" : "cache.c:203\n");
		check_has(text, "#3  0x777  libplug.so.1\n");
		check_has(text, "▲");
		free(text);
	}
}

static void add_sites(struct hs_text *text, const struct hs_report *report)
{
	struct hs_groups groups;
	struct hs_showing showing;
	hs_showing_start(&showing, report->profile, report->sites, report->raw);
	hs_groups_make(&groups, report->profile, report->sites);
	hs_report_sites(text, report, &groups, &showing);
	hs_showing_free(&showing);
	hs_groups_free(&groups);
}

/* What is inside of libc goes, but its entry that the program called; and how libc starts the program. Then
 * two of the three stacks are the same. */
static void test_libc(void)
{
	static char *names[] = {
		"",       "main",     "greet",          "asprintf", "vasprintf", "grow", "__libc_start_main",
		"_start", "/srv/a.c", "/lib/libc.so.6", "/srv/a"};
	static struct hs_module libc_modules[] = {{.path = 10}, {.path = 9}};
	static struct hs_frame libc_frames[] = {
		{.function = 1, .file = 8, .line = 9, .module = 0},               /* 0 main */
		{.function = 2, .file = 8, .line = 5, .module = 0},               /* 1 greet */
		{.function = 3, .module = 1},                                     /* 2 asprintf */
		{.function = 4, .module = 1},                                     /* 3 vasprintf */
		{.function = 5, .module = 1},                                     /* 4 grow */
		{.function = 6, .module = 1},                                     /* 5 __libc_start_main */
		{.function = 7, .module = 0},                                     /* 6 _start */
		{.function = 2, .file = 8, .line = 5, .module = 0, .address = 1}, /* 7 looks like 1 */
	};
	static uint32_t one[] = {4, 3, 2, 1, 0, 5, 6}, two[] = {3, 2, 7, 0, 5, 6}, three[] = {2, 1, 5};
	struct hs_counts counts = {
		.allocated_bytes = 10, .allocations = 1, .peak_bytes = 10, .peak_blocks = 1};
	struct hs_site libc_sites[] = {
		{.frames = one, .frame_count = 7, .own_frame = 3, .own = one[3], .counts = &counts},
		{.frames = two, .frame_count = 6, .own_frame = 2, .own = two[2], .counts = &counts},
		{.frames = three, .frame_count = 3, .own_frame = 1, .own = three[1], .counts = &counts},
	};
	struct hs_profile other = {.strings = {.items = names, .count = 11},
				   .modules = libc_modules,
				   .module_count = 2,
				   .frames = libc_frames,
				   .frame_count = 8};
	struct hs_sites other_sites = {.items = libc_sites, .count = 3};
	other_sites.replay.totals.counts =
		(struct hs_counts){.allocated_bytes = 30, .allocations = 3, .peak_bytes = 30};
	struct hs_report report = {.profile = &other, .sites = &other_sites, .columns = 80};
	struct hs_text text = {0};
	add_sites(&text, &report);
	hs_text_strip_colour(&text);
	check_has(text.bytes, "#1  greet  srv/a.c:5\n"
			      "    peak 30 B in 3 blocks, allocated 30 B in 3 calls\n"
			      "  stack 1 of 2: peak 20 B in 2 blocks, allocated 20 B in 2 calls\n"
			      "      asprintf  libc.so.6\n"
			      "    > greet     srv/a.c:5\n"
			      "      main      srv/a.c:9\n"
			      "  stack 2 of 2: peak 10 B in 1 block, allocated 10 B in 1 call\n"
			      "      asprintf  libc.so.6\n"
			      "    > greet     srv/a.c:5\n");
	hs_text_free(&text);
	report.raw = true;
	add_sites(&text, &report);
	hs_text_strip_colour(&text);
	check_has(text.bytes, "      grow               libc.so.6\n"
			      "      vasprintf          libc.so.6\n"
			      "      asprintf           libc.so.6\n"
			      "    > greet              srv/a.c:5\n"
			      "      main               srv/a.c:9\n"
			      "      __libc_start_main  libc.so.6\n"
			      "      _start             a\n");
	hs_text_free(&text);
}

/* Rust's frames between main and the user's function go too. Then it is all that is shown of three stacks, of
 * which another one begins in _start and one in plumbing: they are one. */
static void test_rust_start(void)
{
	static char *names[] = {"",
				"app::main",
				"core::ops::function::FnOnce::call_once",
				"std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>",
				"std::rt::lang_start_internal",
				"main",
				"/srv/app",
				"_start"};
	static struct hs_module rust_modules[] = {{.path = 6}};
	static struct hs_frame rust_frames[] = {
		{.function = 1, .module = 0}, {.function = 2, .module = 0, .internal = true},
		{.function = 3, .module = 0}, {.function = 4, .module = 0, .internal = true},
		{.function = 5, .module = 0}, {.function = 7, .module = 0, .rank = 1},
	};
	static uint32_t stack[] = {0, 1, 2, 3, 4}, started[] = {0, 5}, plumbed[] = {0, 1};
	struct hs_counts counts = {.allocated_bytes = 5, .allocations = 1, .peak_bytes = 5, .peak_blocks = 1};
	struct hs_site rust_sites[] = {
		{.frames = stack, .own = stack[0], .frame_count = 5, .counts = &counts},
		{.frames = started, .own = started[0], .frame_count = 2, .counts = &counts},
		{.frames = plumbed, .own = plumbed[0], .frame_count = 2, .counts = &counts}};
	struct hs_profile other = {.strings = {.items = names, .count = 8},
				   .modules = rust_modules,
				   .module_count = 1,
				   .frames = rust_frames,
				   .frame_count = 6};
	struct hs_sites other_sites = {.items = rust_sites, .count = 3};
	other_sites.replay.totals.counts =
		(struct hs_counts){.allocated_bytes = 15, .allocations = 3, .peak_bytes = 15};
	struct hs_report report = {.profile = &other, .sites = &other_sites, .columns = 80};
	struct hs_text text = {0};
	add_sites(&text, &report);
	hs_text_strip_colour(&text);
	CHECK_TEXT(strstr(text.bytes, "#1  "), "#1  app::main  app\n"
					       "    peak 15 B in 3 blocks, allocated 15 B in 3 calls\n"
					       "    > app::main  app\n");
	hs_text_free(&text);
}

/* Rows are lines: instances of a template in one line are one row; without lines, functions whose names are
 * the same without arguments are; without names each address is its own. */
static void test_rows(void)
{
	static char *names[] = {"",       "copy<int>(int)", "copy<char>(char)", "a.cc",
				"/srv/a", "find(int)",      "find(char)"};
	static struct hs_module row_modules[] = {{.path = 4}};
	static struct hs_frame row_frames[] = {
		{.function = 1, .file = 3, .line = 7, .module = 0}, /* 0 and 1: one row */
		{.function = 2, .file = 3, .line = 7, .module = 0, .rank = 1},
		{.function = 2, .file = 3, .line = 8, .module = 0},
		{.function = 5, .module = 0, .address = 16}, /* 3 and 4: one row */
		{.function = 6, .module = 0, .address = 32},
		{.module = 0, .address = 16},
		{.module = 0, .address = 32},
	};
	static uint32_t positions[] = {0, 1, 2, 3, 4, 5, 6};
	struct hs_site row_sites[7];
	struct hs_counts row_counts[7];
	for (unsigned i = 0; i < 7; i++) {
		row_counts[i] = (struct hs_counts){.allocations = 1, .peak_bytes = i + 1};
		row_sites[i] = (struct hs_site){
			.frames = &positions[i], .frame_count = 1, .own = i, .counts = &row_counts[i]};
	}
	struct hs_profile other = {.strings = {.items = names, .count = 7},
				   .modules = row_modules,
				   .module_count = 1,
				   .frames = row_frames,
				   .frame_count = 7};
	struct hs_sites other_sites = {.items = row_sites, .count = 7};
	struct hs_groups groups;
	uint32_t *order;
	hs_groups_make(&groups, &other, &other_sites);
	CHECK(groups.count == 5);
	CHECK(hs_groups_sort(&groups, HS_METRIC_PEAK, 0, &order) == 5);
	static const uint64_t peaks[] = {9, 7, 6, 3, 3}; /* 4 + 5, 7, 6, 1 + 2 and 3 (line 7 before line 8) */
	for (unsigned i = 0; i < 5; i++)
		CHECK(groups.items[order[i]].counts.peak_bytes == peaks[i]);
	const struct hs_group *line_7 = &groups.items[order[3]];
	CHECK(row_frames[line_7->frame].line == 7 && row_frames[groups.items[order[4]].frame].line == 8);
	CHECK(line_7->mixed && hs_group_frame(&groups, &other_sites, line_7) == 0);
	free(order);
	for (uint64_t rows = 1; rows <= 6; rows++) { /* the first ones are the same, however few are wanted */
		CHECK(hs_groups_sort(&groups, HS_METRIC_PEAK, rows, &order) == 5);
		for (unsigned i = 0; i < 5 && i < rows; i++)
			CHECK(groups.items[order[i]].counts.peak_bytes == peaks[i]);
		free(order);
	}
	hs_groups_free(&groups);
}

static void test_depth(void)
{
	char *text = report_text((struct hs_report){.depth = 2});
	check_has(text, "      strdup      libplug.so.1\n    > parse<...>  src/parse.cc:77 (inlined)\n"
			"      ... 2 frames more; --depth 0 shows all\n");
	free(text);
}

static void test_ends(void)
{
	struct hs_facts before = profile.facts;
	profile.facts.end = HS_END_SIGNAL;
	profile.facts.end_value = 11;
	profile.facts.lost_events = 1234;
	profile.facts.warning = "the file is cut off";
	char *text = report_text((struct hs_report){0});
	check_has(text, "pid 4242, 5.00 s, killed by SIGSEGV\n"
			"warning: the file is cut off\n"
			"warning: 1,234 events could not be recorded: all numbers are too low by them\n");
	check_has(text, "  when killed   1.0 MiB   in 2 blocks\n");
	check_has(text, "1 of 1 site, 100.0% of 1.0 MiB live when killed\n");
	free(text);

	profile.facts = before;
	profile.facts.forked = true;
	profile.facts.parent_pid = 4200;
	profile.facts.unknown_frees = 3;
	text = report_text((struct hs_report){0});
	check_has(text, "pid 4242 (a fork of 4200), 5.00 s, exit status 0\n");
	check_has(text, "  at exit       1.0 MiB   in 2 blocks of its own (inherited ones not counted)\n");
	check_has(text, "note: it freed 3 blocks that it inherited from process 4200\n");
	free(text);
	profile.facts = before;
}

static void test_nothing(void)
{
	struct hs_sites before = all;
	all.count = 0;
	all.replay.totals = (struct hs_totals){0};
	char *text = report_text((struct hs_report){0});
	check_has(text, "No allocation was recorded.\n");
	free(text);

	/* malloc(0) only: no bytes, all the same a call */
	struct hs_site zero = sites[0];
	zero.counts = &(struct hs_counts){.allocations = 1, .peak_blocks = 1};
	all.items = &zero;
	all.count = 1;
	all.replay.totals.counts = *zero.counts;
	text = report_text((struct hs_report){0});
	check_has(text, "TOP SITES BY PEAK\n  the heap was never more than 0 bytes\n");
	check_has(text, "TOP SITES BY TEMPORARY ALLOCATIONS\n  no block was freed before its thread "
			"allocated again\n");
	check_has(text, "TOP SITES BY LEAK\n  nothing was live at exit\n");
	free(text);
	all = before;
}

static void test_json(void)
{
	struct hs_report report = {.profile = &profile, .sites = &all, .path = "server.hs.gz"};
	struct hs_text text = {0};
	json_error_t error;
	char *valid = strings[2];
	strings[2] = (char[]){"cache\xff_put"}; /* not UTF-8 */
	hs_report_json(&text, &report);
	strings[2] = valid;
	json_t *document = json_loads(text.bytes, JSON_REJECT_DUPLICATES, &error);
	CHECK(document);
	long long count, peak, frame, line, address, time_us, heap;
	const char *schema, *function, *end;
	CHECK(json_unpack(document, "{s:s, s:{s:s}, s:{s:I}, s:I}", "schema", &schema, "facts", "end", &end,
			  "totals", "peak_bytes", &peak, "site_count", &count) == 0);
	CHECK_TEXT(schema, "heapscope-print-1");
	CHECK_TEXT(end, "exit");
	CHECK(peak == 4 * MIB && count == 4);
	json_t *site = json_array_get(json_object_get(document, "sites"), 2);
	CHECK(json_unpack(site, "{s:I, s:[I,I]}", "own_frame", &count, "frames", &line, &frame) == 0);
	CHECK(count == 1);
	json_t *stored = json_array_get(json_object_get(document, "frames"), (size_t)frame);
	CHECK(json_unpack(stored, "{s:s, s:I, s:I}", "function", &function, "line", &line, "address",
			  &address) == 0);
	CHECK_TEXT(function, "parse<int>(int)"); /* whole: shortening is for people */
	CHECK(line == 77 && address == 0x1300);
	stored = json_array_get(json_object_get(document, "frames"), 0);
	CHECK_TEXT(json_string_value(json_object_get(stored, "function")), "cache\xef\xbf\xbd_put");
	CHECK(json_unpack(json_array_get(json_object_get(document, "timeline"), 2), "[I,I]", &time_us,
			  &heap) == 0);
	CHECK(time_us == 3000000 && heap == 4 * MIB);
	json_decref(document);
	hs_text_free(&text);
}

int main(void)
{
	CHECK(setlocale(LC_CTYPE, "C.UTF-8"));
	test_whole();
	test_widths();
	test_libc();
	test_rust_start();
	test_rows();
	test_depth();
	test_ends();
	test_nothing();
	test_json();
	return 0;
}
