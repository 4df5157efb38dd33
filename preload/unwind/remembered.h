/* Looking at remembered frames: which of them hold. See walk.c.
 *
 * Branches are dear where calls change at random. So frames of which only the return addresses matter are
 * checked several at a time, and those of other calls at the same places are replaced without walking there.
 * Words are then read of which it is not certain that a plain walk would; but they lie between others on the
 * thread's own stack, which stays mapped while it runs (another stack may have gone in part, and come again).
 */
#ifndef HS_REMEMBERED_H
#define HS_REMEMBERED_H

#include "../shim.h"

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* The word from which the step outwards took the next fp. */
static inline uint64_t slot_of(const struct frame *frame)
{
	return frame[-1].sp + (uint64_t)RULE_SLOT(frame->rule);
}

/* So many steps outwards are checked together. From frames with such flags on it can be done. */
enum { RUN = 8, RUNS = (int)-(RUN * STEP) };

/* Whether the step outwards from a frame would read what it read then. */
static inline bool slot_holds(const struct frame *frame)
{
	return !(frame->flags & (STEP_AGAIN | SLOT_COUNTS)) ||
	       (!(frame->flags & STEP_AGAIN) && word_at(slot_of(frame)) == frame[-1].fp);
}

static inline bool return_address_holds(const struct frame *frame)
{
	return word_at(frame[-1].sp - 8) == frame[-1].pc;
}

/* What a look at the remembered frames has found. */
struct held {
	struct frame *step_from; /* NULL: all holds, to the end */
	struct frame *outer;     /* from it outwards nothing has changed, if all holds; NULL: the stack is
				    that of thread->variant, and nothing is to be done */
};

/* Looks outwards from `frame`; from it inwards to `start` all holds. There are runs. pushed: the walk's. */
struct held hs_verify_runs(struct thread *thread, struct frame *start, struct frame *frame,
			   const struct frame *pushed);

/* Looks outwards from `start`, which holds. May look at runs, until that was in vain once. */
static inline struct held verify(struct thread *thread, struct frame *start, const struct frame *pushed,
				 bool *runs)
{
	struct frame *frame = start;
	for (const struct frame *outermost = thread->frames; frame > outermost; frame--) {
		if (unlikely(frame->flags & (STEP_AGAIN | SLOT_COUNTS | RUNS))) {
			if (frame->flags & RUNS && *runs) {
				struct held held = hs_verify_runs(thread, start, frame, pushed);
				*runs = !held.step_from;
				return held;
			}
			if (!slot_holds(frame))
				return (struct held){frame, start};
		}
		if (unlikely(!return_address_holds(frame)))
			return (struct held){frame, start};
	}
	return (struct held){frame->flags & STEP_AGAIN ? frame : NULL, start};
}

/* The flags of a frame that is not odd, given those of the next one outwards, on whose fp nothing depends. */
static inline uint32_t plain_flags(uint32_t outer)
{
	return (outer & ~(uint32_t)ODD) + (outer & ON_OWN_STACK) / ON_OWN_STACK * STEP;
}

/* The flags of a frame, some of which its step has given it; and those of the next frame outwards, or 0. (A
 * flag that is left from before only costs.) */
static inline uint32_t flags_of(const struct frame *frame, uint32_t outer)
{
	uint32_t flags = frame->flags & ODD;
	if (likely(!(flags | (outer & FP_COUNTS))))
		return plain_flags(outer);
	bool counts = outer & FP_COUNTS, has_slot = RULE_SLOT(frame->rule) != 0;
	if (has_slot && counts)
		flags |= SLOT_COUNTS;
	if (flags & USES_FP || (counts && !has_slot))
		flags |= FP_COUNTS;
	/* Where the frame pointer leads another stack may begin; but not one nearer than a page. */
	if (!(flags & STEP_AGAIN) && (!(flags & USES_FP) || frame[-1].sp - frame->sp < HS_PAGE_BYTES))
		flags |= outer & ON_OWN_STACK;
	return flags;
}

/* The outermost frame is where code begins: if the stack does there as well, the frames up to `end` are on
 * the thread's own one. */
void hs_begin_own_stack(struct thread *thread, const struct frame *end);

#endif
