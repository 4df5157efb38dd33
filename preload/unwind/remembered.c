/* The rarer halves of remembered.h. */
#include "remembered.h"

#include "../trie.h"
#include "rules.h"
#include "variants.h"

#ifdef HS_ORACLE
enum { VARIANTS_COUNT = 0 }; /* walk all the same, so that both ways can be compared */
#else
enum { VARIANTS_COUNT = 1 };
#endif

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

/* Whether nothing has changed but calls of the run outwards from `start`, which is the innermost frame. */
static inline bool is_variant(const struct thread *thread, const struct frame *start, struct frame *changed,
			      const struct frame *pushed)
{
	if (start != thread->known - 1 || pushed != thread->limit || start->flags < RUN * STEP)
		return false;
	return changed == start || (changed > start - RUN && outermost_changed(changed) >= start - RUN);
}

/* All holds but some calls. changed: where the outermost run begins that does not hold. */
static __attribute__((noinline)) struct held take_changes(struct thread *thread, struct frame *start,
							  struct frame *changed, const struct frame *pushed)
{
	bool variant = is_variant(thread, start, changed, pushed);
	if (variant) {
		thread->variant = hs_variant_node(thread->variants, thread->shape, start);
		if (VARIANTS_COUNT && likely(thread->variant))
			return (struct held){NULL, NULL};
	}
	if (!replace(outermost_changed(changed), start))
		return (struct held){start, start};
	if (variant)
		thread->new_variant = hs_variant_add(thread, start);
	return (struct held){NULL, start - 1};
}

struct held hs_verify_runs(struct thread *thread, struct frame *start, struct frame *frame,
			   const struct frame *pushed)
{
	const struct frame *outermost = thread->frames;
	struct frame *changed = NULL;
	do {
		if (frame->flags & RUNS) {
			struct frame *end = frame - frame->flags / STEP;
			for (; frame - end >= RUN; frame -= RUN)
				if (unlikely(!run_holds(frame)))
					changed = frame;
			/* the last run looks at some frames again */
			if (frame > end && unlikely(!run_holds(end + RUN)))
				changed = end + RUN;
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
	return take_changes(thread, start, changed, pushed);
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
