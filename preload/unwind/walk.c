/* The walk, and the remembered stack that makes it cheap.
 *
 * A step outwards is a function of (pc, sp, fp) and the words it loads. So when a new walk meets a remembered
 * frame with equal (pc, sp, fp), the rest of the remembered stack is right exactly as far as each loaded word
 * still holds its value: that is checked, word by word, outwards; where one differs, stepping resumes.
 * Nothing is assumed, nothing on the stack is changed, and no word is read that a plain walk would not read
 * (but for some of the thread's own stack: remembered.h).
 *
 * The frame pointer takes part only where it counts: where some frame further out is found by it before
 * another value is loaded. Of most optimised code it does not: there a frame is known by (pc, sp), and the
 * saved frame pointers need no look.
 */
#include "../shim.h"

#include "../trie.h"
#include "remembered.h"
#include "rules.h"

#include <string.h>

#ifdef HS_ORACLE
#define CHECK_STACK(thread, node) hs_oracle_check(thread, node)
#else
#define CHECK_STACK(thread, node) ((void)0)
#endif

struct frame *hs_frames_new(int64_t capacity)
{
	struct frame *pages = hs_pages((size_t)(capacity + 1) * sizeof *pages);
	if (!pages)
		return NULL;
	pages->sp = UINT64_MAX;
	return pages + 1;
}

/* The state at the outermost frame up to which all holds, starting from `frame`, whose fp is given: frame
 * pointers that did not count were not looked at. */
static inline struct frame_state state_at(struct frame *holds, struct frame *frame, uint64_t fp)
{
	for (; frame > holds; frame--) {
		frame->fp = fp;
		if (RULE_SLOT(frame->rule) != 0)
			fp = word_at(slot_of(frame));
	}
	holds->fp = fp;
	return (struct frame_state){holds->pc, holds->sp, fp};
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
		frame->flags |= STEP_AGAIN;
		return STEPPED;
	}
	frame->flags |= looked ? STEP_AGAIN : 0;
	return RULE_MODULE(frame->rule) == HS_MODULE_NONE || hs_process.unwinder == UNWINDER_FP ? BROKEN
												: DELEGATE;
}

/* The rare kinds of step: without a slot. */
static __attribute__((noinline)) enum outcome step_rarely(unwind_rule rule, struct frame *frame,
							  struct frame_state *state)
{
	switch (RULE_KIND(rule)) {
	case RULE_FP_DEREF:
		frame->flags |= USES_FP;
		frame->flags |= STEP_AGAIN;
		state->sp = word_at(state->fp + (uint64_t)RULE_CFA(rule));
		state->fp = word_at(state->fp);
		state->pc = word_at(state->sp - 8);
		return state->pc ? STEPPED : ENDED;
	case RULE_SIGNAL:
		frame->flags |= STEP_AGAIN;
		arch_signal_frame(state->sp, &state->pc, &state->sp, &state->fp);
		state->pc++; /* the interrupted instruction itself; look-ups are made at pc - 1 */
		return STEPPED;
	case RULE_END:
		return ENDED;
	case RULE_ODD:
		return DELEGATE;
	default:
		frame->flags |= USES_FP;
		return step_without_rule(frame, state);
	}
}

/* The value itself; but if the guess is right, what follows starts from the guess, without waiting for what
 * the value is computed from. The compiler, which would see that both are equal or choose without a branch,
 * is kept from doing so. */
static inline uint64_t speculate(uint64_t value, uint64_t guess)
{
	uint64_t hidden = guess;
	__asm__("" : "+r"(hidden));
	if (unlikely(value != guess)) {
		hidden = value;
		__asm__ volatile("" : "+r"(hidden));
	}
	return hidden;
}

/* One step outwards from state, which becomes the caller's. Notes in the frame what the step depended on.
 * guess: what the next sp may be. */
