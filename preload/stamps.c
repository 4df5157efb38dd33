/* The clock, and how often it is read (stamps.h). */
#include "stamps.h"

#include <time.h>

static _Atomic(uint64_t) frozen_stamp; /* 0: the clock runs */

void hs_clock_freeze(bool freeze)
{
	hs_stamps_fence();
	frozen_stamp = freeze ? hs_stamp_now() : 0;
	hs_process.clock_is_readable = hs_process.clock_is_tsc && !freeze;
}

uint64_t hs_stamp_now(void)
{
	if (hs_process.clock_is_readable)
		return arch_stamp_fenced();
	if (frozen_stamp)
		return atomic_fetch_add(&frozen_stamp, 1);
	struct timespec now = {0};
	arch_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the kernel's tick ----------------------------------------------------------------------------------
 */

enum {
	TICK_MOST = 1 << 26, /* TSC: 13 to 30 ms. The kernel's timer ticks each 1 to 10 ms */
	DATA_PAGES = 8,      /* that the kernel maps in front of the vdso, at most */
};

const uint64_t *hs_stamp_tick;

/* The kernel looks at the set before it finds that there is no such way to change the mask. */
static bool is_readable(const uint64_t *page)
{
	enum { NO_WAY = -1, NOT_READABLE = -14 /* EFAULT */ };
	return arch_syscall(SYS_rt_sigprocmask, NO_WAY, (long)page, 0, sizeof *page, 0, 0) != NOT_READABLE;
}

/* Where the kernel keeps what its vdso needs is not laid down. But the TSC's value at the last tick has to be
 * there, for the corrected and for the raw clock: the same value, a few ms old, twice in a page. Should it be
 * something else after all, it does not look recent later on, and no stamp is left out. */
static const uint64_t *tick_of_page(const uint64_t *page, uint64_t now)
{
	enum { WORDS = HS_PAGE_BYTES / sizeof *page };
	const uint64_t *found = NULL;
	for (int i = 0; i < WORDS; i++) {
		uint64_t value = load_relaxed(&page[i]);
		if (now - value >= TICK_MOST)
			continue;
		if (found && load_relaxed(found) == value)
			return found;
		found = &page[i];
	}
	return NULL;
}

void hs_stamps_begin(uint64_t vdso)
{
	if (!hs_process.clock_is_tsc)
		return;
	hs_stamp_soloist = NULL;
	for (int i = vdso ? DATA_PAGES : 0; i > 0 && !hs_stamp_tick; i--) {
		const uint64_t *page = (const uint64_t *)(vdso - (uint64_t)i * HS_PAGE_BYTES);
		if (is_readable(page))
			hs_stamp_tick = tick_of_page(page, arch_stamp_fenced());
	}
}

/* ---- the soloist ----------------------------------------------------------------------------------------
 */

enum {
	EXACT_CHUNKS = 16, /* a stream begins with some 40,000 exact times: many have no more */
	MARGIN = 1 << 18,  /* TSC: 50 to 130 us, well above a store buffer's delay */
	RESTS = 15,        /* events without a stamp after one that has one */
	DENSE = 1 << 16,   /* TSC: 13 to 30 us, from one stamp to the next */
};

struct thread hs_stamps_in_order, *hs_stamp_soloist = &hs_stamps_in_order;

void hs_stamps_fence(void)
{
	if (load_relaxed(&hs_stamp_soloist) != &hs_stamps_in_order)
		__atomic_store_n(&hs_stamp_soloist, &hs_stamps_in_order, __ATOMIC_SEQ_CST);
}

/* false: it is somebody else by now, who is then *was. */
static bool change_soloist(struct thread **was, struct thread *soloist)
{
	return __atomic_compare_exchange_n(&hs_stamp_soloist, was, soloist, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void hs_stamps_end_solo_of(struct thread *thread)
{
	change_soloist(&thread, NULL);
}

void hs_stamps_end_solo(const struct thread *thread)
{
	struct thread *soloist = load_relaxed(&hs_stamp_soloist);
	while (soloist && soloist != thread && soloist != &hs_stamps_in_order &&
	       !change_soloist(&soloist, NULL))
		;
}

static bool is_another_busy(const struct thread *thread)
{
	const struct hs_region_header *header = load_relaxed(&hs_process.header);
	uint32_t count = load_acquire(&header->chunk_count);
	for (uint32_t i = 0; i < count; i++) {
		if (i == thread->chunk_index || load_acquire(&header->chunk_state[i]) != HS_CHUNK_OWNED)
			continue;
		const struct hs_chunk_header *chunk =
			hs_area_at(&hs_process.chunks, (uint64_t)i * HS_CHUNK_BYTES);
		if (!chunk || load_acquire(&chunk->busy))
			return true;
	}
	return false;
}

/* One becomes the soloist in two steps. First all others get to know; who was within an event then may not
 * have seen it, but is seen to be busy soon. So if nobody else is busy a while later, nobody has put an end
 * to it since, and all events of others are over: the next stamp is a later one than theirs. */
void hs_stamps_look_around(struct thread *thread)
{
	struct thread *soloist = load_relaxed(&hs_stamp_soloist);
	if (!hs_stamp_tick || thread->sequence < EXACT_CHUNKS || soloist == &hs_stamps_in_order)
		return;
	if (soloist != thread) {
		thread->sings_solo = false;
		thread->rests = 0;
		if (change_soloist(&soloist, thread))
			thread->solo_since = arch_stamp_fenced();
	} else if (!thread->sings_solo && arch_stamp_fenced() - thread->solo_since >= MARGIN &&
		   !is_another_busy(thread)) {
		thread->sings_solo = true;
		store_relaxed(&load_relaxed(&hs_process.header)->stamps_rest, 1);
	}
}

uint64_t hs_stamp_slowly(struct thread *thread, bool own)
{
	if (own && !thread->sings_solo && load_relaxed(&hs_stamp_soloist) == thread)
		return arch_stamp(); /* as long as it is not certain, as if there were none */
	hs_stamps_end_solo(thread);
	uint64_t last = thread->last_stamp, tick = hs_stamp_tick ? load_relaxed(hs_stamp_tick) : 0;
	/* In this order: if there is a tick between, the next event has a stamp of its own, too. */
	uint64_t stamp = hs_stamp_now();
	bool dense = stamp - last < DENSE && stamp - tick < TICK_MOST;
	thread->rests = thread->sings_solo && dense ? RESTS : 0;
	thread->tick = tick;
	return stamp;
}
