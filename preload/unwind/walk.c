/* The walk, and the remembered stack that makes it cheap.
 *
 * A step outwards is a function of (pc, sp, fp) and the words it loads. So when a new walk meets a remembered
 * frame with equal (pc, sp, fp), the rest of the remembered stack is right exactly as far as each loaded word
 * still holds its value: that is checked, word by word, outwards; where one differs, stepping resumes.
 * Nothing is assumed, nothing on the stack is changed, and no word is read that a plain walk would not read.
 */
#include "../shim.h"

#include "../trie.h"
#include "rules.h"

#include <string.h>

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

struct frame *hs_frames_new(int64_t capacity)
{
	struct frame *pages = hs_pages((size_t)(capacity + 1) * sizeof *pages, false);
	if (!pages)
		return NULL;
	pages->sp = UINT64_MAX;
	return pages + 1;
}

/* The outermost remembered frame, starting from `frame`, up to which all holds; NULL: all of them, to the
 * end. */
static inline struct frame *verify(struct frame *frame, const struct frame *outermost)
{
	for (; frame > outermost; frame--) {
		const struct frame *outer = frame - 1;
		const uint64_t *slot = frame->fp_slot;
		if (!slot) {
			if (unlikely(frame->step_again))
				return frame;
		} else if (unlikely(*slot != outer->fp)) {
			return frame;
		}
		if (unlikely(word_at(outer->sp - 8) != outer->pc))
			return frame;
	}
	return frame->step_again ? frame : NULL;
}

enum outcome {
	STEPPED,
	ENDED,    /* this is the outermost frame */
	BROKEN,   /* nobody can go on from here */
	DELEGATE, /* libunwind may know */
};

static enum outcome step_without_rule(struct frame *frame, struct frame_state *state)
{
	bool looked;
	struct frame_state from = *state;
	if (hs_process.unwinder == UNWINDER_LIBUNWIND)
		return DELEGATE;
	if (hs_step_by_frame_pointer(&from, state, &looked)) {
		frame->step_again = 1;
		return STEPPED;
	}
	frame->step_again = looked;
	return frame->module == HS_MODULE_NONE || hs_process.unwinder == UNWINDER_FP ? BROKEN : DELEGATE;
}

/* The rare kinds of step. frame->module is set; fp_slot is NULL, step_again 0. */
static __attribute__((noinline)) enum outcome step_rarely(unwind_rule rule, struct frame *frame,
							  struct frame_state *state)
{
	switch (RULE_KIND(rule)) {
	case RULE_FP_DEREF:
		frame->step_again = 1;
		state->sp = word_at(state->fp + (uint64_t)RULE_CFA(rule));
		state->fp = word_at(state->fp);
		state->pc = word_at(state->sp - 8);
		return state->pc ? STEPPED : ENDED;
	case RULE_SIGNAL:
		frame->step_again = 1;
		arch_signal_frame(state->sp, &state->pc, &state->sp, &state->fp);
		state->pc++; /* the interrupted instruction itself; look-ups are made at pc - 1 */
		return STEPPED;
	case RULE_END:
		return ENDED;
	default:
		return step_without_rule(frame, state);
	}
}

/* One step outwards from state, which becomes the caller's. Notes in the frame what the step depended on. */
static inline enum outcome step(struct frame *frame, struct frame_state *state)
{
	unwind_rule rule = hs_rule_of(state->pc);
	uint64_t cfa = (uint64_t)RULE_CFA(rule);
	frame->fp_slot = NULL;
	frame->module = RULE_MODULE(rule);
	frame->step_again = 0;
	if (likely(RULE_KIND(rule) == RULE_SP)) {
		cfa += state->sp;
	} else if (likely(RULE_KIND(rule) == RULE_FP)) {
		cfa += state->fp;
	} else {
		/* a copy: the state itself stays in registers */
		struct frame_state copy = *state;
		enum outcome outcome = step_rarely(rule, frame, &copy);
		*state = copy;
		return outcome;
	}
	if (RULE_SLOT(rule) != 0) {
		frame->fp_slot = (const uint64_t *)(cfa + (uint64_t)RULE_SLOT(rule));
		state->fp = *frame->fp_slot;
	}
	state->pc = word_at(cfa - 8);
	state->sp = cfa;
	return likely(state->pc) ? STEPPED : ENDED;
}

/* A larger array: what is known stays at the bottom, what the walk has pushed (from `pushed` on) at the top.
 */
static __attribute__((noinline)) bool grow(struct thread *thread, struct frame **pushed)
{
	int64_t old_capacity = thread->limit - thread->frames, capacity = old_capacity * 4;
	int64_t known = thread->known - thread->frames, count = thread->limit - *pushed;
	struct frame *frames = capacity > 4 * (int64_t)HS_DEPTH_MOST ? NULL : hs_frames_new(capacity);
	if (!frames)
		return false;
	memcpy(frames, thread->frames, (size_t)known * sizeof *frames);
	memcpy(frames + capacity - count, *pushed, (size_t)count * sizeof *frames);
	hs_pages_free(thread->frames - 1, (size_t)(old_capacity + 1) * sizeof *frames);
	thread->frames = frames;
	thread->known = frames + known;
	thread->limit = frames + capacity;
	*pushed = thread->limit - count;
	return true;
}

/* Room for one more pushed frame above the known ones, and within the depth limit. */
static inline bool room(struct thread *thread, struct frame **pushed)
{
	return likely((char *)thread->limit - (char *)*pushed < HS_DEPTH_MOST * (int64_t)sizeof **pushed) &&
	       (likely(*pushed > thread->known) || grow(thread, pushed));
}

