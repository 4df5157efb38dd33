/* What a flame graph says in words: what is shown, in which units, and what is not. */
#include "flame.h"

#include "base/format.h"
#include "base/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void hs_xml_add(struct hs_text *text, const char *added)
{
	struct hs_text clean = {0};
	hs_text_add(&clean, "");
	hs_text_clean(&clean, added);
	for (const char *at = clean.bytes; *at; at++) {
		if (*at == '&')
			hs_text_add(text, "&amp;");
		else if (*at == '<')
			hs_text_add(text, "&lt;");
		else if (*at == '>')
			hs_text_add(text, "&gt;");
		else if (*at == '"')
			hs_text_add(text, "&quot;");
		else if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0)
			hs_text_add(text, "?"), at += 2; /* U+FFFE and U+FFFF are no characters of XML */
		else
			hs_text_add_bytes(text, at, 1);
	}
	hs_text_free(&clean);
}

/* ---- numbers --------------------------------------------------------------------------------------------
 */

static const struct {
	const char *what;  /* after the number */
	const char *noun;  /* of what is counted, where that is no bytes; NULL */
	const char *other; /* noun of hs_flame_other; NULL: bytes */
} phrases[HS_METRICS] = {
	[HS_METRIC_PEAK] = {"live at the peak", NULL, "block"},
	[HS_METRIC_ALLOCATED] = {"allocated", NULL, "call"},
	[HS_METRIC_CALLS] = {NULL, "allocation call", NULL},
	[HS_METRIC_TEMPORARY] = {NULL, "temporary allocation", NULL},
	[HS_METRIC_LEAKED] = {"leaked", NULL, "block"},
	[HS_METRIC_MOVED] = {"moved by realloc", NULL, "move"},
	[HS_METRIC_LIFETIME] = {"are the lifetimes of all blocks together", NULL, "block"},
};

static const struct hs_facts *facts_of(const struct hs_flame *flame)
{
	return &flame->sides[HS_FLAME_NEW].export.profile->facts;
}

static bool counts_samples(const struct hs_flame *flame)
{
	return facts_of(flame)->subject == HS_SUBJECT_SAMPLES;
}

struct hs_number hs_flame_number(const struct hs_flame *flame, uint64_t value)
{
	switch (hs_metrics[flame->options->metric].unit) {
	case HS_UNIT_BYTES:
		return hs_size(value);
	case HS_UNIT_TIME:
		return hs_time(value);
	default:
		return hs_count(value);
	}
}

/* "6.1 MiB live at the peak", "8,000 temporary allocations" */
static void add_total(struct hs_text *text, const struct hs_flame *flame, uint64_t value)
{
	enum hs_metric metric = flame->options->metric;
	if (phrases[metric].what)
		hs_text_addf(text, "%s %s", hs_flame_number(flame, value).text, phrases[metric].what);
	else
		hs_text_add(text,
			    hs_counted(value, counts_samples(flame) ? "sample" : phrases[metric].noun).text);
}

static void add_others(struct hs_text *text, const struct hs_flame *flame, uint64_t others)
{
	const char *noun = phrases[flame->options->metric].other;
	if (counts_samples(flame) || (!noun && facts_of(flame)->unknown & HS_TOLD_ALLOCATED_BYTES))
		return;
	if (noun)
		hs_text_addf(text, " in %s", hs_counted(others, noun).text);
	else
		hs_text_addf(text, " of %s", hs_size(others).text);
}

/* "+1.2 MiB", or with a minus sign */
static void add_change(struct hs_text *text, const struct hs_flame *flame,
		       const uint64_t values[HS_FLAME_SIDES])
{
	uint64_t new = values[HS_FLAME_NEW], old = values[HS_FLAME_OLD];
	hs_text_addf(text, "%s%s", new > old ? "+" : "\xe2\x88\x92",
		     hs_flame_number(flame, new > old ? new - old : old - new).text);
}

