/* One event into the thread's chunk. The order of stores is what makes streams mergeable: busy, stamp,
 * record, committed, idle. */
#ifndef HS_EVENT_H
#define HS_EVENT_H

#include "stamps.h"

/* In a function that the program calls: the state of its caller, with which the walk begins. */
#define CALLER_PC ((uint64_t)__builtin_return_address(0))
#define CALLER_SP ((uint64_t)__builtin_frame_address(0) + 16)
#define CALLER_FP (*(uint64_t *)__builtin_frame_address(0))

static inline void event_end(struct thread *thread)
{
	store_release(&thread->chunk->busy, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store_relaxed(&thread->writing, 0);
}

/* Makes room for the longest record, before there is a stamp: who waits for room keeps nobody waiting. Until
 * `writing` stands, a handler that interrupts this thread may change the chunk. NULL: there is no room. */
static inline struct thread *event_enter(struct thread *thread)
{
	store_relaxed(&thread->writing, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a fork before it may have taken the chunk away */
	if (likely(thread->at < thread->end) || hs_chunk_next(thread))
		return thread;
	event_end(thread);
	return NULL;
}

/* NULL: not recorded. */
static inline struct thread *event_begin_as(enum event_kind kind, uint64_t bytes)
{
	struct thread *thread = hs_thread;
	if (unlikely(!thread || !load_relaxed(&hs_alive[ALIVE_AND_RECORDS]) || thread->writing))
		return hs_thread_enter_slowly(kind, bytes);
	return event_enter(thread);
}

static inline struct thread *event_begin(void)
{
	return event_begin_as(EVENT_OTHER, 0);
}

static inline void event_publish(struct thread *thread, uint64_t *at, uint64_t stamp)
{
	thread->at = at;
	thread->last_stamp = stamp;
	store_release(&thread->chunk->committed, (uint32_t)((char *)at - (char *)(thread->chunk + 1)));
}

static inline void event_free(struct thread *thread, uint64_t address, uint64_t stamp)
{
	uint64_t *at = thread->at, delta = stamp - thread->last_stamp;
	if (likely(delta < HS_DELTA_LIMIT && HS_ADDRESS_FITS(address))) {
		*at++ = HS_WORD(HS_RECORD_FREE, address, delta);
	} else {
		*at++ = HS_WIDE_FREE << 2 | HS_RECORD_WIDE;
		*at++ = address;
		*at++ = stamp;
	}
	event_publish(thread, at, stamp);
}

static inline void event_alloc(struct thread *thread, uint64_t address, uint64_t stamp, uint64_t size,
			       uint32_t node)
{
	uint64_t *at = thread->at, delta = stamp - thread->last_stamp;
	if (likely(delta < HS_DELTA_LIMIT && HS_ADDRESS_FITS(address) && size < HS_SIZE_LIMIT)) {
		*at++ = HS_WORD(HS_RECORD_ALLOC, address, delta);
		*at++ = size << 32 | node;
	} else {
		*at++ = HS_WIDE_ALLOC << 2 | HS_RECORD_WIDE;
		*at++ = address;
		*at++ = stamp;
		*at++ = size;
		*at++ = node;
	}
	event_publish(thread, at, stamp);
}

static inline void event_realloc(struct thread *thread, uint64_t old_address, uint64_t before,
				 uint64_t new_address, uint64_t after, uint64_t size, uint32_t node)
{
	uint64_t *at = thread->at, delta = before - thread->last_stamp, call = after - before;
	if (likely(delta < HS_DELTA_LIMIT && call < HS_DELTA_LIMIT && HS_ADDRESS_FITS(old_address) &&
		   HS_ADDRESS_FITS(new_address) && size < HS_SIZE_LIMIT)) {
		*at++ = HS_WORD(HS_RECORD_REALLOC, old_address, delta);
		*at++ = size << 32 | node;
		*at++ = HS_WORD(0, new_address, call);
	} else {
		*at++ = HS_WIDE_REALLOC << 2 | HS_RECORD_WIDE;
		*at++ = old_address;
		*at++ = before;
		*at++ = new_address;
		*at++ = after;
		*at++ = size;
		*at++ = node;
	}
	event_publish(thread, at, after);
}

#endif
