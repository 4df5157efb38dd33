/* The report from top to bottom: what was run, how much, when; the sites; what is missing, what to do next.
 */
#include "cli/report.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "cli/chart.h"
#include "cli/report_shown.h"
#include "cli/suppress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void hs_report_paragraph(struct hs_text *text, const struct hs_report *report, const char *head,
			 const char *words)
{
	size_t indent = hs_text_columns(head), column = indent;
	hs_text_add(text, head);
	while (*words) {
		size_t length = strcspn(words, " ");
		struct hs_text word = {0};
		hs_text_add(&word, "");
		hs_text_add_bytes(&word, words, length);
		size_t width = hs_text_columns(word.bytes);
		if (column > indent && column + 1 + width > report->columns) {
			hs_text_add(text, "\n");
			hs_text_repeat(text, " ", indent);
			column = indent;
		} else if (column > indent) {
			hs_text_add(text, " ");
			column++;
		}
		hs_text_add(text, word.bytes);
		column += width;
		hs_text_free(&word);
		words += length + strspn(words + length, " ");
	}
	hs_text_add(text, "\n");
}

static void paragraph(struct hs_text *text, const struct hs_report *report, const char *head,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));
static void paragraph(struct hs_text *text, const struct hs_report *report, const char *head,
		      const char *format, ...)
{
	struct hs_text words = {0};
	va_list arguments;
	va_start(arguments, format);
	hs_text_add(&words, "");
	hs_text_vaddf(&words, format, arguments);
	va_end(arguments);
	hs_report_paragraph(text, report, head, words.bytes);
	hs_text_free(&words);
}

const char *hs_end_words(const struct hs_facts *facts)
{
	switch (facts->end) {
	case HS_END_SIGNAL:
		return "when killed";
	case HS_END_EXEC:
		return "at exec";
	case HS_END_RUNNING:
		return "so far";
	default:
		return "at exit";
	}
}

/* ---- the head -------------------------------------------------------------------------------------------
 */

void hs_report_command(struct hs_text *line, const struct hs_facts *facts)
{
	struct hs_text quoted = {0};
	size_t before = line->count;
	hs_text_add(line, "");
	if (facts->merged.recordings) {
		hs_text_addf(line, "%s merged: ", hs_counted(facts->merged.recordings, "recording").text);
		for (uint32_t i = 0; i < facts->merged.command_count; i++) {
			const struct hs_merged_command *command = &facts->merged.commands[i];
			hs_text_add(line, i ? ", " : "");
			hs_text_clean(line, command->line);
			if (facts->merged.command_count > 1 && command->recordings > 1)
				hs_text_addf(line, " (%s times)", hs_count(command->recordings).text);
		}
	}
	for (char **word = facts->command; word && *word; word++) {
		if (word != facts->command)
			hs_text_add(&quoted, " ");
		hs_text_shell_word(&quoted, *word);
	}
	hs_text_clean(line, quoted.count ? quoted.bytes : "");
	hs_text_free(&quoted);
	if (line->count == before)
		hs_text_clean(line, facts->program && *facts->program ? facts->program : "(unknown program)");
}

static void add_command(struct hs_text *text, const struct hs_report *report)
{
	struct hs_text line = {0};
	hs_report_command(&line, &report->profile->facts);
	hs_text_add(text, HS_BOLD);
	hs_middle_short(text, line.bytes, report->columns, report->utf8);
	hs_text_add(text, HS_PLAIN "\n");
	hs_text_free(&line);
}

