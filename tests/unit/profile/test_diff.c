/* Two profiles made by hand. The new one is a rebuild of the old: other addresses, other lines, another
 * version of the plug-in library. */
#include "check.h"
#include "profile/diff.h"

#include <stdlib.h>

static char *old_strings[] = {"",         "main",           "put",       "parse",   "/a/main.c", "/a/put.c",
			      "/a/serve", "/lib/libp.so.1", "load_hook", "old_only"};
static char *new_strings[] = {
	"",          "parse",          "put",       "main",    "/b/c/main.c", "/b/c/put.c",
	"/b/serve2", "/lib/libp.so.2", "load_hook", "new_only"};

enum { MAIN_PROGRAM = 1 };
static struct hs_module old_modules[] = {
	{.path = 6, .flags = MAIN_PROGRAM, .build_id = {1}, .build_id_bytes = 20},
	{.path = 7, .build_id = {2}, .build_id_bytes = 20}};
static struct hs_module new_modules[] = {
	{.path = 7, .build_id = {2}, .build_id_bytes = 20},
	{.path = 6, .flags = MAIN_PROGRAM, .build_id = {3}, .build_id_bytes = 20}};

static struct hs_frame old_frames[] = {
	{.function = 1, .file = 4, .line = 10, .module = 0, .address = 0x100}, /* 0 main */
	{.function = 2, .file = 5, .line = 20, .module = 0, .address = 0x200}, /* 1 put:20 */
	{.function = 2, .file = 5, .line = 22, .module = 0, .address = 0x210}, /* 2 put:22 */
	{.function = 3, .file = 4, .line = 30, .module = 0, .address = 0x300}, /* 3 parse */
	{.module = 1, .address = 0x777},                                       /* 4 no name, same build */
	{.module = 1, .address = 0x999},                                       /* 5 likewise */
	{.module = 0, .address = 0x400},                                       /* 6 no name, another build */
	{.function = 9, .file = 5, .line = 5, .module = 0, .address = 0x500},  /* 7 old_only */
};
static struct hs_frame new_frames[] = {
	{.function = 3, .file = 4, .line = 11, .module = 1, .address = 0x1100}, /* 0 main */
	{.function = 2, .file = 5, .line = 25, .module = 1, .address = 0x1200}, /* 1 put:25 */
	{.function = 1, .file = 4, .line = 33, .module = 1, .address = 0x1300}, /* 2 parse */
	{.module = 0, .address = 0x777},                                        /* 3 no name, same build */
	{.module = 1, .address = 0x1400},                                       /* 4 no name, another build */
	{.function = 2, .file = 4, .line = 25, .module = 1, .address = 0x1250}, /* 5 put in another file */
};

static uint32_t old_stacks[][3] = {{1, 0}, {2, 0}, {3, 0}, {4}, {5}, {6, 0}, {7, 0}};
static struct hs_site old_sites[] = {
	/* two lines of put: one site when lines do not count: 300 bytes in 3 calls at the peak */
	{.frames = old_stacks[0],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 100, .allocated_bytes = 100, .allocations = 1}},
	{.frames = old_stacks[1],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 200, .allocated_bytes = 200, .allocations = 2}},
	{.frames = old_stacks[2],
	 .frame_count = 2,
	 .counts =
		 &(struct hs_counts){
			 .peak_bytes = 50, .allocated_bytes = 500, .allocations = 10, .temporary = 9}},
	{.frames = old_stacks[3],
	 .frame_count = 1,
	 .counts = &(struct hs_counts){.peak_bytes = 7, .allocated_bytes = 7, .allocations = 1}},
	{.frames = old_stacks[4],
	 .frame_count = 1,
	 .counts = &(struct hs_counts){.peak_bytes = 9, .allocated_bytes = 9, .allocations = 1}},
	{.frames = old_stacks[5],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 4, .allocated_bytes = 4, .allocations = 1}},
	{.frames = old_stacks[6],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 60, .allocated_bytes = 60, .allocations = 6}},
};
static uint32_t new_stacks[][3] = {{1, 0}, {2, 0}, {3}, {4, 0}, {5, 0}, {1, 2, 0}};
static struct hs_site new_sites[] = {
	{.frames = new_stacks[0],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 1000, .allocated_bytes = 1000, .allocations = 4}},
	{.frames = new_stacks[1],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 50, .allocated_bytes = 500, .allocations = 10}},
	{.frames = new_stacks[2],
	 .frame_count = 1,
	 .counts = &(struct hs_counts){.peak_bytes = 7, .allocated_bytes = 7, .allocations = 1}},
	{.frames = new_stacks[3],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 3, .allocated_bytes = 4, .allocations = 1}},
	{.frames = new_stacks[4],
	 .frame_count = 2,
	 .counts = &(struct hs_counts){.peak_bytes = 20, .allocated_bytes = 20, .allocations = 2}},
	{.frames = new_stacks[5],
	 .frame_count = 3,
	 .counts = &(struct hs_counts){.peak_bytes = 5, .allocated_bytes = 5, .allocations = 5}},
};

