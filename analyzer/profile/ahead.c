/* Events members, inflated and unpacked by worker threads while the replay is busy with earlier ones. A ring
 * of slots bounds the memory. The reader never waits for work that nobody has begun: it does it itself. */
#include "events.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

/* A few members are read in a few milliseconds. */
enum { MEMBERS_WORTH_THREADS = 4 };
/* Two keep ahead of any replay: it takes longer than inflating and unpacking. A slot takes 2 MB. */
enum { WORKERS_MOST = 2, SLOTS_MOST = WORKERS_MOST + 2 };

struct slot {
	bool done;
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
	pthread_t workers[WORKERS_MOST];
	uint32_t worker_count;

	pthread_mutex_t lock; /* for all that follows, and slots[].done */
	pthread_cond_t made, freed;
	uint32_t claimed;  /* members below are made or in the making */
	uint32_t released; /* members below are read: their slots are free */
	bool reading;      /* the reader holds member `released` */
	bool stop;
};

static uint32_t cores(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return 2;
	return (uint32_t)CPU_COUNT(&set);
}

/* Makes the n-th member; called without the lock by the one thread that claimed it. */
static void make(struct hs_ahead *ahead, uint32_t n, struct hs_inflater *inflater)
{
	struct slot *slot = &ahead->slots[n % ahead->slot_count];
	const struct hs_member *member = &ahead->recording->members[ahead->members[n]];
	if (!slot->events)
		slot->events = hs_allocate(sizeof *slot->events);
	slot->damaged = hs_recording_inflate(ahead->recording, member, inflater, &slot->error) != 0 ||
			hs_events_unpack(inflater->raw, member, slot->events, &slot->error) != 0;
}

static void *work(void *argument)
{
	struct hs_ahead *ahead = argument;
	struct hs_inflater inflater = {0};
	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stop && ahead->claimed < ahead->count) {
		if (ahead->claimed >= ahead->released + ahead->slot_count) {
			pthread_cond_wait(&ahead->freed, &ahead->lock);
			continue;
		}
		uint32_t n = ahead->claimed++;
		pthread_mutex_unlock(&ahead->lock);
		make(ahead, n, &inflater);
		pthread_mutex_lock(&ahead->lock);
		ahead->slots[n % ahead->slot_count].done = true;
		pthread_cond_signal(&ahead->made);
	}
	pthread_mutex_unlock(&ahead->lock);
	hs_inflater_free(&inflater);
	return NULL;
}

struct hs_ahead *hs_ahead_start(const struct hs_recording *recording)
{
	struct hs_ahead *ahead = hs_allocate_zero(1, sizeof *ahead);
	ahead->recording = recording;
	ahead->members = hs_allocate_zero(recording->member_count, sizeof *ahead->members);
	for (uint32_t i = 0; i < recording->member_count; i++)
		if (recording->members[i].kind == HS_MEMBER_EVENTS)
			ahead->members[ahead->count++] = i;
	uint32_t workers = cores() > 1 ? cores() - 1 : 1;
	if (workers > WORKERS_MOST)
		workers = WORKERS_MOST;
	if (ahead->count < MEMBERS_WORTH_THREADS)
		workers = 0;
	ahead->slot_count = workers + 2;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->made, NULL);
	pthread_cond_init(&ahead->freed, NULL);

	/* Signals are for the program's own thread. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (ahead->worker_count < workers &&
	       pthread_create(&ahead->workers[ahead->worker_count], NULL, work, ahead) == 0)
		ahead->worker_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ahead;
}

const struct hs_events *hs_ahead_next(struct hs_ahead *ahead, struct hs_error *error)
{
	error->text[0] = 0;
	pthread_mutex_lock(&ahead->lock);
	if (ahead->reading) {
		ahead->slots[ahead->released % ahead->slot_count].done = false;
		ahead->released++;
		ahead->reading = false;
		pthread_cond_signal(&ahead->freed);
	}
	uint32_t n = ahead->released;
	if (n >= ahead->count) {
		pthread_mutex_unlock(&ahead->lock);
		return NULL;
	}
	struct slot *slot = &ahead->slots[n % ahead->slot_count];
	if (n == ahead->claimed) {
		ahead->claimed++;
		pthread_mutex_unlock(&ahead->lock);
		make(ahead, n, &ahead->reader);
		pthread_mutex_lock(&ahead->lock);
		slot->done = true;
	}
	while (!slot->done)
		pthread_cond_wait(&ahead->made, &ahead->lock);
	ahead->reading = true;
	pthread_mutex_unlock(&ahead->lock);
	if (slot->damaged) {
		*error = slot->error;
		return NULL;
	}
	return slot->events;
}

void hs_ahead_stop(struct hs_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_broadcast(&ahead->freed);
	pthread_mutex_unlock(&ahead->lock);
	for (uint32_t i = 0; i < ahead->worker_count; i++)
		pthread_join(ahead->workers[i], NULL);
	for (uint32_t i = 0; i < ahead->slot_count; i++)
		free(ahead->slots[i].events);
	pthread_mutex_destroy(&ahead->lock);
	pthread_cond_destroy(&ahead->made);
	pthread_cond_destroy(&ahead->freed);
	hs_inflater_free(&ahead->reader);
	free(ahead->members);
	free(ahead);
}
