/* What the exporters of stacks share: a recording's sites, with their frames as text that the formats can
 * hold. Private to export/. */
#ifndef HS_EXPORT_STACKS_H
#define HS_EXPORT_STACKS_H

#include "export.h"

/* A line of code as the formats see it: frames of the same function, file, line and module are one place. */
struct hs_place {
	uint32_t name;    /* index in hs_export.names; never empty */
	uint32_t file;    /* string index of the profile; 0 unknown */
	uint32_t line;    /* 0 unknown */
	uint32_t module;  /* index in profile.modules; UINT32_MAX none */
	uint64_t address; /* link-time, of the first frame; 0 none */
};

struct hs_export {
	struct hs_profile *profile;
	struct hs_sites sites;
	struct hs_strings names; /* valid UTF-8 without control characters */
	struct hs_place *places;
	uint32_t place_count;
	uint32_t *place_of_frame;
	uint32_t depth_most; /* frames of a stack that are written, so that the file keeps within bounds */
	uint32_t stack_most; /* places that hs_export_stack writes at most */
	uint32_t cut_place;  /* stands for the outer frames that were left out */
	uint32_t lost_place; /* the only one of a stack without frames */
};

/* Replays the recording. `replace`: NULL, or pairs of characters; in names the first of each pair becomes the
 * second, because the format gives it a meaning. */
int hs_export_make(struct hs_profile *profile, bool raw, const char *replace, struct hs_export *export,
		   struct hs_error *error);
void hs_export_free(struct hs_export *export);

/* Writes the places of a site's stack, innermost first; at least one. The first of them are those of the
 * site's own frames, in order. Returns how many. */
uint32_t hs_export_stack(const struct hs_export *export, const struct hs_site *site, uint32_t *places);

/* A copy of any text that fits in a line of text: valid UTF-8, control characters are spaces, and what is to
 * be replaced is. The caller frees it. */
char *hs_line_text(const char *text, const char *replace);

/* Whether all could be written: 0, or -1 and an error that names the format. */
int hs_export_finish(FILE *output, const char *what, struct hs_error *error);

#endif
