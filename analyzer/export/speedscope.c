/* speedscope's own format: one profile a metric, so that a reader switches between them. Stacks are outermost
 * first; metrics that are 0 all over are left out, but for the peak. */
#include "formats.h"

#include "base/memory.h"
#include "numbers.h"
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

/* What all profiles need. */
struct writing {
	const struct hs_export *export;
	const struct hs_number_text *numbers; /* of places */
	uint32_t *places;
	struct hs_text text; /* not written yet */
	FILE *output;
};

static void write_stack(struct writing *writing, const struct hs_site *site)
{
	uint32_t count = hs_export_stack(writing->export, site, writing->places);
	char *at = hs_text_room(&writing->text, (size_t)count * HS_NUMBER_ROOM + 1);
	*at++ = '[';
	while (count-- > 0)
		at = hs_put_number(at, &writing->numbers[writing->places[count]]);
	at[-1] = ']'; /* in place of the last comma */
	writing->text.count = (size_t)(at - writing->text.bytes);
	hs_text_drain(&writing->text, HS_WORTH_WRITING, writing->output);
}

static void write_profile(struct writing *writing, enum hs_metric metric)
{
	const struct hs_export *export = writing->export;
	const struct hs_sites *sites = &export->sites;
	struct hs_text *text = &writing->text;
	bool any = false;
	hs_text_addf(
		text,
		"{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
		",\n\"samples\":[",
		hs_metric_title(&export->profile->facts, metric),
		hs_metrics[metric].unit == HS_UNIT_BYTES ? "bytes" : "none",
		hs_metric_value(&sites->replay.totals.counts, metric));
	for (uint32_t i = 0; i < sites->count; i++) {
		if (!hs_metric_value(sites->items[i].counts, metric))
			continue;
		if (any)
			hs_text_add(text, ",\n");
		any = true;
		write_stack(writing, &sites->items[i]);
	}
	hs_text_add(text, "],\n\"weights\":[");
	any = false;
	for (uint32_t i = 0; i < sites->count; i++) {
		uint64_t value = hs_metric_value(sites->items[i].counts, metric);
		if (!value)
			continue;
		char *start = hs_text_room(text, HS_DIGITS_MOST + 1), *at = start;
		if (any)
			*at++ = ',';
		any = true;
		text->count += (size_t)(hs_put_digits(at, value) - start);
	}
	hs_text_add(text, "]}");
}

int hs_speedscope_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
			struct hs_error *error)
{
	struct hs_export export;
	if (hs_export_make(profile, options->raw, NULL, &export, error) != 0)
		return -1;
	struct hs_number_text *numbers = hs_number_texts(export.place_count);
	struct writing writing = {
		.export = &export,
		.numbers = numbers,
		.places = hs_allocate_zero(export.stack_most, sizeof *writing.places),
		.output = output,
	};
	char *command = hs_command_line(&profile->facts);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":", output);
	hs_write_json_text(output, command);
	fprintf(output, ",\"exporter\":\"heapscope@%s\",\"activeProfileIndex\":0,\n", HEAPSCOPE_VERSION);
	write_frames(&export, output);
	hs_text_add(&writing.text, "\"profiles\":[\n");
	const char *separator = "";
	for (unsigned metric = 0; metric < HS_METRIC_LIFETIME; metric++) {
		bool any = hs_metric_value(&export.sites.replay.totals.counts, (enum hs_metric)metric) != 0;
		bool known = !(export.sites.replay.unknown & hs_metrics[metric].told);
		if (!known || (metric != HS_METRIC_PEAK && !any))
			continue;
		hs_text_add(&writing.text, separator);
		separator = ",\n";
		write_profile(&writing, (enum hs_metric)metric);
	}
	hs_text_add(&writing.text, "]}\n");
	hs_text_drain(&writing.text, 0, output);
	hs_text_free(&writing.text);
	free(command);
	free(numbers);
	free(writing.places);
	hs_export_free(&export);
	return hs_export_finish(output, "speedscope", error);
}
