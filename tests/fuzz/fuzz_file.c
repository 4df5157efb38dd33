/* The bytes of a file as they are: member headers, sizes, deflate streams, checksums. */
#include "made.h"

void fuzz_seeds(fuzz_add *add, void *context)
{
	fuzz_seed_files(add, context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = fuzz_file_make(data, size);
	struct hs_error error = {{0}};
	struct hs_sites sites;
	struct hs_profile *profile = hs_profile_load(file.path, &error);
	FUZZ_CHECK((profile != NULL) == (error.text[0] == 0));
	if (profile && hs_sites_make(profile, false, &sites, &error) == 0)
		hs_sites_free(&sites);
	hs_profile_free(profile);
	fuzz_file_close(&file);
	return 0;
}
