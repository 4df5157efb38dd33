/* Phases by name: how long they took, what was allocated in them, how large the heap was. */
#ifndef HS_MARKS_H
#define HS_MARKS_H

#include "profile/profile.h"

/* All phases of one name. They may overlap: then what happened in several of them at once counts once. */
struct hs_phase {
	uint32_t name;     /* string index */
	uint64_t times;    /* how often it began */
	uint64_t first_us; /* when it began first */
	uint64_t total_us; /* how long the program was in it */
	uint64_t allocated_bytes, allocations;
	uint64_t most_bytes; /* the largest heap while it was in it */
	/* By how much the heap grew while the program was in it, and shrank; of what was live at the
	 * beginning as well. */
	int64_t change_bytes;
};

struct hs_phases {
	struct hs_phase *items; /* in the order of first_us */
	uint32_t count;
};

/* How often and how long recording was paused; a pause that nobody ended lasts until the end. */
struct hs_pauses {
	uint64_t count, total_us;
};
struct hs_pauses hs_pauses_of(const struct hs_profile *profile);

/* Replays the recording, which must have been replayed before, if there are phases. Of what profile.filter
 * selects. Returns 0, or -1 and an error. */
int hs_phases_make(struct hs_profile *profile, struct hs_phases *phases, struct hs_error *error);
void hs_phases_free(struct hs_phases *phases);

#endif
