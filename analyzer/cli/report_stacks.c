/* The stacks of the report. What libc does inside (between its entry that the program called and malloc), and
 * how it starts the program or a thread, tells nobody where to look: such frames are left out, unless --raw,
 * and stacks that are the same without them are one. */
#include "cli/report.h"

#include "base/format.h"
#include "base/memory.h"
#include "profile/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS_A_TABLE = 3, INDENT = 4, LEAST_COMMON = 4, MOST_PLACE = 34, DEEPEST_COPY = 10000 };

struct stack {
	const uint32_t *frames; /* shown, innermost first */
	uint32_t *copy;         /* NULL: they are the site's */
	uint32_t count;
	uint32_t own;   /* position of the own line; count: none */
	uint32_t order; /* of its first site: breaks ties */
	bool print;
	struct hs_counts counts;
};

/* What decides whether a frame is shown. */
enum trait {
	TRAIT_INTERNAL = 1,
	TRAIT_LIBC = 2,
	TRAIT_START = 4, /* libc, or the program's own start */
	TRAIT_RUST = 8,  /* where Rust's way to the function that the user wrote ends */
};

struct making {
	const struct hs_report *report;
	uint8_t *traits; /* of each frame */
};

static uint8_t *find_traits(const struct hs_profile *profile)
{
	static const char rust[] = "__rust_begin_short_backtrace"; /* near the start of its name */
	enum { UNKNOWN, NO, YES };
	uint8_t *traits = hs_allocate_zero((size_t)profile->frame_count + 1, 1);
	uint8_t *is_rust = hs_allocate_zero((size_t)profile->strings.count + 1, 1); /* by function */
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		const char *name = profile->strings.items[frame->function];
		bool libc = hs_is_libc(profile, i), start = libc || strcmp(name, "_start") == 0;
		uint8_t *known = &is_rust[frame->function];
		if (*known == UNKNOWN)
			*known = memmem(name, strnlen(name, 256), rust, sizeof(rust) - 1) ? YES : NO;
		traits[i] = (frame->internal ? TRAIT_INTERNAL : 0) | (libc ? TRAIT_LIBC : 0) |
			    (start ? TRAIT_START : 0) | (*known == YES ? TRAIT_RUST : 0);
	}
	free(is_rust);
	return traits;
}

/* Rust's way from its start of the program or of a thread to the function that the user wrote: the position
 * where it begins in frames[from .. end), or `end`. */
static uint32_t skip_rust_start(const struct making *making, const uint32_t *frames, uint32_t from,
				uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		if (!(making->traits[frames[i]] & TRAIT_RUST))
			continue;
		while (i > from && making->traits[frames[i - 1]] & TRAIT_INTERNAL)
			i--;
		return i;
	}
	return end;
}

/* Plumbing between the user's own functions: std::sort, an executor's way from its main loop to a task. */
static void skip_internal(const struct making *making, struct stack *stack)
{
	uint32_t internal = 0, count = 0, own = stack->own;
	for (uint32_t i = 0; i < stack->count && i < DEEPEST_COPY; i++)
		internal += making->traits[stack->frames[i]] & TRAIT_INTERNAL;
	if (internal == 0 || internal == stack->count || stack->count > DEEPEST_COPY)
		return;
	stack->copy = hs_allocate(((size_t)stack->count - internal + 1) * sizeof(*stack->copy));
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i == own)
			stack->own = count;
		if (i == own || !(making->traits[stack->frames[i]] & TRAIT_INTERNAL))
			stack->copy[count++] = stack->frames[i];
	}
	if (own >= stack->count)
		stack->own = count;
	stack->frames = stack->copy;
	stack->count = count;
}

