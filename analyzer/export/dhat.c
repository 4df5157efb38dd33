/* Writes program points as a DHAT file, version 2, in the forms that every known reader of it accepts:
 * integers only, frames as `0xADDRESS: function (where)`. The counts of requests for 0 bytes are 0 bytes,
 * where valgrind says 1. */
#include "dhat.h"

#include "base/memory.h"
#include "numbers.h"
#include "stacks.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_command(const struct hs_facts *facts, FILE *output)
{
	char *line = hs_command_line(facts);
	hs_write_json_text(output, line);
	free(line);
}

/* What the format has no place for; readers ignore it. */
static void write_extension(const struct hs_profile *profile, const struct hs_dhat *dhat, FILE *output)
{
	const struct hs_facts *facts = &profile->facts;
	fprintf(output,
		"\"heapscope\":{\"version\":\"%s\",\"lost_events\":%" PRIu64 ",\"truncated_stacks\":%" PRIu64,
		HEAPSCOPE_VERSION, facts->lost_events, facts->truncated_stacks);
	fprintf(output, ",\"broken_stacks\":%" PRIu64 ",\"unknown_frees\":%" PRIu64, facts->broken_stacks,
		facts->unknown_frees);
	fprintf(output, ",\"small_points\":%u,\"recursion_folded\":%s,\"stacks_cut\":%s,\"warning\":",
		dhat->small_points, dhat->recursion_folded ? "true" : "false",
		dhat->stacks_cut ? "true" : "false");
	if (facts->warning)
		hs_write_json_text(output, facts->warning);
	else
		fputs("null", output);
	fputs("},\n", output);
}

static void write_head(const struct hs_profile *profile, const struct hs_dhat *dhat, FILE *output)
{
	uint64_t end_us =
		profile->facts.duration_us ? profile->facts.duration_us : 1; /* 0 would make rates infinite */
	uint64_t peak_us = dhat->totals.peak_us < end_us ? dhat->totals.peak_us : end_us;
	uint32_t pid = profile->facts.pid <= INT32_MAX ? profile->facts.pid : 0;
	fputs("{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,"
	      "\n"
	      "\"tu\":\"µs\",\"Mtu\":\"s\",\"tuth\":10,\n\"cmd\":",
	      output);
	write_command(&profile->facts, output);
	fprintf(output, ",\"pid\":%u,\"te\":%" PRIu64 ",\"tg\":%" PRIu64 ",\n", pid, end_us, peak_us);
	write_extension(profile, dhat, output);
}

static void add_point(struct hs_text *text, const struct hs_dhat_point *point,
		      const struct hs_number_text *numbers, const uint32_t *number_of_line)
{
	enum { KEYS_MOST = 100 }; /* bytes of all the keys */
	const struct hs_counts *counts = &point->counts;
	const struct {
		const char *key;
		uint64_t value;
	} fields[] = {
		{"{\"tb\":", counts->allocated_bytes}, {",\"tbk\":", counts->allocations},
		{",\"tl\":", counts->lifetime_us},     {",\"mb\":", counts->max_bytes},
		{",\"mbk\":", counts->max_blocks},     {",\"gb\":", counts->peak_bytes},
		{",\"gbk\":", counts->peak_blocks},    {",\"eb\":", counts->live_bytes},
		{",\"ebk\":", counts->live_blocks},
	};
	enum { FIELDS = sizeof fields / sizeof *fields };
	char *at = hs_text_room(text, KEYS_MOST + FIELDS * HS_DIGITS_MOST +
					      (size_t)point->line_count * HS_NUMBER_ROOM);
	for (size_t i = 0; i < FIELDS; i++)
		at = hs_put_digits(stpcpy(at, fields[i].key), fields[i].value);
	at = stpcpy(at, ",\"fs\":[");
	for (uint32_t i = 0; i < point->line_count; i++)
		at = hs_put_number(at, &numbers[number_of_line[point->lines[i]]]);
	at = stpcpy(at - 1, "]}"); /* in place of the last comma: a point has lines */
	text->count = (size_t)(at - text->bytes);
}

/* Numbers the lines that points use, in the order of their first use. */
static uint32_t *number_lines(const struct hs_dhat *dhat, uint32_t **line_of_number, uint32_t *count)
{
	uint32_t *numbers = hs_allocate_zero(dhat->lines.count, sizeof *numbers);
	*line_of_number = hs_allocate_zero(dhat->lines.count, sizeof **line_of_number);
	*count = 1;
	for (uint32_t p = 0; p < dhat->point_count; p++) {
		const struct hs_dhat_point *point = &dhat->points[p];
		for (uint32_t i = 0; i < point->line_count; i++) {
			if (numbers[point->lines[i]])
				continue;
			(*line_of_number)[*count] = point->lines[i];
			numbers[point->lines[i]] = (*count)++;
		}
	}
	return numbers;
}

static void write_points(const struct hs_dhat *dhat, FILE *output)
{
	uint32_t *line_of_number, count;
	uint32_t *numbers = number_lines(dhat, &line_of_number, &count);
	struct hs_number_text *texts = hs_number_texts(count);
	struct hs_text text = {0};
	fputs("\"pps\":[", output);
	for (uint32_t p = 0; p < dhat->point_count; p++) {
		hs_text_add(&text, p ? ",\n" : "\n");
		add_point(&text, &dhat->points[p], texts, numbers);
		hs_text_drain(&text, HS_WORTH_WRITING, output);
	}
	hs_text_drain(&text, 0, output);
	hs_text_free(&text);
	free(texts);
	fputs("],\n\"ftbl\":[\"[root]\"", output);
	for (uint32_t n = 1; n < count; n++) {
		fputs(",\n", output);
		hs_write_json_text(output, dhat->lines.items[line_of_number[n]]);
	}
	fputs("]}\n", output);
	free(numbers);
	free(line_of_number);
}

int hs_dhat_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		  struct hs_error *error)
{
	(void)options; /* stacks are always whole here: people look for any function in them */
	struct hs_dhat dhat;
	if (hs_dhat_make(profile, &dhat, error) != 0)
		return -1;
	write_head(profile, &dhat, output);
	write_points(&dhat, output);
	hs_dhat_free(&dhat);
	return hs_export_finish(output, "DHAT", error);
}
