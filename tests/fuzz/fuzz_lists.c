/* The texts that users write: rules for leaks (the input as it is) and budgets (likewise). An error names a
 * line; what is taken can be matched and freed. */
#include "fuzz.h"
#include "profile/budgets.h"
#include "profile/suppressions.h"

#include <stdlib.h>
#include <string.h>

void fuzz_seeds(fuzz_add *add, void *context)
{
#define SEED(text) add(context, text, sizeof text - 1)
	SEED("# rules\nleak:^foo*bar$\n leak:*tls_get_addr* \r\nleak:a\n");
	SEED("max-peak = 10MiB\nmax-temporary = 5.25%\ntolerance = 2%, leaked=0, moved=1K\n");
	SEED("[site ^cache_]\nmax-own-peak = 1.5G\nmax-leaked=0\n[all]\nmax-calls = 100\n");
	SEED("max-peak = 99999999999999999999T\n[site\ntolerance = =%\n");
	SEED("leak:\nrace:x\n");
#undef SEED
}

static void use_rules(const char *text, size_t size)
{
	struct hs_suppressions rules = {0};
	struct hs_error error = {{0}};
	int result = hs_suppressions_read(&rules, HS_SUPPRESSION_FILE, "fuzz", text, size, &error);
	FUZZ_CHECK(result == 0 || strstr(error.text, "fuzz, line "));
	for (uint32_t i = 0; i < rules.count; i++) {
		FUZZ_CHECK(*rules.items[i].pattern && !strchr(rules.items[i].pattern, '\n'));
		FUZZ_CHECK(!hs_suppression_matches(rules.items[i].pattern, ""));
		hs_suppression_matches(rules.items[i].pattern, rules.items[0].pattern);
	}
	hs_suppressions_free(&rules);
}

static void use_budgets(const char *text, size_t size)
{
	struct hs_budgets budgets = {0};
	struct hs_error error = {{0}};
	int result = hs_budgets_read(&budgets, "fuzz", text, size, &error);
	FUZZ_CHECK(result == 0 || strncmp(error.text, "fuzz, line ", 11) == 0 ||
		   strstr(error.text, "no text"));
	for (uint32_t i = 0; i < budgets.count; i++) {
		FUZZ_CHECK((budgets.sections[i].site.count == 0) == (i == 0));
		for (unsigned quantity = 0; quantity < HS_QUANTITIES; quantity++) {
			const struct hs_amount *limit = &budgets.sections[i].limits[quantity];
			FUZZ_CHECK(limit->value <= INT64_MAX && limit->kind != HS_AMOUNT_OFF);
			hs_amount_of(limit, UINT64_MAX);
		}
	}
	hs_budgets_free(&budgets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	use_rules((const char *)data, size);
	use_budgets((const char *)data, size);
	return 0;
}

/* A compiled expression takes some thousand times its length. */
size_t fuzz_memory(size_t size)
{
	return (8 << 20) + size * 65536;
}