static struct stack visible_stack(const struct making *making, uint32_t index)
{
	const struct hs_site *site = &making->report->sites->items[index];
	const uint32_t *frames = site->frames;
	const uint8_t *traits = making->traits;
	uint32_t first = 0, end = site->frame_count, own = site->own_frame;
	uint8_t any = 0; /* what the frames below are looked through for: few stacks have it */
	for (uint32_t i = 0; i < end; i++)
		any |= traits[frames[i]];
	if (!making->report->raw && own < end && !(traits[frames[own]] & TRAIT_LIBC)) {
		while (first + 1 < own && traits[frames[first]] & TRAIT_LIBC &&
		       traits[frames[first + 1]] & TRAIT_LIBC)
			first++;
		while (end > own + 1 && traits[frames[end - 1]] & TRAIT_START)
			end--;
		if (any & TRAIT_RUST)
			end = skip_rust_start(making, frames, own + 1, end);
	}
	struct stack stack = {
		.frames = frames + first,
		.count = end - first,
		.own = own < end ? own - first : end - first,
		.order = index,
		.counts = site->counts,
	};
	if (!making->report->raw && any & TRAIT_INTERNAL)
		skip_internal(making, &stack);
	return stack;
}

static bool same_frames(const struct hs_profile *profile, const struct stack *a, const struct stack *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (hs_frames_compare(profile, a->frames[i], b->frames[i]) != 0)
			return false;
	}
	return true;
}

/* The same for stacks that look the same. */
static uint64_t hash_frames(const struct hs_profile *profile, const struct stack *stack)
{
	uint64_t hash = stack->count;
	for (uint32_t i = 0; i < stack->count; i++)
		hash = (hash ^ profile->frames[stack->frames[i]].rank) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* The group's stacks, those that look the same merged, in the order of their first sites. malloc'ed; returns
 * how many. */
static uint32_t make_stacks(const struct making *making, const struct hs_groups *groups,
			    const struct hs_group *group, struct stack **stacks)
{
	const struct hs_profile *profile = making->report->profile;
	struct stack *all = hs_allocate_zero(group->count, sizeof(*all));
	uint32_t count = 0;
	size_t slot_count = 16;
	while (slot_count / 2 < group->count)
		slot_count *= 2;
	uint32_t *slots = hs_allocate_zero(slot_count, sizeof(*slots)); /* index + 1 */
	for (uint32_t i = 0; i < group->count; i++) {
		struct stack stack = visible_stack(making, groups->sites[group->first + i]);
		size_t slot = hash_frames(profile, &stack) & (slot_count - 1);
		while (slots[slot] && !same_frames(profile, &all[slots[slot] - 1], &stack))
			slot = (slot + 1) & (slot_count - 1);
		if (slots[slot]) {
			hs_counts_add(&all[slots[slot] - 1].counts, &stack.counts);
			free(stack.copy);
		} else {
			all[count++] = stack;
			slots[slot] = count;
		}
	}
	free(slots);
	*stacks = all;
	return count;
}

static int compare_by_metric(const void *a, const void *b, void *metric)
{
	const struct stack *first = *(struct stack *const *)a, *second = *(struct stack *const *)b;
	uint64_t one = hs_metric_value(&first->counts, *(enum hs_metric *)metric),
		 two = hs_metric_value(&second->counts, *(enum hs_metric *)metric);
	return hs_larger_first(one, first->order, two, second->order);
}

/* Marks the first stacks by a metric: three at most, or so many as make up four fifths of the group's `all`.
 */
static void choose_by_metric(enum hs_metric metric, uint64_t all, struct stack *stacks, uint32_t count)
{
	struct stack *best[STACKS_A_TABLE + 1];
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct stack *stack = &stacks[i];
		uint32_t place = found;
		for (; place && compare_by_metric(&stack, &best[place - 1], &metric) < 0; place--)
			best[place] = best[place - 1];
		best[place] = stack;
		found += found < STACKS_A_TABLE;
	}
	uint64_t covered = 0;
	for (uint32_t i = 0; i < found && covered < all - all / 5; i++) {
		best[i]->print = true;
		covered += hs_metric_value(&best[i]->counts, metric);
	}
}

/* The stacks that each of the group's tables is about, in the order of the first table. malloc'ed; returns
 * how many. */
