/* What the files of profile/ share with each other. */
#ifndef HS_PROFILE_INTERNAL_H
#define HS_PROFILE_INTERNAL_H

#include "profile.h"

/* Adds a sentence to facts.warning, unless it stands there already. */
void hs_profile_warn(struct hs_profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Warns if the recorder counted otherwise. */
void hs_profile_compare_totals(struct hs_profile *profile, const struct hs_totals *totals);

/* How many nodes the file has, the root included, if nothing is wrong with it (load.c). */
uint32_t hs_load_expected_nodes(const struct hs_recording *recording);

/* Gives the frames their ranks, once they are all there (order.c). */
void hs_frames_rank(struct hs_profile *profile);

/* hs_replay_run_as for a file with counts instead of events: there is nothing to watch, and no thread but the
 * unknown one. Fails if the filter asks for what only events tell. */
int hs_counts_replay(struct hs_profile *profile, const uint32_t *group_of_node,
		     const struct hs_replay_how *how, struct hs_replay *replay, struct hs_error *error);

#endif
