/* Per-thread state: claimed at a thread's first event, given back when the thread ends. Never malloced. A
 * state that nobody gave back (a thread that left by a raw exit system call) is lost to us; the collector
 * sees that the thread is gone and takes its chunk. */
#include "event.h"

#include <pthread.h>

enum { FRAMES_AT_FIRST = 1024, STATES_A_PAGE = HS_PAGE_BYTES / sizeof(struct thread) };

__thread struct thread *hs_thread;
static __thread uint32_t thread_serial;

/* The head of a list: address << 17 | number of changes. Addresses are multiples of 64 below 2^47, and a pop
 * that slept through 2^23 changes has bad luck indeed. States are never unmapped, so that one that another
 * has taken may still be read. */
static _Atomic(uint64_t) free_states;
enum { TAG_BITS = 23 };
static pthread_key_t exit_key;
static bool exit_key_made;

static struct thread *state_of(uint64_t head)
{
	return (struct thread *)(head >> TAG_BITS << 6);
}

static uint64_t head_of(const struct thread *first, uint64_t before)
{
	return (uint64_t)first >> 6 << TAG_BITS | ((before + 1) & ((1u << TAG_BITS) - 1));
}

static void push_free(struct thread *first, struct thread *last)
{
	uint64_t head = free_states;
	do
		last->next_free = state_of(head);
	while (!atomic_compare_exchange_weak(&free_states, &head, head_of(first, head)));
}

static struct thread *pop_free(void)
{
	uint64_t head = free_states;
	struct thread *first;
	do
		first = state_of(head);
	while (first && !atomic_compare_exchange_weak(&free_states, &head, head_of(first->next_free, head)));
	return first;
}

static struct thread *new_states(void)
{
	struct thread *states = hs_pages(HS_PAGE_BYTES, true);
	if (!states)
		return NULL;
	for (size_t i = 1; i + 1 < STATES_A_PAGE; i++)
		states[i].next_free = &states[i + 1];
	push_free(&states[1], &states[STATES_A_PAGE - 1]);
	return states;
}

static struct thread *claim(void)
{
	struct thread *thread = pop_free();
	if (!thread)
		thread = new_states();
	struct hs_region_header *header = hs_process.header;
	if (thread && !thread->frames) {
		thread->frames = hs_frames_new(FRAMES_AT_FIRST);
		thread->limit = thread->frames ? thread->frames + FRAMES_AT_FIRST : NULL;
	}
	if (!thread || !thread->frames) {
		__atomic_add_fetch(&header->lost_events, 1, __ATOMIC_RELAXED);
		if (thread)
			push_free(thread, thread);
		return NULL;
	}
	if (!thread_serial)
		thread_serial = __atomic_add_fetch(&header->thread_count, 1, __ATOMIC_RELAXED);
	thread->nested = NULL;
	thread->writing = 0;
	thread->known = thread->frames;
	thread->internal = false;
	thread->serial = thread_serial;
	thread->tid = (uint32_t)arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	thread->stream = __atomic_add_fetch(&header->stream_count, 1, __ATOMIC_RELAXED);
	thread->sequence = 0;
	thread->chunk = NULL;
	if (!hs_chunk_next(thread)) {
		push_free(thread, thread);
		return NULL;
	}
	store_release(&thread->chunk->busy, 0);
	return thread;
}

static void give_back(struct thread *thread)
{
	if (thread->nested)
		give_back(thread->nested);
	thread->nested = NULL;
	if (thread->chunk) {
		store_relaxed(&thread->chunk->last, 1);
		store_release(&hs_process.header->chunk_state[thread->chunk_index], HS_CHUNK_FULL);
	}
	thread->chunk = NULL;
	push_free(thread, thread);
}

/* Runs among the destructors of thread-specific data. Events of later destructors claim a state anew, which
 * arms the key again for the next round. */
static void thread_ends(void *value)
{
	struct thread *thread = value;
	if (thread != hs_thread || !thread->chunk || thread->writing)
		return;
	hs_thread = NULL;
	give_back(thread);
}

struct thread *hs_thread_enter_slowly(void)
{
	/* alive is zero before the first event of the process and in a fork child. */
	if (unlikely(!hs_process.alive || !*hs_process.alive)) {
		thread_serial = 0;
		hs_thread = NULL;
		hs_process_begin();
	}
	if (!hs_recording())
		return NULL;
	struct thread *thread = hs_thread;
	if (!thread) {
		thread = claim();
		if (!thread)
			return NULL;
		if (hs_thread) {
			/* a signal handler was faster */
			give_back(thread);
			thread = hs_thread;
		} else {
			hs_thread = thread;
			if (exit_key_made) {
				thread->internal = true;
				store_relaxed(&thread->writing, 1);
				pthread_setspecific(exit_key, thread);
				store_relaxed(&thread->writing, 0);
				thread->internal = false;
			}
		}
	}
	/* A handler that interrupted an event (or the handler of such a one) writes a stream of its own. */
	while (thread->writing) {
		if (thread->internal)
			return NULL;
		if (!thread->nested)
			thread->nested = claim();
		thread = thread->nested;
		if (!thread)
			return NULL;
	}
	event_enter(thread);
	return thread;
}

void hs_threads_begin(void)
{
	free_states = 0; /* a fork child's copies are wiped and belong to nobody */
	if (!exit_key_made)
		exit_key_made = pthread_key_create(&exit_key, thread_ends) == 0;
}
