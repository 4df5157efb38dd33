/* A recording against budgets, and against a baseline. */
#include "profile/check.h"

#include "base/memory.h"
#include "profile/metrics.h"

#include <stdlib.h>
#include <string.h>

uint64_t hs_quantity_value(const struct hs_counts *counts, enum hs_quantity quantity)
{
	switch (quantity) {
	case HS_QUANTITY_OWN_PEAK:
		return counts->max_bytes;
	case HS_QUANTITY_BLOCKS:
		return counts->peak_blocks;
	case HS_QUANTITY_LEAKED:
		return counts->live_bytes - counts->suppressed_bytes;
	case HS_QUANTITY_LEAKED_BLOCKS:
		return counts->live_blocks - counts->suppressed_blocks;
	case HS_QUANTITY_ALLOCATED:
		return counts->allocated_bytes;
	case HS_QUANTITY_CALLS:
		return counts->allocations;
	case HS_QUANTITY_TEMPORARY:
		return counts->temporary;
	case HS_QUANTITY_MOVED:
		return counts->moved_bytes;
	default:
		return counts->peak_bytes;
	}
}

/* ---- a section of one recording -------------------------------------------------------------------------
 */

struct part {
	struct hs_counts counts;
	uint32_t unknown; /* HS_TOLD_... */
	uint64_t peak_rss_bytes;
};

/* By site: whether it is in the section. */
static bool *find_members(const struct hs_check_side *side, const struct hs_patterns *site)
{
	bool *member = hs_allocate_zero((size_t)side->sites->count + 1, sizeof(*member));
	bool *frames = site->count ? hs_pattern_frames(&site->items[0], side->profile) : NULL;
	for (uint32_t i = 0; i < side->sites->count; i++) {
		const struct hs_site *one = &side->sites->items[i];
		member[i] = !frames;
		for (uint32_t k = 0; frames && k < one->frame_count && !member[i]; k++)
			member[i] = frames[one->frames[k]];
	}
	free(frames);
	return member;
}

/* The most that the members held together: another replay, with them as one group. */
static int find_own_peak(struct part *part, const struct hs_check_side *side, const bool *member,
			 struct hs_error *error)
{
	uint32_t nodes = side->profile->node_count;
	uint32_t *group_of_node = hs_allocate_zero((size_t)nodes + 1, sizeof(*group_of_node));
	struct hs_replay replay = {0};
	for (uint32_t id = 0; id < nodes; id++) {
		uint32_t site = side->sites->site_of_node[id];
		group_of_node[id] = site != UINT32_MAX && member[site];
	}
	int result = hs_replay_run(side->profile, group_of_node, 2, &replay, error);
	if (result == 0) {
		part->counts.max_bytes = replay.groups[1].max_bytes;
		hs_replay_free(&replay);
	}
	free(group_of_node);
	return result;
}

static int make_part(struct part *part, struct hs_sites *view, const struct hs_check_side *side,
		     const struct hs_budget_section *section, struct hs_error *error)
{
	const struct hs_facts *facts = &side->profile->facts;
	bool *member = find_members(side, &section->site);
	*part = (struct part){.unknown = side->sites->replay.unknown,
			      .peak_rss_bytes = facts->peak_rss_bytes};
	if (!facts->peak_rss_bytes)
		part->unknown |= HS_TOLD_PROCESS;
	view->items = hs_allocate_zero((size_t)side->sites->count + 1, sizeof(*view->items));
	for (uint32_t i = 0; i < side->sites->count; i++) {
		if (!member[i])
			continue;
		view->items[view->count++] = side->sites->items[i];
		hs_counts_add(&part->counts, side->sites->items[i].counts);
	}
	int result = 0;
	bool asked =
		section->limits[HS_QUANTITY_OWN_PEAK].kind || section->tolerances[HS_QUANTITY_OWN_PEAK].kind;
	if (!section->site.count)
		part->counts.max_bytes = side->sites->replay.totals.counts.peak_bytes;
	else if (asked && !(part->unknown & HS_TOLD_EVENTS))
		result = find_own_peak(part, side, member, error);
	free(member);
	return result;
}

static uint64_t value_of(const struct part *part, enum hs_quantity quantity)
{
	return quantity == HS_QUANTITY_PEAK_RSS ? part->peak_rss_bytes
						: hs_quantity_value(&part->counts, quantity);
}

/* ---- verdicts -------------------------------------------------------------------------------------------
 */

