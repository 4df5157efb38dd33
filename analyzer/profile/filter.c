/* What of a recording counts: which nodes and threads a filter selects. */
#include "profile/filter.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void hs_filter_free(struct hs_filter *filter)
{
	hs_patterns_free(&filter->focus);
	hs_patterns_free(&filter->ignore);
	hs_patterns_free(&filter->modules);
	hs_patterns_free(&filter->threads);
	for (uint32_t i = 0; i < filter->phase_count; i++)
		free(filter->phases[i]);
	free(filter->phases);
	filter->phases = NULL;
	filter->phase_count = 0;
}

bool hs_filter_needs_events(const struct hs_filter *filter)
{
	return filter && (filter->threads.count || filter->phase_count || filter->least_bytes ||
			  filter->most_bytes != UINT64_MAX || filter->from_us ||
			  filter->to_us != HS_TIME_NONE || filter->at_us != HS_TIME_NONE);
}

bool hs_filter_selects_all(const struct hs_filter *filter)
{
	return !filter || (filter->focus.count == 0 && filter->ignore.count == 0 &&
			   filter->modules.count == 0 && !hs_filter_needs_events(filter));
}

/* ---- stacks ---------------------------------------------------------------------------------------------
 */

/* Takes away the nodes whose stacks have a frame that matches, or those that have none. */
static void select_by_frames(const struct hs_pattern *pattern, bool wanted, const struct hs_profile *profile,
			     bool *nodes)
{
	bool *frames = hs_pattern_frames(pattern, profile);
	bool *through = hs_allocate_zero(profile->node_count, sizeof(*through));
	for (uint32_t id = 0; id < profile->node_count; id++) {
		const struct hs_node *node = &profile->nodes[id];
		through[id] = id && through[node->parent]; /* a parent stands before its children */
		struct hs_call call = profile->calls[node->call];
		for (uint32_t i = 0; i < call.frame_count && !through[id]; i++)
			through[id] = frames[call.first_frame + i];
		nodes[id] &= through[id] == wanted;
	}
	free(through);
	free(frames);
}

uint32_t *hs_allocating_modules(const struct hs_profile *profile)
{
	uint32_t *modules = hs_allocate_zero(profile->node_count, sizeof(*modules));
	bool *internal = hs_allocate_zero(profile->node_count, sizeof(*internal)); /* all frames are */
	modules[0] = UINT32_MAX;
	internal[0] = true;
	for (uint32_t id = 1; id < profile->node_count; id++) {
		const struct hs_node *node = &profile->nodes[id];
		struct hs_call call = profile->calls[node->call];
		const struct hs_frame *frames = &profile->frames[call.first_frame];
		uint32_t i = 0;
		while (i < call.frame_count && frames[i].internal)
			i++;
		internal[id] = i == call.frame_count && internal[node->parent];
		if (i < call.frame_count)
			modules[id] = frames[i].module;
		else if (internal[id] && call.frame_count)
			modules[id] = frames[0].module;
		else
			modules[id] = modules[node->parent];
	}
	free(internal);
	return modules;
}

static void select_by_module(const struct hs_patterns *patterns, const struct hs_profile *profile,
			     bool *nodes)
{
	bool *wanted = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*wanted));
	for (uint32_t m = 0; m < profile->module_count; m++)
		for (uint32_t p = 0; p < patterns->count && !wanted[m]; p++)
			wanted[m] = hs_pattern_matches(&patterns->items[p],
						       profile->strings.items[profile->modules[m].path]);
	uint32_t *modules = hs_allocating_modules(profile);
	for (uint32_t id = 0; id < profile->node_count; id++)
		nodes[id] &= modules[id] < profile->module_count && wanted[modules[id]];
	free(modules);
	free(wanted);
}

bool *hs_filter_nodes(const struct hs_filter *filter, const struct hs_profile *profile)
{
	bool *nodes = hs_allocate(profile->node_count);
	memset(nodes, true, profile->node_count);
	for (uint32_t i = 0; i < filter->focus.count; i++)
		select_by_frames(&filter->focus.items[i], true, profile, nodes);
	for (uint32_t i = 0; i < filter->ignore.count; i++)
		select_by_frames(&filter->ignore.items[i], false, profile, nodes);
	if (filter->modules.count)
		select_by_module(&filter->modules, profile, nodes);
	return nodes;
}

/* ---- phases ---------------------------------------------------------------------------------------------
 */

static bool is_selected_phase(const struct hs_filter *filter, const struct hs_profile *profile,
			      const struct hs_mark *mark)
{
	for (uint32_t i = 0; mark->what == HS_MARKED_PHASE && i < filter->phase_count; i++)
		if (strcmp(profile->strings.items[mark->name], filter->phases[i]) == 0)
			return true;
	return false;
}

struct hs_span *hs_filter_spans(const struct hs_filter *filter, const struct hs_profile *profile,
				uint32_t *count)
{
	struct hs_span *spans = hs_allocate_zero((size_t)profile->mark_count + 1, sizeof(*spans));
	*count = 0;
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		if (!is_selected_phase(filter, profile, mark))
			continue;
		/* marks ascend */
		struct hs_span *last = *count ? &spans[*count - 1] : NULL;
		if (!last || mark->first_event > last->end)
			spans[(*count)++] = (struct hs_span){mark->first_event, mark->end_event};
		else if (mark->end_event > last->end)
			last->end = mark->end_event;
	}
	return spans;
}

/* ---- threads --------------------------------------------------------------------------------------------
 */

static bool is_tid(const struct hs_profile *profile, uint64_t number)
{
	for (uint32_t i = 1; i < profile->thread_count; i++)
		if (profile->threads[i].tid == number)
			return true;
	return false;
}

bool hs_filter_thread(const struct hs_filter *filter, const struct hs_profile *profile, uint32_t thread)
{
	const struct hs_thread *known = thread < profile->thread_count ? &profile->threads[thread] : NULL;
	for (uint32_t i = 0; i < filter->threads.count; i++) {
		const struct hs_pattern *pattern = &filter->threads.items[i];
		if (strspn(pattern->text, "0123456789") == strlen(pattern->text)) {
			uint64_t number = strtoull(pattern->text, NULL, 10);
			if (is_tid(profile, number) ? known && known->tid == number : thread == number)
				return true;
		} else if (known && hs_pattern_matches(pattern, profile->strings.items[known->name])) {
			return true;
		}
	}
	return filter->threads.count == 0;
}
