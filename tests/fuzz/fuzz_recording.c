/* Reader, replay and sites: whatever the members hold, the sites' counts sum to the totals. */
#include "made.h"
#include "profile/marks.h"

void fuzz_seeds(fuzz_add *add, void *context)
{
	fuzz_seed_members(add, context);
}

static struct hs_totals check_sites(struct hs_profile *profile, bool raw)
{
	struct hs_sites sites;
	struct hs_error error = {{0}};
	struct hs_totals totals = {0};
	if (hs_sites_make(profile, raw, &sites, &error) != 0) {
		FUZZ_CHECK(error.text[0] != 0);
		return totals;
	}
	struct hs_counts sum = {0};
	for (uint32_t i = 0; i < sites.count; i++) {
		const struct hs_site *site = &sites.items[i];
		sum.allocations += site->counts->allocations;
		sum.allocated_bytes += site->counts->allocated_bytes;
		sum.peak_bytes += site->counts->peak_bytes;
		sum.peak_blocks += site->counts->peak_blocks;
		sum.live_bytes += site->counts->live_bytes;
		sum.live_blocks += site->counts->live_blocks;
		sum.temporary += site->counts->temporary;
		sum.moved_bytes += site->counts->moved_bytes;
		FUZZ_CHECK(site->counts->max_bytes >= site->counts->peak_bytes);
		FUZZ_CHECK(site->frame_count == 0 || site->own_frame < site->frame_count);
		for (uint32_t k = 0; k < site->frame_count; k++)
			FUZZ_CHECK(site->frames[k] < profile->frame_count);
	}
	totals = sites.replay.totals;
	FUZZ_CHECK(sum.allocations == totals.counts.allocations);
	FUZZ_CHECK(sum.allocated_bytes == totals.counts.allocated_bytes);
	FUZZ_CHECK(sum.peak_bytes == totals.counts.peak_bytes);
	FUZZ_CHECK(sum.peak_blocks == totals.counts.peak_blocks);
	FUZZ_CHECK(sum.live_bytes == totals.counts.live_bytes);
	FUZZ_CHECK(sum.live_blocks == totals.counts.live_blocks);
	FUZZ_CHECK(sum.temporary == totals.counts.temporary);
	FUZZ_CHECK(sum.moved_bytes == totals.counts.moved_bytes);
	hs_sites_free(&sites);
	return totals;
}

static void check_phases(struct hs_profile *profile, const struct hs_totals *totals)
{
	struct hs_phases phases;
	struct hs_error error = {{0}};
	FUZZ_CHECK(hs_phases_make(profile, &phases, &error) == 0);
	for (uint32_t i = 0; i < phases.count; i++) {
		const struct hs_phase *phase = &phases.items[i];
		FUZZ_CHECK(phase->times > 0 && phase->name < profile->strings.count);
		FUZZ_CHECK(phase->allocations <= totals->counts.allocations);
		FUZZ_CHECK(phase->allocated_bytes <= totals->counts.allocated_bytes);
		FUZZ_CHECK(phase->most_bytes <= totals->counts.max_bytes);
		FUZZ_CHECK(phase->change_bytes <= (int64_t)totals->counts.allocated_bytes &&
			   phase->change_bytes >= -(int64_t)totals->counts.allocated_bytes);
	}
	hs_phases_free(&phases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hs_profile *profile = fuzz_load(data, size);
	if (!profile)
		return 0;
	struct hs_totals folded = check_sites(profile, false), raw = check_sites(profile, true);
	FUZZ_CHECK(folded.events == raw.events);
	FUZZ_CHECK(folded.counts.peak_bytes == raw.counts.peak_bytes);
	check_phases(profile, &raw);
	hs_profile_free(profile);
	return 0;
}
