/* The verdicts as lines of text: one a budget, and below those that are exceeded the sites behind it. */
#include "base/format.h"
#include "cli/check.h"
#include "cli/groups.h"
#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hs_number amount(const struct hs_finding *finding, uint64_t value)
{
	return hs_quantities[finding->quantity].bytes ? hs_size(value) : hs_count(value);
}

/* As it was asked for: "10.0 MiB", "5%", "0.25%". */
static struct hs_number asked(const struct hs_finding *finding)
{
	struct hs_number number;
	if (finding->asked.kind != HS_AMOUNT_PERCENT)
		return amount(finding, finding->asked.value);
	unsigned long long whole = finding->asked.value / HS_PERCENT,
			   rest = finding->asked.value % HS_PERCENT;
	int length = snprintf(number.text, sizeof(number.text), "%llu.%04llu", whole, rest);
	while (number.text[length - 1] == '0')
		length--;
	length -= number.text[length - 1] == '.';
	strcpy(number.text + length, "%");
	return number;
}

void hs_finding_name(struct hs_text *text, const struct hs_finding *finding)
{
	hs_text_addf(text, finding->growth ? "growth of %s" : "max-%s",
		     hs_quantities[finding->quantity].name);
}

static void add_limit(struct hs_text *text, const struct hs_finding *finding)
{
	bool percent = finding->asked.kind == HS_AMOUNT_PERCENT;
	if (finding->growth) {
		hs_text_addf(text, "%s, was %s", amount(finding, finding->value).text,
			     amount(finding, finding->old).text);
		if (finding->asked.value)
			hs_text_addf(text, ", %s more allowed", asked(finding).text);
	} else if (percent) {
		enum hs_quantity whole = hs_quantities[finding->quantity].whole;
		struct hs_number all =
			hs_quantities[whole].bytes ? hs_size(finding->whole) : hs_count(finding->whole);
		hs_text_addf(text, "%s (%s of %s %s), limit %s",
			     hs_share(finding->value, finding->whole).text,
			     amount(finding, finding->value).text, all.text,
			     whole == HS_QUANTITY_CALLS ? "calls" : "allocated", asked(finding).text);
	} else {
		hs_text_addf(text, "%s, limit %s", amount(finding, finding->value).text, asked(finding).text);
	}
}

