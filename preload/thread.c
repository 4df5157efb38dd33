/* Per-thread state: claimed at a thread's first event, given back when the thread ends. Never malloced. A
 * state that nobody gave back (a thread that left by a raw exit system call) is lost to us; the collector
 * sees that the thread is gone and takes its chunk. */
#include "event.h"

#include <pthread.h>

enum {
	FRAMES_AT_FIRST = 1024,
	STATES_A_PAGE = HS_PAGE_BYTES / sizeof(struct thread),
	/* glibc keeps the values of so many keys in the thread itself: pthread_setspecific does not allocate
	 */
	KEYS_WITHOUT_MEMORY = 32,
};

__thread struct thread *hs_thread;
__thread uint32_t hs_inside;
static __thread struct {
	uint32_t number, epoch;
} own_serial;

/* What a fork child's thread leaves behind points here, if not into the place of the parent's region. */
static struct hs_chunk_header no_chunk;

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
		store_relaxed(&last->next_free, state_of(head));
	while (!atomic_compare_exchange_weak(&free_states, &head, head_of(first, head)));
}

static struct thread *pop_free(void)
{
	uint64_t head = free_states;
	struct thread *first;
	/* another thread may own the first one by now: then the exchange fails */
	do
		first = state_of(head);
	while (first && !atomic_compare_exchange_weak(&free_states, &head,
						      head_of(load_relaxed(&first->next_free), head)));
	return first;
}

static struct thread *new_states(void)
{
	struct thread *states = hs_pages(HS_PAGE_BYTES);
	if (!states)
		return NULL;
	for (size_t i = 1; i + 1 < STATES_A_PAGE; i++)
		states[i].next_free = &states[i + 1];
	push_free(&states[1], &states[STATES_A_PAGE - 1]);
	return states;
}

/* The same for all streams of the thread. A number that a handler's replaces is missing, which is no harm. */
static uint32_t serial_of_thread(struct hs_region_header *header, uint32_t epoch)
{
	if (!own_serial.number || own_serial.epoch != epoch) {
		uint32_t number = __atomic_add_fetch(&header->thread_count, 1, __ATOMIC_RELAXED);
		own_serial.number = number;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		own_serial.epoch = epoch;
	}
	return own_serial.number;
}

static struct thread *claim(enum hs_stream_mode mode)
{
	/* In this order: a fork that interrupts us makes the state one of the parent's. */
	uint32_t epoch = load_relaxed(&hs_process.epoch);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	struct thread *thread = pop_free();
	if (!thread)
		thread = new_states();
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
	thread->epoch = epoch;
	thread->nested = thread->slabs = thread->paused = thread->owner = NULL;
	thread->slab_depth = 0;
	thread->mode = (uint8_t)mode;
	thread->writing = 0;
	thread->known = thread->frames;
	thread->internal = false;
	thread->serial = serial_of_thread(header, epoch);
	thread->tid = (uint32_t)arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	thread->stream = __atomic_add_fetch(&header->stream_count, 1, __ATOMIC_RELAXED);
	thread->sequence = 0;
	thread->chunk = NULL;
	if (!hs_chunk_next(thread)) {
		push_free(thread, thread);
		return NULL;
	}
	return thread;
}

static void give_back(struct thread *thread)
{
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!hs_thread_is_current(thread))
		return;
	struct thread **others[] = {&thread->nested, &thread->slabs, &thread->paused};
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
		if (*others[i])
			give_back(*others[i]);
		*others[i] = NULL;
	}
	store_relaxed(&thread->chunk->last, 1);
	store_release(&header->chunk_state[thread->chunk_index], HS_CHUNK_FULL);
	hs_stamps_end_solo_of(thread);
	push_free(thread, thread);
}

/* Runs among the destructors of thread-specific data. Events of later destructors claim a state anew, which
 * arms the key again for the next round. */
static void thread_ends(void *value)
{
	struct thread *thread = value;
	hs_inside++;
	if (hs_thread && hs_thread->owner == thread && !hs_thread->writing)
		hs_thread = thread; /* it ends amidst an allocation of slabs */
	if (thread == hs_thread && !thread->writing) {
		hs_thread = NULL;
		give_back(thread);
	}
	hs_inside--;
}

/* Has thread_ends called. Where that takes memory, the memory is ours, and a handler's would not be seen
 * apart from it. */
static void arm_exit_key(struct thread *thread)
{
	if (!exit_key_made)
		return;
	if (exit_key < KEYS_WITHOUT_MEMORY) {
		pthread_setspecific(exit_key, thread);
		return;
	}
	uint64_t mask = hs_signals_block();
	thread->internal = true;
	store_relaxed(&thread->writing, 1);
	pthread_setspecific(exit_key, thread);
	store_relaxed(&thread->writing, 0);
	thread->internal = false;
	hs_signals_restore(mask);
}

