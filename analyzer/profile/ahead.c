/* Events members, made ready by worker threads while the replay is busy with earlier ones: inflated and
 * unpacked by whoever is free, tracked one after another. A ring of slots bounds the memory. The reader does
 * what there is to do, too, rather than wait: so all cores are busy, whichever part takes longer. What else
 * goes on is done by a worker before it helps: with more threads than cores the system leaves a core idle now
 * and then while two of them wait for the other. */
#include "events.h"
#include "tracker.h"

#include "base/aside.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* A few members are read in a few milliseconds. */
enum { MEMBERS_WORTH_THREADS = 4 };
/* Two keep ahead of any replay: it takes longer than inflating and unpacking. A slot takes 2 MB. */
enum { WORKERS_MOST = 2, SLOTS_MOST = WORKERS_MOST + 1 + 2 };

enum slot_state { SLOT_EMPTY, SLOT_UNPACKED, SLOT_READY };

struct slot {
	enum slot_state state;
	bool damaged;
	struct hs_error error;
	struct hs_events *events;
};

struct hs_ahead {
	const struct hs_recording *recording;
	uint32_t *members; /* indices of the events members */
	uint32_t count;
	struct hs_inflater reader; /* of the reading thread */
	uint32_t slot_count;
	struct slot slots[SLOTS_MOST]; /* the n-th events member is made in slot n % slot_count */
	pthread_t workers[WORKERS_MOST + 1];
	uint32_t worker_count, joined; /* those from the last one on that are waited for */
	void (*aside)(void *context);  /* NULL, or what a worker does first */
	void *aside_context;
	struct hs_tracker *tracker; /* of the thread that set `is_tracking` */

	pthread_mutex_t lock; /* for all that follows, and slots[].state */
	pthread_cond_t changed;
	uint32_t claimed;  /* members below are unpacked, or a thread is at it */
	uint32_t tracked;  /* members below are ready */
	uint32_t released; /* members below are read: their slots are free */
	bool is_tracking;  /* a thread is at member `tracked` */
	bool aside_ended;
	bool reading; /* the reader holds member `released` */
	bool stop;
};

static uint32_t cores(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return 2;
	return (uint32_t)CPU_COUNT(&set);
}

static struct slot *slot_of(struct hs_ahead *ahead, uint32_t n)
{
	return &ahead->slots[n % ahead->slot_count];
}

/* Called without the lock by the one thread that claimed the member. */
static void unpack(struct hs_ahead *ahead, uint32_t n, struct hs_inflater *inflater)
{
	struct slot *slot = slot_of(ahead, n);
	const struct hs_member *member = &ahead->recording->members[ahead->members[n]];
	bool times = ahead->tracker->pass != HS_PASS_NODES;
	if (!slot->events)
		slot->events = hs_allocate(sizeof *slot->events);
	slot->damaged = hs_recording_inflate(ahead->recording, member, inflater, &slot->error) != 0 ||
			hs_events_unpack(inflater->raw, member, times, slot->events, &slot->error) != 0;
}

/* Does one thing that there is to do now; called with the lock, which it lets go meanwhile. Returns whether
 * there was any. */
static bool work_once(struct hs_ahead *ahead, struct hs_inflater *inflater)
{
	struct slot *slot = slot_of(ahead, ahead->tracked);
	uint32_t n = ahead->claimed;
	if (!ahead->is_tracking && slot->state == SLOT_UNPACKED) {
		ahead->is_tracking = true;
		pthread_mutex_unlock(&ahead->lock);
		if (slot->damaged)
			ahead->tracker->stopped = true;
		else
			hs_tracker_track(ahead->tracker, slot->events);
		pthread_mutex_lock(&ahead->lock);
		ahead->is_tracking = false;
		ahead->tracked++;
		slot->state = SLOT_READY;
	} else if (n < ahead->count && n < ahead->released + ahead->slot_count) {
		ahead->claimed++;
		pthread_mutex_unlock(&ahead->lock);
		unpack(ahead, n, inflater);
		pthread_mutex_lock(&ahead->lock);
		slot_of(ahead, n)->state = SLOT_UNPACKED;
	} else {
		return false;
	}
	pthread_cond_broadcast(&ahead->changed);
	return true;
}