static void add_end(struct hs_text *text, const struct hs_facts *facts)
{
	const char *name;
	switch (facts->end) {
	case HS_END_EXIT:
		hs_text_addf(text, "exit status %d", facts->end_value);
		break;
	case HS_END_SIGNAL:
		name = sigabbrev_np(facts->end_value);
		if (name)
			hs_text_addf(text, "killed by SIG%s", name);
		else
			hs_text_addf(text, "killed by signal %d", facts->end_value);
		break;
	case HS_END_EXEC:
		hs_text_add(text, "ended by exec (the next program has a recording of its own)");
		break;
	case HS_END_RUNNING:
		hs_text_add(text, "still running, or cut off");
		break;
	case HS_END_UNKNOWN:
		hs_text_add(text, "how it ended is not known");
		break;
	}
}

static void add_facts(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_facts *facts = &report->profile->facts;
	struct hs_text words = {0};
	time_t seconds = (time_t)(facts->start_unix_us / 1000000);
	struct tm local;
	char date[32];
	hs_text_add(&words, "");
	if (facts->imported)
		hs_text_addf(&words, ", imported from %s", facts->imported);
	if (!(facts->unknown & HS_TOLD_PROCESS) || facts->pid)
		hs_text_addf(&words, ", pid %" PRIu32, facts->pid);
	if (facts->forked)
		hs_text_addf(&words, " (a fork of %" PRIu32 ")", facts->parent_pid);
	if (!(facts->unknown & HS_TOLD_DURATION_US))
		hs_text_addf(&words, ", %s%s", hs_time(facts->duration_us).text,
			     facts->merged.recordings > 1 ? " from the first start to the last end" : "");
	if (!(facts->unknown & HS_TOLD_PROCESS)) {
		hs_text_add(&words, ", ");
		add_end(&words, facts);
	}
	if (facts->start_unix_us && localtime_r(&seconds, &local) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local))
		hs_text_addf(&words, ", recorded %s", date);
	if (words.count == 0)
		return;
	hs_report_paragraph(text, report, "", words.bytes + 2);
	hs_text_free(&words);
}

static void add_unseen_libraries(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_facts *facts = &report->profile->facts;
	struct hs_text words = {0};
	if (!facts->unseen_libraries)
		return;
	hs_text_add(&words, "not in the numbers is what ");
	hs_text_clean(&words, facts->unseen_library ? facts->unseen_library : "");
	if (facts->unseen_libraries > 1)
		hs_text_addf(&words, " and %" PRIu64 " more", facts->unseen_libraries - 1);
	hs_text_add(&words, " allocated itself: opened with RTLD_DEEPBIND or dlmopen");
	hs_report_paragraph(text, report, HS_YELLOW "warning:" HS_PLAIN " ", words.bytes);
	hs_text_free(&words);
}

static void add_warnings(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_facts *facts = &report->profile->facts;
	struct hs_text words = {0};
	if (facts->warning) {
		hs_text_clean(&words, facts->warning);
		hs_report_paragraph(text, report, HS_YELLOW "warning:" HS_PLAIN " ", words.bytes);
		hs_text_free(&words);
	}
	if (facts->stopped) {
		hs_text_add(&words, "recording ended before the program did: ");
		hs_text_clean(&words, facts->stopped);
		hs_report_paragraph(text, report, HS_YELLOW "warning:" HS_PLAIN " ", words.bytes);
		hs_text_free(&words);
	}
	if (facts->lost_events)
		paragraph(text, report, HS_YELLOW "warning:" HS_PLAIN " ",
			  "%s could not be recorded: all numbers are too low by them",
			  hs_counted(facts->lost_events, "event").text);
	add_unseen_libraries(text, report);
}

/* One line of the headline: what, how much, the rest in words. */
static void add_fact(struct hs_text *text, const struct hs_report *report, const char *label,
		     const char *value, const char *words)
{
	struct hs_text head = {0};
	hs_text_add(&head, "  ");
	hs_text_left(&head, label, 11);
	hs_text_repeat(&head, " ", strlen(value) < 10 ? 10 - strlen(value) : 0);
	hs_text_addf(&head, HS_BOLD "%s" HS_PLAIN "%s", value, *words ? "   " : "");
	hs_report_paragraph(text, report, head.bytes, words);
	hs_text_free(&head);
}

