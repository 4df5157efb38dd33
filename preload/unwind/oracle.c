/* Built into the tests' variant of the shim only: after every walk libunwind steps the same stack, and each
 * difference is reported. The totals appear on stderr when the program ends. */
#include "../shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(long) captures, frames_compared, differences, variants;

static void report(struct thread *thread, const struct frame_state *theirs, size_t count, int64_t at)
{
	if (atomic_fetch_add(&differences, 1) >= 5)
		return;
	dprintf(2, "oracle: difference at frame %ld of %ld (libunwind: %zu)\n", (long)at,
		(long)(thread->known - thread->frames), count + 1);
	for (int64_t i = 0; i < thread->known - thread->frames || i <= (int64_t)count; i++) {
		const struct frame *ours = i < thread->known - thread->frames ? &thread->known[-1 - i] : NULL;
		dprintf(2, "oracle: %3ld ours %#lx sp %#lx module %d  libunwind %#lx sp %#lx\n", (long)i,
			ours ? ours->pc : 0, ours ? ours->sp : 0, ours ? (int)RULE_MODULE(ours->rule) : -1,
			i > 0 && i <= (int64_t)count ? theirs[i - 1].pc : 0,
			i > 0 && i <= (int64_t)count ? theirs[i - 1].sp : 0);
		if (i > at + 3)
			break;
	}
}

static void check_variant(struct thread *thread, uint32_t node)
{
	if (!thread->variant)
		return;
	atomic_fetch_add(&variants, 1);
	if (thread->variant != node && atomic_fetch_add(&differences, 1) < 5) {
		thread->internal = true;
		dprintf(2, "oracle: node %u, known as %u\n", node, thread->variant);
		thread->internal = false;
	}
	thread->variant = 0;
}

void hs_oracle_check(struct thread *thread, uint32_t node)
{
	check_variant(thread, node);
	enum { MOST = HS_DEPTH_MOST };
	static __thread struct frame_state *theirs __attribute__((tls_model("initial-exec")));
	if (!theirs)
		theirs = hs_pages(MOST * sizeof *theirs);
	int64_t known = thread->known - thread->frames;
	if (!theirs || !known)
		return;
	const struct frame *inner = &thread->known[-1];
	struct frame_state from = {inner->pc, inner->sp, inner->fp};
	size_t count = hs_libunwind_frames(thread, &from, theirs, MOST);
	atomic_fetch_add(&captures, 1);
	atomic_fetch_add(&frames_compared, known);
	for (int64_t i = 1; i < known || i <= (int64_t)count; i++) {
		const struct frame *ours = &thread->known[-1 - i];
		if (i >= known || i > (int64_t)count || ours->pc != theirs[i - 1].pc ||
		    ours->sp != theirs[i - 1].sp) {
			thread->internal = true; /* printing allocates */
			report(thread, theirs, count, i);
			thread->internal = false;
			return;
		}
	}
}

__attribute__((destructor)) static void totals(void)
{
	dprintf(2, "oracle: %ld captures, %ld frames, %ld differences, %ld known variants\n", (long)captures,
		(long)frames_compared, (long)differences, (long)variants);
}