void hs_finding_words(struct hs_text *text, const struct hs_finding *finding)
{
	if (finding->verdict == HS_UNTOLD) {
		hs_text_add(text,
			    "not known: the file does not tell, since it was imported, merged or cut off");
		return;
	}
	add_limit(text, finding);
	if (finding->verdict == HS_OVER)
		hs_text_addf(text, ", over by %s", amount(finding, finding->value - finding->allowed).text);
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

static void add_guilty(struct hs_text *text, const struct hs_check_report *report,
		       const struct hs_checked *checked, const struct hs_finding *finding)
{
	uint32_t count;
	uint64_t excess = finding->value - finding->allowed, rest = 0;
	struct hs_guilty *list = hs_guilty_find(report, checked, finding, &count);
	uint64_t rows =
		report->options->rows && report->options->rows < count ? report->options->rows : count;
	const struct hs_report side = {.profile = checked->opened.profile,
				       .sites = &checked->opened.sites,
				       .columns = report->columns,
				       .utf8 = report->utf8};
	size_t width = 0;
	for (uint32_t i = 0; i < rows; i++) {
		size_t length = strlen(amount(finding, list[i].weight).text) + finding->growth;
		width = length > width ? length : width;
	}
	if (rows) {
		hs_text_add(text, HS_DIM "      ");
		hs_text_right(text, finding->growth ? "grew" : "has", width < 4 ? 4 : width);
		hs_text_add(text, "  of excess  site" HS_PLAIN "\n");
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_guilty *guilty = &list[i];
		if (i >= rows) {
			rest += guilty->weight;
			continue;
		}
		struct hs_text value = {0};
		hs_text_addf(&value, "%s%s", finding->growth ? "+" : "",
			     amount(finding, guilty->weight).text);
		hs_text_add(text, "      ");
		hs_text_right(text, value.bytes, width < 4 ? 4 : width);
		hs_text_add(text, "  ");
		hs_text_right(text, hs_share(guilty->weight < excess ? guilty->weight : excess, excess).text,
			      9);
		hs_text_add(text, "  ");
		size_t left = report->columns > width + 60 ? report->columns - width - 46 : 24;
		hs_frame_row(text, &side, guilty->site->own, left, 24);
		hs_text_add(text, "\n");
		hs_text_free(&value);
	}
	if (rows < count)
		hs_text_addf(text, "      %s more site%s, %s; -n 0 shows all\n", hs_count(count - rows).text,
			     count - rows == 1 ? "" : "s", amount(finding, rest).text);
	free(list);
}

/* ---- lines ----------------------------------------------------------------------------------------------
 */

static void add_line(struct hs_text *text, const struct hs_check_report *report, const char *state,
		     const char *name, const char *words)
{
	const struct hs_report side = {.columns = report->columns, .utf8 = report->utf8};
	struct hs_text head = {0};
	bool good = strcmp(state, "OK") == 0;
	hs_text_add(&head, good ? "" : HS_BOLD);
	hs_text_left(&head, state, 4);
	hs_text_add(&head, good ? "  " : HS_PLAIN "  ");
	hs_text_left(&head, name, 19);
	hs_text_add(&head, " ");
	hs_report_paragraph(text, &side, head.bytes, words);
	hs_text_free(&head);
}

static void add_section(struct hs_text *text, const struct hs_check_report *report, uint32_t section)
{
	const struct hs_patterns *site = &report->budgets->sections[section].site;
	if (!site->count)
		return;
	hs_text_add(text, HS_DIM "sites that match ");
	hs_text_clean(text, site->items[0].text);
	hs_text_add(text, ":" HS_PLAIN "\n");
}

static void add_path(struct hs_text *text, const char *label, const struct hs_checked *checked)
{
	hs_text_addf(text, "%s" HS_BOLD, label);
	hs_text_clean(text, checked->path);
	hs_text_add(text, HS_PLAIN ": ");
	const struct hs_facts *facts = &checked->opened.profile->facts;
	struct hs_text line = {0};
	for (char **word = facts->command; word && *word; word++) {
		hs_text_add(&line, word == facts->command ? "" : " ");
		hs_text_shell_word(&line, *word);
	}
	hs_text_clean(text, line.count ? line.bytes : facts->program ? facts->program : "(unknown program)");
	hs_text_free(&line);
	hs_text_add(text, "\n");
}

static void add_notes(struct hs_text *text, const struct hs_check_report *report,
		      const struct hs_checked *checked)
{
	const struct hs_report side = {.columns = report->columns, .utf8 = report->utf8};
	struct hs_text words = {0};
	hs_suppressed_words(&words, checked->opened.profile, &checked->opened.sites);
	if (words.count)
		hs_report_paragraph(text, &side, "not leaked: ", words.bytes);
	hs_text_free(&words);
	if (checked->opened.profile->facts.end == HS_END_SIGNAL)
		hs_report_paragraph(text, &side, "note: ",
				    "a signal killed the program: what it would have freed counts as leaked");
	if (checked->opened.profile->facts.lsan_unread && !report->options->suppress.off)
		hs_report_paragraph(
			text, &side, "note: ",
			"the program's __lsan_default_suppressions does more than return a constant "
			"string, so its rules are not known; --suppressions FILE gives them");
	uint64_t broken = checked->opened.profile->facts.broken_stacks +
			  checked->opened.profile->facts.truncated_stacks;
	if (broken && report->budgets->count > 1)
		hs_report_paragraph(text, &side, "note: ",
				    "some stacks lack their outer callers: sites that match those have less "
				    "than is theirs");
}

static uint32_t add_recording(struct hs_text *text, const struct hs_check_report *report,
			      const struct hs_checked *checked)
{
	static const char *const states[] = {[HS_WITHIN] = "OK", [HS_OVER] = "OVER", [HS_UNTOLD] = "????"};
	bool lenient = report->options->allow_incomplete;
	uint32_t section = 0;
	add_path(text, "", checked);
	if (checked->incomplete)
		add_line(text, report, lenient ? "OK" : "FAIL", "incomplete", checked->incomplete);
	for (uint32_t i = 0; i < checked->check.count; i++) {
		const struct hs_finding *finding = &checked->check.items[i];
		struct hs_text name = {0}, words = {0};
		if (finding->section != section)
			add_section(text, report, finding->section);
		section = finding->section;
		hs_finding_name(&name, finding);
		hs_finding_words(&words, finding);
		add_line(text, report, states[finding->verdict], name.bytes, words.bytes);
		if (finding->verdict == HS_OVER)
			add_guilty(text, report, checked, finding);
		hs_text_free(&name);
		hs_text_free(&words);
	}
	add_notes(text, report, checked);
	return checked->check.over;
}

void hs_check_text(struct hs_text *text, const struct hs_check_report *report)
{
	uint64_t over = 0, untold = 0, incomplete = 0, all = 0;
	bool lenient = report->options->allow_incomplete;
	if (report->baseline) {
		add_path(text, "against ", report->baseline);
		if (report->baseline->incomplete)
			add_line(text, report, lenient ? "OK" : "FAIL", "incomplete",
				 report->baseline->incomplete);
		incomplete += report->baseline->incomplete && !lenient;
	}
	for (size_t i = 0; i < report->count; i++) {
		const struct hs_checked *checked = &report->checked[i];
		hs_text_add(text, i ? "\n" : "");
		add_recording(text, report, checked);
		over += checked->check.over;
		untold += checked->check.untold;
		all += checked->check.count;
		incomplete += checked->incomplete && !lenient;
	}
	if (over)
		hs_text_addf(text, HS_BOLD "%s of %s exceeded" HS_PLAIN "\n", hs_count(over).text,
			     hs_counted(all, "budget").text);
	if (untold)
		hs_text_addf(text, HS_BOLD "%s could not be checked" HS_PLAIN "\n",
			     hs_counted(untold, "budget").text);
	if (incomplete)
		hs_text_addf(text,
			     HS_BOLD "%s incomplete, so its numbers prove nothing; --allow-incomplete lets "
				     "it pass" HS_PLAIN "\n",
			     incomplete == 1 ? "1 recording is" : "recordings are");
	if (!over && !untold && !incomplete)
		hs_text_addf(text, "%s kept\n", hs_counted(all, "budget").text);
}
