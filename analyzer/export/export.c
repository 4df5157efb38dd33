/* The table of export formats. */
#include "export.h"

#include "dhat.h"
#include "formats.h"

#include <string.h>

const struct hs_exporter hs_exporters[] = {
	{
		.name = "html",
		.suffix = ".html",
		.help = "one page for any browser, complete in itself; as \"heapscope view\" writes it",
		.next = "xdg-open",
		.needs_page = true,
		.compares = true,
		.write = hs_html_write,
	},
	{
		.name = "svg",
		.suffix = ".svg",
		.help = "flame graph for any browser; --chart over time, --against OLD differential; one "
			"--metric",
		.next = "xdg-open",
		.one_metric = true,
		.compares = true,
		.flame = true,
		.write = hs_svg_write,
	},
	{
		.name = "dhat",
		.suffix = ".dhat.json",
		.help = "DHAT version 2, for valgrind's dh_view.html and the Firefox Profiler",
		.needs = HS_TOLD_ALLOCATED_BYTES | HS_TOLD_ALLOCATIONS | HS_TOLD_PEAK_BYTES |
			 HS_TOLD_PEAK_BLOCKS | HS_TOLD_LIVE_BYTES | HS_TOLD_LIVE_BLOCKS |
			 HS_TOLD_LIFETIME_US | HS_TOLD_DURATION_US,
		.write = hs_dhat_write,
	},
	{
		.name = "folded",
		.suffix = ".folded",
		.help = "folded stacks, for flamegraph.pl, inferno and many others; one --metric",
		.one_metric = true,
		.write = hs_folded_write,
	},
	{
		.name = "speedscope",
		.suffix = ".speedscope.json",
		.help = "speedscope (www.speedscope.app), a profile for each metric",
		.next = "speedscope",
		.write = hs_speedscope_write,
	},
	{
		.name = "pprof",
		.suffix = ".pb.gz",
		.help = "pprof's profile.proto, for pprof, Perfetto, Pyroscope; all metrics",
		.binary = true,
		.next = "pprof -http=: -sample_index=peak_space",
		.write = hs_pprof_write,
	},
	{
		.name = "massif",
		.suffix = ".massif.out",
		.help = "massif, for ms_print and massif-visualizer; the heap over time, and its peak",
		.next = "ms_print",
		.needs = HS_TOLD_EVENTS,
		.write = hs_massif_write,
	},
	{
		.name = "callgrind",
		.suffix = ".callgrind.out",
		.help = "callgrind, for KCachegrind and callgrind_annotate; all metrics, no stacks",
		.next = "callgrind_annotate --inclusive=yes",
		.write = hs_callgrind_write,
	},
	{
		.name = "json",
		.suffix = ".json",
		.help = "JSON with everything, for jq and scripts (docs/json.md); as \"print --json\" writes "
			"it",
		.next = "jq .totals",
	},
	{.name = NULL},
};

const struct hs_exporter *hs_exporter_find(const char *name)
{
	for (const struct hs_exporter *exporter = hs_exporters; exporter->name; exporter++)
		if (strcmp(exporter->name, name) == 0)
			return exporter;
	return NULL;
}

int hs_export_check(const struct hs_exporter *exporter, const struct hs_profile *profile,
		    const struct hs_export_options *options, struct hs_error *error)
{
	const struct hs_facts *facts = &profile->facts;
	uint32_t needs = exporter->needs | (exporter->one_metric ? hs_metrics[options->metric].told : 0);
	const char *kind = facts->merged.recordings ? "merged recordings" : "an imported file";
	for (unsigned i = 0; i < HS_TOLD_ITEMS; i++)
		if (needs & facts->unknown & 1u << i)
			return hs_fail(
				error,
				"%s needs \"%s\", which %s like this %s not tell (print --json shows what "
				"is known)",
				exporter->name, hs_told_names[i], kind,
				facts->merged.recordings ? "do" : "does");
	return 0;
}