static void work(struct hs_ahead *ahead)
{
	struct hs_inflater inflater = {0};
	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stop && ahead->tracked < ahead->count)
		if (!work_once(ahead, &inflater))
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	pthread_mutex_unlock(&ahead->lock);
	hs_inflater_free(&inflater);
}

static void *run(void *argument)
{
	work(argument);
	return NULL;
}

static void *run_aside(void *argument)
{
	struct hs_ahead *ahead = argument;
	ahead->aside(ahead->aside_context);
	pthread_mutex_lock(&ahead->lock);
	ahead->aside_ended = true;
	pthread_mutex_unlock(&ahead->lock);
	work(ahead);
	return NULL;
}

static uint32_t choose_workers(const struct hs_ahead *ahead)
{
	uint32_t free_cores = cores() > 1 ? cores() - 1 : 1,
		 most = ahead->count < MEMBERS_WORTH_THREADS ? 0 : WORKERS_MOST;
	if (ahead->aside)
		most++;
	return free_cores < most ? free_cores : most;
}

struct hs_ahead *hs_ahead_start(const struct hs_recording *recording, struct hs_tracker *tracker,
				void (*aside)(void *context), void *context)
{
	struct hs_ahead *ahead = hs_allocate_zero(1, sizeof *ahead);
	ahead->recording = recording;
	ahead->tracker = tracker;
	ahead->aside = aside;
	ahead->aside_context = context;
	ahead->members = hs_allocate_zero(recording->member_count, sizeof *ahead->members);
	for (uint32_t i = 0; i < recording->member_count; i++)
		if (recording->members[i].kind == HS_MEMBER_EVENTS)
			ahead->members[ahead->count++] = i;
	uint32_t workers = choose_workers(ahead);
	ahead->slot_count = workers + 2;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	while (ahead->worker_count < workers &&
	       hs_thread_begin(&ahead->workers[ahead->worker_count],
			       aside && ahead->worker_count == 0 ? run_aside : run, ahead))
		ahead->worker_count++;
	if (aside && ahead->worker_count == 0)
		aside(context);
	return ahead;
}

const struct hs_events *hs_ahead_next(struct hs_ahead *ahead, struct hs_error *error)
{
	error->text[0] = 0;
	pthread_mutex_lock(&ahead->lock);
	if (ahead->reading) {
		slot_of(ahead, ahead->released++)->state = SLOT_EMPTY;
		ahead->reading = false;
		pthread_cond_broadcast(&ahead->changed);
	}
	if (ahead->released == ahead->count) {
		pthread_mutex_unlock(&ahead->lock);
		return NULL;
	}
	struct slot *slot = slot_of(ahead, ahead->released);
	while (slot->state != SLOT_READY)
		if (!work_once(ahead, &ahead->reader))
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	ahead->reading = true;
	pthread_mutex_unlock(&ahead->lock);
	if (slot->damaged) {
		*error = slot->error;
		return NULL;
	}
	return slot->events;
}

/* Waits for the workers from the last one on down to that one. */
static void join(struct hs_ahead *ahead, uint32_t first)
{
	for (; ahead->worker_count - ahead->joined > first; ahead->joined++)
		pthread_join(ahead->workers[ahead->worker_count - ahead->joined - 1], NULL);
}

void hs_ahead_stop(struct hs_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	bool first_is_aside = ahead->aside && !ahead->aside_ended;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	join(ahead, first_is_aside);
}

void hs_ahead_join(struct hs_ahead *ahead)
{
	join(ahead, 0);
}

void hs_ahead_free_events(struct hs_ahead *ahead)
{
	for (uint32_t i = 0; i < ahead->slot_count; i++) {
		free(ahead->slots[i].events);
		ahead->slots[i].events = NULL;
	}
}

void hs_ahead_free(struct hs_ahead *ahead)
{
	hs_ahead_join(ahead);
	hs_ahead_free_events(ahead);
	pthread_mutex_destroy(&ahead->lock);
	pthread_cond_destroy(&ahead->changed);
	hs_inflater_free(&ahead->reader);
	free(ahead->members);
	free(ahead);
}