/* "2.4", or without decimals from 10 on */
static struct hs_number factor(uint64_t new, uint64_t old)
{
	struct hs_number number;
	uint64_t tenths = (uint64_t)(((unsigned __int128)new * 20 + old) / ((unsigned __int128)old * 2));
	if (tenths >= 100)
		return hs_count(tenths / 10 + (tenths % 10 >= 5));
	snprintf(number.text, sizeof number.text, "%u.%u", (unsigned)(tenths / 10), (unsigned)(tenths % 10));
	return number;
}

/* ", was 1.0 MiB: +4.8 MiB (5.8 times)" */
static void add_comparison(struct hs_text *text, const struct hs_flame *flame,
			   const uint64_t values[HS_FLAME_SIDES])
{
	uint64_t new = values[HS_FLAME_NEW], old = values[HS_FLAME_OLD];
	if (new == old) {
		hs_text_add(text, ", as before");
		return;
	}
	hs_text_addf(text, ", was %s: ", hs_flame_number(flame, old).text);
	add_change(text, flame, values);
	if (old && new / 2 >= old)
		hs_text_addf(text, " (%s times)", factor(new, old).text);
	else if (old)
		hs_text_addf(text, " (%s %s)", hs_share(new > old ? new - old : old - new, old).text,
			     new > old ? "more" : "less");
}

/* "5.8 MiB (94.9%)" */
static void add_share(struct hs_text *text, const struct hs_flame *flame, uint64_t value)
{
	uint64_t total = flame->nodes[0].values[HS_FLAME_NEW];
	hs_text_add(text, hs_flame_number(flame, value).text);
	if (total)
		hs_text_addf(text, " (%s)", hs_share(value, total).text);
}

void hs_flame_add_short(struct hs_text *text, const struct hs_flame *flame,
			const uint64_t values[HS_FLAME_SIDES])
{
	if (flame->side_count == 1)
		add_share(text, flame, values[HS_FLAME_NEW]);
	else if (values[HS_FLAME_NEW] == values[HS_FLAME_OLD])
		hs_text_addf(text, "%s as before", hs_flame_number(flame, values[HS_FLAME_NEW]).text);
	else
		add_change(text, flame, values);
}

/* ---- the head -------------------------------------------------------------------------------------------
 */

/* What was run, without its folder; of a file that does not tell that, its own name. */
static void add_command(struct hs_text *text, const struct hs_flame *flame)
{
	enum { COLUMNS = 36 };
	char *line = hs_command_line(facts_of(flame)), *command = hs_line_text(line, NULL);
	const char *slash = strrchr(command, '/'), *space = strchr(command, ' ');
	const char *name = slash && slash[1] && (!space || slash < space) ? slash + 1 : command;
	hs_middle_short(text, *name ? name : hs_last_component(flame->options->path), COLUMNS, true);
	free(command);
	free(line);
}

void hs_flame_add_title(struct hs_text *text, const struct hs_flame *flame)
{
	const struct hs_flame_node *root = &flame->nodes[0];
	if (flame->options->flame.title) {
		hs_text_add(text, flame->options->flame.title);
		return;
	}
	add_command(text, flame);
	hs_text_add(text, ": ");
	add_total(text, flame, root->values[HS_FLAME_NEW]);
	if (flame->side_count == 1)
		add_others(text, flame, root->others);
	else
		add_comparison(text, flame, root->values);
}

static void add_manual(struct hs_text *text, const struct hs_flame *flame)
{
	const struct hs_flame_options *options = &flame->options->flame;
	const char *side = options->inverted ? "below" : "above";
	hs_text_add(text, options->chart           ? "Flame chart"
			  : flame->side_count == 1 ? "Flame graph"
						   : "Differential flame graph");
	if (options->reverse)
		hs_text_addf(text, ": a box is a function, its callers are %s it; the first row allocates",
			     side);
	else
		hs_text_addf(text, ": a box is a function, what it calls is %s it, and counts for it too",
			     side);
	hs_text_add(text,
		    options->chart ? "; from left to right in the order of time.\n" : "; widest first.\n");
}

