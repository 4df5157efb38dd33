/* Sites: nodes grouped by their stack as people see it, from the innermost frame that is not internal
 * outwards. Where sites' maxima matter the grouping has to be known before the replay, so that they are not
 * sums of nodes' maxima; else both go on at the same time. What only takes time for sites that nobody looks
 * at is left to sites_finish.c. */
#include "sites_making.h"

#include "base/aside.h"
#include "base/memory.h"
#include "filter.h"
#include "heapscope/region.h"
#include "internal.h"
#include "metrics.h"
#include "own.h"
#include "recording.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

static void find_rules(void *context)
{
	struct hs_sites_making *making = context;
	hs_suppressions_find(making->profile);
}

/* What is made of fewer takes no time. */
enum { NODES_WORTH_A_THREAD = 16384 };

/* Rules and stacks of many nodes at the same time: they have nothing to do with each other. */
static void make_rules_and_stacks(struct hs_sites_making *making, bool raw)
{
	struct hs_aside aside;
	hs_sites_know_frames(making, raw);
	if (making->profile->node_count < NODES_WORTH_A_THREAD) {
		find_rules(making);
		hs_sites_make_stacks(making);
		return;
	}
	hs_aside_begin(&aside, find_rules, making);
	hs_sites_make_stacks(making);
	hs_aside_end(&aside);
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* Of the replay's groups, which are sites' already. */
static void take_groups(struct hs_sites_making *making, struct hs_sites *sites, uint32_t *group_of_node)
{
	const struct hs_replay *replay = &sites->replay;
	uint32_t *site_of_group = hs_allocate(replay->group_count * sizeof *site_of_group);
	memset(site_of_group, 0xff, replay->group_count * sizeof *site_of_group);
	for (uint32_t id = 0; id < making->profile->node_count; id++) {
		uint32_t group = group_of_node[id];
		if (!replay->node_used[id]) {
			group_of_node[id] = UINT32_MAX;
			continue;
		}
		if (site_of_group[group] == UINT32_MAX) {
			site_of_group[group] = sites->count;
			hs_sites_add(making, sites, hs_sites_fold_node(making, id),
				     hs_suppression_of(making->profile, id), group);
		}
		group_of_node[id] = site_of_group[group];
	}
	sites->site_of_node = group_of_node;
	free(site_of_group);
	for (uint32_t i = 0; i < sites->count; i++)
		sites->items[i].counts = &replay->groups[sites->items[i].group];
}

static void add_suppressed(struct hs_counts *sum, const struct hs_counts *counts)
{
	sum->suppressed_bytes += counts->live_bytes;
	sum->suppressed_blocks += counts->live_blocks;
}

/* What else is known of sites now. larger: NULL, or sums of them that lack it. */
static void find_suppressed(struct hs_sites *sites, const struct hs_site_sums *larger)
{
	for (uint32_t i = 0; i < sites->suppressed_count; i++) {
		uint32_t index = sites->suppressed[i];
		struct hs_site *site = &sites->items[index];
		struct hs_counts counts = hs_site_counts(sites, site);
		add_suppressed(&sites->replay.totals.counts, &counts);
		if (site->counts)
			add_suppressed(site->counts, &counts);
		if (larger)
			add_suppressed(&larger->sums[larger->of_site[index]], &counts);
	}
}

/* ---- from outside ---------------------------------------------------------------------------------------
 */

static struct hs_sites_making *start(struct hs_profile *profile, struct hs_sites *sites)
{
	struct hs_sites_making *making = hs_allocate_zero(1, sizeof *making);
	making->profile = profile;
	*sites = (struct hs_sites){.making = making};
	return making;
}

/* Groups before the replay. */
static int begin_with_maxima(struct hs_sites_making *making, bool raw, struct hs_sites *sites,
			     struct hs_error *error)
{
	make_rules_and_stacks(making, raw);
	uint32_t *group_of_node = hs_sites_group_nodes(making);
	if (hs_replay_run(making->profile, group_of_node, making->group_count, &sites->replay, error) != 0) {
		free(group_of_node);
		return -1;
	}
	take_groups(making, sites, group_of_node);
	find_suppressed(sites, NULL);
	return 0;
}

/* What goes on while events are replayed. */
struct stacking {
	struct hs_sites_making *making;
	struct hs_sites *sites;
	uint32_t expected_nodes;
	bool raw;
	const struct hs_meanwhile *meanwhile;
	struct hs_site_sums sums; /* that it wants */
	atomic_bool are_stacked;  /* nodes, as many as expected: those that are met can have sites */
};

static void prepare(struct stacking *stacking)
{
	struct hs_profile *profile = stacking->making->profile;
	if (!profile->loader)
		return;
	hs_profile_finish(profile);
	if (stacking->meanwhile->prepare)
		stacking->meanwhile->prepare(profile, stacking->meanwhile->context);
}

static void make_stacks_aside(void *context)
{
	struct stacking *stacking = context;
	prepare(stacking);
	hs_sites_know_frames(stacking->making, stacking->raw);
	hs_sites_hash_stacks(stacking->making);
	if (stacking->making->profile->node_count != stacking->expected_nodes)
		return;
	hs_sites_map_met(stacking->making, stacking->sites);
	atomic_store_explicit(&stacking->are_stacked, true, memory_order_release);
}

/* Finds the sites of more nodes while there is something else to do for the other core. */
static void map_some(void *context)
{
	struct stacking *stacking = context;
	if (atomic_load_explicit(&stacking->are_stacked, memory_order_acquire))
		hs_sites_map_met(stacking->making, stacking->sites);
}

static void end_replay(struct stacking *stacking)
{
	if (stacking->meanwhile->replayed)
		stacking->sums = stacking->meanwhile->replayed(stacking->sites, stacking->meanwhile->context);
}

/* The site of each node that the replay has met. If there are not as many nodes as it was told, there will be
 * another replay. */
static struct hs_group_sums find_sites(void *context)
{
	struct stacking *stacking = context;
	struct hs_sites_making *making = stacking->making;
	if (making->profile->node_count != stacking->expected_nodes)
		return (struct hs_group_sums){0};
	hs_sites_map_met(making, stacking->sites);
	making->spare = making->hashes_low;
	making->hashes_low = NULL;
	hs_sites_end_mapping(making);
	end_replay(stacking);
	return (struct hs_group_sums){making->site_of_group, stacking->sums};
}

/* How many nodes a profile has or, if it is only begun, will have if nothing is wrong with the file. */
static uint32_t expect_nodes(const struct hs_profile *profile)
{
	return profile->loader ? hs_load_expected_nodes(profile->recording) : profile->node_count;
}

/* aside: what is to be done meanwhile, or NULL. */
static int replay_nodes(struct stacking *stacking, struct hs_profile *profile, void (*aside)(void *context),
			struct hs_error *error)
{
	struct hs_met *met = &stacking->making->met;
	free(met->nodes);
	*met = (struct hs_met){
		.nodes = hs_allocate(profile->node_count * sizeof *met->nodes),
		.aside = aside,
		.met_some = map_some,
		.find_sums = find_sites,
		.context = stacking,
	};
	return hs_replay_run_as(profile, NULL, 0, &(struct hs_replay_how){.by_node = met},
				&stacking->sites->replay, error);
}

/* The replay knows nothing of the profile but what is copied here. */
static int replay_beside(struct stacking *stacking, struct hs_error *error)
{
	struct hs_profile *profile = stacking->making->profile;
	struct hs_profile seen = *profile;
	seen.facts.warning = NULL;
	seen.damaged = false;
	seen.node_count = stacking->expected_nodes;
	int result = replay_nodes(stacking, &seen, make_stacks_aside, error);
	if (profile->node_count != seen.node_count) { /* the file is damaged */
		hs_replay_free(&stacking->sites->replay);
		stacking->expected_nodes = profile->node_count;
		result = replay_nodes(stacking, profile, NULL, error);
	} else {
		profile->facts.time_resolution_us = seen.facts.time_resolution_us;
		profile->facts.duration_us = seen.facts.duration_us;
		if (seen.facts.warning)
			hs_profile_warn(profile, "%s", seen.facts.warning);
	}
	free(seen.facts.warning);
	return result;
}

static bool has_counts(const struct hs_profile *profile)
{
	const struct hs_recording *recording = profile->recording;
	for (uint32_t i = 0; i < recording->member_count; i++)
		if (recording->members[i].kind == HS_MEMBER_COUNTS)
			return true;
	return false;
}

/* The replay of nodes, and all that goes on beside. */
static int replay_and_stack(struct stacking *stacking, struct hs_error *error)
{
	struct hs_profile *profile = stacking->making->profile;
	if (!hs_filter_selects_all(profile->filter))
		prepare(stacking);
	if (stacking->expected_nodes >= NODES_WORTH_A_THREAD)
		return replay_beside(stacking, error);
	prepare(stacking);
	stacking->expected_nodes = profile->node_count; /* a damaged file may have fewer */
	make_stacks_aside(stacking);
	return replay_nodes(stacking, profile, NULL, error);
}

int hs_sites_begin(struct hs_profile *profile, bool raw, const struct hs_meanwhile *meanwhile,
		   struct hs_sites *sites, struct hs_error *error)
{
	static const struct hs_meanwhile nothing;
	struct hs_sites_making *making = start(profile, sites);
	struct stacking stacking = {.making = making,
				    .sites = sites,
				    .expected_nodes = expect_nodes(profile),
				    .raw = raw,
				    .meanwhile = meanwhile ? meanwhile : &nothing};
	bool counts = has_counts(profile);
	int result;
	if (counts) {
		prepare(&stacking);
		result = begin_with_maxima(making, raw, sites, error);
	} else {
		result = replay_and_stack(&stacking, error);
	}
	if (result != 0) {
		hs_sites_free(sites);
		return -1;
	}
	if (!counts) {
		find_suppressed(sites, stacking.sums.of_site ? &stacking.sums : NULL);
		return 0;
	}
	end_replay(&stacking);
	if (stacking.sums.of_site)
		hs_sites_add_up(sites, &stacking.sums);
	return 0;
}

int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error)
{
	int result = begin_with_maxima(start(profile, sites), raw, sites, error);
	if (result == 0)
		hs_sites_finish(sites);
	else
		hs_sites_free(sites);
	return result;
}

void hs_sites_free(struct hs_sites *sites)
{
	free(sites->items);
	free(sites->site_of_node);
	free(sites->suppressed);
	hs_own_frames_free(&sites->own);
	free(sites->frame_pool);
	hs_replay_free(&sites->replay);
	hs_sites_making_free(sites->making);
	*sites = (struct hs_sites){0};
}
