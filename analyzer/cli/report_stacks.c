/* The stacks of the report; those of which the same is shown are one. */
#include "cli/report.h"
#include "cli/report_shown.h"

#include "base/format.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS_A_TABLE = 3, INDENT = 4, LEAST_COMMON = 4, MOST_PLACE = 34 };

/* Sites of which the same is shown; 16 bytes, for there may be 100,000. */
struct stack {
	uint32_t site;         /* the first of them */
	uint32_t hash;         /* of what is shown */
	struct hs_counts *sum; /* of several sites, which is hardly ever; else NULL */
};

/* A stack in a table. */
struct ranked {
	struct stack *stack;
	uint64_t value;
};

/* What is made of a group's sites. */
struct stacks {
	struct stack *items;
	uint32_t count;
	struct ranked *chosen; /* to print */
	uint32_t chosen_count;
};

/* A thread's own. */
struct making {
	const struct hs_report *report;
	const struct hs_showing *showing;
	struct hs_shown shown, second; /* room for one stack, and one that it is compared with */
};

/* The groups that are shown; as many threads as there are take one after another. */
struct work {
	const struct hs_report *report;
	const struct hs_showing *showing;
	const struct hs_groups *groups;
	const uint32_t *shown;
	struct hs_text *texts; /* of each */
	uint32_t count;
	atomic_uint next;
};

static struct hs_counts counts_of(const struct hs_sites *sites, const struct stack *stack)
{
	return stack->sum ? *stack->sum : hs_site_counts(sites, &sites->items[stack->site]);
}

/* Adds a site to those of which the same is shown. */
static void merge_site(const struct making *making, struct stack *stack, uint32_t site)
{
	const struct hs_sites *sites = making->report->sites;
	if (!stack->sum) {
		struct hs_counts *sum = hs_allocate(sizeof(*sum));
		*sum = counts_of(sites, stack);
		stack->sum = sum;
	}
	hs_site_add_counts(sites, &sites->items[site], stack->sum);
	if (hs_site_is_before(sites, site, stack->site))
		stack->site = site;
}

/* A group's sites, and what they name, lie anywhere in memory: asks for those that come soon. */
static void ask_for_sites(const struct making *making, const uint32_t *sites, uint32_t left)
{
	enum { SITES_AHEAD = 16, CALLERS_AHEAD = 8 };
	if (left > SITES_AHEAD)
		__builtin_prefetch(&making->report->sites->items[sites[SITES_AHEAD]]);
	if (left > CALLERS_AHEAD)
		hs_show_soon(making->showing, sites[CALLERS_AHEAD]);
}

/* The group's stacks, those that look the same merged. */
static void make_stacks(struct making *making, const struct hs_groups *groups, const struct hs_group *group,
			struct stacks *stacks)
{
	struct stack *all = hs_allocate(group->count * sizeof(*all));
	uint32_t count = 0;
	size_t slot_count = 16;
	while (slot_count / 2 < group->count)
		slot_count *= 2;
	uint32_t *slots = hs_allocate_zero(slot_count, sizeof(*slots)); /* index + 1 */
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t site = groups->sites[group->first + i];
		ask_for_sites(making, &groups->sites[group->first + i], group->count - i);
		hs_show(making->showing, site, true, &making->shown);
		uint32_t hash = making->shown.hash;
		size_t slot = hash & (slot_count - 1);
		for (; slots[slot]; slot = (slot + 1) & (slot_count - 1)) {
			struct stack *stack = &all[slots[slot] - 1];
			if (stack->hash != hash)
				continue;
			hs_show(making->showing, site, false, &making->shown);
			hs_show(making->showing, stack->site, false, &making->second);
			if (!hs_shown_look_same(making->showing, &making->shown, &making->second))
				continue;
			merge_site(making, stack, site);
			break;
		}
		if (slots[slot])
			continue;
		all[count] = (struct stack){.site = site, .hash = hash};
		slots[slot] = ++count;
	}
	free(slots);
	stacks->items = all;
	stacks->count = count;
}

/* What they are sorted by. */
static int compare_ranked(const void *a, const void *b, void *sites)
{
	const struct ranked *first = a, *second = b;
	if (first->value != second->value)
		return first->value > second->value ? -1 : 1;
	if (first->stack == second->stack)
		return 0;
	return hs_site_is_before(sites, first->stack->site, second->stack->site) ? -1 : 1;
}

/* The first stacks by a metric, and one place more. */
struct best {
	enum hs_metric metric;
	struct ranked items[STACKS_A_TABLE + 1];
	uint32_t count;
};

static void consider(struct best *best, struct stack *stack, const struct hs_counts *counts,
		     const struct hs_sites *sites)
{
	struct ranked ranked = {stack, hs_metric_value(counts, best->metric)};
	uint32_t place = best->count;
	if (!ranked.value)
		return;
	for (; place && compare_ranked(&ranked, &best->items[place - 1], (void *)sites) < 0; place--)
		best->items[place] = best->items[place - 1];
	best->items[place] = ranked;
	best->count += best->count < STACKS_A_TABLE;
}

