/* speedscope's own format: one profile a metric, so that a reader switches between them. Stacks are outermost
 * first; metrics that are 0 all over are left out, but for the peak. */
#include "formats.h"

#include "base/memory.h"
#include "stacks.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>

static void write_frames(const struct hs_export *export, FILE *output)
{
	char *const *strings = export->profile->strings.items;
	fputs("\"shared\":{\"frames\":[", output);
	for (uint32_t i = 0; i < export->place_count; i++) {
		const struct hs_place *place = &export->places[i];
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", output);
		hs_write_json_text(output, export->names.items[place->name]);
		if (place->file) {
			fputs(",\"file\":", output);
			hs_write_json_text(output, strings[place->file]);
		}
		if (place->line)
			fprintf(output, ",\"line\":%u", place->line);
		fputc('}', output);
	}
	fputs("]},\n", output);
}

static void write_stack(const struct hs_export *export, const struct hs_site *site, uint32_t *places,
			FILE *output)
{
	uint32_t count = hs_export_stack(export, site, places);
	fputc('[', output);
	while (count-- > 0)
		fprintf(output, "%u%s", places[count], count ? "," : "");
	fputc(']', output);
}

static void write_profile(const struct hs_export *export, enum hs_metric metric, uint32_t *places,
			  FILE *output)
{
	const struct hs_sites *sites = &export->sites;
	const char *separator = "";
	fprintf(output,
		"{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
		",\n\"samples\":[",
		hs_metric_title(&export->profile->facts, metric),
		hs_metrics[metric].unit == HS_UNIT_BYTES ? "bytes" : "none",
		hs_metric_value(&sites->replay.totals.counts, metric));
	for (uint32_t i = 0; i < sites->count; i++) {
		if (!hs_metric_value(&sites->items[i].counts, metric))
			continue;
		fputs(separator, output);
		write_stack(export, &sites->items[i], places, output);
		separator = ",\n";
	}
	fputs("],\n\"weights\":[", output);
	separator = "";
	for (uint32_t i = 0; i < sites->count; i++) {
		uint64_t value = hs_metric_value(&sites->items[i].counts, metric);
		if (!value)
			continue;
		fprintf(output, "%s%" PRIu64, separator, value);
		separator = ",";
	}
	fputs("]}", output);
}

int hs_speedscope_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
			struct hs_error *error)
{
	struct hs_export export;
	if (hs_export_make(profile, options->raw, NULL, &export, error) != 0)
		return -1;
	uint32_t *places = hs_allocate_zero(export.stack_most, sizeof *places);
	char *command = hs_command_line(&profile->facts);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":", output);
	hs_write_json_text(output, command);
	fprintf(output, ",\"exporter\":\"heapscope@%s\",\"activeProfileIndex\":0,\n", HEAPSCOPE_VERSION);
	write_frames(&export, output);
	fputs("\"profiles\":[\n", output);
	const char *separator = "";
	for (unsigned metric = 0; metric < HS_METRIC_LIFETIME; metric++) {
		bool any = hs_metric_value(&export.sites.replay.totals.counts, (enum hs_metric)metric) != 0;
		bool known = !(export.sites.replay.unknown & hs_metrics[metric].told);
		if (!known || (metric != HS_METRIC_PEAK && !any))
			continue;
		fputs(separator, output);
		separator = ",\n";
		write_profile(&export, (enum hs_metric)metric, places, output);
	}
	fputs("]}\n", output);
	free(command);
	free(places);
	hs_export_free(&export);
	return hs_export_finish(output, "speedscope", error);
}