static void add_recorded(struct hs_text *text, const struct hs_flame *flame)
{
	const struct hs_facts *facts = facts_of(flame);
	const struct hs_totals *totals = &flame->sides[HS_FLAME_NEW].export.sites.replay.totals;
	time_t seconds = (time_t)(facts->start_unix_us / 1000000);
	struct tm utc;
	char date[40];
	if (facts->merged.recordings) {
		hs_text_addf(text, "Merged from %s, whose peaks are added up. ",
			     hs_counted(facts->merged.recordings, "recording").text);
		return;
	}
	if (facts->imported)
		hs_text_addf(text, "Imported from %s", facts->imported);
	else if (facts->start_unix_us && gmtime_r(&seconds, &utc) &&
		 strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc))
		hs_text_addf(text, "Recorded %s", date);
	else
		hs_text_add(text, "Recorded at an unknown time");
	if (!(facts->unknown & HS_TOLD_DURATION_US))
		hs_text_addf(text, ", ran %s", hs_time(facts->duration_us).text);
	if (!(facts->unknown & HS_TOLD_PEAK_US))
		hs_text_addf(text, ", peak at %s", hs_time(totals->peak_us).text);
	hs_text_add(text, ". ");
}

static void add_drawn(struct hs_text *text, const struct hs_flame *flame)
{
	uint64_t total = flame->nodes[0].width;
	if (flame->drawn_count == flame->box_count) {
		hs_text_add(text, "Nothing is left out.\n");
		return;
	}
	hs_text_addf(text,
		     "Drawn are %s of %s boxes, the widest, down to %s (%.2g%%); the others, together %s, "
		     "are joined.\n",
		     hs_count(flame->drawn_count).text, hs_count(flame->box_count).text,
		     hs_flame_number(flame, flame->threshold).text,
		     100.0 * (double)flame->threshold / (double)total,
		     hs_flame_number(flame, flame->joined_width).text);
}

static void add_baseline(struct hs_text *text, const struct hs_flame *flame)
{
	static const char *const widths[] = {[HS_FLAME_BY_NEW] = "now",
					     [HS_FLAME_BY_OLD] = "before",
					     [HS_FLAME_BY_LARGER] = "now or before, which is more"};
	const struct hs_flame_options *options = &flame->options->flame;
	uint64_t hidden = 0;
	unsigned side = options->widths == HS_FLAME_BY_OLD ? HS_FLAME_NEW : HS_FLAME_OLD;
	for (uint32_t i = 0; i < flame->node_count; i++) {
		const struct hs_flame_node *node = &flame->nodes[i];
		if (options->widths != HS_FLAME_BY_LARGER && node->selves[!side] == 0)
			hidden += node->selves[side];
	}
	hs_text_add(text, "Compared with ");
	hs_middle_short(text, flame->options->baseline_path, 60, true);
	hs_text_addf(text, "; the width is what it is %s.", widths[options->widths]);
	if (hidden) {
		hs_text_add(text, " Not drawn: ");
		add_total(text, flame, hidden);
		hs_text_addf(text, ", on stacks that only the %s recording has (--widths larger draws them).",
			     side == HS_FLAME_OLD ? "old" : "new");
	}
	hs_text_add(text, "\n");
}

/* What is live at the end and no leak; of a comparison, the new side's. */
static void add_suppressed(struct hs_text *text, const struct hs_flame *flame)
{
	const struct hs_counts *counts = &flame->sides[HS_FLAME_NEW].export.sites.replay.totals.counts;
	if (flame->options->metric == HS_METRIC_LEAKED && counts->suppressed_blocks)
		hs_text_addf(text, "Not among what leaked: %s in %s suppressed.\n",
			     hs_size(counts->suppressed_bytes).text,
			     hs_counted(counts->suppressed_blocks, "block").text);
}

