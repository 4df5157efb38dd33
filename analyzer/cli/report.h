/* What `heapscope print` shows of a recording, as text for people and as JSON for programs.
 *
 *   report.c        the parts from top to bottom: facts, headline, notes
 *   report_sites.c  the tables of sites
 *   report_stacks.c the stacks below them
 *   report_shown.c  what is shown of a stack
 *   report_filter.c what a filter selected and left out
 *   report_tree.c   views: trees and tables of functions, files, modules, crates
 *   report_parts.c  views by thread, size, lifetime
 *   report_lines.c  the notes on missing line numbers
 *   report_marks.c  the program's own phases, pauses and pools
 *   report_json.c   docs/json.md; views: report_views_json.c
 */
#ifndef HS_REPORT_H
#define HS_REPORT_H

#include "base/format.h"
#include "base/text.h"
#include "cli/groups.h"
#include "cli/hiding.h"
#include "cli/json.h"
#include "profile/marks.h"
#include "profile/parts.h"
#include "profile/profile.h"
#include "profile/shares.h"
#include "profile/tree.h"

#include <stdatomic.h>
#include <stdbool.h>

struct hs_showing; /* report_shown.h */

/* What is shown instead of the tables of sites. */
enum hs_view {
	HS_VIEW_TREE,
	HS_VIEW_CALLERS,
	HS_VIEW_THREADS,
	HS_VIEW_SIZES,
	HS_VIEW_LIFETIMES,
	HS_VIEW_FUNCTIONS,
	HS_VIEW_FILES,
	HS_VIEW_MODULES,
	HS_VIEW_CRATES,
	HS_VIEWS,
};

struct hs_report {
	const struct hs_profile *profile; /* with its filter, if there is one */
	const struct hs_sites *sites;     /* finished, or for a text without views only begun */
	const struct hs_hiding *hiding;   /* NULL: the built-in rules */
	const char *path;                 /* of the recording */
	uint64_t rows;                    /* of each table; 0: all */
	uint64_t depth;                   /* frames of a stack; 0: all */
	unsigned columns;
	enum hs_metric sort;
	unsigned views; /* bits: 1 << enum hs_view */
	bool sorted;    /* by `sort`; else the tables that most people want */
	bool raw, utf8;
	struct hs_showing *showing;    /* NULL, or what hs_showing_start has begun, */
	struct hs_groups *groups;      /* and hs_groups_begin */
	_Atomic(char *) *simple_names; /* NULL, or what hs_name_simple made of each function, by its string */
};

/* How Rust programs get lines. */
#define HS_RUST_DEBUG "-g (with cargo: debug = true in the profile)"

bool hs_report_is_filtered(const struct hs_report *report);
/* Whether some of what is live at the end is suppressed, so that it does not count as leaked. */
bool hs_report_is_suppressed(const struct hs_report *report);
/* What views go by: samples are calls. */
enum hs_metric hs_report_metric(const struct hs_report *report);
/* A metric's value for people: "1.2 MiB", "12,345", "3.20 s". */
struct hs_number hs_amount(enum hs_metric metric, uint64_t value);
/* What 100% of a metric is: "6.1 MiB", "1.2 MiB selected", "30,650 calls". */
void hs_report_whole(struct hs_text *text, const struct hs_report *report, enum hs_metric metric);
/* report_filter.c: the filter, and how its selection and the rest make up the whole. */
void hs_report_selection(struct hs_text *text, const struct hs_report *report);

/* Adds what was run, cleaned: a command line, or those that were merged. */
void hs_report_command(struct hs_text *line, const struct hs_facts *facts);

void hs_report_text(struct hs_text *text, const struct hs_report *report);
/* JSON: all sites, or the first `rows` if that is not 0. */
void hs_report_json(struct hs_text *text, const struct hs_report *report);

/* The tables by peak, calls, temporary and leak, then the stacks of the sites in them. Numbers the groups. */
void hs_report_sites(struct hs_text *text, const struct hs_report *report, struct hs_groups *groups,
		     struct hs_showing *showing);

/* report_lines.c: notes on line numbers that are missing. */
void hs_report_missing_lines(struct hs_text *text, const struct hs_report *report,
			     const struct hs_groups *groups);

/* report_marks.c: the table of phases, or nothing. */
void hs_report_phases(struct hs_text *text, const struct hs_report *report);
/* "at most at once out of the program's own pools, 1,000 blocks in all; ..." */
void hs_pools_words(struct hs_text *words, const struct hs_pool_facts *pools);
/* "recording was paused once by the program, ..."; false: it was not. */
bool hs_pauses_words(struct hs_text *words, const struct hs_profile *profile);

/* Views. */
void hs_report_tree(struct hs_text *text, const struct hs_report *report, bool bottom_up);
void hs_report_shares(struct hs_text *text, const struct hs_report *report, enum hs_share_by by);
void hs_report_parts(struct hs_text *text, const struct hs_report *report, enum hs_parts_by by);
/* Each view that is wanted under its name: an array, or null if the file does not tell it. */
void hs_report_views_json(json_t *document, const struct hs_report *report, struct hs_json_frames *frames);
/* What a tree has: `whole` leaves out no small branches. */
struct hs_tree_wanted hs_report_tree_wanted(const struct hs_report *report, bool bottom_up, bool whole);
enum hs_metric hs_report_parts_metric(const struct hs_report *report, enum hs_parts_by by);
/* "BY PEAK", "LIVE AT 3.00 s". */
void hs_report_by(struct hs_text *text, const struct hs_report *report, enum hs_metric metric);
/* "TREE BY PEAK ... 100% is 6.1 MiB" */
void hs_report_view_title(struct hs_text *text, const struct hs_report *report, const char *view,
			  enum hs_metric metric, const char *more);

/* What a frame is called, and where it is: at most `columns` wide. */
void hs_frame_name(struct hs_text *text, const struct hs_report *report, uint32_t frame, size_t columns);
void hs_frame_place(struct hs_text *text, const struct hs_report *report, uint32_t frame, size_t columns);

size_t hs_frame_place_columns(const struct hs_report *report, uint32_t frame, size_t most);
/* Adds name and place as two columns; the name takes exactly name_columns, the place at most most_place. */
void hs_frame_row(struct hs_text *text, const struct hs_report *report, uint32_t frame, size_t name_columns,
		  size_t most_place);

/* Adds the line above a part of the report. */
void hs_report_title(struct hs_text *text, const struct hs_report *report, const char *title,
		     const char *right);

/* The stacks of the groups items[shown[...]]: of each those that make up most of what its tables show. */
void hs_report_stacks(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups,
		      const uint32_t *shown, uint32_t count, struct hs_showing *showing);

/* The words for "at exit" that fit how the recording ended. */
const char *hs_end_words(const struct hs_facts *facts);

/* Adds words broken into lines of report->columns; the first line begins with `head`, the others are indented
 * by its width. */
void hs_report_paragraph(struct hs_text *text, const struct hs_report *report, const char *head,
			 const char *words);

#endif