static inline enum outcome step(struct frame *frame, struct frame_state *state, uint64_t guess)
{
	unwind_rule rule = hs_rule_of(state->pc);
	uint64_t cfa = (uint64_t)RULE_CFA(rule);
	frame->rule = rule;
	frame->flags = 0;
	if (likely(RULE_KIND(rule) == RULE_SP)) {
		cfa += state->sp;
	} else if (likely(RULE_KIND(rule) == RULE_FP)) {
		cfa += state->fp;
		frame->flags |= USES_FP;
	} else {
		/* a copy: the state itself stays in registers */
		struct frame_state copy = *state;
		enum outcome outcome = step_rarely(rule, frame, &copy);
		*state = copy;
		return outcome;
	}
	cfa = speculate(cfa, guess);
	if (RULE_SLOT(rule) != 0) {
		state->fp = word_at(cfa + (uint64_t)RULE_SLOT(rule));
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

static inline bool too_deep(const struct thread *thread, const struct frame *pushed)
{
	return (char *)thread->limit - (char *)pushed >= HS_DEPTH_MOST * (int64_t)sizeof *pushed;
}

/* Room for one more pushed frame above the known ones, and within the depth limit. */
static inline bool has_room(const struct thread *thread, const struct frame *pushed)
{
	return pushed > thread->known && !too_deep(thread, pushed);
}

/* Makes it. */
static inline bool room(struct thread *thread, struct frame **pushed)
{
	return !too_deep(thread, *pushed) && (likely(*pushed > thread->known) || grow(thread, pushed));
}

/* libunwind finishes the stack. Its frames depend on more than we note, so each is stepped again next time.
 */
static bool delegate(struct thread *thread, struct frame **pushed)
{
	enum { MOST = 64 };
	struct frame_state outer[MOST];
	struct frame_state last = {(*pushed)->pc, (*pushed)->sp, (*pushed)->fp};
	bool any = false;
	(*pushed)->flags |= STEP_AGAIN | USES_FP;
	for (;;) {
		size_t count = hs_libunwind_frames(thread, &last, outer, MOST);
		for (size_t i = 0; i < count; i++) {
			if (!room(thread, pushed))
				return any;
			*--*pushed = (struct frame){
				.pc = outer[i].pc,
				.sp = outer[i].sp,
				.fp = outer[i].fp,
				.rule = RULE_MAKE(RULE_ODD, RULE_MODULE(hs_rule_of(outer[i].pc)), 0, 0),
				.flags = STEP_AGAIN | USES_FP};
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

/* The stack of a mark instead of frames. */
static struct frame mark(uint64_t *counter, uint64_t address)
{
	struct frame frame = {.pc = address, .rule = RULE_MAKE(RULE_NONE, HS_MODULE_NONE, 0, 0)};
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	trie_hash(&frame, 0, 0);
	return frame;
}

/* Puts the pushed frames behind the others. Returns the end of all. */
static inline struct frame *append_pushed(struct frame *end, const struct frame *pushed,
					  const struct frame *limit)
{
	while (pushed < limit)
		*end++ = *pushed++;
	return end;
}

/* The stack, thread->frames to `end`, is deeper than the limit: only the innermost frames count. Which frames
 * are cut depends on the depth, so nothing is remembered. */
static __attribute__((noinline)) uint32_t cut(struct thread *thread, const struct frame *end)
{
	struct frame root = mark(&hs_process.header->truncated_stacks, HS_ADDRESS_CUT);
	struct frame *first = thread->frames;
	if (end - first > HS_DEPTH_MOST)
		first = thread->frames + (end - first - HS_DEPTH_MOST);
	const struct frame *outer = &root;
	for (struct frame *frame = first; frame < end; outer = frame++)
		trie_hash(frame, outer->path, outer->check);
	thread->known = thread->frames;
	return hs_trie_node(first, end, hs_trie_node(&root, &root + 1, 0));
}

/* There was no room for all: what could be pushed. */
static __attribute__((noinline)) uint32_t cut_pushed(struct thread *thread, const struct frame *pushed)
{
	return cut(thread, append_pushed(thread->frames, pushed, thread->limit));
}

/* A walk under way. Inner frames stand at the top of the array, from `pushed` to thread->limit, outermost
 * first. The frames that follow them outwards were written over remembered ones that began at the same
 * places: those above `outer` up to `top` (NULL: there are none). From `outer` on all is as the last walk
 * left it. */
struct walk {
	struct frame *outer, *top, *pushed;
};

/* false: no room, or too deep. The pointers into the array follow it when it grows. */
static __attribute__((noinline)) bool make_room(struct thread *thread, struct walk *walk)
{
	int64_t outer = walk->outer - thread->frames, top = walk->top ? walk->top - thread->frames : 0;
	if (!room(thread, &walk->pushed))
		return false;
	walk->outer = thread->frames + outer;
	walk->top = walk->top ? thread->frames + top : NULL;
	return true;
}

/* Pushes the frames that were written in place: what follows them does not begin where the remembered one
 * does. */
static __attribute__((noinline)) bool push_written(struct thread *thread, struct walk *walk)
{
	for (; walk->top && walk->top > walk->outer; walk->top--) {
		if (!make_room(thread, walk))
			return false;
		*--walk->pushed = *walk->top;
	}
	walk->top = NULL;
	return true;
}

/* What the next frame outwards has, or 0. */
struct numbered {
	uint64_t path;
	uint32_t check, flags;
};

/* The walk stopped where nothing goes on: libunwind's frames, or the mark of a broken stack as root. false:
 * no room. */
static __attribute__((noinline)) bool finish_broken(struct thread *thread, struct walk *walk,
						    enum outcome outcome, struct numbered *root)
{
	if (!push_written(thread, walk))
		return false;
	if (outcome != DELEGATE || !delegate(thread, &walk->pushed)) {
		struct frame broken = mark(&hs_process.header->broken_stacks, HS_ADDRESS_BROKEN);
		thread->root = hs_trie_node(&broken, &broken + 1, 0);
		*root = (struct numbered){broken.path, broken.check, 0};
	}
	return true;
}

/* The outermost frame was reached without meeting the remembered stack: what was written in place moves to
 * the bottom of the array. Returns the end of it. */
static __attribute__((noinline)) struct frame *move_down(struct frame *frames, const struct walk *walk)
{
	size_t count = walk->top ? (size_t)(walk->top - walk->outer) : 0;
	if (count)
		memmove(frames, walk->outer + 1, count * sizeof *frames);
	return frames + count;
}

static void number_odd_frames(struct frame *first, const struct frame *end, struct numbered outer);

/* Flags and hashes of frames. odd: constant; there may be some. */
static inline __attribute__((always_inline)) void number_frames(struct frame *first, const struct frame *end,
								struct numbered outer, bool odd)
{
	for (struct frame *frame = first; frame < end; frame++) {
		if (odd)
			outer.flags = flags_of(frame, outer.flags);
		else if (unlikely((frame->flags & ODD) | (outer.flags & FP_COUNTS)))
			return number_odd_frames(frame, end, outer);
		else
			outer.flags = plain_flags(outer.flags);
		frame->flags = outer.flags;
		trie_hash(frame, outer.path, outer.check);
		outer.path = frame->path;
		outer.check = frame->check;
	}
}

static __attribute__((noinline)) void number_odd_frames(struct frame *first, const struct frame *end,
							struct numbered outer)
{
	number_frames(first, end, outer, true);
}

uint32_t hs_walk(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint32_t generation = load_acquire(&hs_process.generation);
	if (unlikely(thread->generation != generation)) {
		thread->generation = generation;
		thread->known = thread->frames;
	}
	struct frame_state state = {pc, sp, fp};
	struct frame *outer = thread->known - 1, *top = NULL, *pushed = thread->limit;
	bool runs = true;
	enum outcome outcome = STEPPED;
	do {
		struct frame *frame;
		if (outer->sp != state.sp) {
			if (top) {
				struct walk walk = {outer, top, pushed};
				bool good = push_written(thread, &walk);
				outer = walk.outer, top = walk.top, pushed = walk.pushed;
				if (unlikely(!good))
					return cut_pushed(thread, pushed);
			}
			while (outer->sp < state.sp)
				outer--;
		}
		if (outer->sp != state.sp) {
			if (unlikely(!has_room(thread, pushed))) {
				struct walk walk = {outer, top, pushed};
				bool good = make_room(thread, &walk);
				outer = walk.outer, top = walk.top, pushed = walk.pushed;
				if (unlikely(!good))
					return cut_pushed(thread, pushed);
			}
			frame = --pushed;
			frame->pc = state.pc;
			frame->sp = state.sp;
			frame->fp = state.fp;
		} else {
			frame = outer;
			top = top ? top : frame;
			if (frame->pc == state.pc &&
			    (likely(!(frame->flags & FP_COUNTS)) || frame->fp == state.fp)) {
				struct held held = verify(thread, outer, pushed, &runs);
				frame = held.step_from, outer = held.outer;
				if (likely(!frame)) {
					if (!outer)
						return thread->variant;
					break;
				}
				/* the last one that holds has to be stepped again */
				state = state_at(frame, outer, state.fp);
			} else {
				frame->pc = state.pc;
				frame->fp = state.fp;
			}
			outer = frame - 1;
		}
		/* the frames of changed calls begin at the same places mostly */
		outcome = step(frame, &state, outer->sp);
	} while (outcome == STEPPED);

	struct frame *first, *end;
	struct numbered last = {0};
	if (likely(outcome == STEPPED)) {
		last = (struct numbered){outer->path, outer->check, outer->flags};
		first = outer + 1;
		end = top + 1;
		if (first == thread->known && pushed == thread->limit) { /* the last stack again */
			CHECK_STACK(thread, thread->node);
			return thread->node;
		}
	} else {
		struct walk walk = {outer, top, pushed};
		struct numbered root = {0}; /* whose address is taken */
		thread->root = 0;
		if (outcome >= BROKEN && !finish_broken(thread, &walk, outcome, &root))
			return cut_pushed(thread, walk.pushed);
		last = root;
		pushed = walk.pushed;
		first = thread->frames;
		end = move_down(first, &walk);
	}
	if (pushed < thread->limit) {
		end = append_pushed(end, pushed, thread->limit);
		if (unlikely(end - thread->frames > HS_DEPTH_MOST))
			return cut(thread, end);
	}
	number_frames(first, end, last, false);
	if (unlikely(outcome == ENDED && first < end))
		hs_begin_own_stack(thread, end);
	/* All frames are where they were if none was pushed, and the outermost one is the same. */
	thread->shape += pushed < thread->limit || outcome != STEPPED || end != thread->known;
	thread->known = end;
	thread->node = hs_trie_node(thread->frames, end, thread->root);
	CHECK_STACK(thread, thread->node);
	if (thread->new_variant) {
		*thread->new_variant = thread->node;
		thread->new_variant = NULL;
	}
	return thread->node;
}
