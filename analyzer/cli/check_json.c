/* The verdicts as JSON (docs/json.md). */
#include "cli/check.h"
#include "cli/groups.h"
#include "cli/json.h"

#include <stdlib.h>

static json_t *site_of(const struct hs_check_report *report, const struct hs_finding *finding)
{
	const struct hs_patterns *site = &report->budgets->sections[finding->section].site;
	return site->count ? hs_json_string(site->items[0].text) : json_null();
}

static json_t *guilty_json(const struct hs_check_report *report, const struct hs_checked *checked,
			   const struct hs_finding *finding)
{
	uint32_t count;
	struct hs_guilty *list = hs_guilty_find(report, checked, finding, &count);
	json_t *array = json_array();
	for (uint32_t i = 0; i < count && (report->options->rows == 0 || i < report->options->rows); i++) {
		uint32_t frame = list[i].site->own;
		json_t *object = json_object();
		hs_json_put(object, "value", hs_json_integer(list[i].value));
		hs_json_put(object, "old", finding->growth ? hs_json_integer(list[i].old) : json_null());
		hs_json_put(object, "frame",
			    frame == HS_NO_FRAME ? json_null()
						 : hs_json_frame(checked->opened.profile,
								 &checked->opened.profile->frames[frame]));
		json_array_append_new(array, object);
	}
	free(list);
	return array;
}

static json_t *finding_json(const struct hs_check_report *report, const struct hs_checked *checked,
			    const struct hs_finding *finding)
{
	static const char *const verdicts[] = {
		[HS_WITHIN] = "ok", [HS_OVER] = "over", [HS_UNTOLD] = "unknown"};
	bool known = finding->verdict != HS_UNTOLD, percent = finding->asked.kind == HS_AMOUNT_PERCENT;
	json_t *object = json_object();
	hs_json_put(object, "quantity", json_string(hs_quantities[finding->quantity].name));
	hs_json_put(object, "unit", json_string(hs_quantities[finding->quantity].bytes ? "bytes" : "count"));
	hs_json_put(object, "site", site_of(report, finding));
	hs_json_put(object, "growth", json_boolean(finding->growth));
	hs_json_put(object, "verdict", json_string(verdicts[finding->verdict]));
	hs_json_put(object, "value", known ? hs_json_integer(finding->value) : json_null());
	hs_json_put(object, "old", known && finding->growth ? hs_json_integer(finding->old) : json_null());
	hs_json_put(object, "whole",
		    known && percent && !finding->growth ? hs_json_integer(finding->whole) : json_null());
	hs_json_put(object, "percent",
		    percent ? json_real((double)finding->asked.value / HS_PERCENT) : json_null());
	hs_json_put(object, "allowed", known ? hs_json_integer(finding->allowed) : json_null());
	hs_json_put(object, "over_by",
		    hs_json_integer(finding->verdict == HS_OVER ? finding->value - finding->allowed : 0));
	hs_json_put(object, "sites", guilty_json(report, checked, finding));
	return object;
}

static json_t *checked_json(const struct hs_check_report *report, const struct hs_checked *checked)
{
	json_t *object = json_object(), *budgets = json_array();
	hs_json_put(object, "path", hs_json_string(checked->path));
	hs_json_put(object, "program", hs_json_string(checked->opened.profile->facts.program));
	hs_json_put(object, "command", hs_json_words(checked->opened.profile->facts.command));
	hs_json_put(object, "incomplete", hs_json_string(checked->incomplete));
	hs_json_put(object, "suppressed",
		    hs_suppressed_json(checked->opened.profile, &checked->opened.sites));
	for (uint32_t i = 0; i < checked->check.count; i++)
		json_array_append_new(budgets, finding_json(report, checked, &checked->check.items[i]));
	hs_json_put(object, "budgets", budgets);
	return object;
}

void hs_check_json(struct hs_text *text, const struct hs_check_report *report)
{
	json_t *document = json_object(), *recordings = json_array();
	for (size_t i = 0; i < report->count; i++)
		json_array_append_new(recordings, checked_json(report, &report->checked[i]));

	hs_json_put(document, "schema", json_string("heapscope-check-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "ok", json_boolean(hs_check_passes(report)));
	hs_json_put(document, "against",
		    report->baseline ? checked_json(report, report->baseline) : json_null());
	hs_json_put(document, "recordings", recordings);
	hs_json_dump(text, document);
}