static struct hs_number size_or_unknown(uint64_t bytes, bool unknown)
{
	return unknown ? (struct hs_number){"unknown"} : hs_size(bytes);
}

static void add_headline(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_facts *facts = &report->profile->facts;
	const struct hs_totals *totals = &report->sites->replay.totals;
	const struct hs_counts *counts = &totals->counts;
	uint32_t unknown = report->sites->replay.unknown;
	struct hs_text words = {0};

	if (facts->subject == HS_SUBJECT_SAMPLES) {
		add_fact(text, report, "samples", hs_count(counts->allocations).text,
			 "of a profiler: nothing is known of the heap");
		return;
	}
	if (facts->merged.recordings > 1)
		hs_text_add(&words, "summed up over each recording's own peak");
	else if (unknown & HS_TOLD_PEAK_US)
		hs_text_add(&words, unknown & HS_TOLD_PEAK_BYTES ? "" : "when is not known");
	else
		hs_text_addf(&words, "at %s", hs_time(totals->peak_us).text);
	if (!(unknown & HS_TOLD_PEAK_BLOCKS))
		hs_text_addf(&words, ", in %s", hs_counted(counts->peak_blocks, "block").text);
	add_fact(text, report, "peak", size_or_unknown(counts->peak_bytes, unknown & HS_TOLD_PEAK_BYTES).text,
		 words.bytes);
	hs_text_free(&words);

	hs_text_add(&words, "");
	if (!(unknown & HS_TOLD_LIVE_BLOCKS))
		hs_text_addf(&words, "in %s", hs_counted(counts->live_blocks, "block").text);
	if (facts->forked)
		hs_text_add(&words, " of its own (inherited ones not counted)");
	else if (facts->end == HS_END_EXIT)
		hs_text_add(&words, " that nobody freed");
	add_fact(text, report, hs_end_words(facts),
		 size_or_unknown(counts->live_bytes, unknown & HS_TOLD_LIVE_BYTES).text, words.bytes);
	hs_text_free(&words);

	if (counts->suppressed_bytes || counts->suppressed_blocks) {
		hs_suppressed_words(&words, report->profile, report->sites);
		add_fact(text, report, "leaked", hs_size(counts->live_bytes - counts->suppressed_bytes).text,
			 words.bytes);
		hs_text_free(&words);
	}

	hs_text_add(&words, "");
	if (!(unknown & HS_TOLD_ALLOCATIONS))
		hs_text_addf(&words, "in %s, ", hs_counted(counts->allocations, "call").text);
	if (unknown & (HS_TOLD_TEMPORARY | HS_TOLD_ALLOCATIONS))
		hs_text_add(&words, "how many of them temporary is not known");
	else
		hs_text_addf(&words, "%s of them temporary",
			     hs_share(counts->temporary, counts->allocations).text);
	add_fact(text, report, "allocated",
		 size_or_unknown(counts->allocated_bytes, unknown & HS_TOLD_ALLOCATED_BYTES).text,
		 unknown & HS_TOLD_ALLOCATED_BYTES && unknown & HS_TOLD_ALLOCATIONS ? "" : words.bytes);
	hs_text_free(&words);

	if (counts->moved) {
		hs_text_addf(&words, "copied by %s that had to move",
			     hs_counted(counts->moved, "realloc").text);
		add_fact(text, report, "moved", hs_size(counts->moved_bytes).text, words.bytes);
		hs_text_free(&words);
	}
	if (facts->pools.allocations || facts->pools.slabs) {
		hs_pools_words(&words, &facts->pools);
		add_fact(text, report, "pools", hs_size(facts->pools.most_bytes).text, words.bytes);
		hs_text_free(&words);
	}
	if (facts->peak_rss_bytes)
		add_fact(text, report, "peak RSS", hs_size(facts->peak_rss_bytes).text,
			 facts->imported ? "of the process, the recorder's own memory included"
					 : "of the process, heapscope's buffers included");
}