static void choose_stack(struct stacks *stacks, struct stack *stack)
{
	for (uint32_t i = 0; i < stacks->chosen_count; i++)
		if (stacks->chosen[i].stack == stack)
			return;
	stacks->chosen[stacks->chosen_count++].stack = stack;
}

/* Three at most, or so many as make up four fifths of the group's `all`. */
static void choose_best(struct stacks *stacks, const struct best *best, uint64_t all)
{
	uint64_t covered = 0;
	for (uint32_t i = 0; i < best->count && covered < all - all / 5; i++) {
		choose_stack(stacks, best->items[i].stack);
		covered += best->items[i].value;
	}
}

/* The stacks that each of the group's tables is about, in the order of the first table. */
static void choose_stacks(const struct hs_sites *sites, const struct hs_group *group, struct stacks *stacks)
{
	enum { COUNTS_AHEAD = 8 };
	struct best best[HS_METRICS] = {0};
	uint32_t table_count = 0;
	for (unsigned metric = 0; metric < HS_METRICS; metric++)
		if (group->tables & 1u << metric)
			best[table_count++].metric = (enum hs_metric)metric;
	for (uint32_t i = 0; table_count && i < stacks->count; i++) {
		if (i + COUNTS_AHEAD < stacks->count)
			hs_site_counts_soon(sites, &sites->items[stacks->items[i + COUNTS_AHEAD].site]);
		struct hs_counts counts = counts_of(sites, &stacks->items[i]);
		for (uint32_t table = 0; table < table_count; table++)
			consider(&best[table], &stacks->items[i], &counts, sites);
	}
	stacks->chosen = hs_allocate_zero((size_t)HS_METRICS * STACKS_A_TABLE, sizeof(*stacks->chosen));
	for (uint32_t table = 0; table < table_count; table++)
		choose_best(stacks, &best[table], hs_metric_value(&group->counts, best[table].metric));
	for (uint32_t i = 0; i < stacks->chosen_count; i++) {
		struct hs_counts counts = counts_of(sites, stacks->chosen[i].stack);
		stacks->chosen[i].value = hs_metric_value(&counts, best[0].metric);
	}
	qsort_r(stacks->chosen, stacks->chosen_count, sizeof(*stacks->chosen), compare_ranked, (void *)sites);
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
static uint32_t common_frames(const struct hs_profile *profile, const struct hs_shown *a,
			      const struct hs_shown *b)
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

static void add_frame(struct hs_text *text, const struct hs_report *report, const struct hs_shown *stack,
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
static void add_stack(struct hs_text *text, const struct hs_report *report, const struct hs_shown *stack,
		      const struct hs_shown *above)
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

static void add_group(struct hs_text *text, struct making *making, const struct hs_group *group,
		      const struct stacks *stacks)
{
	const struct hs_report *report = making->report;
	uint32_t count = stacks->count, printed = stacks->chosen_count;
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
			struct hs_counts counts = counts_of(report->sites, stacks->chosen[i].stack);
			add_doings(text, report, head, &counts);
		}
		struct hs_shown above = making->second;
		making->second = making->shown;
		making->shown = above;
		hs_show(making->showing, stacks->chosen[i].stack->site, false, &making->shown);
		add_stack(text, report, &making->shown, i ? &making->second : NULL);
	}
	if (printed < count)
		hs_text_addf(text, "  %s more; --json has all\n", hs_counted(count - printed, "stack").text);
}

static void free_stacks(struct stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->count; i++)
		free(stacks->items[i].sum);
	free(stacks->chosen);
	free(stacks->items);
}

static void work(void *context)
{
	struct work *work = context;
	const struct hs_report *report = work->report;
	struct making making = {.report = report, .showing = work->showing};
	for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->count;) {
		const struct hs_group *group = &work->groups->items[work->shown[i]];
		struct stacks stacks = {0};
		make_stacks(&making, work->groups, group, &stacks);
		choose_stacks(report->sites, group, &stacks);
		add_group(&work->texts[i], &making, group, &stacks);
		free_stacks(&stacks);
	}
	hs_shown_free(&making.shown);
	hs_shown_free(&making.second);
}

void hs_report_stacks(struct hs_text *text, const struct hs_report *report, const struct hs_groups *groups,
		      const uint32_t *shown, uint32_t count, struct hs_showing *showing)
{
	struct work all = {
		.report = report, .showing = showing, .groups = groups, .shown = shown, .count = count};
	struct hs_aside aside = {0};
	hs_showing_wait(showing);
	all.texts = hs_allocate_zero(count, sizeof(*all.texts));
	if (report->sites->count >= HS_MANY_SITES)
		hs_aside_begin(&aside, work, &all);
	work(&all);
	hs_aside_end(&aside);
	for (uint32_t i = 0; i < count; i++) {
		hs_text_add_bytes(text, all.texts[i].bytes, all.texts[i].count);
		hs_text_free(&all.texts[i]);
	}
	free(all.texts);
}
