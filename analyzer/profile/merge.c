/* Adds a recording to a tally: sites by name. The recording is replayed by its stacks as they look, and each
 * stack's counts are added to those of the same stack in the tally. */
#include "base/memory.h"
#include "stacks.h"
#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Different commands that are kept apart; the others are counted together. */
enum { COMMANDS_MOST = 256 };

struct merging {
	struct hs_tally *tally;
	struct hs_profile *profile;
	struct hs_stacks stacks;
	uint32_t *texts;         /* of each frame of the profile */
	uint32_t *frame_of_text; /* in the tally, + 1 */
	uint32_t *node_of_stack; /* in the tally, + 1 */
	uint32_t *path;          /* stacks on the way outwards: room for the deepest */
};

/* ---- modules, frames ------------------------------------------------------------------------------------
 */

/* The module's index + 1 in the tally. A function is the same in every build of its module, which the first
 * one stands for; an address alone is not. */
static uint32_t merge_module(struct merging *merging, uint32_t index, bool exact)
{
	struct hs_tally *tally = merging->tally;
	const struct hs_module *module = &merging->profile->modules[index];
	const char *path = merging->profile->strings.items[module->path];
	size_t length = strlen(path), bytes = 0;
	char *key = hs_allocate(length + 2 + 2 * sizeof module->build_id + 1);
	bytes = (size_t)sprintf(key, "%s%c", path, exact ? '\1' : '\2');
	for (uint32_t i = 0; exact && i < module->build_id_bytes; i++)
		bytes += (size_t)sprintf(key + bytes, "%02x", module->build_id[i]);
	uint32_t known = tally->module_keys.count, number = hs_strings_add(&tally->module_keys, key, bytes);
	free(key);
	while (number >= tally->key_capacity)
		tally->module_of_key = hs_grow(tally->module_of_key, tally->key_capacity,
					       &tally->key_capacity, sizeof *tally->module_of_key);
	if (number < known)
		return tally->module_of_key[number];
	if (!exact) {
		/* the first build with this path, which from here on has a number of its own too */
		uint32_t first = merge_module(merging, index, true);
		return tally->module_of_key[number] = first;
	}
	struct hs_tally_module copy = {.path = hs_strings_add_text(&tally->strings, path),
				       .build_id_bytes = module->build_id_bytes,
				       .flags = module->flags};
	memcpy(copy.build_id, module->build_id, sizeof copy.build_id);
	return tally->module_of_key[number] = hs_tally_add_module(tally, &copy) + 1;
}

static uint32_t merge_frame(struct merging *merging, uint32_t index)
{
	struct hs_tally *tally = merging->tally;
	const struct hs_profile *profile = merging->profile;
	const struct hs_frame *frame = &profile->frames[index];
	uint32_t *merged = &merging->frame_of_text[merging->texts[index]];
	if (*merged)
		return *merged - 1;
	bool named = frame->function || frame->file;
	struct hs_tally_frame copy = {
		.function = hs_strings_add_text(&tally->strings, profile->strings.items[frame->function]),
		.file = hs_strings_add_text(&tally->strings, profile->strings.items[frame->file]),
		.line = frame->line,
		.module = frame->module == UINT32_MAX ? 0 : merge_module(merging, frame->module, !named),
		.address = frame->address,
		.inlined = frame->inlined,
	};
	/* as in hs_frame_texts */
	uint64_t first = named ? (uint64_t)copy.function << 32 | copy.file : copy.address;
	uint64_t second = named ? (uint64_t)copy.line << 32 | copy.module : 1ULL << 63 | copy.module;
	bool added;
	uint32_t text = hs_pairs_add(&tally->frame_texts, first, second, &added);
	if (added)
		hs_tally_add_frame(tally, &copy);
	*merged = text + 1;
	return text;
}

/* ---- stacks ---------------------------------------------------------------------------------------------
 */