/* ---- the foot -------------------------------------------------------------------------------------------
 */

/* What an imported or merged file does not tell, in words. */
static void add_unknown(struct hs_text *text, const struct hs_report *report)
{
	static const struct {
		enum hs_told bit;
		const char *words;
	} items[] = {
		{HS_TOLD_PEAK_BYTES, "the peak"},
		{HS_TOLD_LIVE_BYTES, "what is live at the end"},
		{HS_TOLD_ALLOCATED_BYTES, "how much was allocated"},
		{HS_TOLD_ALLOCATIONS, "how often"},
		{HS_TOLD_TEMPORARY, "temporary allocations"},
		{HS_TOLD_MOVED, "what realloc moved"},
		{HS_TOLD_LIFETIME_US, "lifetimes"},
		{HS_TOLD_EVENTS, "the heap over time"},
		{HS_TOLD_THREADS, "threads"},
	};
	const struct hs_facts *facts = &report->profile->facts;
	struct hs_text words = {0};
	if (facts->subject == HS_SUBJECT_SAMPLES)
		return;
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		if (facts->unknown & items[i].bit)
			hs_text_addf(&words, "%s%s", words.count ? ", " : "", items[i].words);
	}
	if (words.count)
		paragraph(text, report, "note: ", "not known from %s: %s",
			  facts->merged.recordings ? "merged recordings" : "such a file", words.bytes);
	hs_text_free(&words);
}

static void add_notes(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups)
{
	const struct hs_facts *facts = &report->profile->facts;
	add_unknown(text, report);
	if (facts->forked && facts->unknown_frees)
		paragraph(text, report, "note: ", "it freed %s that it inherited from process %" PRIu32,
			  hs_counted(facts->unknown_frees, "block").text, facts->parent_pid);
	else if (facts->unknown_frees)
		paragraph(text, report, "note: ", "%s freed that had been allocated before recording began%s",
			  hs_counted(facts->unknown_frees, "block").text,
			  hs_pauses_of(report->profile).count ? ", or while it was paused" : "");
	struct hs_text words = {0};
	if (hs_pauses_words(&words, report->profile))
		hs_report_paragraph(text, report, "note: ", words.bytes);
	hs_text_free(&words);
	if (facts->truncated_stacks)
		paragraph(text, report,
			  "note: ", "%s deeper than heapscope follows them: outer callers are missing",
			  hs_counted(facts->truncated_stacks, "stack").text);
	if (facts->broken_stacks)
		paragraph(
			text, report, "note: ",
			"%s could not be followed to the end (code without unwind tables): outer callers are "
			"missing",
			hs_counted(facts->broken_stacks, "stack").text);
	if (facts->late_events || facts->repaired_frees)
		paragraph(text, report,
			  "note: ", "%s out of order, %s implied by the next allocation at the address",
			  hs_counted(facts->late_events, "event").text,
			  hs_counted(facts->repaired_frees, "free").text);
	hs_report_missing_lines(text, report, groups);
	if (report->hiding && report->hiding->config) {
		struct hs_text path = {0};
		hs_text_clean(&path, report->hiding->config);
		paragraph(text, report,
			  "note: ", "%s says which frames to hide too; --config \"\" reads none", path.bytes);
		hs_text_free(&path);
	}
	if (!report->raw)
		paragraph(text, report, "note: ",
			  "stacks are shown without the insides of allocators, containers and libc; --raw "
			  "shows them whole");
}

static void add_next(struct hs_text *text, const struct hs_report *report)
{
	struct hs_text path = {0};
	hs_text_clean(&path, report->path);
	hs_text_addf(text,
		     "next: heapscope view --open %s   the same in the browser\n"
		     "      heapscope print -n 0 %s   all sites; --json for programs\n",
		     path.bytes, path.bytes);
	hs_text_free(&path);
}