void hs_flame_add_lines(struct hs_text *text, const struct hs_flame *flame)
{
	const struct hs_facts *facts = facts_of(flame);
	add_manual(text, flame);
	add_recorded(text, flame);
	add_drawn(text, flame);
	add_suppressed(text, flame);
	if (flame->side_count == 2)
		add_baseline(text, flame);
	if (flame->options->selection) {
		hs_text_add(text, "Only what this selects: ");
		hs_middle_short(text, flame->options->selection, 150, true);
		hs_text_add(text, "\n");
	}
	if (facts->lost_events)
		hs_text_addf(text, "Incomplete: %s were lost.\n",
			     hs_counted(facts->lost_events, "event").text);
	if (facts->warning) {
		hs_text_add(text, "Warning: ");
		hs_middle_short(text, facts->warning, 160, true);
		hs_text_add(text, "\n");
	}
}

/* ---- boxes ----------------------------------------------------------------------------------------------
 */

static void add_place(struct hs_text *text, const struct hs_flame *flame, const struct hs_flame_node *node)
{
	const struct hs_flame_label *label = &flame->labels[node->label];
	const char *directory = facts_of(flame)->cwd;
	if (*label->file) {
		hs_text_add(text, "\n");
		hs_place_short(text, label->file, node->line, directory, 80, true);
	}
	if (*label->module) {
		hs_text_add(text, *label->file ? ", in " : "\nin ");
		hs_middle_short(text, hs_last_component(label->module), 60, true);
	}
}

/* The last slice that begins at or before that place. */
static uint32_t find_slice(const struct hs_flame *flame, uint64_t place)
{
	uint32_t low = 0, high = flame->slice_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (flame->slice_first[middle] <= place)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* When a chart's box was allocated: from the slice that it begins in to the one after its last. */
static void add_time(struct hs_text *text, const struct hs_flame *flame, const struct hs_flame_node *node)
{
	if (node->width == 0)
		return;
	uint32_t end = find_slice(flame, node->first + node->width - 1) + 1;
	uint64_t end_us = end < flame->slice_count ? flame->slice_us[end] : facts_of(flame)->duration_us;
	hs_text_addf(text, "\nallocated from %s to %s",
		     hs_time(flame->slice_us[find_slice(flame, node->first)]).text, hs_time(end_us).text);
}

void hs_flame_add_details(struct hs_text *text, const struct hs_flame *flame,
			  const struct hs_flame_node *node)
{
	enum { NAME_COLUMNS = 300 };
	const struct hs_flame_label *label = &flame->labels[node->label];
	uint64_t new = node->values[HS_FLAME_NEW], self = node->selves[HS_FLAME_NEW];
	hs_middle_short(text, label->name, NAME_COLUMNS, true);
	hs_text_add(text, "\n");
	add_share(text, flame, new);
	if (flame->side_count == 2)
		add_comparison(text, flame, node->values);
	else
		add_others(text, flame, node->others);
	if (self && node->first_child && !flame->options->flame.reverse) {
		hs_text_add(text, ", itself ");
		add_share(text, flame, self);
	} else if (self && !flame->options->flame.reverse) {
		hs_text_add(text, ", all of it itself");
	}
	add_place(text, flame, node);
	if (flame->options->flame.chart)
		add_time(text, flame, node);
}

void hs_flame_add_joined(struct hs_text *text, const struct hs_flame *flame, uint32_t count,
			 const uint64_t values[HS_FLAME_SIDES])
{
	struct hs_number number = hs_count(count);
	hs_text_addf(text, "%s %s, too narrow to draw\n", number.text, count == 1 ? "box" : "boxes");
	add_share(text, flame, values[HS_FLAME_NEW]);
	if (flame->side_count == 2)
		add_comparison(text, flame, values);
}
