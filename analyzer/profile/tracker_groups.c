/* Which group counts a block (tracker.h). */
#include "tracker.h"

#include "base/memory.h"

uint64_t hs_tracker_begun(const struct hs_tracker *tracker)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < HS_LANES; i++)
		count += tracker->lanes[i].blocks.count;
	return count;
}

uint32_t hs_tracker_part(struct hs_tracker *tracker, uint32_t group, uint32_t key, bool *added)
{
	return tracker->node_groups + hs_pairs_add(&tracker->parts, group, key, added);
}

/* Whether the event lies in one of the selected phases. */
static bool in_phase(struct hs_choice *choice, uint64_t event)
{
	while (choice->next_span < choice->span_count && choice->spans[choice->next_span].end <= event)
		choice->next_span++;
	return choice->next_span < choice->span_count && choice->spans[choice->next_span].first <= event;
}

/* Whether the block that is about to begin is selected. */
static bool is_selected(struct hs_tracker *tracker, struct hs_tracker_lane *lane, uint32_t node,
			uint64_t size)
{
	struct hs_choice *choice = &tracker->choice;
	const struct hs_filter *filter = choice->filter;
	if (!filter)
		return true;
	struct hs_survivors *survivors = &lane->survivors;
	bool survives = survivors->next < survivors->count &&
			survivors->numbers[survivors->next] == lane->blocks.count;
	survivors->next += survives;
	return choice->nodes[node] && tracker->threads[lane->latest_thread].selected &&
	       size >= filter->least_bytes && size <= filter->most_bytes &&
	       tracker->now_us >= filter->from_us && tracker->now_us < filter->to_us &&
	       (!choice->spans || in_phase(choice, tracker->events)) &&
	       (survives || filter->at_us == HS_TIME_NONE || choice->stop);
}

/* The slice of the run that the block that is about to begin is in. */
static uint32_t choose_slice(struct hs_tracker *tracker)
{
	struct hs_replay *out = tracker->out;
	/* the file may have more allocations than it says: they are all in the last slice */
	uint64_t count = hs_tracker_begun(tracker);
	while (count >= tracker->slice_end && out->slice_count < tracker->how.slices) {
		out->slice_us = hs_grow(out->slice_us, out->slice_count, &tracker->slice_capacity,
					sizeof *out->slice_us);
		out->slice_us[out->slice_count++] = tracker->now_us;
		tracker->slice_end += tracker->slice_blocks;
	}
	return out->slice_count - 1;
}

/* Of a node that no block of the lane has had, where each is a group of its own. */
static struct hs_chosen use_new_node(struct hs_tracker *tracker, const struct hs_tracker_lane *lane,
				     uint32_t node)
{
	uint32_t others = tracker->lanes_begun & ~(1U << (lane - tracker->lanes));
	for (; others; others &= others - 1) {
		const struct hs_tracker_lane *other = &tracker->lanes[__builtin_ctz(others)];
		uint32_t place = other->place_of_node[node];
		struct hs_event ending = other->remembered[place].ending;
		if ((place || node == 0) && hs_event_kind(ending) != HS_EVENT_ALLOC)
			return (struct hs_chosen){hs_event_node(ending), false};
	}
	tracker->how.by_node->nodes[tracker->node_groups] = node;
	return (struct hs_chosen){tracker->node_groups++, true};
}

static struct hs_chosen use_group_of_caller(struct hs_tracker *tracker, uint32_t node)
{
	struct hs_chosen chosen = {.group = tracker->group_of_node[node]};
	chosen.first = !tracker->begun[chosen.group];
	tracker->begun[chosen.group] = true;
	tracker->out->node_used[node] = true;
	return chosen;
}

struct hs_chosen hs_tracker_use_node(struct hs_tracker *tracker, const struct hs_tracker_lane *lane,
				     struct hs_remembered *own)
{
	if (hs_event_kind(own->ending) != HS_EVENT_ALLOC)
		return (struct hs_chosen){hs_event_node(own->ending), false};
	struct hs_chosen chosen = tracker->how.by_node ? use_new_node(tracker, lane, own->node)
						       : use_group_of_caller(tracker, own->node);
	uint32_t value = hs_event_value(own->ending);
	own->ending = hs_event(value < HS_VALUE_LARGE ? HS_EVENT_FREE : HS_EVENT_MOVE, value, chosen.group);
	return chosen;
}

/* The caller's groups stand for the key 0. */
struct hs_chosen hs_tracker_choose(struct hs_tracker *tracker, struct hs_tracker_lane *lane,
				   struct hs_remembered *own, uint64_t size)
{
	const struct hs_replay_how *how = &tracker->how;
	struct hs_chosen chosen = {.group = HS_LEFT_OUT};
	uint32_t node = own->node;
	if (!is_selected(tracker, lane, node, size))
		return chosen;
	uint32_t key = how->by_thread ? lane->latest_thread
		       : how->by_size ? hs_bucket(size)
		       : how->slices  ? choose_slice(tracker)
				      : 0;
	if (key == 0)
		return hs_tracker_use_node(tracker, lane, own);
	tracker->out->node_used[node] = true;
	chosen.group = hs_tracker_part(tracker, tracker->group_of_node[node], key, &chosen.first);
	return chosen;
}
