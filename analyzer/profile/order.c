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

/* What is seen of a frame, so that numbers decide, the first one first: function and file; line and module;
 * the address if there is no name. */
enum { KEYS = 3 };
struct seen {
	uint64_t keys[KEYS];
};

/* One pass of sort_seen: by 8 bits of a key. Writes the order to `sorted`. */
static void sort_by_byte(const struct seen *seen, uint32_t count, unsigned key, unsigned shift,
			 const uint32_t *order, uint32_t *sorted)
{
	uint32_t next[256] = {0};
	for (uint32_t i = 0; i < count; i++)
		next[seen[i].keys[key] >> shift & 0xff]++;
	for (uint32_t value = 0, before = 0; value < 256; value++) {
		uint32_t same = next[value];
		next[value] = before;
		before += same;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[next[seen[order[i]].keys[key] >> shift & 0xff]++] = order[i];
}

/* The order of the frames, byte by byte from the least significant one: hardly any of them differ in more
 * than a few. The caller frees it. */
static uint32_t *sort_seen(const struct seen *seen, uint32_t count)
{
	uint32_t *order = hs_allocate_zero(count, sizeof *order),
		 *other = hs_allocate_zero(count, sizeof *other);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (unsigned key = KEYS; key-- > 0;) {
		uint64_t differ = 0;
		for (uint32_t i = 1; i < count; i++)
			differ |= seen[i].keys[key] ^ seen[0].keys[key];
		for (unsigned shift = 0; shift < 64; shift += 8) {
			if ((differ >> shift & 0xff) == 0)
				continue;
			sort_by_byte(seen, count, key, shift, order, other);
			uint32_t *sorted = other;
			other = order;
			order = sorted;
		}
	}
	free(other);
	return order;
}

void hs_frames_rank(struct hs_profile *profile)
{
	uint32_t *strings = rank_strings(profile);
	struct seen *seen = hs_allocate_zero(profile->frame_count, sizeof *seen);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		seen[i] = (struct seen){{(uint64_t)strings[frame->function] << 32 | strings[frame->file],
					 (uint64_t)frame->line << 32 | frame->module,
					 frame->function ? 0 : frame->address}};
	}
	uint32_t *order = sort_seen(seen, profile->frame_count);
	for (uint32_t i = 0, rank = 0; i < profile->frame_count; i++) {
		rank += i && memcmp(&seen[order[i - 1]], &seen[order[i]], sizeof *seen) != 0;
		profile->frames[order[i]].rank = rank;
	}
	free(order);
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
