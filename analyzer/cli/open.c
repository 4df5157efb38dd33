/* What the commands that read recordings begin with. */
#include "cli/open.h"

#include "cli/groups.h"
#include "cli/report_shown.h"
#include "cli/terminal.h"

#include <malloc.h>
#include <unistd.h>

/* Blocks as large as that go back to the system when they are freed. By default glibc keeps them for smaller
 * ones once it has seen any freed, and the large arrays of the steps of a replay add up. */
enum { LARGE_BLOCK_BYTES = 256 << 10 };
/* The heap for smaller blocks grows and shrinks in larger steps than glibc's 128 KiB: a replay that frees its
 * live blocks would call the system for every few pages of them. */
enum { HEAP_STEP_BYTES = 1 << 20, HEAP_SPARE_BYTES = 4 << 20 };

static struct hs_profile *load(const char *path, bool begin)
{
	struct hs_error error = {{0}};
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
	mallopt(M_TRIM_THRESHOLD, HEAP_SPARE_BYTES);
	struct hs_profile *profile = begin ? hs_profile_begin(path, &error) : hs_profile_load(path, &error);
	if (profile == NULL) {
		hs_notice(error.text);
		return NULL;
	}
	profile->progress = hs_progress;
	return profile;
}

struct hs_profile *hs_open_profile(const char *path, const struct hs_hiding *hiding)
{
	struct hs_profile *profile = load(path, false);
	if (profile && hiding)
		hs_hiding_apply(hiding, profile);
	return profile;
}

/* What goes on while sites are begun. */
struct beginning {
	const struct hs_hiding *hiding;
	const struct hs_profile *profile;
	bool raw;
	struct hs_showing *showing; /* NULL: sites are made as a whole */
	struct hs_groups *groups;
};

static void hide(struct hs_profile *profile, void *context)
{
	const struct beginning *beginning = context;
	if (beginning->hiding)
		hs_hiding_apply(beginning->hiding, profile);
}

static struct hs_site_sums begin_report(const struct hs_sites *sites, void *context)
{
	const struct beginning *beginning = context;
	hs_showing_start(beginning->showing, beginning->profile, sites, beginning->raw);
	return hs_groups_begin(beginning->groups, beginning->profile, sites);
}

static int open_as(struct hs_opened *opened, const char *path, const struct hs_hiding *hiding,
		   const struct hs_filter *filter, const struct hs_suppress *suppress, bool raw,
		   struct hs_showing *showing, struct hs_groups *groups)
{
	struct hs_error error = {{0}};
	*opened = (struct hs_opened){.profile = showing ? load(path, true) : hs_open_profile(path, hiding)};
	if (opened->profile == NULL)
		return -1;
	opened->profile->filter = filter;
	if (hs_suppress(suppress, opened->profile, &opened->suppressions, &error) != 0) {
		hs_notice(error.text);
		hs_open_close(opened);
		return -1;
	}
	struct beginning beginning = {hiding, opened->profile, raw, showing, groups};
	struct hs_meanwhile meanwhile = {hide, begin_report, &beginning};
	int result = showing ? hs_sites_begin(opened->profile, raw, &meanwhile, &opened->sites, &error)
			     : hs_sites_make(opened->profile, raw, &opened->sites, &error);
	if (result != 0) {
		hs_message("\"%s\": %s", path, error.text);
		hs_open_close(opened);
		return -1;
	}
	hs_progress_end();
	/* the report says it too; whoever sends that to a file is to see it here */
	if (opened->profile->facts.warning && !isatty(STDOUT_FILENO))
		hs_message("warning: %s: %s", path, opened->profile->facts.warning);
	return 0;
}

int hs_open(struct hs_opened *opened, const char *path, const struct hs_hiding *hiding,
	    const struct hs_filter *filter, const struct hs_suppress *suppress, bool raw)
{
	return open_as(opened, path, hiding, filter, suppress, raw, NULL, NULL);
}

int hs_open_begin(struct hs_opened *opened, const char *path, const struct hs_hiding *hiding,
		  const struct hs_filter *filter, const struct hs_suppress *suppress, bool raw,
		  struct hs_showing *showing, struct hs_groups *groups)
{
	return open_as(opened, path, hiding, filter, suppress, raw, showing, groups);
}

void hs_open_close(struct hs_opened *opened)
{
	if (opened->profile == NULL)
		return;
	hs_sites_free(&opened->sites);
	hs_profile_free(opened->profile);
	hs_suppressions_free(&opened->suppressions);
	opened->profile = NULL;
}
