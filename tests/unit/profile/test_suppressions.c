/* LeakSanitizer's patterns and files of them, which rule a stack gets, and that live = leaked + suppressed.
 * The answers of the patterns are those of LeakSanitizer (tests/e2e/test_suppressions.py asks it). */
#include "check.h"
#include "profile/metrics.h"
#include "profile/suppressions.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

static void patterns(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{"foo", "foo", true},
		{"foo", "a foo b", true},
		{"foo", "fo", false},
		{"foo", "", false},
		{"*", "", false},
		{"*", "x", true},
		{"^foo", "foobar", true},
		{"^foo", "barfoo", false},
		{"foo$", "barfoo", true},
		{"foo$", "foobar", false},
		{"^foo$", "foo", true},
		{"^foo$", "foo ", false},
		{"foo*bar", "xfoo--barx", true},
		{"foo*bar", "bar foo", false},
		{"^*foo", "barfoo", true},
		{"foo*$", "foobar", true},
		{"foo$", "foofoo", false}, /* the first place counts */
		{"^foo*bar$", "foo1bar", true},
		{"^foo*bar$", "foo1bar2bar", false},
		{"a$b", "a", true}, /* what follows $ does not count */
		{"a^b", "a^b", true},
		{"foo**bar", "fooXbar", true},
		{"foo", "FOO", false},
		{"std::vector<*>::push_back", "std::vector<int>::push_back(int&&)", true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_NUMBER(hs_suppression_matches(cases[i].pattern, cases[i].text) * 1000 + i,
			     cases[i].matches * 1000 + i);
}

static int read_text(struct hs_suppressions *rules, const char *text, struct hs_error *error)
{
	return hs_suppressions_read(rules, HS_SUPPRESSION_FILE, "rules", text, strlen(text), error);
}

static void files(void)
{
	struct hs_suppressions rules = {0};
	struct hs_error error;
	CHECK_NUMBER(
		read_text(&rules, "# comment\n\n \tleak:one \t\r\nleak: two\n   # more\nleak:#x", &error), 0);
	CHECK_NUMBER(rules.count, 3);
	CHECK_TEXT(rules.items[0].pattern, "one");
	CHECK_NUMBER(rules.items[0].line, 3);
	CHECK_TEXT(rules.items[1].pattern, " two");
	CHECK_TEXT(rules.items[2].pattern, "#x");
	CHECK_NUMBER(rules.items[2].line, 6);
	hs_suppressions_free(&rules);

	CHECK_NUMBER(read_text(&rules, "leak:good\nrace:bad\nleak:never", &error), -1);
	CHECK_NUMBER(rules.count, 1);
	CHECK_NUMBER(strstr(error.text, "rules, line 2: \"race:bad\" is no suppression") != NULL, 1);
	hs_suppressions_free(&rules);
	CHECK_NUMBER(read_text(&rules, "leak:", &error), -1);
	CHECK_NUMBER(read_text(&rules, "leak", &error), -1);
	CHECK_NUMBER(hs_suppressions_read(&rules, HS_SUPPRESSION_FILE, "x", "leak:a\0b", 8, &error), -1);
	CHECK_NUMBER(read_text(&rules, "", &error), 0);
	hs_suppressions_free(&rules);
}

enum { MAIN_LINE = 0x100, PUT_LINE = 0x200, HELPER_LINE = 0x300 };

/* main > put > malloc's caller in libc (doallocate): 1000 bytes live; main > put: 10 live, 5 freed; main >
 * put > the same function in the program: 200 live. */
static struct hs_profile *make_profile(void)
{
	static const uint32_t frames[][4] = {{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0}};
	struct writer writer;
	struct hs_error error = {{0}};
	writer_start(&writer);
	write_header(&writer);
	int program = (int)add_module(&writer, "/a/prog", MAIN_PROGRAM);
	int libc = (int)add_module(&writer, "/lib/libc.so.6", 0);
	write_modules(&writer);
	uint32_t main_node = add_node(&writer, 0, program, MAIN_LINE);
	uint32_t put = add_node(&writer, main_node, program, PUT_LINE);
	uint32_t kept = add_node(&writer, put, libc, HELPER_LINE);
	uint32_t own = add_node(&writer, put, program, HELPER_LINE);
	write_nodes(&writer);
	event_alloc(&writer, 1, 10, kept, 1000);
	event_alloc(&writer, 1, 20, put, 10);
	uint64_t freed = event_alloc(&writer, 1, 30, put, 5);
	event_alloc(&writer, 1, 40, own, 200);
	event_free(&writer, 1, 50, freed);
	write_events(&writer);
	add_name(&writer, "main");
	add_name(&writer, "put");
	add_name(&writer, "_IO_file_doallocate");
	add_symbol(&writer, program, MAIN_LINE, 1, &frames[0]);
	add_symbol(&writer, program, PUT_LINE, 1, &frames[1]);
	add_symbol(&writer, program, HELPER_LINE, 1, &frames[2]);
	add_symbol(&writer, libc, HELPER_LINE, 1, &frames[2]);
	write_symbols(&writer);
	write_json(&writer, FOOTER, "{\"end\":{\"exit\":0}}");
	struct hs_profile *profile = hs_profile_load(save(&writer), &error);
	writer_free(&writer);
	CHECK_NUMBER(profile != NULL, 1);
	return profile;
}

/* One sum of all sites. */
struct one_sum {
	uint32_t *of_site;
	struct hs_counts counts;
};

static struct hs_site_sums want_one_sum(const struct hs_sites *sites, void *context)
{
	struct one_sum *sum = context;
	sum->of_site = calloc(sites->count, sizeof *sum->of_site);
	return (struct hs_site_sums){sum->of_site, &sum->counts};
}

/* The same of sites that are only begun. */
static void check_begun(struct hs_profile *profile, uint64_t suppressed)
{
	struct hs_sites sites;
	struct hs_error error = {{0}};
	struct one_sum sum = {0};
	struct hs_meanwhile meanwhile = {NULL, want_one_sum, &sum};
	uint32_t count;
	uint64_t of_rules = 0;
	CHECK_NUMBER(hs_sites_begin(profile, false, &meanwhile, &sites, &error), 0);
	struct hs_suppressed *list = hs_suppressed_list(profile, &sites, &count);
	for (uint32_t i = 0; i < count; i++)
		of_rules += list[i].bytes;
	CHECK_NUMBER(sites.replay.totals.counts.suppressed_bytes, suppressed);
	CHECK_NUMBER(of_rules, suppressed);
	CHECK_NUMBER(sum.counts.live_bytes, 1210);
	CHECK_NUMBER(sum.counts.suppressed_bytes, suppressed);
	free(list);
	free(sum.of_site);
	hs_sites_free(&sites);
}

/* Applies rules; returns the bytes that are suppressed, and what the first rule of the list did. */
static uint64_t suppress(const char *text, bool built_in, struct hs_suppressed *first)
{
	struct hs_profile *profile = make_profile();
	struct hs_suppressions rules = {0};
	struct hs_sites sites;
	struct hs_error error = {{0}};
	uint32_t count;
	CHECK_NUMBER(read_text(&rules, text, &error), 0);
	if (built_in)
		hs_suppressions_add_built_in(&rules);
	hs_suppressions_apply(&rules, profile);
	CHECK_NUMBER(hs_sites_make(profile, false, &sites, &error), 0);
	const struct hs_counts *totals = &sites.replay.totals.counts;
	uint64_t suppressed = totals->suppressed_bytes, of_sites = 0, leaked = 0, of_rules = 0;
	for (uint32_t i = 0; i < sites.count; i++) {
		of_sites += sites.items[i].counts->suppressed_bytes;
		leaked += hs_metric_value(sites.items[i].counts, HS_METRIC_LEAKED);
	}
	struct hs_suppressed *list = hs_suppressed_list(profile, &sites, &count);
	for (uint32_t i = 0; i < count; i++)
		of_rules += list[i].bytes;
	if (first && count)
		*first = list[0];
	CHECK_NUMBER(totals->live_bytes, 1210);
	CHECK_NUMBER(of_sites, suppressed);
	CHECK_NUMBER(of_rules, suppressed);
	CHECK_NUMBER(leaked, 1210 - suppressed);
	free(list);
	hs_sites_free(&sites);
	check_begun(profile, suppressed);
	hs_profile_free(profile);
	hs_suppressions_free(&rules);
	return suppressed;
}

static void rules(void)
{
	struct hs_suppressed first = {0};
	CHECK_NUMBER(suppress("", false, NULL), 0);
	CHECK_NUMBER(suppress("leak:nothing\n", false, NULL), 0);
	CHECK_NUMBER(suppress("leak:^main$\n", false, &first), 1210);
	CHECK_NUMBER(first.blocks, 3);
	CHECK_NUMBER(suppress("leak:doallocate\n", false, &first), 1200);
	CHECK_NUMBER(first.blocks, 2);
	CHECK_NUMBER(suppress("leak:libc.so\n", false, NULL), 1000); /* a module */
	/* the innermost frame that any rule matches decides, then the order of the rules */
	CHECK_NUMBER(suppress("leak:main\nleak:doallocate\n", false, &first), 1210);
	CHECK_NUMBER(first.rule, 1);
	CHECK_NUMBER(first.bytes, 1200);
	CHECK_NUMBER(suppress("leak:put\nleak:^put\n", false, &first), 1210);
	CHECK_NUMBER(first.rule, 0);
	/* built-in: only where libc's own frames have that name */
	CHECK_NUMBER(suppress("", true, &first), 1000);
	CHECK_NUMBER(first.blocks, 1);
	/* the user's rules come first */
	CHECK_NUMBER(suppress("leak:put\n", true, &first), 1210);
	CHECK_NUMBER(first.rule, 0);
}

/* So many nodes that the rules are found while stacks are made: main > even and main > odd in turn, one block
 * of 3 bytes each. */
static void many_nodes(void)
{
	enum { MANY = 20000 };
	static const uint32_t frames[][4] = {{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0}};
	struct writer writer;
	struct hs_error error = {{0}};
	struct hs_suppressions rules = {0};
	struct hs_sites sites;
	writer_start(&writer);
	write_header(&writer);
	int program = (int)add_module(&writer, "/a/prog", MAIN_PROGRAM);
	write_modules(&writer);
	uint32_t main_node = add_node(&writer, 0, program, MAIN_LINE), first = main_node + 1;
	for (uint32_t i = 0; i < MANY; i++)
		add_node(&writer, main_node, program, PUT_LINE + 16 * i);
	write_nodes(&writer);
	for (uint32_t i = 0; i < MANY; i++)
		event_alloc(&writer, 1, 10, first + i, 3);
	write_events(&writer);
	add_name(&writer, "main");
	add_name(&writer, "even");
	add_name(&writer, "odd");
	add_symbol(&writer, program, MAIN_LINE, 1, &frames[0]);
	for (uint32_t i = 0; i < MANY; i++)
		add_symbol(&writer, program, PUT_LINE + 16 * i, 1, &frames[1 + i % 2]);
	write_symbols(&writer);
	write_json(&writer, FOOTER, "{\"end\":{\"exit\":0}}");
	struct hs_profile *profile = hs_profile_load(save(&writer), &error);
	writer_free(&writer);
	CHECK_NUMBER(profile != NULL, 1);
	CHECK_NUMBER(read_text(&rules, "leak:odd\n", &error), 0);
	hs_suppressions_apply(&rules, profile);
	CHECK_NUMBER(hs_sites_make(profile, false, &sites, &error), 0);
	CHECK_NUMBER(sites.count, 2);
	CHECK_NUMBER(sites.replay.totals.counts.live_bytes, 60000);
	CHECK_NUMBER(sites.replay.totals.counts.suppressed_bytes, 30000);
	CHECK_NUMBER(sites.replay.totals.counts.suppressed_blocks, 10000);
	hs_sites_free(&sites);
	hs_profile_free(profile);
	hs_suppressions_free(&rules);
}

/* Each of 4100 functions, of which there are rules, calls 16 of libc that have built-in ones each: so there
 * are 4100 * 17 kinds of nodes, more than 16 bits tell apart, and the user's rules hold. */
static void many_kinds(void)
{
	enum { FUNCTIONS = 4100 };
	static const char *const kept[] = {
		"setlocale", "_nl_x",   "gettext", "textdomain", "set_binding_values", "tz",
		"__tz",      "gmtime",  "mktime",  "timelocal",  "strftime",           "setenv",
		"putenv",    "on_exit", "__nss_x", "nss_x"};
	enum { KEPT = sizeof kept / sizeof *kept };
	struct writer writer;
	struct hs_error error = {{0}};
	struct hs_suppressions rules = {0};
	char text[32];
	writer_start(&writer);
	write_header(&writer);
	int program = (int)add_module(&writer, "/a/prog", MAIN_PROGRAM);
	int libc = (int)add_module(&writer, "/lib/libc.so.6", 0);
	write_modules(&writer);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t node = add_node(&writer, 0, program, 0x1000 + 16 * i);
		for (uint32_t k = 0; k < KEPT; k++)
			add_node(&writer, node, libc, 0x1000 + 16 * k);
		snprintf(text, sizeof text, "leak:^f%u$\n", i);
		CHECK_NUMBER(read_text(&rules, text, &error), 0);
	}
	write_nodes(&writer);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(text, sizeof text, "f%u", i);
		add_symbol(&writer, program, 0x1000 + 16 * i, 1,
			   (const uint32_t[][4]){{add_name(&writer, text), 0, 0, 0}});
	}
	for (uint32_t k = 0; k < KEPT; k++)
		add_symbol(&writer, libc, 0x1000 + 16 * k, 1,
			   (const uint32_t[][4]){{add_name(&writer, kept[k]), 0, 0, 0}});
	write_symbols(&writer);
	write_json(&writer, FOOTER, "{\"end\":{\"exit\":0}}");
	struct hs_profile *profile = hs_profile_load(save(&writer), &error);
	writer_free(&writer);
	CHECK_NUMBER(profile != NULL, 1);
	hs_suppressions_add_built_in(&rules);
	hs_suppressions_apply(&rules, profile);
	hs_suppressions_find(profile);
	CHECK_NUMBER(rules.kind_of_node_high != NULL, 1);
	CHECK_NUMBER(hs_suppression_of(profile, 0), 0);
	for (uint32_t id = 1; id < profile->node_count; id++)
		CHECK_NUMBER(hs_suppression_of(profile, id), (id - 1) / (1 + KEPT) + 1);
	hs_profile_free(profile);
	hs_suppressions_free(&rules);
}

int main(void)
{
	patterns();
	files();
	rules();
	many_nodes();
	many_kinds();
	return check_failures();
}
