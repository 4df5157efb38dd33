/* What programs report by heapscope.h: blocks of their own pools, phases, names of threads, pauses. The
 * functions that its wrappers look for; what they mean stands there. Their names and arguments stay: programs
 * that were built once find them in later versions too. */
#include "event.h"

#include "heapscope/heapscope.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static uint64_t *put_wide(struct thread *thread, enum hs_wide op, uint64_t first, uint64_t stamp)
{
	uint64_t *at = thread->at;
	*at++ = (uint64_t)op << 2 | HS_RECORD_WIDE;
	*at++ = first;
	*at++ = stamp;
	return at;
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* Within the first event of a pool. The end of a slab ends the blocks in it, whatever their addresses. */
static uint64_t pool_stamp(struct thread *thread)
{
	event_has_stamp(thread);
	hs_stamps_fence();
	return hs_stamp_now();
}

/* A block of a pool begins, within an event; old: the one that it takes the place of, for a realloc. */
static void report_block(struct thread *thread, enum hs_wide op, const void *slab, const void *old,
			 const void *block, size_t bytes, struct frame_state caller)
{
	uint32_t node = hs_walk(thread, caller.pc, caller.sp, caller.fp);
	uint64_t stamp = pool_stamp(thread), *at = put_wide(thread, op, (uint64_t)block, stamp);
	*at++ = (uint64_t)slab;
	*at++ = bytes;
	*at++ = node;
	if (op == HS_WIDE_POOL_REALLOC)
		*at++ = (uint64_t)old;
	event_publish(thread, at, stamp);
	event_end(thread);
}

EXPORT void heapscope_v1_pool_alloc(const void *slab, const void *block, size_t bytes)
{
	struct thread *thread = block ? event_begin_as(EVENT_ALLOCATION, bytes) : NULL;
	if (thread)
		report_block(thread, HS_WIDE_POOL_ALLOC, slab, NULL, block, bytes,
			     (struct frame_state){CALLER_PC, CALLER_SP, CALLER_FP});
}

/* Both ends of a realloc at once: the pool has done it. While paused, the outcome is the old block's end or
 * its new size, as the collector knows the block or not. */
EXPORT void heapscope_v1_pool_realloc(const void *slab, const void *old, const void *block, size_t bytes)
{
	struct thread *thread = block ? event_begin_as(old ? EVENT_REALLOC : EVENT_ALLOCATION, bytes) : NULL;
	if (thread)
		report_block(thread, HS_WIDE_POOL_REALLOC, slab, old, block, bytes,
			     (struct frame_state){CALLER_PC, CALLER_SP, CALLER_FP});
}

static void report_end(enum hs_wide op, const void *address)
{
	struct thread *thread = address ? event_begin() : NULL;
	if (!thread)
		return;
	uint64_t stamp = pool_stamp(thread);
	event_publish(thread, put_wide(thread, op, (uint64_t)address, stamp), stamp);
	event_end(thread);
}

EXPORT void heapscope_v1_pool_free(const void *block)
{
	report_end(HS_WIDE_POOL_FREE, block);
}

EXPORT void heapscope_v1_pool_reset(const void *slab)
{
	report_end(HS_WIDE_POOL_RESET, slab);
}

EXPORT void heapscope_v1_slab_begin(void)
{
	hs_thread_begin_slabs();
}

EXPORT void heapscope_v1_slab_end(void)
{
	hs_thread_end_slabs();
}

/* ---- notes --------------------------------------------------------------------------------------------- */

/* Within an event. */
static void write_note(struct thread *thread, enum hs_note note, const char *name, size_t bytes)
{
	event_has_stamp(thread);
	hs_stamps_end_solo(thread);
	uint64_t stamp = hs_stamp_now();
	bytes = bytes < HS_NOTE_NAME_MOST ? bytes : HS_NOTE_NAME_MOST;
	uint64_t *at = put_wide(thread, HS_WIDE_NOTE, (uint64_t)note | (uint64_t)bytes << 8, stamp);
	if (bytes) {
		at[(bytes - 1) / 8] = 0;
		memcpy(at, name, bytes);
		at += (bytes + 7) / 8;
	}
	event_publish(thread, at, stamp);
}

static void report_note(enum hs_note note, const char *name, size_t bytes)
{
	struct thread *thread = name ? event_begin() : NULL;
	if (!thread)
		return;
	write_note(thread, note, name, bytes);
	event_end(thread);
}

EXPORT void heapscope_v1_phase_begin(const char *name, size_t bytes)
{
	report_note(HS_NOTE_PHASE_BEGIN, name, bytes);
}

EXPORT void heapscope_v1_phase_end(const char *name, size_t bytes)
{
	report_note(HS_NOTE_PHASE_END, name, bytes);
}

EXPORT void heapscope_v1_mark(const char *name, size_t bytes)
{
	report_note(HS_NOTE_MARK, name, bytes);
}

EXPORT void heapscope_v1_name_thread(const char *name, size_t bytes)
{
	report_note(HS_NOTE_THREAD_NAME, name, bytes);
}

/* ---- pauses -------------------------------------------------------------------------------------------- */

EXPORT void heapscope_v1_pause(void)
{
	struct thread *thread = event_begin();
	if (!thread)
		return;
	if (__atomic_fetch_add(&hs_process.pauses, 1, __ATOMIC_SEQ_CST) == 0)
		write_note(thread, HS_NOTE_PAUSE, NULL, 0);
	hs_process_heed_pauses();
	event_end(thread);
}

EXPORT void heapscope_v1_resume(void)
{
	struct thread *thread = event_begin();
	if (!thread)
		return;
	uint32_t pauses = load_relaxed(&hs_process.pauses);
	while (pauses && !__atomic_compare_exchange_n(&hs_process.pauses, &pauses, pauses - 1, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	if (pauses == 1)
		write_note(thread, HS_NOTE_RESUME, NULL, 0);
	hs_process_heed_pauses();
	event_end(thread);
}

EXPORT int heapscope_v1_recording(void)
{
	struct thread *thread = event_begin();
	if (thread)
		event_end(thread);
	return thread != NULL;
}
