/* The rarer halves of remembered.h. */
#include "remembered.h"

#include "../trie.h"
#include "rules.h"

static inline bool run_holds(const struct frame *frame)
{
	uint64_t changed = 0;
#pragma GCC unroll 8
	for (int i = 1; i <= RUN; i++)
		changed |= word_at(frame[-i].sp - 8) ^ frame[-i].pc;
	return !changed;
}

/* The outermost frame of the run outwards from `frame` that was called from elsewhere. */
static __attribute__((noinline)) struct frame *outermost_changed(struct frame *frame)
{
	struct frame *outer = frame - RUN;
	while (word_at(outer->sp - 8) == outer->pc)
		outer++;
	return outer;
}

/* Calls have changed from `first` inwards to `end` (which holds): the frames become those that are there now.
 * false: one of them is of another size, or odd; what is remembered is still right. */
static __attribute__((noinline)) bool replace(struct frame *first, const struct frame *end)
{
	uint64_t path = first[-1].path;
	uint32_t check = first[-1].check;
	for (struct frame *frame = first; frame < end; frame++) {
		uint64_t pc = word_at(frame->sp - 8);
		if (unlikely(frame->flags & ODD)) {
			if (frame->pc != pc)
				return false;
		} else {
			unwind_rule rule = hs_rule_of(pc);
			if (unlikely(RULE_KIND(rule) != RULE_SP ||
				     frame->sp + (uint64_t)RULE_CFA(rule) != frame[-1].sp))
				return false;
			frame->pc = pc;
			frame->rule = rule;
		}
		trie_hash(frame, path, check);
		path = frame->path;
		check = frame->check;
	}
	return true;
}

struct held hs_verify_runs(struct frame *start, struct frame *frame, const struct frame *outermost)
{
	struct frame *changed = NULL;
	do {
		if (frame->flags & RUNS) {
			struct frame *end = frame - frame->flags / STEP;
			for (; frame - end >= RUN; frame -= RUN)
				if (unlikely(!run_holds(frame)))
					changed = outermost_changed(frame);
			/* the last run looks at some frames again */
			if (frame > end && unlikely(!run_holds(end + RUN)))
				changed = outermost_changed(end + RUN);
			frame = end;
		} else if (slot_holds(frame) && return_address_holds(frame)) {
			frame--;
		} else {
			return (struct held){changed ? start : frame, start};
		}
	} while (frame > outermost);
	if (unlikely(frame->flags & STEP_AGAIN))
		return (struct held){changed ? start : frame, start};
	if (!changed)
		return (struct held){NULL, start};
	return replace(changed, start) ? (struct held){NULL, start - 1} : (struct held){start, start};
}

void hs_begin_own_stack(struct thread *thread, const struct frame *end)
{
	enum { BELOW_END = 4 * HS_PAGE_BYTES };
	struct frame *frame = thread->frames;
	bool initial = thread->tid == hs_process.header->pid;
	uint64_t stack_end = initial ? hs_process.stack_end : arch_thread_pointer();
	if (stack_end - frame->sp >= BELOW_END)
		return;
	frame->flags |= ON_OWN_STACK;
	while (++frame < end)
		frame->flags = flags_of(frame, frame[-1].flags);
}