static void add_views(struct hs_text *text, const struct hs_report *report)
{
	for (unsigned view = 0; view < HS_VIEWS; view++) {
		if (!(report->views & 1u << view))
			continue;
		if (report->sorted && report->sites->replay.unknown & hs_metrics[report->sort].told) {
			hs_text_addf(text, "\n%s is not known from this file\n",
				     hs_metrics[report->sort].name);
			break;
		}
		switch ((enum hs_view)view) {
		case HS_VIEW_TREE:
		case HS_VIEW_CALLERS:
			hs_report_tree(text, report, view == HS_VIEW_CALLERS);
			break;
		case HS_VIEW_THREADS:
			hs_report_parts(text, report, HS_PARTS_BY_THREAD);
			break;
		case HS_VIEW_SIZES:
			hs_report_parts(text, report, HS_PARTS_BY_SIZE);
			break;
		case HS_VIEW_LIFETIMES:
			hs_report_parts(text, report, HS_PARTS_BY_LIFETIME);
			break;
		case HS_VIEW_FUNCTIONS:
			hs_report_shares(text, report, HS_BY_FUNCTION);
			break;
		case HS_VIEW_FILES:
			hs_report_shares(text, report, HS_BY_FILE);
			break;
		case HS_VIEW_MODULES:
			hs_report_shares(text, report, HS_BY_MODULE);
			break;
		case HS_VIEW_CRATES:
			hs_report_shares(text, report, HS_BY_CRATE);
			break;
		case HS_VIEWS:
			break;
		}
	}
}

static void add_selected(struct hs_text *text, const struct hs_report *report, struct hs_groups *groups,
			 struct hs_showing *showing)
{
	const struct hs_replay *replay = &report->sites->replay;
	if (!report->views && !(replay->unknown & HS_TOLD_EVENTS)) {
		hs_text_add(text, "\n");
		hs_chart(text, report->profile, replay, report->columns, report->utf8);
		hs_report_phases(text, report);
	}
	if (report->views)
		add_views(text, report);
	else
		hs_report_sites(text, report, groups, showing);
	hs_text_add(text, "\n");
	add_notes(text, report, groups);
	add_next(text, report);
}

static void add_report(struct hs_text *text, const struct hs_report *report)
{
	const struct hs_replay *replay = &report->sites->replay;
	bool filtered = hs_report_is_filtered(report);
	struct hs_groups own_groups, *groups = report->groups ? report->groups : &own_groups;
	struct hs_showing own = {0}, *showing = report->showing ? report->showing : &own;
	if (!report->views && !report->showing)
		hs_showing_start(&own, report->profile, report->sites, report->raw);
	add_command(text, report);
	add_facts(text, report);
	add_warnings(text, report);
	hs_text_add(text, "\n");
	if (report->groups)
		hs_groups_finish(groups, report->profile, report->sites);
	else
		hs_groups_make(groups, report->profile, report->sites);
	if (!hs_counts_any(filtered ? &replay->all.counts : &replay->totals.counts)) {
		hs_text_add(text, "  No allocation was recorded.\n\n");
		add_notes(text, report, groups);
	} else {
		if (filtered)
			hs_report_selection(text, report);
		else
			add_headline(text, report);
		if (hs_counts_any(&replay->totals.counts))
			add_selected(text, report, groups, showing);
	}
	hs_showing_wait(showing);
	hs_showing_free(&own);
	hs_groups_free(groups);
}

void hs_report_text(struct hs_text *text, const struct hs_report *report)
{
	uint32_t strings = report->profile->strings.count;
	struct hs_report with_names = *report;
	with_names.simple_names = hs_allocate_zero(strings, sizeof(*with_names.simple_names));
	add_report(text, &with_names);
	for (uint32_t i = 0; i < strings; i++)
		free(with_names.simple_names[i]);
	free(with_names.simple_names);
}
