/* Folded stacks: `outermost;...;innermost NUMBER` a line. Whether the numbers are samples of a profiler or
 * bytes of a heap, the file does not say. */
#include "import/formats.h"
#include "import/write.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct folding {
	struct hs_source *source;
	struct hs_tally tally;
	uint32_t *frame_of_name; /* in the tally, + 1, by the name's index in its strings */
	size_t capacity;
	uint64_t stacks, pairs; /* lines; those with two numbers */
};

/* Splits off the number at the line's end. Returns where it stood (a blank), or NULL. */
static const char *find_number(const char *line, size_t length, uint64_t *number)
{
	const char *end = line + length;
	while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	const char *digits = end;
	while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (digits == end || digits == line || (digits[-1] != ' ' && digits[-1] != '\t'))
		return NULL;
	*number = 0;
	for (const char *at = digits; at < end; at++)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
			return NULL;
	while (digits > line && (digits[-1] == ' ' || digits[-1] == '\t'))
		digits--;
	return digits > line ? digits : NULL;
}

static bool is_nothing(const char *line, size_t length)
{
	return length == 0 || line[0] == '#' || strspn(line, " \t\r") == length;
}

bool hs_folded_import_recognizes(const char *head, size_t count)
{
	const char *end = head + count;
	if (memchr(head, 0, count))
		return false;
	for (const char *line = head; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((next ? next : end) - line);
		uint64_t number;
		if (!is_nothing(line, length))
			/* a first line that is longer than what is here may be one */
			return find_number(line, length, &number) != NULL ||
			       (!next && memchr(line, ';', length));
		line = next ? next + 1 : end;
	}
	return false;
}

static uint32_t find_frame(struct folding *folding, const char *name, size_t length)
{
	struct hs_tally *tally = &folding->tally;
	uint32_t function = hs_strings_add(&tally->strings, name, length);
	while (function >= folding->capacity) {
		size_t before = folding->capacity;
		folding->frame_of_name = hs_grow(folding->frame_of_name, before, &folding->capacity,
						 sizeof *folding->frame_of_name);
		memset(folding->frame_of_name + before, 0,
		       (folding->capacity - before) * sizeof *folding->frame_of_name);
	}
	if (!folding->frame_of_name[function])
		folding->frame_of_name[function] =
			hs_tally_add_frame(tally, &(struct hs_tally_frame){.function = function}) + 1;
	return folding->frame_of_name[function] - 1;
}

static void put_value(struct hs_counts *counts, const struct hs_import_options *options, uint64_t value)
{
	switch (options->samples ? HS_METRIC_CALLS : options->metric) {
	case HS_METRIC_PEAK:
		counts->peak_bytes = value;
		break;
	case HS_METRIC_ALLOCATED:
		counts->allocated_bytes = value;
		break;
	case HS_METRIC_TEMPORARY:
		counts->temporary = value;
		break;
	case HS_METRIC_LEAKED:
		counts->live_bytes = value;
		break;
	case HS_METRIC_MOVED:
		counts->moved_bytes = value;
		break;
	case HS_METRIC_LIFETIME:
		counts->lifetime_us = value;
		break;
	default:
		counts->allocations = value;
	}
}

static int refuse_line(struct folding *folding, const char *what, struct hs_error *error)
{
	return hs_fail(error, "line %" PRIu64 " %s", hs_source_line_number(folding->source), what);
}

static int add_line(struct folding *folding, const struct hs_import_options *options, const char *line,
		    size_t length, struct hs_error *error)
{
	struct hs_counts counts = {0};
	uint64_t value, second;
	const char *end = find_number(line, length, &value);
	if (is_nothing(line, length))
		return 0;
	if (!end || value > INT64_MAX)
		return refuse_line(folding, "does not end in a whole number, as a folded stack does", error);
	folding->stacks++;
	folding->pairs += find_number(line, (size_t)(end - line), &second) != NULL;
	uint32_t node = 0;
	for (const char *name = line; name < end;) {
		const char *next = memchr(name, ';', (size_t)(end - name));
		size_t bytes = (size_t)((next ? next : end) - name);
		if (bytes) {
			uint32_t frame = find_frame(folding, name, bytes);
			node = hs_tally_node(&folding->tally, node, frame, error);
			if (node == 0)
				return -1;
		}
		name += bytes + 1;
	}
	put_value(&counts, options, value);
	hs_tally_add(&folding->tally, node, &counts);
	return 0;
}

int hs_folded_import_convert(struct hs_source *source, const struct hs_import_options *options, int fd,
			     struct hs_error *warning, struct hs_error *error)
{
	struct folding folding = {.source = source};
	struct hs_facts *facts = &folding.tally.facts;
	const char *line;
	size_t length;
	int result = 0;
	hs_tally_init(&folding.tally);
	facts->imported = hs_copy_string("folded");
	facts->subject = options->samples ? HS_SUBJECT_SAMPLES : HS_SUBJECT_HEAP;
	facts->unknown =
		HS_TOLD_ALL & ~(options->samples ? HS_TOLD_ALLOCATIONS : hs_metrics[options->metric].told);
	while (result == 0 && (line = hs_source_line(source, &length)))
		result = add_line(&folding, options, line, length, error);
	/* a name may end in a number, but not all of them do */
	if (result == 0 && folding.stacks && folding.pairs == folding.stacks)
		result = hs_fail(error,
				 "its lines have two numbers: it is a difference of two profiles; import "
				 "the two and compare them with heapscope diff");
	const char *wrong = hs_source_wrong(source);
	if (result == 0 && wrong) {
		hs_fail(warning, "%s after %" PRIu64 " lines; they count", wrong,
			hs_source_line_number(source));
		facts->stopped = hs_copy_string(warning->text);
	}
	if (result == 0)
		result = hs_tally_write(&folding.tally, fd, error);
	hs_tally_free(&folding.tally);
	free(folding.frame_of_name);
	return result;
}
