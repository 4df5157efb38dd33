/* The table of import formats. */
#include "import/import.h"

#include "import/formats.h"

#include <string.h>

const struct hs_importer hs_importers[] = {
	{
		.name = "heaptrack",
		.help = "heaptrack's data files: heaptrack.NAME.PID.zst or .gz",
		.recognizes = hs_heaptrack_recognizes,
		.convert = hs_heaptrack_convert,
	},
	{
		.name = "dhat",
		.help = "DHAT's JSON, version 2: dhat.out.PID of valgrind, dhat-heap.json of dhat-rs",
		.recognizes = hs_dhat_import_recognizes,
		.convert = hs_dhat_import_convert,
	},
	{
		.name = "folded",
		.help = "folded stacks: a line a stack, as stackcollapse-perf.pl and others write them",
		.one_metric = true,
		.recognizes = hs_folded_import_recognizes,
		.convert = hs_folded_import_convert,
	},
	{.name = NULL},
};

const struct hs_importer *hs_importer_find(const char *name)
{
	for (const struct hs_importer *importer = hs_importers; importer->name; importer++)
		if (strcmp(importer->name, name) == 0)
			return importer;
	return NULL;
}

const struct hs_importer *hs_importer_guess(struct hs_source *source, struct hs_error *error)
{
	size_t count;
	const char *head = hs_source_head(source, &count);
	/* its first member is a header in JSON */
	bool own =
		strstr(head, "\"version\"") && strstr(head, "\"heapscope\"") && strstr(head, "\"start_us\"");
	for (const struct hs_importer *importer = hs_importers; !own && importer->name; importer++)
		if (importer->recognizes(head, count))
			return importer;
	const char *wrong = hs_source_wrong(source);
	if (wrong)
		hs_fail(error, "%s", wrong);
	else if (count == 0)
		hs_fail(error, "it is empty");
	else if (count > 8 && memcmp(head, "PERFILE2", 8) == 0)
		hs_fail(error,
			"it is perf's own format: import what \"perf script | stackcollapse-perf.pl\" makes "
			"of it");
	else if (own)
		hs_fail(error, "it is a recording of heapscope already");
	else
		hs_fail(error, "it is in none of the formats that can be imported");
	return NULL;
}