/* The thread's state, new if it has none; NULL: there is none to be had, or the event is the parent's. */
static struct thread *own_state(void)
{
	if (hs_thread)
		return hs_thread;
	struct thread *thread = claim(HS_STREAM_PLAIN);
	if (!thread)
		return NULL;
	if (hs_thread) {
		/* a signal handler was faster */
		give_back(thread);
		return hs_thread;
	}
	hs_thread = thread;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!hs_thread_is_current(thread)) {
		hs_thread = NULL;
		return NULL;
	}
	arm_exit_key(thread);
	return thread;
}

/* The thread's writer of a stream in another mode; NULL: there is none to be had. */
static struct thread *other_writer(struct thread *owner, enum hs_stream_mode mode)
{
	struct thread **place = mode == HS_STREAM_SLABS ? &owner->slabs : &owner->paused;
	if (*place)
		return *place;
	struct thread *other = claim(mode);
	if (other && !hs_thread_is_current(owner))
		return NULL; /* a fork has come between */
	if (other)
		other->owner = owner;
	return *place = other;
}

/* Recording is paused. NULL: the event does not count. */
static struct thread *enter_paused(struct thread *thread, enum event_kind kind, uint64_t bytes)
{
	if (kind == EVENT_OTHER || thread->mode == HS_STREAM_SLABS)
		return thread;
	if (kind == EVENT_REALLOC)
		return other_writer(thread, HS_STREAM_PAUSED);
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (hs_thread_is_current(thread)) {
		__atomic_add_fetch(&header->skipped_allocations, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&header->skipped_bytes, bytes, __ATOMIC_RELAXED);
	}
	return NULL;
}

static struct thread *enter_slowly(enum event_kind kind, uint64_t bytes)
{
	/* Before the first event of the process, and in a fork child. */
	if (unlikely(!load_relaxed(&hs_alive[ALIVE]))) {
		hs_process_forked();
		hs_process_begin();
	}
	if (!hs_recording())
		return NULL;
	struct thread *thread = own_state();
	if (!thread)
		return NULL;
	if (unlikely(load_relaxed(&hs_process.pauses))) {
		if (thread->internal || (thread->paused && thread->paused->internal))
			return NULL;
		thread = enter_paused(thread, kind, bytes);
		if (!thread)
			return NULL;
	}
	/* A handler that interrupted an event (or the handler of such a one) writes a stream of its own. */
	while (thread->writing) {
		if (thread->internal)
			return NULL;
		if (!thread->nested)
			thread->nested = claim(HS_STREAM_PLAIN);
		thread = thread->nested;
		if (!thread)
			return NULL;
	}
	return event_enter(thread);
}

struct thread *hs_thread_enter_slowly(enum event_kind kind, uint64_t bytes)
{
	hs_inside++;
	struct thread *thread = enter_slowly(kind, bytes);
	hs_inside--;
	return thread;
}

void hs_thread_begin_slabs(void)
{
	struct thread *thread = event_begin();
	if (!thread)
		return;
	event_end(thread);
	if (thread != hs_thread)
		return; /* in a signal handler */
	if (thread->mode == HS_STREAM_SLABS) {
		thread->slab_depth++;
		return;
	}
	hs_inside++;
	struct thread *slabs = other_writer(thread, HS_STREAM_SLABS);
	if (slabs) {
		slabs->slab_depth = 1;
		hs_thread = slabs;
	}
	hs_inside--;
}

void hs_thread_end_slabs(void)
{
	struct thread *thread = hs_thread;
	if (thread && thread->mode == HS_STREAM_SLABS && --thread->slab_depth == 0)
		hs_thread = thread->owner;
}

/* What the fork child's thread left behind of a state and those of signal handlers that interrupted it. */
static bool forget(struct thread *thread)
{
	bool interrupted = false;
	for (; thread; thread = thread->nested) {
		interrupted |= thread->writing != 0;
		thread->chunk = &no_chunk;
		thread->end = NULL; /* no record has room: hs_chunk_next tells */
	}
	return interrupted;
}

bool hs_threads_forked(void)
{
	bool interrupted = hs_inside > 0;
	struct thread *owner = hs_thread && hs_thread->owner ? hs_thread->owner : hs_thread;
	for (struct thread *thread = owner; thread; thread = thread->nested) {
		interrupted |= forget(thread->slabs);
		interrupted |= forget(thread->paused);
	}
	interrupted |= forget(owner);
	hs_thread = NULL;
	return interrupted;
}

/* What the parent's other threads had is lost to a fork child; what nobody had can be used. */
void hs_threads_begin(void)
{
	if (!exit_key_made)
		exit_key_made = pthread_key_create(&exit_key, thread_ends) == 0;
}