static void add_finding(struct hs_check *check, struct hs_finding finding, uint32_t unknown)
{
	uint32_t needed = hs_quantities[finding.quantity].told;
	if (finding.asked.kind == HS_AMOUNT_PERCENT && !finding.growth)
		needed |= hs_quantities[hs_quantities[finding.quantity].whole].told;
	if (unknown & needed)
		finding.verdict = HS_UNTOLD;
	else
		finding.verdict = finding.value > finding.allowed ? HS_OVER : HS_WITHIN;
	check->over += finding.verdict == HS_OVER;
	check->untold += finding.verdict == HS_UNTOLD;
	check->items = hs_grow(check->items, check->count, &check->capacity, sizeof(*check->items));
	check->items[check->count++] = finding;
}

static void judge_limits(struct hs_check *check, const struct hs_budget_section *section, uint32_t number,
			 const struct part *part)
{
	for (unsigned quantity = 0; quantity < HS_QUANTITIES; quantity++) {
		const struct hs_amount *limit = &section->limits[quantity];
		enum hs_quantity whole = hs_quantities[quantity].whole;
		if (limit->kind == HS_AMOUNT_NONE)
			continue;
		struct hs_finding finding = {.section = number,
					     .quantity = (enum hs_quantity)quantity,
					     .asked = *limit,
					     .value = value_of(part, (enum hs_quantity)quantity)};
		if (whole != HS_QUANTITIES)
			finding.whole = value_of(part, whole);
		finding.allowed = hs_amount_of(limit, finding.whole);
		add_finding(check, finding, part->unknown);
	}
}

/* The tolerance of a quantity; kind NONE or OFF: it is not compared. */
static struct hs_amount find_tolerance(const struct hs_budget_section *section, bool whole_program,
				       enum hs_quantity quantity)
{
	const struct hs_amount *own = &section->tolerances[quantity];
	if (own->kind)
		return *own;
	if (!hs_quantities[quantity].compared || (!whole_program && !section->tolerance.kind))
		return (struct hs_amount){0};
	if (section->tolerance.kind)
		return section->tolerance;
	return (struct hs_amount){HS_AMOUNT_PERCENT, 0};
}

static void judge_growth(struct hs_check *check, const struct hs_budget_section *section, uint32_t number,
			 bool whole_program, const struct part *new, const struct part *old)
{
	for (unsigned i = 0; i < HS_QUANTITIES; i++) {
		enum hs_quantity quantity = (enum hs_quantity)i;
		struct hs_amount tolerance = find_tolerance(section, whole_program, quantity);
		if (tolerance.kind != HS_AMOUNT_VALUE && tolerance.kind != HS_AMOUNT_PERCENT)
			continue;
		struct hs_finding finding = {.section = number,
					     .quantity = quantity,
					     .growth = true,
					     .asked = tolerance,
					     .value = value_of(new, quantity),
					     .old = value_of(old, quantity)};
		finding.whole = finding.old;
		uint64_t more = hs_amount_of(&tolerance, finding.old);
		finding.allowed = finding.old > UINT64_MAX - more ? UINT64_MAX : finding.old + more;
		add_finding(check, finding, new->unknown | old->unknown);
	}
}

int hs_check_make(struct hs_check *check, const struct hs_budgets *budgets, const struct hs_check_side *new,
		  const struct hs_check_side *old, struct hs_error *error)
{
	int result = 0;
	*check = (struct hs_check){.section_count = budgets->count};
	check->new_sites = hs_allocate_zero((size_t)budgets->count + 1, sizeof(*check->new_sites));
	if (old)
		check->old_sites = hs_allocate_zero((size_t)budgets->count + 1, sizeof(*check->old_sites));
	for (uint32_t i = 0; i < budgets->count && result == 0; i++) {
		const struct hs_budget_section *section = &budgets->sections[i];
		struct part new_part, old_part;
		result = make_part(&new_part, &check->new_sites[i], new, section, error);
		if (result == 0 && old)
			result = make_part(&old_part, &check->old_sites[i], old, section, error);
		if (result == 0)
			judge_limits(check, section, i, &new_part);
		if (result == 0 && old)
			judge_growth(check, section, i, !section->site.count, &new_part, &old_part);
	}
	return result;
}

void hs_check_free(struct hs_check *check)
{
	for (uint32_t i = 0; i < check->section_count; i++) {
		free(check->new_sites[i].items);
		if (check->old_sites)
			free(check->old_sites[i].items);
	}
	free(check->new_sites);
	free(check->old_sites);
	free(check->items);
	*check = (struct hs_check){0};
}
