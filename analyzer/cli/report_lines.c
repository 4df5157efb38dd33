/* The notes on line numbers that are missing, with what gives them. */
#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "cli/groups.h"
#include "cli/report.h"
#include "profile/own.h"

#include <stdlib.h>

enum { NOTES_MOST = 3, LEAST_SHARE = 50 /* a fiftieth of the calls */ };

/* What a module's rows without lines amount to. */
struct gap {
	uint64_t calls;               /* of all of them */
	uint32_t functions;           /* how many; addresses count each for itself */
	const struct hs_group *first; /* the one with the most calls */
	uint64_t first_calls;
};

static void add_group(struct gap *gap, const struct hs_group *group)
{
	gap->calls += group->counts.allocations;
	gap->functions++;
	if (group->counts.allocations > gap->first_calls) {
		gap->first_calls = group->counts.allocations;
		gap->first = group;
	}
}

/* By module, and the last for code of no module. Returns all calls. */
static uint64_t find_gaps(struct gap *gaps, const struct hs_profile *profile, const struct hs_groups *groups,
			  const bool *rust)
{
	uint64_t all = 0;
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct hs_group *group = &groups->items[i];
		all += group->counts.allocations;
		if (group->frame == HS_NO_FRAME || profile->frames[group->frame].file ||
		    hs_is_start_code(profile, rust, group->frame))
			continue;
		uint32_t module = profile->frames[group->frame].module;
		add_group(&gaps[module < profile->module_count ? module : profile->module_count], group);
	}
	return all;
}

/* Whether other code of the module has lines, that of the language's own libraries apart. */
static bool has_lines(const struct hs_profile *profile, uint32_t module)
{
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		if (frame->module == module && frame->file && !frame->internal)
			return true;
	}
	return false;
}

static void add_gap(struct hs_text *text, const struct hs_report *report, uint32_t module,
		    const struct hs_groups *groups, const struct gap *gap, uint64_t all, bool rust)
{
	const struct hs_profile *profile = report->profile;
	struct hs_text name = {0}, words = {0};
	hs_text_clean(&name, hs_last_component(profile->strings.items[profile->modules[module].path]));
	const char *of = name.bytes ? name.bytes : "the program";
	struct hs_number share = hs_share(gap->calls, all);
	if (has_lines(profile, module)) {
		hs_text_add(&words, "no line numbers for ");
		hs_frame_name(&words, report, hs_group_frame(groups, report->sites, gap->first),
			      SIZE_MAX / 2);
		if (gap->functions > 1)
			hs_text_addf(&words, " and %s more", hs_counted(gap->functions - 1, "function").text);
		hs_text_addf(
			&words,
			" of %s, which make%s %s of the calls: built without -g, unlike other code of it", of,
			gap->functions > 1 ? "" : "s", share.text);
	} else {
		hs_text_addf(&words,
			     "no line numbers for %s, which makes %s of the calls: build it with %s, or "
			     "install its debug symbols (on Debian a package that ends in -dbgsym)",
			     of, share.text, rust ? HS_RUST_DEBUG : "-g");
	}
	hs_report_paragraph(text, report, "note: ", words.bytes);
	hs_text_free(&words);
	hs_text_free(&name);
}

void hs_report_missing_lines(struct hs_text *text, const struct hs_report *report,
			     const struct hs_groups *groups)
{
	const struct hs_profile *profile = report->profile;
	if (profile->facts.imported || profile->facts.merged.recordings)
		return; /* nothing to be done about it here */
	bool *rust = hs_rust_modules(profile);
	struct gap *gaps = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*gaps));
	uint64_t all = find_gaps(gaps, profile, groups, rust);
	for (unsigned shown = 0; shown < NOTES_MOST; shown++) {
		uint32_t most = 0;
		for (uint32_t i = 0; i < profile->module_count; i++) {
			if (gaps[i].calls > gaps[most].calls)
				most = i;
		}
		if (most >= profile->module_count || gaps[most].calls == 0 ||
		    gaps[most].calls < all / LEAST_SHARE)
			break;
		add_gap(text, report, most, groups, &gaps[most], all, rust[most]);
		gaps[most].calls = 0;
	}
	uint64_t generated = gaps[profile->module_count].calls;
	if (generated && generated >= all / LEAST_SHARE) {
		struct hs_text words = {0};
		hs_text_addf(&words, "%s of the calls come from code that no file describes (JIT)",
			     hs_share(generated, all).text);
		hs_report_paragraph(text, report, "note: ", words.bytes);
		hs_text_free(&words);
	}
	free(gaps);
	free(rust);
}
