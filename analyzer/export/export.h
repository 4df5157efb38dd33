/* Exporters: one file a format, behind one table. */
#ifndef HS_EXPORT_H
#define HS_EXPORT_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

/* metrics.c: what a format is about that holds one number a stack */
enum hs_metric {
	HS_METRIC_PEAK, /* bytes live at the peak */
	HS_METRIC_ALLOCATED,
	HS_METRIC_CALLS,
	HS_METRIC_TEMPORARY, /* allocations, not bytes */
	HS_METRIC_LEAKED,
	HS_METRIC_MOVED,
	HS_METRICS,
};
struct hs_metric_name {
	const char *name;  /* --metric NAME */
	const char *title; /* for people */
	bool bytes;        /* else a number of allocations */
};
extern const struct hs_metric_name hs_metrics[HS_METRICS];
uint64_t hs_metric_value(const struct hs_counts *counts, enum hs_metric metric);
bool hs_metric_find(const char *name, enum hs_metric *metric);

struct hs_export_options {
	bool raw;              /* keep allocator and container internals */
	enum hs_metric metric; /* for formats that hold one */
};

struct hs_exporter {
	const char *name;   /* --format NAME */
	const char *suffix; /* of the default output name */
	const char *help;   /* one line */
	const char *next;   /* a command that opens the file, which follows it; NULL: not that simple */
	bool binary;
	bool one_metric; /* holds one number a stack: options.metric */
	/* Writes the whole document; returns 0, or -1 and an error. */
	int (*write)(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		     struct hs_error *error);
};

extern const struct hs_exporter hs_exporters[]; /* ends with name == NULL */
const struct hs_exporter *hs_exporter_find(const char *name);

#endif
