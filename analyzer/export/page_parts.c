/* Which thread has which part of the stacks. */
#include "page.h"

#include "base/memory.h"
#include "profile/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_count(struct hs_columns *columns, const char *prefix, const char *name, const void *first,
		      size_t stride, size_t count)
{
	char whole[64];
	snprintf(whole, sizeof whole, "%s.%s", prefix, name);
	hs_columns_add(columns, whole, first, stride, sizeof(uint64_t), count);
}

void hs_page_counts_add(struct hs_columns *columns, const char *prefix, const struct hs_counts *first,
			size_t stride, size_t count, uint32_t unknown)
{
	for (unsigned field = 0; field < HS_COUNT_FIELDS; field++)
		if (!((unknown | HS_TOLD_MAX) & 1U << field))
			add_count(columns, prefix, hs_told_names[field],
				  (const uint8_t *)first + field * sizeof(uint64_t), stride, count);
	if (!(unknown & HS_TOLD_LIVE_BYTES))
		add_count(columns, prefix, "suppressed_bytes", &first->suppressed_bytes, stride, count);
	if (!(unknown & HS_TOLD_LIVE_BLOCKS))
		add_count(columns, prefix, "suppressed_blocks", &first->suppressed_blocks, stride, count);
}

/* A part of the replay in the page's numbers. */
struct place {
	uint32_t thread, stack, group;
};

struct part {
	uint32_t thread, stack;
	struct hs_counts counts;
};

static int by_thread_and_stack(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

struct thread {
	uint32_t parts, index;
	uint64_t bytes;
};

static int larger_first(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

/* Gives each thread its number in the page, in the order of their coming. Those that allocated least get one
 * together, behind the others, if there are more parts than parts_most. Returns how many have that one. */
static uint32_t number_threads(const struct hs_replay *replay, uint32_t parts_most, uint32_t *numbers)
{
	uint32_t count = replay->thread_count, summed = 0, parts = 0, next = 0;
	struct thread *threads = hs_allocate_zero((size_t)count + 1, sizeof *threads);
	for (uint32_t t = 0; t < count; t++)
		threads[t].index = t;
	for (uint32_t g = 0; g < replay->group_count; g++) {
		if (!hs_counts_any(&replay->groups[g]))
			continue;
		threads[replay->parts[g].thread].parts++;
		threads[replay->parts[g].thread].bytes += replay->groups[g].allocated_bytes;
	}
	qsort(threads, count, sizeof *threads, larger_first);
	for (uint32_t t = 0; t < count; t++) {
		parts = parts > UINT32_MAX - threads[t].parts ? UINT32_MAX : parts + threads[t].parts;
		bool alone = parts <= parts_most;
		numbers[threads[t].index] = alone ? 0 : UINT32_MAX;
		summed += !alone;
	}
	if (summed == 1) /* to sum up one saves nothing */
		summed = 0;
	for (uint32_t t = 0; t < count; t++)
		numbers[t] = summed && numbers[t] == UINT32_MAX ? count - summed : next++;
	free(threads);
	return summed;
}

static void add_threads(struct hs_columns *columns, struct hs_page_view *view,
			const struct hs_page_side *side, const uint32_t *numbers, uint32_t summed)
{
	const struct hs_profile *profile = side->profile;
	struct row {
		uint32_t tid, name;
	} *rows = hs_allocate_zero((size_t)side->replay.thread_count + 1, sizeof *rows);
	uint32_t alone = side->replay.thread_count - summed;
	for (uint32_t t = 0; t < side->replay.thread_count; t++) {
		uint32_t id = side->replay.threads[t];
		if (numbers[t] >= alone || id >= profile->thread_count)
			continue;
		rows[numbers[t]].tid = profile->threads[id].tid;
		rows[numbers[t]].name =
			hs_page_string(view, profile->strings.items[profile->threads[id].name]);
	}
	if (summed) {
		char name[64];
		snprintf(name, sizeof name, "(%u other threads)", summed);
		rows[alone].name = hs_page_string(view, name);
	}
	HS_COLUMNS_ADD(columns, "thread.tid", rows, tid, alone + (summed > 0));
	HS_COLUMNS_ADD(columns, "thread.name", rows, name, alone + (summed > 0));
	free(rows);
}

/* Sums up what is the same part of the page. */
static void add_parts(struct hs_columns *columns, const struct hs_replay *replay, struct place *places,
		      uint32_t count)
{
	struct part *parts = NULL;
	size_t capacity = 0;
	uint32_t part_count = 0;
	qsort(places, count, sizeof *places, by_thread_and_stack);
	for (uint32_t i = 0; i < count; i++) {
		const struct place *place = &places[i];
		struct part *last = part_count ? &parts[part_count - 1] : NULL;
		if (!last || last->thread != place->thread || last->stack != place->stack) {
			parts = hs_grow(parts, part_count, &capacity, sizeof *parts);
			last = &parts[part_count++];
			*last = (struct part){.thread = place->thread, .stack = place->stack};
		}
		hs_counts_add(&last->counts, &replay->groups[place->group]);
	}
	if (part_count) {
		HS_COLUMNS_ADD(columns, "part.thread", parts, thread, part_count);
		HS_COLUMNS_ADD(columns, "part.stack", parts, stack, part_count);
		hs_page_counts_add(columns, "part", &parts->counts, sizeof *parts, part_count,
				   replay->unknown);
	}
	free(parts);
}

uint32_t hs_page_parts_add(struct hs_columns *columns, struct hs_page_view *view,
			   const struct hs_page_tree *tree, uint32_t parts_most)
{
	const struct hs_page_side *side = &tree->sides[HS_PAGE_NEW];
	const struct hs_replay *replay = &side->replay;
	if (side->profile->facts.unknown & HS_TOLD_THREADS)
		return 0;
	uint32_t *numbers = hs_allocate_zero((size_t)replay->thread_count + 1, sizeof *numbers), count = 0;
	uint32_t summed = number_threads(replay, parts_most, numbers);
	add_threads(columns, view, side, numbers, summed);
	struct place *places = hs_allocate_zero((size_t)replay->group_count + 1, sizeof *places);
	/* one thread's part is everything */
	for (uint32_t g = 0; g < replay->group_count && replay->thread_count > 1; g++) {
		if (!hs_counts_any(&replay->groups[g]))
			continue;
		places[count++] = (struct place){
			.thread = numbers[replay->parts[g].thread],
			.stack = view->stack_of_node[hs_page_node_of_group(side, g)],
			.group = g,
		};
	}
	add_parts(columns, replay, places, count);
	free(places);
	free(numbers);
	return summed;
}
