/* What `heapscope info` shows, as text (cmd_info.c) and as JSON (info_json.c). */
#ifndef HS_INFO_H
#define HS_INFO_H

#include "cli/report.h"
#include "profile/contents.h"
#include "symbols/packages.h"

struct hs_info_module {
	bool lacks;                /* debug information: most of its frames have no line, or no name */
	bool here;                 /* the file that was recorded is on this machine */
	bool debug_here;           /* with debug information (by now) */
	struct hs_package package; /* of a module that lacks it */
};

struct hs_info {
	struct hs_report report;
	struct hs_contents contents;
	struct hs_info_module *modules; /* by module */
	bool complete;                  /* no event lost, every stack whole */
};

extern const char *const hs_member_names[HS_CONTENTS_KINDS]; /* by enum hs_member_kind */

/* Hexadecimal digits; nothing for a module without. */
void hs_build_id_add(struct hs_text *text, const struct hs_module *module);

void hs_info_json(struct hs_text *text, const struct hs_info *info);

#endif
