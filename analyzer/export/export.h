/* Exporters: one file a format, behind one table. */
#ifndef HS_EXPORT_H
#define HS_EXPORT_H

#include "profile/metrics.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

struct hs_export_options {
	bool raw;              /* keep allocator and container internals */
	enum hs_metric metric; /* for formats that hold one */
	const char *path;      /* of the recording */
	/* For the page only: */
	const char *page; /* the built page, whose mark the data replace */
	size_t page_bytes;
	bool sources;                /* put lines of source in */
	struct hs_profile *baseline; /* an older recording to compare with, or NULL */
	const char *baseline_path;
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
	/* Writes the whole document; returns 0, or -1 and an error. */
	int (*write)(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		     struct hs_error *error);
};

extern const struct hs_exporter hs_exporters[]; /* ends with name == NULL */
const struct hs_exporter *hs_exporter_find(const char *name);
/* Whether the file tells what the export needs; else -1 and an error that says what is missing. */
int hs_export_check(const struct hs_exporter *exporter, const struct hs_profile *profile,
		    const struct hs_export_options *options, struct hs_error *error);

#endif
