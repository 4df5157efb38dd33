/* `heapscope print`: the text has nothing in it that would move a terminal's cursor or colours, and no line
 * wider than the terminal but for long names; the JSON is JSON. The
 * text is the same whether or not the sites are finished. */
#include "cli/report.h"
#include "made.h"

#include <jansson.h>
#include <string.h>

void fuzz_seeds(fuzz_add *add, void *context)
{
	fuzz_seed_members(add, context);
}

static void check_text(const struct hs_text *text)
{
	for (size_t i = 0; i < text->count; i++) {
		unsigned char byte = (unsigned char)text->bytes[i];
		FUZZ_CHECK(byte == '\n' || (byte >= 0x20 && byte != 0x7f));
		/* C1 controls, as UTF-8 */
		FUZZ_CHECK(byte != 0xc2 || (unsigned char)text->bytes[i + 1] >= 0xa0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hs_profile *profile = fuzz_load(data, size);
	struct hs_error error = {{0}};
	struct hs_sites sites;
	if (profile && hs_sites_begin(profile, false, NULL, &sites, &error) == 0) {
		struct hs_report report = {.profile = profile,
					   .sites = &sites,
					   .path = "fuzz.hs.gz",
					   .rows = size % 5,
					   .depth = size % 7,
					   .columns = 70 + size % 50,
					   .sort = (enum hs_metric)(size % HS_METRICS),
					   .sorted = size % 2,
					   .views = size % 4 ? 0 : size / 4 % (1 << HS_VIEWS),
					   .utf8 = size % 3};
		struct hs_text text = {0}, begun = {0};
		if (!report.views)
			hs_report_text(&begun, &report);
		hs_sites_finish(&sites);
		hs_report_text(&text, &report);
		FUZZ_CHECK(report.views || strcmp(text.bytes, begun.bytes) == 0);
		hs_text_free(&begun);
		hs_text_strip_colour(&text);
		check_text(&text);
		hs_text_free(&text);
		hs_report_json(&text, &report);
		json_error_t at;
		json_t *document = json_loadb(text.bytes, text.count, JSON_REJECT_DUPLICATES, &at);
		FUZZ_CHECK(document != NULL);
		json_decref(document);
		hs_text_free(&text);
		hs_sites_free(&sites);
	}
	hs_profile_free(profile);
	return 0;
}