static uint32_t choose_stacks(const struct hs_group *group, struct stack *stacks, uint32_t count,
			      struct stack ***chosen)
{
	enum hs_metric first = HS_METRICS;
	uint32_t chosen_count = 0;
	for (unsigned metric = HS_METRICS; metric-- > 0;) {
		if (!(group->tables & 1u << metric))
			continue;
		first = (enum hs_metric)metric;
		choose_by_metric(first, hs_metric_value(&group->counts, first), stacks, count);
	}
	*chosen = hs_allocate_zero((size_t)HS_METRICS * STACKS_A_TABLE, sizeof(**chosen));
	for (uint32_t i = 0; i < count; i++)
		if (stacks[i].print)
			(*chosen)[chosen_count++] = &stacks[i];
	qsort_r(*chosen, chosen_count, sizeof(**chosen), compare_by_metric, &first);
	return chosen_count;
}

/* What a stack or a group has done, without what it has not. */
static void add_doings(struct hs_text *text, const struct hs_report *report, const char *head,
		       const struct hs_counts *counts)
{
	uint32_t unknown = report->sites->replay.unknown;
	struct hs_text words = {0};
	hs_text_add(&words, "");
	if (counts->peak_bytes)
		hs_text_addf(&words, "peak %s", hs_size(counts->peak_bytes).text);
	if (counts->peak_bytes && !(unknown & HS_TOLD_PEAK_BLOCKS))
		hs_text_addf(&words, " in %s", hs_counted(counts->peak_blocks, "block").text);
	if (!(unknown & HS_TOLD_ALLOCATED_BYTES))
		hs_text_addf(&words, "%sallocated %s", words.count ? ", " : "",
			     hs_size(counts->allocated_bytes).text);
	if (report->profile->facts.subject == HS_SUBJECT_SAMPLES)
		hs_text_add(&words, hs_counted(counts->allocations, "sample").text);
	else if (!(unknown & HS_TOLD_ALLOCATIONS))
		hs_text_addf(&words, "%s%s", words.count ? " in " : "",
			     hs_counted(counts->allocations, "call").text);
	if (counts->temporary && unknown & HS_TOLD_ALLOCATIONS)
		hs_text_addf(&words, "%s%s temporary", words.count ? ", " : "",
			     hs_count(counts->temporary).text);
	else if (counts->temporary)
		hs_text_addf(&words, ", %s temporary", hs_share(counts->temporary, counts->allocations).text);
	if (counts->moved_bytes)
		hs_text_addf(&words, "%s%s moved", words.count ? ", " : "",
			     hs_size(counts->moved_bytes).text);
	if (counts->live_bytes || counts->live_blocks) {
		hs_text_addf(&words, "%s%s", words.count ? ", " : "", hs_size(counts->live_bytes).text);
		if (!(unknown & HS_TOLD_LIVE_BLOCKS))
			hs_text_addf(&words, " in %s", hs_counted(counts->live_blocks, "block").text);
		hs_text_addf(&words, " live %s", hs_end_words(&report->profile->facts));
	}
	if (counts->suppressed_bytes || counts->suppressed_blocks)
		hs_text_addf(&words, " (%s suppressed)", hs_size(counts->suppressed_bytes).text);
	hs_report_paragraph(text, report, head, words.bytes);
	hs_text_free(&words);
}

/* Frames that two stacks have in common, from the outermost inwards. */
static uint32_t common_frames(const struct hs_profile *profile, const struct stack *a, const struct stack *b)
{
	uint32_t common = 0;
	while (common < a->count && common < b->count &&
	       hs_frames_compare(profile, a->frames[a->count - 1 - common],
				 b->frames[b->count - 1 - common]) == 0)
		common++;
	return common;
}

static void add_remark(struct hs_text *text, const struct hs_report *report, const char *before,
		       uint32_t frames, const char *after)
{
	hs_text_repeat(text, " ", INDENT + 2);
	hs_text_addf(text, HS_DIM "%s %s%s%s" HS_PLAIN "\n", report->utf8 ? "…" : "...", before,
		     hs_counted(frames, "frame").text, after);
}

