/* What of a recording counts. A filter is set on a profile before its replay; all that replays it then
 * (sites, exports, comparisons) counts the selected blocks only. A block is selected when it begins, and
 * keeps that:
 *
 *   its stack     --focus, --ignore, --module: by node, before the replay
 *   itself        thread, size, the time when it was allocated, the phase of the program (--phase)
 *   its fate      --at: whether it is live at a moment (an extra pass finds those that are)
 *
 * The peak stays that of the whole program: a filtered peak is the selection's share of that moment, so that
 * it and what was left out add up to the whole (hs_replay.all). With --at that moment takes the peak's place.
 */
#ifndef HS_FILTER_H
#define HS_FILTER_H

#include "profile/patterns.h"
#include "profile/profile.h"

struct hs_filter {
	struct hs_patterns focus;   /* stacks with a frame that matches, for each of them */
	struct hs_patterns ignore;  /* stacks with no frame that matches any of them */
	struct hs_patterns modules; /* stacks whose allocating module matches one of them */
	struct hs_patterns threads; /* threads whose name matches one of them; digits alone: a number */
	char **phases;              /* names of phases: what was allocated in any of them */
	uint32_t phase_count;
	uint64_t least_bytes, most_bytes;
	uint64_t from_us, to_us; /* allocated in [from, to) */
	uint64_t at_us;          /* live at that moment, after its events; HS_TIME_NONE: whenever */
};

#define HS_FILTER_ALL                                                                                        \
	((struct hs_filter){.most_bytes = UINT64_MAX, .to_us = HS_TIME_NONE, .at_us = HS_TIME_NONE})

void hs_filter_free(struct hs_filter *filter);
bool hs_filter_selects_all(const struct hs_filter *filter); /* NULL does */
/* Whether stacks alone do not answer it. */
bool hs_filter_needs_events(const struct hs_filter *filter);

/* By node: whether the stacks that end there are selected. malloc'ed. */
bool *hs_filter_nodes(const struct hs_filter *filter, const struct hs_profile *profile);

/* Events of the file, [first, end). */
struct hs_span {
	uint64_t first, end;
};
/* The spans of the phases that are selected, ascending, none touching another; malloc'ed. */
struct hs_span *hs_filter_spans(const struct hs_filter *filter, const struct hs_profile *profile,
				uint32_t *count);

/* Whether the thread (an index in profile.threads, which may be beyond its end) is selected. A number is that
 * of the kernel (tid); where no thread has it, the position in the list of threads, from 1. */
bool hs_filter_thread(const struct hs_filter *filter, const struct hs_profile *profile, uint32_t thread);

/* By frame: the module that a stack ending there is booked on, see --module: that of the innermost frame that
 * is not internal; of the innermost one where all are. UINT32_MAX: none. By node; malloc'ed. */
uint32_t *hs_allocating_modules(const struct hs_profile *profile);

#endif