/* libunwind finishes the stack. Its frames depend on more than we note, so each is stepped again next time.
 */
static bool delegate(struct thread *thread, struct frame **pushed)
{
	enum { MOST = 64 };
	struct frame_state outer[MOST];
	struct frame_state last = {(*pushed)->pc, (*pushed)->sp, (*pushed)->fp};
	bool any = false;
	(*pushed)->step_again = 1;
	for (;;) {
		size_t count = hs_libunwind_frames(thread, &last, outer, MOST);
		for (size_t i = 0; i < count; i++) {
			if (!room(thread, pushed))
				return any;
			*--*pushed = (struct frame){.pc = outer[i].pc,
						    .sp = outer[i].sp,
						    .fp = outer[i].fp,
						    .module = RULE_MODULE(hs_rule_of(outer[i].pc)),
						    .step_again = 1};
			any = true;
		}
		if (count < MOST)
			break;
		last = outer[count - 1];
	}
	if (any)
		__atomic_add_fetch(&hs_process.header->fallback_stacks, 1, __ATOMIC_RELAXED);
	return any;
}

/* Names the pushed frames, outermost first, and makes them part of the remembered stack, outside of which
 * `kept_end` lies. */
static inline uint32_t intern(struct thread *thread, struct frame *kept_end, const struct frame *pushed,
			      uint32_t node)
{
	struct frame *to = kept_end;
	for (const struct frame *end = thread->limit; pushed < end; pushed++, to++) {
		*to = *pushed;
		to->node = node = hs_trie_child(node, HS_PLACE(to->module, to->pc));
	}
	thread->known = to;
	return node;
}

static uint32_t mark(uint64_t *counter, uint64_t address)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	return hs_trie_child(0, HS_PLACE(HS_MODULE_NONE, address));
}

/* The stack is deeper than the limit: only the innermost frames count. Which frames are cut depends on the
 * depth, so nothing is remembered. */
static __attribute__((noinline)) uint32_t cut(struct thread *thread, struct frame *kept_end,
					      const struct frame *pushed)
{
	struct frame *frames = thread->frames;
	int64_t count = thread->limit - pushed, depth = kept_end - frames + count;
	memmove(kept_end, pushed, (size_t)count * sizeof *frames);
	uint32_t node = mark(&hs_process.header->truncated_stacks, HS_ADDRESS_CUT);
	for (int64_t i = depth > HS_DEPTH_MOST ? depth - HS_DEPTH_MOST : 0; i < depth; i++)
		node = hs_trie_child(node, HS_PLACE(frames[i].module, frames[i].pc));
	thread->known = frames;
	return node;
}

/* The walk stopped where nothing goes on: libunwind's frames, or the mark of a broken stack as root. */
static __attribute__((noinline)) uint32_t finish_broken(struct thread *thread, struct frame **pushed,
							enum outcome outcome)
{
	if (outcome == DELEGATE && delegate(thread, pushed))
		return 0;
	return mark(&hs_process.header->broken_stacks, HS_ADDRESS_BROKEN);
}

/* The frames from `candidate` out to `holds` are right and go on top of what is pushed; what lies between
 * them and thread->known is not needed any more. Mostly few: no call of memmove. */
static inline struct frame *push_held(struct frame *pushed, const struct frame *candidate,
				      const struct frame *holds)
{
	for (; candidate >= holds; candidate--)
		*--pushed = *candidate;
	return pushed;
}

uint32_t hs_walk(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint32_t generation = load_acquire(&hs_process.generation);
	if (unlikely(thread->generation != generation)) {
		thread->generation = generation;
		thread->known = thread->frames;
	}
	struct frame_state state = {pc, sp, fp};
	struct frame *pushed = thread->limit, *candidate = thread->known - 1, *kept_end = NULL;
	enum outcome outcome = STEPPED;
	while (outcome == STEPPED) {
		while (candidate->sp < state.sp)
			candidate--;
		if (candidate->pc == state.pc && candidate->sp == state.sp && candidate->fp == state.fp) {
			struct frame *holds = verify(candidate, thread->frames);
			if (likely(!holds)) {
				kept_end = candidate + 1;
				break;
			}
			/* the last one that holds has to be stepped again */
			thread->known = holds;
			pushed = push_held(pushed, candidate, holds);
			candidate = holds - 1;
			state = (struct frame_state){pushed->pc, pushed->sp, pushed->fp};
		} else {
			if (unlikely(!room(thread, &pushed)))
				return cut(thread, thread->frames, pushed);
			/* growing has moved what is known */
			if (unlikely(candidate < thread->frames - 1 || candidate >= thread->known))
				candidate = thread->known - 1;
			pushed--;
			pushed->pc = state.pc;
			pushed->sp = state.sp;
			pushed->fp = state.fp;
		}
		outcome = step(pushed, &state);
	}
	uint32_t root = kept_end ? kept_end[-1].node : 0;
	if (unlikely(outcome >= BROKEN))
		root = finish_broken(thread, &pushed, outcome);
	if (!kept_end)
		kept_end = thread->frames;
	int64_t bytes =
		((char *)kept_end - (char *)thread->frames) + ((char *)thread->limit - (char *)pushed);
	if (unlikely(bytes > HS_DEPTH_MOST * (int64_t)sizeof *pushed))
		return cut(thread, kept_end, pushed);
	uint32_t node = intern(thread, kept_end, pushed, root);
#ifdef HS_ORACLE
	hs_oracle_check(thread);
#endif
	return node;
}
