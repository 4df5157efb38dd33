#include "imported.h"

#include "import/import.h"
#include "import/write.h"
#include "profile/tally.h"

#include <string.h>

static void check_sums(const struct hs_sites *sites)
{
	struct hs_counts sum = {0};
	for (uint32_t i = 0; i < sites->count; i++)
		hs_counts_add(&sum, sites->items[i].counts);
	sum.max_bytes = sites->replay.totals.counts.max_bytes;
	sum.max_blocks = sites->replay.totals.counts.max_blocks;
	FUZZ_CHECK(memcmp(&sum, &sites->replay.totals.counts, sizeof sum) == 0);
}

static void check_merge(struct hs_profile *profile)
{
	struct hs_error error = {{0}};
	struct hs_tally tally;
	hs_tally_init(&tally);
	/* sums may pass what a recording can hold */
	if (hs_tally_merge(&tally, profile, &error) == 0 && hs_tally_merge(&tally, profile, &error) == 0) {
		struct fuzz_file file = fuzz_file_make("", 0);
		FUZZ_CHECK(hs_tally_write(&tally, file.fd, &error) == 0);
		struct hs_profile *merged = hs_profile_load(file.path, &error);
		struct hs_sites sites;
		FUZZ_CHECK(merged && hs_sites_make(merged, false, &sites, &error) == 0);
		FUZZ_CHECK(!merged->damaged);
		FUZZ_CHECK(merged->facts.merged.recordings == 2);
		check_sums(&sites);
		hs_sites_free(&sites);
		hs_profile_free(merged);
		fuzz_file_close(&file);
	} else {
		FUZZ_CHECK(error.text[0]);
	}
	hs_tally_free(&tally);
}

void fuzz_import(const char *name, const uint8_t *data, size_t size)
{
	struct fuzz_file in = fuzz_file_make(data, size), out = fuzz_file_make("", 0);
	struct hs_error error = {{0}}, warning = {{0}};
	struct hs_import_options options = {.samples = size % 2,
					    .metric = (enum hs_metric)(size % HS_METRICS)};
	struct hs_source *source = hs_source_open(in.path, &error);
	FUZZ_CHECK(source != NULL);
	hs_importer_guess(source, &error);
	error.text[0] = 0;
	int result = hs_importer_find(name)->convert(source, &options, out.fd, &warning, &error);
	hs_source_close(source);
	FUZZ_CHECK((result == 0) == (error.text[0] == 0));
	if (result == 0) {
		struct hs_sites sites;
		struct hs_profile *profile = hs_profile_load(out.path, &error);
		FUZZ_CHECK(profile && hs_sites_make(profile, false, &sites, &error) == 0);
		FUZZ_CHECK(!profile->damaged);
		check_sums(&sites);
		hs_sites_free(&sites);
		check_merge(profile);
		hs_profile_free(profile);
	}
	fuzz_file_close(&in);
	fuzz_file_close(&out);
}

/* The buffers of the encoder, which have room for the worst case, and of zstd. */
size_t fuzz_memory(size_t size)
{
	return (96u << 20) + size * 8192;
}