/* The stack's node in the tally, with those of its callers. Returns -1 and an error if there are too many. */
static int merge_stack(struct merging *merging, uint32_t stack, uint32_t *node, struct hs_error *error)
{
	const struct hs_stack *items = merging->stacks.items;
	uint32_t depth = 0;
	for (; stack && !merging->node_of_stack[stack]; stack = items[stack].parent)
		merging->path[depth++] = stack;
	*node = stack ? merging->node_of_stack[stack] : 0;
	while (depth > 0) {
		stack = merging->path[--depth];
		*node = hs_tally_node(merging->tally, *node, merge_frame(merging, items[stack].frame), error);
		if (*node == 0)
			return -1;
		merging->node_of_stack[stack] = *node;
	}
	return 0;
}

static int merge_counts(struct merging *merging, const struct hs_replay *replay, struct hs_error *error)
{
	for (uint32_t stack = 0; stack < merging->stacks.count; stack++) {
		const struct hs_counts *counts = &replay->groups[stack];
		uint32_t node;
		if (!hs_counts_any(counts))
			continue;
		if (merge_stack(merging, stack, &node, error) != 0)
			return -1;
		hs_tally_add(merging->tally, node, counts);
	}
	struct hs_counts totals;
	return hs_tally_totals(merging->tally, &totals, error);
}

static int merge_stacks(struct hs_tally *tally, struct hs_profile *profile, struct hs_error *error)
{
	struct merging merging = {.tally = tally, .profile = profile, .texts = hs_frame_texts(profile)};
	struct hs_replay replay;
	hs_stacks_make(profile, merging.texts, &merging.stacks);
	int result = hs_replay_run(profile, merging.stacks.of_node, merging.stacks.count, &replay, error);
	if (result == 0) {
		uint32_t deepest = 0;
		for (uint32_t i = 0; i < merging.stacks.count; i++)
			if (merging.stacks.items[i].depth > deepest)
				deepest = merging.stacks.items[i].depth;
		merging.path = hs_allocate_zero(deepest, sizeof *merging.path);
		/* a frame without a name takes two numbers */
		merging.frame_of_text =
			hs_allocate_zero((size_t)profile->frame_count * 2, sizeof *merging.frame_of_text);
		merging.node_of_stack = hs_allocate_zero(merging.stacks.count, sizeof *merging.node_of_stack);
		result = merge_counts(&merging, &replay, error);
		tally->facts.unknown |= replay.unknown;
		tally->events += replay.totals.events;
		tally->frees += replay.totals.frees;
		hs_replay_free(&replay);
	}
	hs_stacks_free(&merging.stacks);
	free(merging.texts);
	free(merging.frame_of_text);
	free(merging.node_of_stack);
	free(merging.path);
	return result;
}

/* ---- facts ----------------------------------------------------------------------------------------------
 */

static void add_command(struct hs_merged *merged, const char *line, uint64_t recordings)
{
	static const char others[] = "(other commands)";
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < merged->command_count; i++) {
			if (strcmp(merged->commands[i].line, line) != 0)
				continue;
			merged->commands[i].recordings += recordings;
			return;
		}
		if (merged->command_count < COMMANDS_MOST)
			break;
		line = others;
	}
	merged->commands =
		hs_reallocate(merged->commands, merged->command_count + 1, sizeof *merged->commands);
	merged->commands[merged->command_count++] =
		(struct hs_merged_command){hs_copy_string(line), recordings};
}

static void add_commands(struct hs_merged *sum, const struct hs_facts *facts)
{
	char *line = hs_command_line(facts);
	if (!facts->merged.recordings)
		add_command(sum, *line ? line : "(unknown command)", 1);
	free(line);
	for (uint32_t i = 0; i < facts->merged.command_count; i++)
		add_command(sum, facts->merged.commands[i].line, facts->merged.commands[i].recordings);
}

/* Keeps a text that all recordings have in common; NULL (or "") once they differ. */
static void keep_common(char **common, const char *text, bool first)
{
	if (first && text)
		*common = hs_copy_string(text);
	if (first || (*common && text && strcmp(*common, text) == 0))
		return;
	free(*common);
	*common = NULL;
}

