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

static bool is_start(const struct hs_profile *profile, uint32_t frame)
{
	return hs_is_libc(profile, frame) ||
	       strcmp(profile->strings.items[profile->frames[frame].function], "_start") == 0;
}

/* Rust's way from its start of the program or of a thread to the function that the user wrote: the position
 * where it begins in frames[from .. end), or `end`. */
static uint32_t skip_rust_start(const struct hs_profile *profile, const uint32_t *frames, uint32_t from,
				uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		const char *name = profile->strings.items[profile->frames[frames[i]].function];
		static const char wanted[] = "__rust_begin_short_backtrace"; /* near the start of its name */
		if (memmem(name, strnlen(name, 256), wanted, sizeof(wanted) - 1) == NULL)
			continue;
		while (i > from && profile->frames[frames[i - 1]].internal)
			i--;
		return i;
	}
	return end;
}

/* Plumbing between the user's own functions: std::sort, an executor's way from its main loop to a task. */
static void skip_internal(const struct hs_profile *profile, struct stack *stack)
{
	uint32_t internal = 0, count = 0, own = stack->own;
	for (uint32_t i = 0; i < stack->count && i < DEEPEST_COPY; i++)
		internal += profile->frames[stack->frames[i]].internal;
	if (internal == 0 || internal == stack->count || stack->count > DEEPEST_COPY)
		return;
	stack->copy = hs_allocate_zero(stack->count - internal + 1, sizeof(*stack->copy));
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i == own)
			stack->own = count;
		if (i == own || !profile->frames[stack->frames[i]].internal)
			stack->copy[count++] = stack->frames[i];
	}
	if (own >= stack->count)
		stack->own = count;
	stack->frames = stack->copy;
	stack->count = count;
}

static struct stack visible_stack(const struct hs_report *report, uint32_t index)
{
	const struct hs_site *site = &report->sites->items[index];
	uint32_t first = 0, end = site->frame_count, own = site->own_frame;
	if (!report->raw && own < end && !hs_is_libc(report->profile, site->frames[own])) {
		while (first + 1 < own && hs_is_libc(report->profile, site->frames[first]) &&
		       hs_is_libc(report->profile, site->frames[first + 1]))
			first++;
		while (end > own + 1 && is_start(report->profile, site->frames[end - 1]))
			end--;
		end = skip_rust_start(report->profile, site->frames, own + 1, end);
	}
	struct stack stack = {
		.frames = site->frames + first,
		.count = end - first,
		.own = own < end ? own - first : end - first,
		.order = index,
		.counts = site->counts,
	};
	if (!report->raw)
		skip_internal(report->profile, &stack);
	return stack;
}

struct context {
	const struct hs_profile *profile;
	enum hs_metric metric;
};

static int compare_by_frames(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	const struct stack *first = a, *second = b;
	for (uint32_t i = 0; i < first->count && i < second->count; i++) {
		int order =
			first->frames[i] == second->frames[i]
				? 0
				: hs_frames_compare(context->profile, first->frames[i], second->frames[i]);
		if (order)
			return order;
	}
	if (first->count != second->count)
		return first->count < second->count ? -1 : 1;
	return (first->order > second->order) - (first->order < second->order);
}

static int compare_by_metric(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	const struct stack *first = a, *second = b;
	uint64_t one = hs_metric_value(&first->counts, context->metric),
		 two = hs_metric_value(&second->counts, context->metric);
	return hs_larger_first(one, first->order, two, second->order);
}

static bool same_frames(const struct hs_profile *profile, const struct stack *a, const struct stack *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->frames[i] != b->frames[i] &&
		    hs_frames_compare(profile, a->frames[i], b->frames[i]) != 0)
			return false;
	}
	return true;
}

/* The group's stacks, those that look the same merged. malloc'ed; returns how many. */
static uint32_t make_stacks(const struct hs_report *report, const struct hs_groups *groups,
			    const struct hs_group *group, struct stack **stacks)
{
	struct context context = {.profile = report->profile};
	struct stack *all = hs_allocate_zero(group->count, sizeof(*all));
	uint32_t count = 0;
	for (uint32_t i = 0; i < group->count; i++)
		all[i] = visible_stack(report, groups->sites[group->first + i]);
	qsort_r(all, group->count, sizeof(*all), compare_by_frames, &context);
	for (uint32_t i = 0; i < group->count; i++) {
		if (count && same_frames(report->profile, &all[count - 1], &all[i])) {
			hs_counts_add(&all[count - 1].counts, &all[i].counts);
			free(all[i].copy);
		} else {
			all[count++] = all[i];
		}
	}
	*stacks = all;
	return count;
}

/* Marks the stacks that make up four fifths of what each of the group's tables shows, three for a table at
 * most. Leaves them in the order of the first table. */
static void choose_stacks(const struct hs_group *group, struct stack *stacks, uint32_t count)
{
	for (int metric = HS_METRICS - 1; metric >= 0; metric--) {
		struct context context = {.metric = (enum hs_metric)metric};
		if (!(group->tables & 1u << metric))
			continue;
		uint64_t all = hs_metric_value(&group->counts, context.metric), covered = 0;
		qsort_r(stacks, count, sizeof(*stacks), compare_by_metric, &context);
		for (uint32_t i = 0; i < count && i < STACKS_A_TABLE && covered < all - all / 5; i++) {
			stacks[i].print = true;
			covered += hs_metric_value(&stacks[i].counts, context.metric);
		}
	}
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

void hs_report_stacks(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups,
		      const struct hs_group *group)
{
	struct stack *stacks;
	const struct stack *above = NULL;
	uint32_t count = make_stacks(report, groups, group, &stacks), printed = 0;
	choose_stacks(group, stacks, count);
	hs_text_addf(text, "\n" HS_BOLD "#%s  ", hs_count(group->number).text);
	hs_frame_name(text, report, group->frame, report->columns - 40);
	hs_text_add(text, HS_PLAIN);
	if (hs_frame_place_columns(report, group->frame, 32))
		hs_text_add(text, "  ");
	hs_frame_place(text, report, group->frame, 32);
	hs_text_add(text, "\n");
	add_doings(text, report, "    ", &group->counts);
	for (uint32_t i = 0; i < count; i++) {
		char head[48];
		if (!stacks[i].print)
			continue;
		printed++;
		if (count > 1) {
			snprintf(head, sizeof(head), "  stack %u of %u: ", printed, count);
			add_doings(text, report, head, &stacks[i].counts);
		}
		add_stack(text, report, &stacks[i], above);
		above = &stacks[i];
	}
	if (printed < count)
		hs_text_addf(text, "  %s more; --json has all\n", hs_counted(count - printed, "stack").text);
	for (uint32_t i = 0; i < count; i++)
		free(stacks[i].copy);
	free(stacks);
}
