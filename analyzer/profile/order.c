/* The order of frames by what people see of them, found once: after that it is one comparison of numbers. */
#include "base/memory.h"
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int compare_strings(const void *left, const void *right, void *context)
{
	char *const *items = context;
	return strcmp(items[*(const uint32_t *)left], items[*(const uint32_t *)right]);
}

/* The place of each string among those that frames are named by. */
static uint32_t *rank_strings(const struct hs_profile *profile)
{
	uint32_t *ranks = hs_allocate_zero(profile->strings.count, sizeof *ranks);
	uint32_t *order = hs_allocate_zero(profile->strings.count, sizeof *order), count = 0;
	for (uint32_t i = 0; i < profile->frame_count; i++)
		ranks[profile->frames[i].function] = ranks[profile->frames[i].file] = 1;
	for (uint32_t i = 0; i < profile->strings.count; i++)
		if (ranks[i])
			order[count++] = i;
	qsort_r(order, count, sizeof *order, compare_strings, profile->strings.items);
	for (uint32_t i = 0; i < count; i++)
		ranks[order[i]] = i;
	free(order);
	return ranks;
}

/* A frame, so that numbers decide. */
struct seen {
	uint32_t function, file, line, module;
	uint64_t address; /* 0 if there is a name */
	uint32_t frame;
};

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

void hs_frames_rank(struct hs_profile *profile)
{
	uint32_t *strings = rank_strings(profile);
	struct seen *seen = hs_allocate_zero(profile->frame_count, sizeof *seen);
	/* by function first, which takes no comparison; a function has few frames */
	uint32_t *next = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof *next);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		next[strings[profile->frames[i].function] + 1]++;
	for (uint32_t i = 0; i < profile->strings.count; i++)
		next[i + 1] += next[i];
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		uint32_t function = strings[frame->function];
		seen[next[function]++] = (struct seen){function,
						       strings[frame->file],
						       frame->line,
						       frame->module,
						       frame->function ? 0 : frame->address,
						       i};
	}
	for (uint32_t i = 0, first = 0; i < profile->strings.count; first = next[i++])
		qsort(&seen[first], next[i] - first, sizeof *seen, compare_seen);
	free(next);
	for (uint32_t i = 0, rank = 0; i < profile->frame_count; i++) {
		rank += i && compare_seen(&seen[i - 1], &seen[i]) != 0;
		profile->frames[seen[i].frame].rank = rank;
	}
	free(seen);
	free(strings);
}

int hs_frames_compare(const struct hs_profile *profile, uint32_t left, uint32_t right)
{
	if (left == right)
		return 0;
	if (left == HS_NO_FRAME || right == HS_NO_FRAME)
		return left == HS_NO_FRAME ? -1 : 1;
	uint32_t a = profile->frames[left].rank, b = profile->frames[right].rank;
	return (a > b) - (a < b);
}
