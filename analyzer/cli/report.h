/* What `heapscope print` shows of a recording, as text for people and as JSON for programs.
 *
 *   report.c        the parts from top to bottom: facts, headline, notes
 *   report_sites.c  the tables of sites
 *   report_stacks.c the stacks below them
 *   report_json.c   docs/json.md
 */
#ifndef HS_REPORT_H
#define HS_REPORT_H

#include "base/text.h"
#include "cli/groups.h"
#include "profile/profile.h"

#include <stdbool.h>

struct hs_report {
	const struct hs_profile *profile;
	const struct hs_sites *sites;
	const char *path; /* of the recording */
	uint64_t rows;    /* of each table; 0: all */
	uint64_t depth;   /* frames of a stack; 0: all */
	unsigned columns;
	bool raw, utf8;
};

/* Adds what was run, cleaned: a command line, or those that were merged. */
void hs_report_command(struct hs_text *line, const struct hs_facts *facts);

void hs_report_text(struct hs_text *text, const struct hs_report *report);
/* JSON: all sites, or the first `rows` if that is not 0. */
void hs_report_json(struct hs_text *text, const struct hs_report *report);

/* The tables by peak, calls, temporary and leak, then the stacks of the sites in them. */
void hs_report_sites(struct hs_text *text, const struct hs_report *report);

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

/* The stacks of one group: those that make up most of what the group's tables show. */
void hs_report_stacks(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups,
		      const struct hs_group *group);

/* The words for "at exit" that fit how the recording ended. */
const char *hs_end_words(const struct hs_facts *facts);

/* Adds words broken into lines of report->columns; the first line begins with `head`, the others are indented
 * by its width. */
void hs_report_paragraph(struct hs_text *text, const struct hs_report *report, const char *head,
			 const char *words);

#endif
