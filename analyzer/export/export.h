/* Exporters: one file a format, behind one table. */
#ifndef HS_EXPORT_H
#define HS_EXPORT_H

#include "profile/metrics.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

/* What colours of a flame graph stand for; equal things have the same in every file. */
enum hs_flame_palette {
	HS_FLAME_CODE,   /* own code, libraries, plumbing */
	HS_FLAME_MODULE, /* the program and each library */
	HS_FLAME_RUST,   /* each crate; the standard library is plumbing */
	HS_FLAME_MEM,    /* nothing, in greens and blues */
	HS_FLAME_HOT,    /* nothing, in reds and yellows */
};

/* How wide the boxes of a differential flame graph are. */
enum hs_flame_widths { HS_FLAME_BY_NEW, HS_FLAME_BY_OLD, HS_FLAME_BY_LARGER };

struct hs_flame_options {
	bool chart;         /* in the order of time */
	bool reverse;       /* from the allocating function to its callers */
	bool inverted;      /* the root on top */
	bool no_javascript; /* a picture only */
	enum hs_flame_palette palette;
	enum hs_flame_widths widths;
	uint32_t min_width; /* of a box, in millionths of the whole */
	const char *title;  /* NULL: made */
};

struct hs_export_options {
	bool raw;                    /* keep allocator and container internals */
	enum hs_metric metric;       /* for formats that hold one */
	const char *path;            /* of the recording */
	const char *selection;       /* what a filter selects, in words; NULL: all */
	struct hs_profile *baseline; /* an older recording to compare with, or NULL */
	const char *baseline_path;
	struct hs_counts
		*totals; /* of formats that hold one metric: where to put all of them; NULL: nowhere */
	/* For the page only: */
	const char *page; /* the built page, whose mark the data replace */
	size_t page_bytes;
	bool sources; /* put lines of source in */
	struct hs_flame_options flame;
};

struct hs_exporter {
	const char *name;   /* --format NAME */
	const char *suffix; /* of the default output name */
	const char *help;   /* one line */
	const char *next;   /* a command that opens the file, which follows it; NULL: not that simple */
	bool binary;
	uint32_t needs;  /* HS_TOLD_...: what a file has to tell to be written in this format */
	bool one_metric; /* holds one number a stack: options.metric */
	bool needs_page; /* options.page */
	bool compares;   /* takes options.baseline */
	bool flame;      /* takes options.flame */
	/* Writes the whole document; returns 0, or -1 and an error. NULL: the program's own JSON, which is
	 * the command line's. */
	int (*write)(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		     struct hs_error *error);
};

extern const struct hs_exporter hs_exporters[]; /* ends with name == NULL */
const struct hs_exporter *hs_exporter_find(const char *name);
/* Whether the file tells what the export needs; else -1 and an error that says what is missing. */
int hs_export_check(const struct hs_exporter *exporter, const struct hs_profile *profile,
		    const struct hs_export_options *options, struct hs_error *error);

#endif
