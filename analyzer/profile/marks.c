/* Phases by name. One replay that stops at each beginning and end: sums are kept for the whole run, and a
 * phase takes the difference. */
#include "profile/marks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A beginning or an end. */
struct edge {
	uint64_t event; /* before which it lies */
	uint64_t time_us;
	uint32_t order; /* of equals */
	uint32_t phase; /* in phases.items */
	bool begins;
};

/* Of a phase that is under way. */
struct state {
	uint64_t depth, since_us, allocated_bytes, allocations, heap_bytes;
};

struct watching {
	struct hs_phases *phases;
	struct state *states;
	uint32_t *open, open_count; /* phases that are under way */
	struct edge *edges;
	uint32_t edge_count, next;
	uint64_t heap_bytes, allocated_bytes, allocations;
	uint64_t most_bytes; /* of the heap since the last edge */
};

struct hs_pauses hs_pauses_of(const struct hs_profile *profile)
{
	struct hs_pauses pauses = {0};
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		uint64_t end_us = mark->end_us == HS_TIME_NONE ? profile->facts.duration_us : mark->end_us;
		if (mark->what != HS_MARKED_PAUSE)
			continue;
		pauses.count++;
		pauses.total_us += end_us > mark->time_us ? end_us - mark->time_us : 0;
	}
	return pauses;
}

static void begin(struct watching *watching, const struct edge *edge)
{
	struct state *state = &watching->states[edge->phase];
	watching->phases->items[edge->phase].times++;
	if (state->depth++ > 0)
		return;
	state->since_us = edge->time_us;
	state->allocated_bytes = watching->allocated_bytes;
	state->allocations = watching->allocations;
	state->heap_bytes = watching->heap_bytes;
	watching->open[watching->open_count++] = edge->phase;
}

static void end(struct watching *watching, const struct edge *edge)
{
	struct state *state = &watching->states[edge->phase];
	struct hs_phase *phase = &watching->phases->items[edge->phase];
	if (--state->depth > 0)
		return;
	phase->total_us += edge->time_us > state->since_us ? edge->time_us - state->since_us : 0;
	phase->allocated_bytes += watching->allocated_bytes - state->allocated_bytes;
	phase->allocations += watching->allocations - state->allocations;
	phase->change_bytes += (int64_t)(watching->heap_bytes - state->heap_bytes);
	for (uint32_t i = 0; i < watching->open_count; i++) {
		if (watching->open[i] == edge->phase) {
			watching->open[i] = watching->open[--watching->open_count];
			break;
		}
	}
}

static void see_event(void *context, uint64_t number)
{
	struct watching *watching = context;
	while (watching->next < watching->edge_count && watching->edges[watching->next].event <= number) {
		const struct edge *edge = &watching->edges[watching->next++];
		if (edge->begins)
			begin(watching, edge);
		for (uint32_t i = 0; i < watching->open_count; i++) {
			struct hs_phase *phase = &watching->phases->items[watching->open[i]];
			bool new = edge->begins && watching->open[i] == edge->phase &&
				   watching->states[edge->phase].depth == 1;
			uint64_t most = new ? watching->heap_bytes : watching->most_bytes;
			phase->most_bytes = phase->most_bytes > most ? phase->most_bytes : most;
		}
		if (!edge->begins)
			end(watching, edge);
		watching->most_bytes = watching->heap_bytes;
	}
}

static void see_begin(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct watching *watching = context;
	watching->heap_bytes += size;
	watching->allocated_bytes += size;
	watching->allocations++;
	if (watching->heap_bytes > watching->most_bytes)
		watching->most_bytes = watching->heap_bytes;
}

static void see_end(void *context, uint32_t group, uint64_t size, uint64_t now_us)
{
	struct watching *watching = context;
	watching->heap_bytes -= size;
}

static void see_life(void *context, uint32_t group, uint64_t lived_us)
{
}

static int by_event(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* The phases' names, and their edges in order. */
static void find_edges(struct watching *watching, const struct hs_profile *profile)
{
	struct hs_phases *phases = watching->phases;
	uint32_t *phase_of_name = hs_allocate_zero(profile->strings.count, sizeof *phase_of_name);
	watching->edges = hs_allocate_zero((size_t)profile->mark_count * 2, sizeof *watching->edges);
	phases->items = hs_allocate_zero(profile->mark_count, sizeof *phases->items);
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		if (mark->what != HS_MARKED_PHASE)
			continue;
		uint32_t *index = &phase_of_name[mark->name];
		if (!*index) {
			phases->items[phases->count] =
				(struct hs_phase){.name = mark->name, .first_us = mark->time_us};
			*index = ++phases->count;
		}
		bool open = mark->end_us == HS_TIME_NONE;
		struct edge edge = {mark->first_event, mark->time_us, 2 * i, *index - 1, true};
		watching->edges[watching->edge_count++] = edge;
		/* nothing ends before what began with it, or before it */
		edge = (struct edge){open ? UINT64_MAX : mark->end_event,
				     open ? profile->facts.duration_us : mark->end_us, 2 * i + 1, *index - 1,
				     false};
		watching->edges[watching->edge_count++] = edge;
	}
	free(phase_of_name);
	qsort(watching->edges, watching->edge_count, sizeof *watching->edges, by_event);
}

int hs_phases_make(struct hs_profile *profile, struct hs_phases *phases, struct hs_error *error)
{
	*phases = (struct hs_phases){0};
	if (profile->mark_count == 0 || profile->facts.unknown & HS_TOLD_EVENTS)
		return 0;
	struct watching watching = {.phases = phases};
	find_edges(&watching, profile);
	watching.states = hs_allocate_zero((size_t)phases->count + 1, sizeof *watching.states);
	watching.open = hs_allocate_zero((size_t)phases->count + 1, sizeof *watching.open);
	struct hs_watch watch = {see_begin, see_end, see_life, &watching, see_event};
	struct hs_replay_how how = {.watch = &watch};
	struct hs_replay replay = {0};
	uint32_t *groups = hs_allocate_zero(profile->node_count, sizeof *groups);
	int result = phases->count ? hs_replay_run_as(profile, groups, 1, &how, &replay, error) : 0;
	if (result == 0)
		see_event(&watching, UINT64_MAX);
	hs_replay_free(&replay);
	free(groups);
	free(watching.states);
	free(watching.open);
	free(watching.edges);
	return result;
}

void hs_phases_free(struct hs_phases *phases)
{
	free(phases->items);
	*phases = (struct hs_phases){0};
}