/* From the first start to the last end, where that is known, else the longest duration. */
static void merge_times(struct hs_facts *sum, const struct hs_facts *facts)
{
	struct hs_merged *merged = &sum->merged;
	bool was_merged = facts->merged.recordings > 0;
	uint64_t longest_us = was_merged ? facts->merged.longest_us : facts->duration_us;
	uint64_t end_us = was_merged ? facts->merged.end_unix_us : facts->start_unix_us + facts->duration_us;
	merged->sum_us += was_merged ? facts->merged.sum_us : facts->duration_us;
	if (longest_us > merged->longest_us)
		merged->longest_us = longest_us;
	if (facts->start_unix_us) {
		if (!sum->start_unix_us || facts->start_unix_us < sum->start_unix_us)
			sum->start_unix_us = facts->start_unix_us;
		if (end_us > merged->end_unix_us)
			merged->end_unix_us = end_us;
	}
	sum->duration_us = merged->longest_us;
	if (sum->start_unix_us && merged->end_unix_us > sum->start_unix_us &&
	    merged->end_unix_us - sum->start_unix_us > sum->duration_us)
		sum->duration_us = merged->end_unix_us - sum->start_unix_us;
}

static void merge_facts(struct hs_tally *tally, const struct hs_profile *profile)
{
	const struct hs_facts *facts = &profile->facts;
	struct hs_facts *sum = &tally->facts;
	bool first = sum->merged.recordings == 0;
	keep_common(&sum->program, facts->program, first);
	keep_common(&sum->cwd, facts->cwd, first);
	keep_common(&sum->imported, facts->imported, first);
	add_commands(&sum->merged, facts);
	merge_times(sum, facts);
	bool whole = !profile->damaged && !facts->stopped && facts->end != HS_END_RUNNING;
	sum->merged.recordings += facts->merged.recordings ? facts->merged.recordings : 1;
	sum->merged.incomplete += facts->merged.incomplete + !whole;
	sum->subject = facts->subject;
	sum->unknown |= facts->unknown | HS_TOLD_EVENTS | HS_TOLD_PEAK_US | HS_TOLD_THREADS | HS_TOLD_PROCESS;
	sum->end = HS_END_UNKNOWN;
	sum->lost_events += facts->lost_events;
	sum->truncated_stacks += facts->truncated_stacks;
	sum->broken_stacks += facts->broken_stacks;
	sum->fallback_stacks += facts->fallback_stacks;
	sum->late_events += facts->late_events;
	sum->repaired_frees += facts->repaired_frees;
	sum->unknown_frees += facts->unknown_frees;
	sum->skipped_allocations += facts->skipped_allocations;
	sum->skipped_bytes += facts->skipped_bytes;
	sum->pools.slabs += facts->pools.slabs;
	sum->pools.slab_most_bytes += facts->pools.slab_most_bytes;
	sum->pools.slab_live_bytes += facts->pools.slab_live_bytes;
	sum->pools.allocations += facts->pools.allocations;
	sum->pools.most_bytes += facts->pools.most_bytes;
	sum->pools.live_bytes += facts->pools.live_bytes;
	sum->unseen_libraries += facts->unseen_libraries;
	if (!sum->unseen_library && facts->unseen_library)
		sum->unseen_library = hs_copy_string(facts->unseen_library);
	if (facts->lsan_suppressions)
		hs_facts_add_suppressions(sum, facts->lsan_suppressions);
	sum->lsan_unread |= facts->lsan_unread;
}

int hs_tally_merge(struct hs_tally *tally, struct hs_profile *profile, struct hs_error *error)
{
	if (tally->facts.merged.recordings && tally->facts.subject != profile->facts.subject)
		return hs_fail(error, "it counts %s, and the files before it %s: these do not add up",
			       profile->facts.subject == HS_SUBJECT_SAMPLES ? "samples of a profiler"
									    : "allocations",
			       profile->facts.subject == HS_SUBJECT_SAMPLES ? "allocations"
									    : "samples of a profiler");
	if (merge_stacks(tally, profile, error) != 0)
		return -1;
	if ((tally->facts.unknown & HS_TOLD_FIELDS) == HS_TOLD_FIELDS)
		return hs_fail(error,
			       "nothing that it tells is told by all of the files before it: they do not "
			       "add up");
	merge_facts(tally, profile);
	return 0;
}
