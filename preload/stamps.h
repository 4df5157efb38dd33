/* When an event happened.
 *
 * While only one stream has events, nothing but their order in it matters; and for most events the clock
 * takes longer than all else. So in dense runs of such events only each 16th gets a stamp of its own, those
 * between the last one again: their times are too early by microseconds, and after a pause by a tick of the
 * kernel's timer at most, since each event after a tick has a stamp of its own. */
#ifndef HS_STAMPS_H
#define HS_STAMPS_H

#include "claims.h"

/* Whose events have been the only ones of late, or may turn out to be; NULL: nobody's. Everybody looks before
 * taking a stamp, and who is not the one puts an end to it. hs_stamps_in_order: each event gets a fenced
 * stamp, for ever. */
extern struct thread *hs_stamp_soloist, hs_stamps_in_order;
/* A word of the kernel's that changes with each tick of its timer. Stands where there is a soloist. */
extern const uint64_t *hs_stamp_tick;

/* Finds the tick, once a process image. `vdso`: where the kernel has mapped it, 0: unknown. */
void hs_stamps_begin(uint64_t vdso);

uint64_t hs_stamp_now(void);
void hs_clock_freeze(bool freeze); /* the TSC cannot be read any more (or can again) */
void hs_stamps_fence(void);        /* from now on: events order those at other addresses, too */

/* Now and then, in an event: perhaps there are no others. */
void hs_stamps_look_around(struct thread *thread);
/* There is no soloist any more, unless it is this thread (NULL: whoever it is). */
void hs_stamps_end_solo(const struct thread *thread);
void hs_stamps_end_solo_of(struct thread *thread); /* unless it is another one */

/* The stamp of an event while hs_stamp_soloist is not NULL, unless it is the last one again. own: no other
 * stream ever had an event at its address. */
uint64_t hs_stamp_slowly(struct thread *thread, bool own);

/* In front of the first stamp of an event: until the event ends, later ones of other threads have to wait for
 * it, and nobody becomes the soloist. */
static inline void event_has_stamp(struct thread *thread)
{
	store_release(&thread->chunk->busy, 1); /* after the header of a new chunk */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Of an event at an address: ordered against those of other threads at the same one. */
static inline uint64_t event_stamp(struct thread *thread, uint64_t address)
{
	event_has_stamp(thread);
	bool own = hs_claim(address, thread->stream);
	const struct thread *soloist = load_relaxed(&hs_stamp_soloist);
	if (soloist) {
		if (unlikely(soloist != thread || !thread->rests ||
			     load_relaxed(hs_stamp_tick) != thread->tick))
			return hs_stamp_slowly(thread, own);
		thread->rests--;
		return thread->last_stamp;
	}
	return own ? arch_stamp() : arch_stamp_fenced();
}

#endif