static struct hs_profile old_profile = {.facts = {.program = (char[]){"/a/serve"}},
					.strings = {.items = old_strings, .count = 10},
					.modules = old_modules,
					.module_count = 2,
					.frames = old_frames,
					.frame_count = 8};
static struct hs_profile new_profile = {.facts = {.program = (char[]){"/b/serve2"}},
					.strings = {.items = new_strings, .count = 10},
					.modules = new_modules,
					.module_count = 2,
					.frames = new_frames,
					.frame_count = 6};
static struct hs_sites old_all = {.items = old_sites, .count = 7}, new_all = {.items = new_sites, .count = 6};
static const struct hs_diff_side old = {&old_profile, &old_all}, new = {&new_profile, &new_all};

static void by_stack(void)
{
	struct hs_diff diff;
	hs_diff_make(&diff, &old, &new, HS_DIFF_BY_STACK);
	/* put, parse, the plug-in, the nameless one of the program, put of main.c, put below parse; then
	 * 0x999 and old_only */
	CHECK_NUMBER(diff.count, 8);
	const struct hs_diff_item *put = &diff.items[0];
	CHECK_NUMBER(put->old_count, 2);
	CHECK_NUMBER(put->new_count, 1);
	CHECK_NUMBER(put->old_site, 0);
	CHECK_NUMBER(put->new_site, 0);
	CHECK_NUMBER(put->old.peak_bytes, 300);
	CHECK_NUMBER(put->old.allocations, 3);
	CHECK_NUMBER(put->new.peak_bytes, 1000);
	CHECK_NUMBER(hs_diff_kind(put, HS_METRIC_PEAK), HS_DIFF_GREW);
	CHECK_NUMBER(hs_diff_kind(&diff.items[1], HS_METRIC_PEAK), HS_DIFF_SAME);
	CHECK_NUMBER(hs_diff_kind(&diff.items[1], HS_METRIC_TEMPORARY), HS_DIFF_SHRANK);
	CHECK_NUMBER(hs_diff_kind(&diff.items[2], HS_METRIC_PEAK), HS_DIFF_SAME);
	CHECK_NUMBER(diff.items[2].old_site, 3); /* 0x777, not 0x999 */
	CHECK_NUMBER(hs_diff_kind(&diff.items[3], HS_METRIC_PEAK), HS_DIFF_SHRANK);
	CHECK_NUMBER(hs_diff_kind(&diff.items[4], HS_METRIC_PEAK), HS_DIFF_APPEARED);
	CHECK_NUMBER(hs_diff_kind(&diff.items[5], HS_METRIC_PEAK), HS_DIFF_APPEARED);
	CHECK_NUMBER(hs_diff_kind(&diff.items[6], HS_METRIC_PEAK), HS_DIFF_VANISHED);
	CHECK_NUMBER(diff.items[6].old_site, 4);
	CHECK_NUMBER(hs_diff_kind(&diff.items[7], HS_METRIC_PEAK), HS_DIFF_VANISHED);
	CHECK_NUMBER(hs_diff_kind(&diff.items[7], HS_METRIC_MOVED), HS_DIFF_SAME);

	CHECK_NUMBER(diff.common_old_calls, 3 + 10 + 1 + 1);
	CHECK_NUMBER(diff.common_new_calls, 4 + 10 + 1 + 1);
	CHECK_NUMBER(diff.common_old_bytes, 300 + 500 + 7 + 4);
	CHECK_NUMBER(diff.common_new_bytes, 1000 + 500 + 7 + 4);
	CHECK_NUMBER(diff.appeared, 2);
	CHECK_NUMBER(diff.appeared_calls, 2 + 5);
	CHECK_NUMBER(diff.vanished, 2);
	CHECK_NUMBER(diff.vanished_calls, 1 + 6);

	/* changes: +700, 0, 0, -1, +20, +5, -9, -60 */
	static const uint32_t wanted[] = {0, 7, 4, 6, 5, 3, 1, 2};
	uint32_t *order = hs_diff_sort(&diff, HS_METRIC_PEAK);
	for (unsigned i = 0; i < 8; i++)
		CHECK_NUMBER(order[i], wanted[i]);
	free(order);
	hs_diff_free(&diff);
}

