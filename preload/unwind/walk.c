/* The walk, and the remembered stack that makes it cheap.
 *
 * A step outwards is a function of (pc, sp, fp) and the words it loads. So when a new walk meets a remembered
 * frame with equal (pc, sp, fp), the rest of the remembered stack is right exactly as far as each loaded word
 * still holds its value: that is checked, word by word, outwards; where one differs, stepping resumes.
 * Nothing is assumed, nothing on the stack is changed, and no word is read that a plain walk would not read.
 */
#include "../shim.h"

#include <string.h>

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* The outermost remembered frame, starting from `at`, up to which all holds; -1: all of them, to the end. */
static inline int64_t verify(const struct frame *frames, int64_t at)
{
	for (; at > 0; at--) {
		const struct frame *frame = &frames[at], *outer = &frames[at - 1];
		if (frame->step_again || word_at(outer->sp - 8) != outer->pc)
			return at;
		if (frame->fp_slot && *frame->fp_slot != outer->fp)
			return at;
	}
	return frames[0].step_again ? 0 : -1;
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

/* One step outwards from state, which becomes the caller's. Notes in the frame what the step depended on. */
static inline enum outcome step(struct frame *frame, struct frame_state *state)
{
	unwind_rule rule = hs_rule_of(state->pc);
	uint64_t cfa;
	frame->fp_slot = NULL;
	frame->module = RULE_MODULE(rule);
	frame->step_again = 0;
	switch (RULE_KIND(rule)) {
	case RULE_SP:
		cfa = state->sp + (uint64_t)RULE_CFA(rule);
		break;
	case RULE_FP:
		cfa = state->fp + (uint64_t)RULE_CFA(rule);
		break;
	case RULE_FP_DEREF:
		cfa = word_at(state->fp + (uint64_t)RULE_CFA(rule));
		frame->step_again = 1;
		state->fp = word_at(state->fp);
		break;
	case RULE_END:
		return ENDED;
	case RULE_SIGNAL:
		frame->step_again = 1;
		arch_signal_frame(state->sp, &state->pc, &state->sp, &state->fp);
		state->pc++; /* the interrupted instruction itself; look-ups are made at pc - 1 */
		return STEPPED;
	default:
		return step_without_rule(frame, state);
	}
	if (RULE_SLOT(rule) != 0) {
		frame->fp_slot = (const uint64_t *)(cfa + (uint64_t)RULE_SLOT(rule));
		state->fp = *frame->fp_slot;
	}
	state->pc = word_at(cfa - 8);
	state->sp = cfa;
	return state->pc ? STEPPED : ENDED;
}

/* A larger array: what is known stays at the bottom, what the walk has pushed (from `pushed` on) at the top.
 */
static bool grow(struct thread *thread, struct frame **pushed)
{
	int64_t capacity = thread->capacity * 4, count = thread->frames + thread->capacity - *pushed;
	if (capacity > 4 * (int64_t)HS_DEPTH_MOST)
		return false;
	struct frame *frames = hs_pages((size_t)capacity * sizeof *frames, false);
	if (!frames)
		return false;
	memcpy(frames, thread->frames, (size_t)thread->known * sizeof *frames);
	memcpy(frames + capacity - count, *pushed, (size_t)count * sizeof *frames);
	hs_pages_free(thread->frames, (size_t)thread->capacity * sizeof *frames);
	thread->frames = frames;
	thread->capacity = capacity;
	*pushed = frames + capacity - count;
	return true;
}

/* Room for one more pushed frame above the known ones. */
static inline bool room(struct thread *thread, struct frame **pushed)
{
	return likely(*pushed > thread->frames + thread->known) || grow(thread, pushed);
}

static inline void push(struct frame **pushed, const struct frame_state *state)
{
	struct frame *frame = --*pushed;
	frame->pc = state->pc;
	frame->sp = state->sp;
	frame->fp = state->fp;
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
			if (!room(thread, pushed) ||
			    thread->frames + thread->capacity - *pushed >= HS_DEPTH_MOST)
				return any;
			push(pushed, &outer[i]);
			(*pushed)->fp_slot = NULL;
			(*pushed)->module = RULE_MODULE(hs_rule_of(outer[i].pc));
			(*pushed)->step_again = 1;
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

/* Names the pushed frames, outermost first, and makes them part of the remembered stack. */
static uint32_t intern(struct thread *thread, int64_t kept, const struct frame *pushed, uint32_t root)
{
	struct frame *frames = thread->frames;
	int64_t count = frames + thread->capacity - pushed;
	memmove(frames + kept, pushed, (size_t)count * sizeof *frames);
	uint32_t node = kept ? frames[kept - 1].node : root;
	for (int64_t i = kept; i < kept + count; i++)
		frames[i].node = node = hs_trie_child(node, HS_PLACE(frames[i].module, frames[i].pc));
	thread->known = kept + count;
	return node;
}

static uint32_t mark(uint64_t *counter, uint64_t address)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	return hs_trie_child(0, HS_PLACE(HS_MODULE_NONE, address));
}

/* The stack is deeper than the limit: only the innermost frames count. Which frames are cut depends on the
 * depth, so nothing is remembered. */
static uint32_t cut(struct thread *thread, int64_t kept, const struct frame *pushed)
{
	struct frame *frames = thread->frames;
	int64_t count = frames + thread->capacity - pushed;
	memmove(frames + kept, pushed, (size_t)count * sizeof *frames);
	uint32_t node = mark(&hs_process.header->truncated_stacks, HS_ADDRESS_CUT);
	int64_t first = kept + count > HS_DEPTH_MOST ? kept + count - HS_DEPTH_MOST : 0;
	for (int64_t i = first; i < kept + count; i++)
		node = hs_trie_child(node, HS_PLACE(frames[i].module, frames[i].pc));
	thread->known = 0;
	return node;
}

uint32_t hs_walk(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint32_t generation = load_acquire(&hs_process.generation);
	if (unlikely(thread->generation != generation)) {
		thread->generation = generation;
		thread->known = 0;
	}
	struct frame_state state = {pc, sp, fp};
	struct frame *pushed = thread->frames + thread->capacity;
	int64_t candidate = thread->known - 1, kept = 0;
	uint32_t root = 0;
	enum outcome outcome = STEPPED;
	while (outcome == STEPPED) {
		struct frame *frames = thread->frames;
		while (candidate >= 0 && frames[candidate].sp < state.sp)
			candidate--;
		if (candidate >= 0 && frames[candidate].sp == state.sp && frames[candidate].pc == state.pc &&
		    frames[candidate].fp == state.fp) {
			int64_t holds = verify(frames, candidate);
			if (likely(holds < 0)) {
				kept = candidate + 1;
				break;
			}
			/* Frames candidate .. holds are right; the last of them has to be stepped again. They
			 * move up, which may reach over what lies between candidate and known: none of that
			 * is needed any more. */
			int64_t moved = candidate - holds + 1;
			memmove(pushed - moved, frames + holds, (size_t)moved * sizeof *frames);
			pushed -= moved;
			state = (struct frame_state){pushed->pc, pushed->sp, pushed->fp};
			thread->known = candidate = holds;
			candidate--;
		} else {
			if (unlikely(!room(thread, &pushed) ||
				     thread->frames + thread->capacity - pushed >= HS_DEPTH_MOST)) {
				return cut(thread, 0, pushed);
			}
			push(&pushed, &state);
		}
		outcome = step(pushed, &state);
	}
	if (unlikely(outcome >= BROKEN) && (outcome == BROKEN || !delegate(thread, &pushed)))
		root = mark(&hs_process.header->broken_stacks, HS_ADDRESS_BROKEN);
	if (unlikely(kept + (thread->frames + thread->capacity - pushed) > HS_DEPTH_MOST))
		return cut(thread, kept, pushed);
	uint32_t node = intern(thread, kept, pushed, root);
#ifdef HS_ORACLE
	hs_oracle_check(thread);
#endif
	return node;
}
