/* Which events get a stamp of their own: all, unless one stream alone has had any for a while. */
#include "world.h"

#include <sched.h>

enum {
	EVENTS_A_CHUNK = HS_CHUNK_PAYLOAD_BYTES / 8,
	EXACT_CHUNKS = 16, /* as stamps.h promises: only after some 40,000 events */
	A_STAMP = 16,      /* and then one stamp for so many */
	BACKLOG = 256,
};

static uint64_t tick;

static uint64_t book(void)
{
	struct thread *thread = event_begin();
	CHECK(thread != NULL);
	uint64_t stamp = event_stamp(thread, 0x10000);
	event_free(thread, 0x10000, stamp);
	event_end(thread);
	return stamp;
}

static void fill_chunks(int count)
{
	for (int i = 0; i < count * EVENTS_A_CHUNK; i++)
		book();
}

/* The other threads' events, by turns: state says who may go on. */
enum { START, BEGUN, STAMP, WITHIN, FINISH, IDLE, AGAIN, OVER };
static int state;

static void set_state(int value)
{
	__atomic_store_n(&state, value, __ATOMIC_RELEASE);
}

static void wait_for(int value)
{
	while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static void *other(void *argument)
{
	struct thread *thread = event_begin();
	set_state(BEGUN);
	wait_for(STAMP);
	uint64_t stamp = event_stamp(thread, 0x20000);
	*(uint64_t *)argument = stamp;
	set_state(WITHIN);
	wait_for(FINISH);
	event_free(thread, 0x20000, stamp);
	event_end(thread);
	set_state(IDLE);
	wait_for(AGAIN);
	*(uint64_t *)argument = book();
	set_state(OVER);
	return NULL;
}

/* Whether the events after a tick come as one stamp for each A_STAMP of them. Not if we lose the core between
 * two: so it may take some tries. */
static bool leaves_stamps_out(void)
{
	enum { GROUPS = 4, TRIES = 1000 };
	for (int i = 0; i < TRIES; i++) {
		uint64_t last = book();
		tick = arch_stamp_fenced();
		int own = 0, pattern = 0;
		for (int j = 0; j < GROUPS * A_STAMP; j++) {
			uint64_t stamp = book();
			CHECK(stamp >= last && (j > 0 || stamp > last));
			own += stamp != last;
			pattern += (stamp != last) == (j % A_STAMP == 0);
			last = stamp;
		}
		if (own == GROUPS && pattern == GROUPS * A_STAMP)
			return true;
	}
	return false;
}

static bool each_has_a_stamp(void)
{
	uint64_t last = book();
	for (int j = 0; j < 4 * A_STAMP; j++) {
		uint64_t stamp = book();
		if (stamp <= last)
			return false;
		last = stamp;
	}
	return true;
}

int main(void)
{
	struct hs_view view;
	world_begin_alone(&view, BACKLOG);
	hs_process.clock_is_tsc = hs_process.clock_is_readable = true;
	hs_stamps_begin(0);
	CHECK(!load_relaxed(&hs_stamp_soloist));

	/* Where the kernel's tick is not found. */
	hs_stamp_tick = NULL;
	fill_chunks(EXACT_CHUNKS + 2);
	CHECK(each_has_a_stamp() && !hs_process.header->stamps_rest);

	/* Another is within an event that has no stamp yet: it comes after all of ours. */
	hs_stamp_tick = &tick;
	tick = arch_stamp_fenced();
	pthread_t thread;
	uint64_t others_stamp = 0, before;
	CHECK(pthread_create(&thread, NULL, other, &others_stamp) == 0);
	wait_for(BEGUN);
	fill_chunks(3);
	CHECK(leaves_stamps_out() && hs_process.header->stamps_rest);
	before = book();

	/* It has one, then it is over. */
	set_state(STAMP);
	wait_for(WITHIN);
	CHECK(others_stamp > before && load_relaxed(&hs_stamp_soloist) == NULL);
	hs_process.header->stamps_rest = 0;
	fill_chunks(3);
	CHECK(each_has_a_stamp() && !hs_process.header->stamps_rest);
	set_state(FINISH);
	wait_for(IDLE);
	fill_chunks(3);
	CHECK(load_relaxed(&hs_stamp_soloist) == hs_thread && hs_process.header->stamps_rest);
	CHECK(leaves_stamps_out());

	/* A tick that does not come any more. */
	tick = arch_stamp_fenced() - (1 << 26);
	CHECK(each_has_a_stamp());
	CHECK(leaves_stamps_out());

	/* The other one's event comes after all of ours, and before all that follow. */
	before = book();
	set_state(AGAIN);
	wait_for(OVER);
	CHECK(load_relaxed(&hs_stamp_soloist) == NULL);
	CHECK(others_stamp > before && book() > others_stamp);
	CHECK(each_has_a_stamp());
	pthread_join(thread, NULL);

	/* It goes on where nobody else has events; not across pools. */
	fill_chunks(3);
	CHECK(leaves_stamps_out());
	hs_stamps_fence();
	fill_chunks(3);
	CHECK(each_has_a_stamp());
	return 0;
}
