/* Importers: files of other tools as recordings, one file a format behind one table. */
#ifndef HS_IMPORT_H
#define HS_IMPORT_H

#include "import/source.h"
#include "profile/metrics.h"

/* What the numbers of a format are that does not say so. */
struct hs_import_options {
	bool samples; /* of a profiler */
	enum hs_metric metric;
};

struct hs_importer {
	const char *name; /* --format NAME */
	const char *help; /* one line */
	bool one_metric;  /* options say what its numbers are */
	/* Whether a file that begins so (NUL-terminated; the beginning may be all of it) looks like one. */
	bool (*recognizes)(const char *head, size_t count);
	/* Writes the recording to the file. Returns 0, or -1 and an error. What is wrong with the file, but
	 * does not spoil it, goes to `warning`. */
	int (*convert)(struct hs_source *source, const struct hs_import_options *options, int fd,
		       struct hs_error *warning, struct hs_error *error);
};

extern const struct hs_importer hs_importers[]; /* ends with name == NULL */
const struct hs_importer *hs_importer_find(const char *name);
/* The importer that recognizes the file, or NULL, and an error that says what the file may be. */
const struct hs_importer *hs_importer_guess(struct hs_source *source, struct hs_error *error);

#endif
