/* Suppressions of leaks: where the rules come from, and what is said of them. */
#include "cli/suppress.h"

#include "base/format.h"
#include "base/memory.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_RULES = 4 };

static int read_file(const char *path, struct hs_suppressions *suppressions, struct hs_error *error)
{
	size_t count;
	char *text = hs_input_read(path, &count, error);
	if (!text)
		return -1;
	int result = hs_suppressions_read(suppressions, HS_SUPPRESSION_FILE, path, text, count, error);
	free(text);
	return result;
}

int hs_suppress(const struct hs_suppress *suppress, struct hs_profile *profile,
		struct hs_suppressions *suppressions, struct hs_error *error)
{
	static const char own[] = "__lsan_default_suppressions";
	const char *path = suppress->file ? suppress->file : getenv("HEAPSCOPE_SUPPRESSIONS");
	const char *programs = profile->facts.lsan_suppressions;
	struct hs_error cause;
	if (suppress->off)
		return 0;
	if (path && *path && read_file(path, suppressions, error) != 0)
		return -1;
	if (programs && hs_suppressions_read(suppressions, HS_SUPPRESSION_PROGRAM, own, programs,
					     strlen(programs), &cause) != 0)
		hs_message("warning: of the program's own suppressions, what follows this does not count: %s",
			   cause.text);
	hs_suppressions_add_built_in(suppressions);
	hs_suppressions_apply(suppressions, profile);
	return 0;
}

/* ---- words ----------------------------------------------------------------------------------------------
 */

void hs_suppression_name(struct hs_text *text, const struct hs_suppression *rule)
{
	if (rule->kept) {
		hs_text_add(text, rule->kept->what);
		return;
	}
	hs_text_add(text, "leak:");
	hs_text_clean(text, rule->pattern);
	hs_text_add(text, " (");
	if (rule->source == HS_SUPPRESSION_PROGRAM)
		hs_text_add(text, "the program's own");
	else
		hs_text_clean(text, rule->file);
	if (rule->source == HS_SUPPRESSION_FILE)
		hs_text_addf(text, ":%u", rule->line);
	hs_text_add(text, ")");
}

static bool same_purpose(const struct hs_suppression *a, const struct hs_suppression *b)
{
	return a->kept && b->kept && strcmp(a->kept->what, b->kept->what) == 0;
}

/* Built-in rules for the same thing become one entry. */
static uint32_t join(const struct hs_suppression *rules, struct hs_suppressed *list, uint32_t count)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t same = 0;
		while (same < kept && !same_purpose(&rules[list[same].rule], &rules[list[i].rule]))
			same++;
		if (same == kept) {
			list[kept++] = list[i];
			continue;
		}
		list[same].bytes += list[i].bytes;
		list[same].blocks += list[i].blocks;
	}
	return kept;
}

void hs_suppressed_words(struct hs_text *text, const struct hs_profile *profile, const struct hs_sites *sites)
{
	const struct hs_counts *totals = &sites->replay.totals.counts;
	uint32_t count;
	struct hs_suppressed *list = hs_suppressed_list(profile, sites, &count);
	if (count) {
		const struct hs_suppression *rules = profile->suppressions->items;
		count = join(rules, list, count);
		hs_text_addf(text, "%s in %s suppressed by %s: ", hs_size(totals->suppressed_bytes).text,
			     hs_counted(totals->suppressed_blocks, "block").text,
			     hs_counted(count, "rule").text);
		for (uint32_t i = 0; i < count && i < NAMED_RULES; i++) {
			hs_text_add(text, i ? ", " : "");
			hs_suppression_name(text, &rules[list[i].rule]);
			if (count > 1)
				hs_text_addf(text, " %s", hs_size(list[i].bytes).text);
		}
		if (count > NAMED_RULES)
			hs_text_addf(text, ", and %s more", hs_count(count - NAMED_RULES).text);
	}
	free(list);
}

/* ---- JSON -----------------------------------------------------------------------------------------------
 */

json_t *hs_suppression_json(const struct hs_suppression *rule)
{
	static const char *const sources[] = {
		[HS_SUPPRESSION_FILE] = "file",
		[HS_SUPPRESSION_PROGRAM] = "program",
		[HS_SUPPRESSION_BUILT_IN] = "built in",
	};
	const struct hs_kept *kept = rule->kept;
	struct hs_text pattern = {0};
	if (!kept || kept->function)
		hs_text_addf(&pattern, "leak:%s", rule->pattern);
	json_t *object = json_object();
	hs_json_put(object, "rule", hs_json_string(pattern.bytes));
	hs_json_put(object, "source", json_string(sources[rule->source]));
	hs_json_put(object, "file", hs_json_string(rule->file));
	hs_json_put(object, "line", rule->line ? hs_json_integer(rule->line) : json_null());
	hs_json_put(object, "library",
		    kept && kept->library ? json_string(hs_kept_by_names[kept->library]) : json_null());
	hs_json_put(object, "what", kept ? json_string(kept->what) : json_null());
	hs_text_free(&pattern);
	return object;
}

json_t *hs_suppression_of_site_json(const struct hs_profile *profile, const struct hs_site *site)
{
	if (!site->suppression)
		return json_null();
	struct hs_text name = {0};
	hs_suppression_name(&name, &profile->suppressions->items[site->suppression - 1]);
	json_t *made = hs_json_string(name.bytes);
	hs_text_free(&name);
	return made;
}

json_t *hs_suppressed_json(const struct hs_profile *profile, const struct hs_sites *sites)
{
	uint32_t count;
	struct hs_suppressed *list = hs_suppressed_list(profile, sites, &count);
	json_t *array = json_array();
	for (uint32_t i = 0; i < count; i++) {
		json_t *object = hs_suppression_json(&profile->suppressions->items[list[i].rule]);
		hs_json_put(object, "bytes", hs_json_integer(list[i].bytes));
		hs_json_put(object, "blocks", hs_json_integer(list[i].blocks));
		json_array_append_new(array, object);
	}
	free(list);
	return array;
}
