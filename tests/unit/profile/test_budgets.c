/* Budgets: amounts, files of them, verdicts, with values worked out by hand. */
#include "check.h"
#include "profile/check.h"

#include <stdlib.h>
#include <string.h>

static struct hs_error error;

static void amounts(void)
{
	static const struct {
		enum hs_quantity quantity;
		const char *text;
		int kind; /* -1: refused */
		uint64_t value;
	} cases[] = {
		{HS_QUANTITY_PEAK, "0", HS_AMOUNT_VALUE, 0},
		{HS_QUANTITY_PEAK, "10MiB", HS_AMOUNT_VALUE, 10485760},
		{HS_QUANTITY_PEAK, "10M", HS_AMOUNT_VALUE, 10485760},
		{HS_QUANTITY_PEAK, "10 MB", HS_AMOUNT_VALUE, 10000000},
		{HS_QUANTITY_PEAK, "1.5KiB", HS_AMOUNT_VALUE, 1536},
		{HS_QUANTITY_PEAK, "0.1G", HS_AMOUNT_VALUE, 107374182}, /* 107374182.4 */
		{HS_QUANTITY_PEAK, "8388607T", HS_AMOUNT_VALUE, 9223370937343148032u},
		{HS_QUANTITY_PEAK, "8388608T", -1, 0},
		{HS_QUANTITY_PEAK, "99999999999999999999", -1, 0},
		{HS_QUANTITY_PEAK, "5%", -1, 0},
		{HS_QUANTITY_PEAK, "10mib", HS_AMOUNT_VALUE, 10485760},
		{HS_QUANTITY_PEAK, "1g", HS_AMOUNT_VALUE, 1073741824},
		{HS_QUANTITY_PEAK, "10mi", -1, 0},
		{HS_QUANTITY_PEAK, "10.MiB", -1, 0},
		{HS_QUANTITY_PEAK, "-1", -1, 0},
		{HS_QUANTITY_PEAK, "", -1, 0},
		{HS_QUANTITY_CALLS, "1000", HS_AMOUNT_VALUE, 1000},
		{HS_QUANTITY_CALLS, "1.5", -1, 0},
		{HS_QUANTITY_CALLS, "10K", -1, 0},
		{HS_QUANTITY_TEMPORARY, "5%", HS_AMOUNT_PERCENT, 50000},
		{HS_QUANTITY_TEMPORARY, "0.25 %", HS_AMOUNT_PERCENT, 2500},
		{HS_QUANTITY_LEAKED, "100%", HS_AMOUNT_PERCENT, 1000000},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct hs_budgets budgets = {0};
		CHECK_NUMBER(hs_budgets_section(&budgets, NULL, &error), 0);
		int result = hs_budgets_limit(&budgets, 0, cases[i].quantity, cases[i].text, &error);
		CHECK_NUMBER(result * 100 + (int)i, (cases[i].kind < 0 ? -1 : 0) * 100 + (int)i);
		const struct hs_amount *amount = &budgets.sections[0].limits[cases[i].quantity];
		if (result == 0) {
			CHECK_NUMBER(amount->kind, cases[i].kind);
			CHECK_NUMBER(amount->value, cases[i].value);
		}
		hs_budgets_free(&budgets);
	}
	const struct hs_amount third = {HS_AMOUNT_PERCENT, 333333}; /* 33.3333% */
	CHECK_NUMBER(hs_amount_of(&third, 300), 99);
	CHECK_NUMBER(hs_amount_of(&third, UINT64_MAX),
		     6148908542321825968u); /* floor(0.333333 * (2^64 - 1)) */
}

static int read_text(struct hs_budgets *budgets, const char *text)
{
	return hs_budgets_read(budgets, "b", text, strlen(text), &error);
}

