/* The DHAT export: what the format and its viewer demand, on recordings with known counts. */
#include "check.h"
#include "export/export.h"
#include "profile/profile.h"
#include "writer.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static const char path[] = "test-dhat.hs.gz";

/* Finishes, exports and parses; checks what is true of every file. */
static json_t *export(struct writer *w)
{
	struct hs_error error = {""};
	struct hs_export_options options = {0};
	char *text = NULL;
	size_t bytes = 0;
	write_events(w);
	save_bytes(path, w->file.data, w->file.count);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	if (!profile)
		exit(1);
	FILE *output = open_memstream(&text, &bytes);
	CHECK(hs_exporter_find("dhat")->write(profile, &options, output, &error) == 0);
	fclose(output);
	json_error_t cause;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &cause);
	if (!json) {
		fprintf(stderr, "not JSON: %s\n", cause.text);
		exit(1);
	}
	free(text);
	hs_profile_free(profile);
	writer_free(w);
	unlink(path);
	return json;
}

static uint64_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	CHECK(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static uint64_t sum(const json_t *json, const char *key)
{
	uint64_t total = 0;
	size_t i;
	json_t *point;
	json_array_foreach(json_object_get(json, "pps"), i, point) total += number(point, key);
	return total;
}

static size_t point_count(const json_t *json)
{
	return json_array_size(json_object_get(json, "pps"));
}

static const json_t *point(const json_t *json, size_t i)
{
	return json_array_get(json_object_get(json, "pps"), i);
}

/* Frame `n` of a point, as text. */
static const char *frame(const json_t *json, size_t i, size_t n)
{
	json_int_t index = json_integer_value(json_array_get(json_object_get(point(json, i), "fs"), n));
	return json_string_value(json_array_get(json_object_get(json, "ftbl"), (size_t)index));
}

static size_t depth(const json_t *json, size_t i)
{
	return json_array_size(json_object_get(point(json, i), "fs"));
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No two points have the same frames; all indices are in range; no frame of the table is unused or there
 * twice. */
static void check_stacks(const json_t *json)
{
	const json_t *table = json_object_get(json, "ftbl");
	size_t frames = json_array_size(table), count = point_count(json);
	char **keys = malloc(count * sizeof *keys);
	bool *used = calloc(frames, sizeof *used);
	for (size_t i = 0; i < count; i++) {
		const json_t *fs = json_object_get(point(json, i), "fs");
		keys[i] = json_dumps(fs, JSON_COMPACT);
		CHECK(json_array_size(fs) > 0);
		for (size_t n = 0; n < json_array_size(fs); n++) {
			size_t index = (size_t)json_integer_value(json_array_get(fs, n));
			CHECK(index > 0 && index < frames);
			used[index] = true;
		}
	}
	qsort(keys, count, sizeof *keys, compare_text);
	for (size_t i = 0; i + 1 < count; i++)
		CHECK(strcmp(keys[i], keys[i + 1]) != 0);
	for (size_t i = 1; i < frames; i++)
		CHECK(used[i]);
	CHECK_TEXT(json_string_value(json_array_get(table, 0)), "[root]");
	for (size_t i = 0; i < count; i++)
		free(keys[i]);
	free(keys);
	free(used);
}

static void start(struct writer *w)
{
	writer_start(w);
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
}

/* main calls f from two places whose lines are the same but whose addresses differ; g from one place that two
 * trie nodes stand for, since their addresses are the same: one point with a true maximum of 70, not 60 + 70.
 */
static void test_points(void)
{
	struct writer w;
	start(&w);
	uint32_t root = add_node(&w, 0, 0, 0x1001);
	uint32_t f1 = add_node(&w, root, 0, 0x2001), f2 = add_node(&w, root, 0, 0x2101);
	uint32_t g1 = add_node(&w, root, 0, 0x3001), g2 = add_node(&w, root, 0, 0x3001);
	uint32_t shared = add_node(&w, root, -1, 0xabcdef01);
	write_nodes(&w);
	uint32_t main_name = add_name(&w, "main"), main_c = add_name(&w, "/src/deep/main.c");
	uint32_t f = add_name(&w, "f\"\\\x01(char const*)"), g = add_name(&w, "g"),
		 bad = add_name(&w, "\xff\xc3.c");
	add_symbol(&w, 0, 0x1001, 1, (const uint32_t[][4]){{main_name, main_c, 5, 0}});
	add_symbol(&w, 0, 0x2001, 1, (const uint32_t[][4]){{f, main_c, 9, 0}});
	add_symbol(&w, 0, 0x2101, 1, (const uint32_t[][4]){{f, main_c, 9, 0}});
	add_symbol(&w, 0, 0x3001, 2, (const uint32_t[][4]){{g, 0, 0, 1}, {0, bad, 7, 0}});
	write_symbols(&w);
	event_alloc(&w, 1, 10, f1, 1000);
	event_alloc(&w, 1, 20, f2, 2000);
	uint64_t block = event_alloc(&w, 1, 30, g1, 60);
	event_free(&w, 1, 40, block);
	event_alloc(&w, 1, 50, g2, 70);
	event_alloc(&w, 1, 60, shared, 0);
	event_alloc(&w, 1, 70, 0, 5);
	write_events(&w);
	write_json(&w, FOOTER,
		   "{\"events\":7,\"allocations\":6,\"frees\":1,\"allocated_bytes\":3135,\"peak_bytes\":3075,"
		   "\"live_bytes\":3075,\"live_blocks\":5,\"temporary\":1,\"duration_us\":100,\"lost_"
		   "events\":2}");
	json_t *json = export(&w);
	check_stacks(json);
	CHECK_NUMBER(number(json, "dhatFileVersion"), 2);
	CHECK_TEXT(json_string_value(json_object_get(json, "mode")), "heap");
	CHECK_TEXT(json_string_value(json_object_get(json, "verb")), "Allocated");
	CHECK(json_is_true(json_object_get(json, "bklt")) && json_is_false(json_object_get(json, "bkacc")));
	CHECK_TEXT(json_string_value(json_object_get(json, "cmd")), "./prog --once");
	CHECK_TEXT(json_string_value(json_object_get(json, "tu")), "µs");
	CHECK_TEXT(json_string_value(json_object_get(json, "Mtu")), "s");
	CHECK_NUMBER(number(json, "pid"), 4711);
	CHECK_NUMBER(number(json, "te"), 100);
	CHECK_NUMBER(number(json, "tg"), 70);
	CHECK_NUMBER(number(json, "tuth"), 10);
	CHECK_NUMBER(number(json_object_get(json, "heapscope"), "lost_events"), 2);
	CHECK_NUMBER(point_count(json), 5);
	CHECK_NUMBER(sum(json, "tb"), 3135);
	CHECK_NUMBER(sum(json, "tbk"), 6);
	CHECK_NUMBER(sum(json, "gb"), 3075);
	CHECK_NUMBER(sum(json, "gbk"), 5);
	CHECK_NUMBER(sum(json, "eb"), 3075);
	CHECK_NUMBER(sum(json, "ebk"), 5);
	CHECK_TEXT(frame(json, 0, 0), "0x2100: f\"\\\x01(char const*) (main.c:9)");
	CHECK_TEXT(frame(json, 0, 1), "0x1000: main (main.c:5)");
	CHECK_NUMBER(depth(json, 0), 2);
	CHECK_TEXT(frame(json, 1, 0), "0x2000: f\"\\\x01(char const*) (main.c:9)");
	const json_t *twice = point(json, 2);
	CHECK_TEXT(frame(json, 2, 0), "0x3000: g (in /home/me/prog)");
	CHECK_TEXT(frame(json, 2, 1), "0x3000: ?"
				      "?? (\xef\xbf\xbd\xef\xbf\xbd.c:7)");
	CHECK_NUMBER(number(twice, "tb"), 130);
	CHECK_NUMBER(number(twice, "tbk"), 2);
	CHECK_NUMBER(number(twice, "mb"), 70);
	CHECK_NUMBER(number(twice, "mbk"), 1);
	CHECK_NUMBER(number(twice, "gb"), 70);
	CHECK_NUMBER(number(twice, "tl"), 10 + 50);
	CHECK_TEXT(frame(json, 3, 0), "0x0: ?"
				      "?? (stack not recorded)");
	CHECK_TEXT(frame(json, 4, 0), "0xABCDEF00: ?"
				      "?? (in ??"
				      "?)");
	json_decref(json);
}

/* Two trie nodes in two modules that the final text does not tell apart: one point. */
static void test_equal_after_naming(void)
{
	struct writer w;
	start(&w);
	add_module(&w, "/home/me/plugin.so", 0);
	write_modules(&w);
	uint32_t a = add_node(&w, 0, 0, 0x1001), b = add_node(&w, 0, 1, 0x1001);
	write_nodes(&w);
	uint32_t name = add_name(&w, "f"), file = add_name(&w, "f.c");
	add_symbol(&w, 0, 0x1001, 1, (const uint32_t[][4]){{name, file, 1, 0}});
	add_symbol(&w, 1, 0x1001, 1, (const uint32_t[][4]){{name, file, 1, 0}});
	write_symbols(&w);
	event_free(&w, 1, 1, event_alloc(&w, 1, 1, a, 100));
	event_alloc(&w, 1, 2, b, 40);
	json_t *json = export(&w);
	check_stacks(json);
	CHECK_NUMBER(point_count(json), 1);
	CHECK_NUMBER(number(point(json, 0), "tb"), 140);
	CHECK_NUMBER(number(point(json, 0), "mb"), 100);
	json_decref(json);
}

static void test_nothing_recorded(void)
{
	struct writer w;
	start(&w);
	json_t *json = export(&w);
	CHECK_NUMBER(point_count(json), 0);
	CHECK_NUMBER(number(json, "te"), 1);
	CHECK_NUMBER(number(json, "tg"), 0);
	check_stacks(json);
	json_decref(json);
}

/* main > r > r > ... > leaf, with a block at each of `depth` depths. */
static json_t *export_recursion(uint32_t count)
{
	struct writer w;
	start(&w);
	uint32_t node = add_node(&w, 0, 0, 0x1001);
	uint32_t *leaves = malloc(count * sizeof *leaves);
	for (uint32_t i = 0; i < count; i++) {
		leaves[i] = add_node(&w, node, 0, 0x2001);
		node = add_node(&w, node, 0, 0x3001);
	}
	write_nodes(&w);
	for (uint32_t i = 0; i < count; i++)
		event_alloc(&w, 1, i, leaves[i], 10);
	free(leaves);
	return export(&w);
}

/* A recursion that the viewer can lay out stays as it is; a deeper one is folded: leaf < r < main for all but
 * the first. */
static void test_recursion(void)
{
	json_t *json = export_recursion(60);
	check_stacks(json);
	CHECK_NUMBER(point_count(json), 60);
	CHECK(json_is_false(json_object_get(json_object_get(json, "heapscope"), "recursion_folded")));
	json_decref(json);
	json = export_recursion(1000);
	check_stacks(json);
	CHECK(json_is_true(json_object_get(json_object_get(json, "heapscope"), "recursion_folded")));
	CHECK_NUMBER(point_count(json), 2);
	CHECK_NUMBER(number(point(json, 0), "tb"), 9990);
	CHECK_NUMBER(number(point(json, 0), "mb"), 9990);
	CHECK_NUMBER(depth(json, 0), 3);
	CHECK_TEXT(frame(json, 0, 1), "0x3000: ?"
				      "?? (in /home/me/prog)");
	CHECK_NUMBER(number(point(json, 1), "tb"), 10);
	CHECK_NUMBER(depth(json, 1), 2);
	json_decref(json);
}

/* 300 functions, each calling the next and allocating: no recursion to fold, so stacks are cut. */
static void test_deep_chain(void)
{
	struct writer w;
	start(&w);
	uint32_t node = 0, leaves[300];
	for (uint32_t i = 0; i < 300; i++) {
		/* innermost frames are what the viewer's tree begins with */
		node = 0;
		for (uint32_t k = 0; k <= i; k++)
			node = add_node(&w, node, 0, 0x1001 + 16 * (i - k));
		leaves[i] = node;
	}
	write_nodes(&w);
	for (uint32_t i = 0; i < 300; i++)
		event_alloc(&w, 1, i, leaves[i], 10);
	json_t *json = export(&w);
	check_stacks(json);
	CHECK(json_is_true(json_object_get(json_object_get(json, "heapscope"), "stacks_cut")));
	CHECK_NUMBER(point_count(json), 65); /* depths 1 to 64, and all deeper ones */
	CHECK_NUMBER(sum(json, "tb"), 3000);
	CHECK_NUMBER(number(point(json, 0), "tb"), 2360);
	CHECK_TEXT(frame(json, 0, 63), "0x13F0: ?"
				       "?? (in /home/me/prog)");
	CHECK_TEXT(frame(json, 0, 64), "0x0: [callers beyond 64 frames] (left out)");
	json_decref(json);
}

/* 5,000 stacks and nothing live at the end: the viewer would show them all, so 2,000 stay and the others are
 * one point. Stack i allocates i + 1 bytes once; of the smallest 3,000 the sum is 3,000 * 3,001 / 2, and the
 * most at once 3,000. */
static void test_nothing_live(void)
{
	struct writer w;
	start(&w);
	for (uint32_t i = 0; i < 5000; i++)
		add_node(&w, 0, 0, 0x1001 + 16 * i);
	write_nodes(&w);
	for (uint32_t i = 0; i < 5000; i++)
		event_free(&w, 1, i, event_alloc(&w, 1, i, i + 1, i + 1));
	json_t *json = export(&w);
	check_stacks(json);
	CHECK_NUMBER(point_count(json), 2001);
	CHECK_NUMBER(sum(json, "tb"), 5000 * 5001 / 2);
	CHECK_NUMBER(sum(json, "tbk"), 5000);
	CHECK_NUMBER(sum(json, "eb"), 0);
	CHECK_NUMBER(sum(json, "gb"), 5000);
	CHECK_TEXT(frame(json, 0, 0), "0x0: [3000 small program points] (merged)");
	CHECK_NUMBER(number(point(json, 0), "tb"), 3000 * 3001 / 2);
	CHECK_NUMBER(number(point(json, 0), "tbk"), 3000);
	CHECK_NUMBER(number(point(json, 0), "mb"), 3000);
	CHECK_NUMBER(number(json_object_get(json, "heapscope"), "small_points"), 3000);
	json_decref(json);
}

/* 9,000 different innermost lines: 8,000 stay. */
static void test_many_innermost_lines(void)
{
	struct writer w;
	start(&w);
	for (uint32_t i = 0; i < 9000; i++)
		add_node(&w, 0, 0, 0x1001 + 16 * i);
	write_nodes(&w);
	for (uint32_t i = 0; i < 9000; i++)
		event_alloc(&w, 1, i, i + 1, 10 + i);
	json_t *json = export(&w);
	check_stacks(json);
	CHECK_NUMBER(point_count(json), 8001);
	CHECK_NUMBER(sum(json, "eb"), 9000 * 10 + 8999 * 9000 / 2);
	json_decref(json);
}

static void test_table(void)
{
	const struct hs_exporter *dhat = hs_exporter_find("dhat");
	CHECK(dhat != NULL);
	CHECK(hs_exporter_find("DHAT") == NULL);
	CHECK(hs_exporter_find("") == NULL);
	CHECK_TEXT(dhat->suffix, ".dhat.json");
}

/* A full disk is an error. */
static void test_full_disk(void)
{
	struct writer w;
	struct hs_error error = {""};
	struct hs_export_options options = {0};
	start(&w);
	add_node(&w, 0, 0, 0x1001);
	write_nodes(&w);
	event_alloc(&w, 1, 1, 1, 10);
	write_events(&w);
	save_bytes(path, w.file.data, w.file.count);
	struct hs_profile *profile = hs_profile_load(path, &error);
	FILE *full = fopen("/dev/full", "w");
	CHECK(profile && full && hs_exporter_find("dhat")->write(profile, &options, full, &error) == -1);
	CHECK_SAYS(error.text, "No space left on device");
	fclose(full);
	hs_profile_free(profile);
	writer_free(&w);
	unlink(path);
}

int main(void)
{
	test_points();
	test_equal_after_naming();
	test_nothing_recorded();
	test_recursion();
	test_deep_chain();
	test_nothing_live();
	test_many_innermost_lines();
	test_table();
	test_full_disk();
	return check_failures();
}