static void add_frame(struct hs_text *text, const struct hs_report *report, const struct stack *stack,
		      uint32_t position, size_t name, size_t place)
{
	bool own = position == stack->own;
	hs_text_repeat(text, " ", INDENT);
	hs_text_add(text, own ? "> " HS_BOLD : "  ");
	hs_frame_row(text, report, stack->frames[position], name, place);
	if (own)
		hs_text_add(text, HS_PLAIN);
	if (report->profile->frames[stack->frames[position]].inlined)
		hs_text_add(text, " (inlined)");
	hs_text_add(text, "\n");
}

/* A stack; of what it shares with the one above only the number of frames. */
static void add_stack(struct hs_text *text, const struct hs_report *report, const struct stack *stack,
		      const struct stack *above)
{
	uint32_t common = above ? common_frames(report->profile, stack, above) : 0;
	uint32_t count =
		common >= LEAST_COMMON && common < stack->count ? stack->count - common : stack->count;
	uint32_t head = count, tail = count; /* frames head .. tail - 1 are left out */
	if (report->depth && count > report->depth) {
		uint32_t outer = (uint32_t)report->depth / 4; /* the outermost quarter stays */
		head = (uint32_t)report->depth - outer;
		tail = count - outer;
	}
	size_t place = 0, columns = report->columns - INDENT - 2, name = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct hs_text words = {0};
		hs_text_add(&words, "");
		hs_frame_name(&words, report, stack->frames[i], columns);
		size_t width = hs_text_columns(words.bytes);
		size_t place_width = hs_frame_place_columns(report, stack->frames[i], MOST_PLACE);
		name = width > name ? width : name;
		place = place_width > place ? place_width : place;
		hs_text_free(&words);
	}
	if (name + 2 + place + 10 > columns) /* 10: " (inlined)" */
		name = columns - place - 12;
	for (uint32_t i = 0; i < count; i++) {
		if (i < head || i >= tail)
			add_frame(text, report, stack, i, name, place);
		else if (i == head)
			add_remark(text, report, "", tail - head, " more; --depth 0 shows all");
	}
	if (count < stack->count)
		add_remark(text, report, "the ", stack->count - count, " further out as in the stack above");
}

static void add_group(struct hs_text *text, const struct making *making, const struct hs_groups *groups,
		      const struct hs_group *group)
{
	const struct hs_report *report = making->report;
	struct stack *stacks, **chosen;
	uint32_t count = make_stacks(making, groups, group, &stacks);
	uint32_t printed = choose_stacks(group, stacks, count, &chosen);
	hs_text_addf(text, "\n" HS_BOLD "#%s  ", hs_count(group->number).text);
	hs_frame_name(text, report, group->frame, report->columns - 40);
	hs_text_add(text, HS_PLAIN);
	if (hs_frame_place_columns(report, group->frame, 32))
		hs_text_add(text, "  ");
	hs_frame_place(text, report, group->frame, 32);
	hs_text_add(text, "\n");
	add_doings(text, report, "    ", &group->counts);
	for (uint32_t i = 0; i < printed; i++) {
		char head[48];
		if (count > 1) {
			snprintf(head, sizeof(head), "  stack %u of %u: ", i + 1, count);
			add_doings(text, report, head, &chosen[i]->counts);
		}
		add_stack(text, report, chosen[i], i ? chosen[i - 1] : NULL);
	}
	if (printed < count)
		hs_text_addf(text, "  %s more; --json has all\n", hs_counted(count - printed, "stack").text);
	for (uint32_t i = 0; i < count; i++)
		free(stacks[i].copy);
	free(chosen);
	free(stacks);
}

void hs_report_stacks(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups,
		      const uint32_t *shown, uint32_t count)
{
	struct making making = {.report = report, .traits = find_traits(report->profile)};
	for (uint32_t i = 0; i < count; i++)
		add_group(text, &making, groups, &groups->items[shown[i]]);
	free(making.traits);
}