static void by_function(void)
{
	struct hs_diff diff;
	hs_diff_make(&diff, &old, &new, HS_DIFF_BY_FUNCTION);
	/* put below parse is put as well */
	CHECK_NUMBER(diff.count, 7);
	CHECK_NUMBER(diff.items[0].new_count, 2);
	CHECK_NUMBER(diff.items[0].new.peak_bytes, 1005);
	CHECK_NUMBER(diff.items[0].new.allocations, 9);
	hs_diff_free(&diff);
}

static void against_itself_and_nothing(void)
{
	struct hs_diff diff;
	struct hs_sites none = {0};
	struct hs_diff_side empty = {&new_profile, &none};
	hs_diff_make(&diff, &old, &old, HS_DIFF_BY_STACK);
	for (uint32_t i = 0; i < diff.count; i++) {
		for (int metric = 0; metric < HS_DIFF_METRICS; metric++)
			CHECK_NUMBER(hs_diff_kind(&diff.items[i], (enum hs_metric)metric), HS_DIFF_SAME);
	}
	CHECK_NUMBER(diff.count, 6); /* the lines of put are one */
	hs_diff_free(&diff);
	hs_diff_make(&diff, &empty, &empty, HS_DIFF_BY_FUNCTION);
	CHECK_NUMBER(diff.count, 0);
	free(hs_diff_sort(&diff, HS_METRIC_CALLS));
	hs_diff_free(&diff);
	CHECK_NUMBER(hs_diff_same_program(&old, &old), 1);
	CHECK_NUMBER(hs_diff_same_program(&old, &new), 0);
}

/* parse.part.0 in one build, parse.isra.0.cold in the other */
static void copies_of_the_compiler(void)
{
	struct hs_diff diff;
	char *name = old_strings[3], *other = new_strings[1];
	old_strings[3] = (char[]){"parse.part.0"};
	new_strings[1] = (char[]){"parse.isra.0.cold"};
	hs_diff_make(&diff, &old, &new, HS_DIFF_BY_STACK);
	CHECK_NUMBER(diff.count, 8);
	CHECK_NUMBER(diff.items[1].old.allocations, 10);
	CHECK_NUMBER(diff.items[1].new.allocations, 10);
	hs_diff_free(&diff);
	old_strings[3] = name;
	new_strings[1] = other;
}

int main(void)
{
	by_stack();
	by_function();
	against_itself_and_nothing();
	copies_of_the_compiler();
	return check_failures();
}
