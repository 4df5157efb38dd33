/* What the commands that read recordings begin with: a profile, and its sites. */
#ifndef HS_OPEN_H
#define HS_OPEN_H

#include "cli/hiding.h"
#include "cli/suppress.h"
#include "profile/filter.h"

struct hs_showing; /* report_shown.h */
struct hs_groups;

struct hs_opened {
	struct hs_profile *profile;
	struct hs_suppressions suppressions;
	struct hs_sites sites;
};

/* Loads all but the events, and marks hidden frames (hiding may be NULL: the built-in rules). NULL after a
 * message. Replays of it show their progress; hs_progress_end is the caller's to call after them. */
struct hs_profile *hs_open_profile(const char *path, const struct hs_hiding *hiding);

/* Loads, hides, and replays what the filter selects (NULL: all); the filter has to outlive it. What is wrong
 * with the file goes to standard error, if standard output is no terminal that would show it. Returns 0, or
 * -1 after a message. */
int hs_open(struct hs_opened *opened, const char *path, const struct hs_hiding *hiding,
	    const struct hs_filter *filter, const struct hs_suppress *suppress, bool raw);
/* Likewise; but the sites are only begun, as are `showing` and `groups`. */
int hs_open_begin(struct hs_opened *opened, const char *path, const struct hs_hiding *hiding,
		  const struct hs_filter *filter, const struct hs_suppress *suppress, bool raw,
		  struct hs_showing *showing, struct hs_groups *groups);
void hs_open_close(struct hs_opened *opened);

#endif