static void files(void)
{
	struct hs_budgets budgets = {0};
	CHECK_NUMBER(read_text(&budgets, "# all\nmax-peak = 10MiB\n max-temporary=5% \r\n\n"
					 "tolerance = 2%, leaked=0 , moved=1K, calls = off\n"
					 "[site ^cache_|lru]\nmax-leaked = 0\n[all]\nmax-calls = 7\n"
					 "[ site  ^cache_|lru ]\nmax-own-peak = 1K\ntolerance = 1%\n"),
		     0);
	CHECK_NUMBER(budgets.count, 2);
	const struct hs_budget_section *all = &budgets.sections[0], *site = &budgets.sections[1];
	CHECK_NUMBER(all->limits[HS_QUANTITY_PEAK].value, 10485760);
	CHECK_NUMBER(all->limits[HS_QUANTITY_TEMPORARY].value, 50000);
	CHECK_NUMBER(all->limits[HS_QUANTITY_CALLS].value, 7);
	CHECK_NUMBER(all->limits[HS_QUANTITY_LEAKED].kind, HS_AMOUNT_NONE);
	CHECK_NUMBER(all->tolerance.value, 20000);
	CHECK_NUMBER(all->tolerances[HS_QUANTITY_LEAKED].kind, HS_AMOUNT_VALUE);
	CHECK_NUMBER(all->tolerances[HS_QUANTITY_MOVED].value, 1024);
	CHECK_NUMBER(all->tolerances[HS_QUANTITY_CALLS].kind, HS_AMOUNT_OFF);
	CHECK_TEXT(site->site.items[0].text, "^cache_|lru");
	CHECK_NUMBER(site->limits[HS_QUANTITY_LEAKED].kind, HS_AMOUNT_VALUE);
	CHECK_NUMBER(site->limits[HS_QUANTITY_OWN_PEAK].value, 1024);
	CHECK_NUMBER(site->tolerance.value, 10000);
	hs_budgets_free(&budgets);

	static const char *const wrong[][2] = {
		{"max-peak 10", "b, line 1: \"max-peak 10\" is no budget"},
		{"\nmax-peek = 10", "b, line 2: there is no budget \"max-peek\""},
		{"max-peak = much", "b, line 1: peak wants bytes like 10MiB, not \"much\""},
		{"[cache]", "b, line 1: a section is [site EXPRESSION]"},
		{"[site]", "b, line 1: a section is [site EXPRESSION]"},
		{"[site x", "b, line 1: a section ends with ]"},
		{"[site (]", "b, line 1: "},
		{"[", "b, line 1: "},
		{"[site x]\nmax-peak-rss = 1", "b, line 2: peak-rss is of the whole process"},
		{"tolerance = 5", "b, line 1: tolerance wants a percentage"},
		{"tolerance = size=5", "b, line 1: there is no \"size\""},
		{"tolerance = off", "b, line 1: tolerance wants a percentage"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CHECK_NUMBER(read_text(&budgets, wrong[i][0]), -1);
		if (strstr(error.text, wrong[i][1]) != error.text)
			CHECK_TEXT(error.text, wrong[i][1]);
		hs_budgets_free(&budgets);
	}
}

/* ---- verdicts -------------------------------------------------------------------------------------------
 */

static char *strings[] = {"", "parse", "cache_put", "/a/prog"};
static struct hs_module modules[] = {{.path = 3, .flags = 1}};
static struct hs_frame frames[] = {{.function = 1, .module = 0}, {.function = 2, .module = 0}};
static uint32_t stacks[][1] = {{0}, {1}};

struct side {
	struct hs_site items[2];
	struct hs_counts counts[2];
	struct hs_profile profile;
	struct hs_sites sites;
};

static void make_side(struct side *side, uint64_t cache_peak, uint64_t temporary)
{
	*side = (struct side){
		.items = {{.frames = stacks[0], .frame_count = 1, .counts = &side->counts[0]},
			  {.frames = stacks[1], .frame_count = 1, .own = 1, .counts = &side->counts[1]}},
		.counts = {{.allocations = 100, .allocated_bytes = 1000, .temporary = temporary},
			   {.allocations = 10,
			    .allocated_bytes = cache_peak,
			    .peak_bytes = cache_peak,
			    .peak_blocks = 10,
			    .live_bytes = 300,
			    .live_blocks = 3,
			    .suppressed_bytes = 200,
			    .suppressed_blocks = 2}},
		.profile = {.strings = {.items = strings, .count = 4},
			    .modules = modules,
			    .module_count = 1,
			    .frames = frames,
			    .frame_count = 2},
	};
	side->sites = (struct hs_sites){.items = side->items, .count = 2};
	side->sites.replay.totals.counts.peak_bytes = cache_peak;
}

static void finding(const struct hs_check *check, uint32_t index, enum hs_quantity quantity,
		    enum hs_verdict verdict, uint64_t value, uint64_t allowed)
{
	CHECK_NUMBER(check->count > index, 1);
	if (check->count <= index)
		return;
	CHECK_NUMBER(check->items[index].quantity, quantity);
	CHECK_NUMBER(check->items[index].verdict, verdict);
	CHECK_NUMBER(check->items[index].value, value);
	CHECK_NUMBER(check->items[index].allowed, allowed);
}

static void verdicts(void)
{
	struct side new, old;
	struct hs_budgets budgets = {0};
	struct hs_check check;
	make_side(&new, 5100, 23);
	make_side(&old, 5000, 20);
	const struct hs_check_side new_side = {&new.profile, &new.sites},
				   old_side = {&old.profile, &old.sites};

	CHECK_NUMBER(read_text(&budgets, "max-peak = 5100\nmax-leaked = 99\nmax-leaked-blocks = 1\n"
					 "max-temporary = 20%\nmax-peak-rss = 1\n"
					 "[site cache]\nmax-calls = 9\nmax-temporary = 0%\n"),
		     0);
	CHECK_NUMBER(hs_check_make(&check, &budgets, &new_side, NULL, &error), 0);
	CHECK_NUMBER(check.count, 7);
	finding(&check, 0, HS_QUANTITY_PEAK, HS_WITHIN, 5100, 5100);
	finding(&check, 1, HS_QUANTITY_LEAKED, HS_OVER, 100, 99); /* 300 live, 200 suppressed */
	finding(&check, 2, HS_QUANTITY_LEAKED_BLOCKS, HS_WITHIN, 1, 1);
	finding(&check, 3, HS_QUANTITY_TEMPORARY, HS_OVER, 23, 22); /* 20% of 110 calls */
	CHECK_NUMBER(check.items[4].verdict, HS_UNTOLD);            /* no resident size in this one */
	finding(&check, 5, HS_QUANTITY_CALLS, HS_OVER, 10, 9);
	finding(&check, 6, HS_QUANTITY_TEMPORARY, HS_WITHIN, 0, 0);
	CHECK_NUMBER(check.items[6].whole, 10);
	CHECK_NUMBER(check.over, 3);
	CHECK_NUMBER(check.untold, 1);
	CHECK_NUMBER(check.new_sites[1].count, 1);
	hs_check_free(&check);
	hs_budgets_free(&budgets);

	/* against the baseline: peak 5000 -> 5100 (+2%), temporary 20 -> 23, leaked the same */
	CHECK_NUMBER(read_text(&budgets,
			       "tolerance = 2%, allocated=99, leaked=off\n[site parse]\ntolerance=15%\n"),
		     0);
	CHECK_NUMBER(hs_check_make(&check, &budgets, &new_side, &old_side, &error), 0);
	CHECK_NUMBER(check.count, 4 + 5);
	finding(&check, 0, HS_QUANTITY_PEAK, HS_WITHIN, 5100, 5100);
	CHECK_NUMBER(check.items[0].old, 5000);
	finding(&check, 1, HS_QUANTITY_ALLOCATED, HS_OVER, 6100, 6099);
	finding(&check, 2, HS_QUANTITY_CALLS, HS_WITHIN, 110, 112);
	finding(&check, 3, HS_QUANTITY_TEMPORARY, HS_OVER, 23, 20);
	finding(&check, 8, HS_QUANTITY_TEMPORARY, HS_WITHIN, 23, 23); /* 20 + 15% */
	CHECK_NUMBER(check.items[8].section, 1);
	hs_check_free(&check);

	/* what a file does not tell is not taken for 0 */
	new.sites.replay.unknown = HS_TOLD_PEAK_BYTES;
	CHECK_NUMBER(hs_check_make(&check, &budgets, &new_side, &old_side, &error), 0);
	CHECK_NUMBER(check.items[0].verdict, HS_UNTOLD);
	hs_check_free(&check);
	hs_budgets_free(&budgets);
}

int main(void)
{
	amounts();
	files();
	verdicts();
	return check_failures();
}
