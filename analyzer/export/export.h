/* Exporters: one file a format, behind one table. */
#ifndef HS_EXPORT_H
#define HS_EXPORT_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

struct hs_export_options {
	bool raw; /* keep allocator and container internals */
};

struct hs_exporter {
	const char *name;   /* --format NAME */
	const char *suffix; /* of the default output name */
	const char *help;   /* one line */
	bool binary;
	/* Writes the whole document; returns 0, or -1 and an error. */
	int (*write)(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		     struct hs_error *error);
};

extern const struct hs_exporter hs_exporters[]; /* ends with name == NULL */
const struct hs_exporter *hs_exporter_find(const char *name);

#endif
