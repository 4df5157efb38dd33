/* The verdicts as JUnit XML, for CI systems: a suite a recording, a case a budget. Valid against the schemas
 * of Jenkins' xUnit plug-in and of Ant's JUnit task, which are the strictest in use: all attributes that
 * either asks for, none that one of them does not know. */
#include "base/format.h"
#include "cli/check.h"
#include "cli/groups.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SITES_SHOWN = 10 };

/* Text of unknown origin: XML 1.0 has no control characters at all, not even escaped, and wants UTF-8. */
static void add_escaped(struct hs_text *xml, const char *added)
{
	size_t count = strlen(added), length;
	for (size_t at = 0; at < count; at += length) {
		int point = hs_text_decode(added + at, count - at, &length);
		if (point < 0 || (point < 0x20 && point != '\n' && point != '\t') || point == 0xfffe ||
		    point == 0xffff)
			hs_text_add(xml, "\xef\xbf\xbd");
		else if (point == '&')
			hs_text_add(xml, "&amp;");
		else if (point == '<')
			hs_text_add(xml, "&lt;");
		else if (point == '>')
			hs_text_add(xml, "&gt;");
		else if (point == '"')
			hs_text_add(xml, "&quot;");
		else if (point == '\n' || point == '\t')
			hs_text_addf(xml, "&#%d;",
				     point); /* an attribute's line breaks would become spaces */
		else
			hs_text_add_bytes(xml, added + at, length);
	}
}

static void add_attribute(struct hs_text *xml, const char *name, const char *value)
{
	hs_text_addf(xml, " %s=\"", name);
	add_escaped(xml, value);
	hs_text_add(xml, "\"");
}

/* As <testcase> has it; message NULL: it passed. */
static void add_case(struct hs_text *xml, const struct hs_checked *checked, const char *name,
		     const char *type, const char *message, const char *details)
{
	hs_text_add(xml, "    <testcase");
	add_attribute(xml, "name", name);
	add_attribute(xml, "classname", checked->path);
	add_attribute(xml, "time", "0");
	if (!message) {
		hs_text_add(xml, "/>\n");
		return;
	}
	hs_text_add(xml, ">\n      <failure");
	add_attribute(xml, "type", type);
	add_attribute(xml, "message", message);
	hs_text_add(xml, ">");
	add_escaped(xml, details ? details : message);
	hs_text_add(xml, "</failure>\n    </testcase>\n");
}

static void add_sites(struct hs_text *text, const struct hs_check_report *report,
		      const struct hs_checked *checked, const struct hs_finding *finding)
{
	uint32_t count;
	struct hs_guilty *list = hs_guilty_find(report, checked, finding, &count);
	const struct hs_report side = {
		.profile = checked->opened.profile, .sites = &checked->opened.sites, .utf8 = true};
	for (uint32_t i = 0; i < count && i < SITES_SHOWN; i++) {
		uint32_t frame = list[i].site->own;
		bool bytes = hs_quantities[finding->quantity].bytes;
		hs_text_addf(text, "\n%s%s  ", finding->growth ? "+" : "",
			     (bytes ? hs_size(list[i].weight) : hs_count(list[i].weight)).text);
		hs_frame_name(text, &side, frame, 120);
		hs_text_add(text, "  ");
		hs_frame_place(text, &side, frame, 120);
	}
	free(list);
}

static void add_finding(struct hs_text *xml, const struct hs_check_report *report,
			const struct hs_checked *checked, const struct hs_finding *finding)
{
	static const char *const types[] = {
		[HS_WITHIN] = "", [HS_OVER] = "over budget", [HS_UNTOLD] = "unknown"};
	const struct hs_patterns *site = &report->budgets->sections[finding->section].site;
	struct hs_text name = {0}, words = {0}, details = {0};
	hs_finding_name(&name, finding);
	if (site->count)
		hs_text_addf(&name, " of sites that match %s", site->items[0].text);
	hs_finding_words(&words, finding);
	hs_text_add(&details, words.bytes);
	add_sites(&details, report, checked, finding);
	add_case(xml, checked, name.bytes, types[finding->verdict],
		 finding->verdict == HS_WITHIN ? NULL : words.bytes, details.bytes);
	hs_text_free(&name);
	hs_text_free(&words);
	hs_text_free(&details);
}

static void add_suite(struct hs_text *xml, const struct hs_check_report *report,
		      const struct hs_checked *checked, size_t id)
{
	const struct hs_facts *facts = &checked->opened.profile->facts;
	bool lenient = report->options->allow_incomplete;
	const char *incomplete = lenient ? NULL : checked->incomplete;
	char timestamp[32] = "1970-01-01T00:00:00";
	struct tm utc;
	time_t seconds = (time_t)(facts->start_unix_us / 1000000);
	if (gmtime_r(&seconds, &utc) && utc.tm_year < 8000)
		strftime(timestamp, sizeof(timestamp), "%Y-%m-%dT%H:%M:%S", &utc);
	const char *baseline = report->baseline && !lenient ? report->baseline->incomplete : NULL;
	hs_text_addf(xml, "  <testsuite id=\"%zu\" package=\"heapscope\"", id);
	add_attribute(xml, "name", checked->path);
	add_attribute(xml, "timestamp", timestamp);
	add_attribute(xml, "hostname", "localhost");
	hs_text_addf(xml, " tests=\"%u\" failures=\"%u\" errors=\"0\" time=\"%" PRIu64 ".%06u\">\n",
		     checked->check.count + 1 + (report->baseline != NULL),
		     checked->check.over + checked->check.untold + (incomplete != NULL) + (baseline != NULL),
		     facts->duration_us / 1000000, (unsigned)(facts->duration_us % 1000000));
	hs_text_add(xml, "    <properties/>\n");
	add_case(xml, checked, "complete recording", "incomplete", incomplete, NULL);
	if (report->baseline)
		add_case(xml, checked, "complete baseline", "incomplete", baseline, NULL);
	for (uint32_t i = 0; i < checked->check.count; i++)
		add_finding(xml, report, checked, &checked->check.items[i]);
	struct hs_text words = {0};
	hs_suppressed_words(&words, checked->opened.profile, &checked->opened.sites);
	hs_text_add(xml, "    <system-out>");
	if (words.count)
		add_escaped(xml, words.bytes);
	hs_text_add(xml, "</system-out>\n    <system-err/>\n  </testsuite>\n");
	hs_text_free(&words);
}

void hs_check_junit(struct hs_text *text, const struct hs_check_report *report)
{
	hs_text_add(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	for (size_t i = 0; i < report->count; i++)
		add_suite(text, report, &report->checked[i], i);
	hs_text_add(text, "</testsuites>\n");
}
