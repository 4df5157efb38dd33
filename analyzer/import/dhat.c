/* DHAT's JSON, version 2: counts by stack, no events. What it does not hold (temporary allocations, moves) is
 * unknown; so are times in valgrind's files, which count instructions. */
#include "import/formats.h"
#include "import/write.h"

#include "base/memory.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_MOST = 1 << 20 }; /* frames of one program point */

struct reading {
	struct hs_source *source;
	const json_t *document;
	struct hs_tally tally;
	uint32_t *frame_of_line; /* in the tally, by index of ftbl; UINT32_MAX: not yet */
	uint64_t *address_of_line;
	size_t line_count;
	struct hs_strings modules; /* paths; index - 1 is the module */
};

bool hs_dhat_import_recognizes(const char *head, size_t count)
{
	size_t at = 0;
	if (count >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	while (at < count && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	return at < count && head[at] == '{';
}

/* ---- frames ---------------------------------------------------------------------------------------------
 */

/* Where the parenthesis begins that the last character closes; NULL if there is none behind a blank. */
static const char *find_parenthesis(const char *text, const char *end)
{
	unsigned depth = 0;
	if (end == text || end[-1] != ')')
		return NULL;
	for (const char *at = end; at-- > text;) {
		depth += *at == ')';
		if (*at == '(' && --depth == 0)
			return at > text && at[-1] == ' ' ? at : NULL;
	}
	return NULL;
}

static bool is_number(const char *from, const char *to)
{
	for (const char *at = from; at < to; at++)
		if (*at < '0' || *at > '9')
			return false;
	return from < to;
}

/* "file", "file:line", "file:line:column" */
static void read_place(struct reading *reading, const char *text, const char *end,
		       struct hs_tally_frame *frame)
{
	uint64_t numbers[2] = {0};
	unsigned count = 0;
	const char *colon;
	while (count < 2 && (colon = memrchr(text, ':', (size_t)(end - text))) && colon > text &&
	       is_number(colon + 1, end)) {
		numbers[count++] = strtoull(colon + 1, NULL, 10);
		end = colon;
	}
	uint64_t line = count ? numbers[count - 1] : 0;
	frame->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	if (end - text != 3 || memcmp(text, "???", 3) != 0)
		frame->file = hs_strings_add(&reading->tally.strings, text, (size_t)(end - text));
}

static uint32_t find_module(struct reading *reading, const char *path, size_t length)
{
	uint32_t known = reading->modules.count, index = hs_strings_add(&reading->modules, path, length);
	if (index == 0)
		return 0;
	if (index == known)
		hs_tally_add_module(&reading->tally,
				    &(struct hs_tally_module){
					    .path = hs_strings_add(&reading->tally.strings, path, length)});
	return index;
}

/* "0xADDRESS: function (where)"; anything else is a function's name. */
static struct hs_tally_frame read_frame(struct reading *reading, const char *text)
{
	struct hs_tally_frame frame = {0};
	if (strncmp(text, "0x", 2) == 0) {
		char *after;
		uint64_t address = strtoull(text, &after, 16);
		if (after[0] == ':' && after[1] == ' ') {
			frame.address = address;
			text = after + 2;
		}
	}
	const char *end = text + strlen(text), *where = find_parenthesis(text, end);
	if (where && strncmp(where, "(in ", 4) == 0) {
		if (strcmp(where + 4, "???"
				      ")") != 0)
			frame.module = find_module(reading, where + 4, (size_t)(end - where) - 5);
	} else if (where) {
		read_place(reading, where + 1, end - 1, &frame);
	}
	if (where)
		end = where - 1;
	if (end - text != 3 || memcmp(text, "???", 3) != 0)
		frame.function = hs_strings_add(&reading->tally.strings, text, (size_t)(end - text));
	return frame;
}

static int read_frames(struct reading *reading, struct hs_error *error)
{
	const json_t *lines = json_object_get(reading->document, "ftbl");
	reading->line_count = json_array_size(lines);
	reading->frame_of_line = hs_allocate_zero(reading->line_count, sizeof *reading->frame_of_line);
	reading->address_of_line = hs_allocate_zero(reading->line_count, sizeof *reading->address_of_line);
	for (size_t i = 0; i < reading->line_count; i++) {
		const char *text = json_string_value(json_array_get(lines, i));
		if (!text)
			return hs_fail(error, "its frame %zu is no text", i);
		struct hs_tally_frame frame = read_frame(reading, text);
		reading->address_of_line[i] = frame.address;
		reading->frame_of_line[i] = hs_tally_add_frame(&reading->tally, &frame);
	}
	return 0;
}

/* ---- program points -------------------------------------------------------------------------------------
 */

static int read_count(const json_t *point, const char *key, size_t index, uint64_t *value,
		      struct hs_error *error)
{
	const json_t *number = json_object_get(point, key);
	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return hs_fail(error, "its program point %zu has no \"%s\"", index, key);
	*value = (uint64_t)json_integer_value(number);
	return 0;
}

static int read_counts(const struct reading *reading, const json_t *point, size_t index,
		       struct hs_counts *counts, struct hs_error *error)
{
	const struct {
		const char *key;
		uint64_t *value;
		enum hs_told told;
	} fields[] = {
		{"tb", &counts->allocated_bytes, HS_TOLD_ALLOCATED_BYTES},
		{"tbk", &counts->allocations, HS_TOLD_ALLOCATIONS},
		{"gb", &counts->peak_bytes, HS_TOLD_PEAK_BYTES},
		{"gbk", &counts->peak_blocks, HS_TOLD_PEAK_BLOCKS},
		{"eb", &counts->live_bytes, HS_TOLD_LIVE_BYTES},
		{"ebk", &counts->live_blocks, HS_TOLD_LIVE_BLOCKS},
		{"mb", &counts->max_bytes, HS_TOLD_MAX_BYTES},
		{"mbk", &counts->max_blocks, HS_TOLD_MAX_BLOCKS},
		{"tl", &counts->lifetime_us, HS_TOLD_LIFETIME_US},
	};
	*counts = (struct hs_counts){0};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!(reading->tally.facts.unknown & fields[i].told) &&
		    read_count(point, fields[i].key, index, fields[i].value, error) != 0)
			return -1;
	return 0;
}

/* The node of a point's stack. Frames with the same address are one call: the inner ones are inlined. */
static int read_stack(struct reading *reading, const json_t *point, size_t index, uint32_t *node,
		      struct hs_error *error)
{
	const json_t *stack = json_object_get(point, "fs");
	size_t depth = json_array_size(stack);
	if (!json_is_array(stack) || depth > STACK_MOST)
		return hs_fail(error, "its program point %zu has no stack, or an endless one", index);
	uint64_t outer_address = 0;
	*node = 0;
	for (size_t i = depth; i-- > 0;) {
		const json_t *number = json_array_get(stack, i);
		json_int_t line = json_is_integer(number) ? json_integer_value(number) : -1;
		if (line < 0 || (size_t)line >= reading->line_count)
			return hs_fail(error, "its program point %zu has a frame that is not in the table",
				       index);
		uint64_t address = reading->address_of_line[line];
		uint32_t frame = reading->frame_of_line[line];
		if (address && address == outer_address)
			reading->tally.frames[frame].inlined = true;
		outer_address = address;
		*node = hs_tally_node(&reading->tally, *node, frame, error);
		if (*node == 0)
			return -1;
	}
	return 0;
}

static bool maxima_hold(const json_t *points)
{
	size_t i;
	const json_t *point;
	json_array_foreach((json_t *)(uintptr_t)points, i, point)
	{
		json_int_t most = json_integer_value(json_object_get(point, "mb"));
		if (most < json_integer_value(json_object_get(point, "gb")) ||
		    most < json_integer_value(json_object_get(point, "eb")))
			return false;
	}
	return true;
}

static int read_points(struct reading *reading, struct hs_error *error)
{
	const json_t *points = json_object_get(reading->document, "pps");
	struct hs_facts *facts = &reading->tally.facts;
	if (!(facts->unknown & HS_TOLD_MAX) && !maxima_hold(points))
		facts->unknown |= HS_TOLD_MAX;
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *point = json_array_get(points, i);
		struct hs_counts counts;
		uint32_t node = 0;
		if (read_counts(reading, point, i, &counts, error) != 0 ||
		    read_stack(reading, point, i, &node, error) != 0)
			return -1;
		if (!hs_counts_possible(facts->unknown, &counts))
			return hs_fail(error, "the numbers of its program point %zu contradict each other",
				       i);
		hs_tally_add(&reading->tally, node, &counts);
	}
	return 0;
}

/* ---- the document ---------------------------------------------------------------------------------------
 */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));
	return value > 0 ? (uint64_t)value : 0;
}

static int check_document(const json_t *document, struct hs_error *error)
{
	const json_t *version = json_object_get(document, "dhatFileVersion");
	const char *mode = text_of(document, "mode");
	if (!version)
		return hs_fail(error, "it is JSON, but not DHAT's: it has no dhatFileVersion");
	if (!json_is_integer(version) || json_integer_value(version) != 2)
		return hs_fail(error,
			       "it is of another version of DHAT than 2, the only one that is known here");
	if (!strstr(mode, "heap"))
		return hs_fail(
			error,
			"it was made in DHAT's mode \"%.32s\", which counts %s and not allocations: only "
			"profiles of the heap can be imported",
			mode, strstr(mode, "copy") ? "copied bytes" : "a program's own events");
	if (!json_is_array(json_object_get(document, "pps")) ||
	    !json_is_array(json_object_get(document, "ftbl")))
		return hs_fail(error, "it is incomplete: it lacks the program points or their frames");
	return 0;
}

/* DHAT joins the words with blanks. */
static void read_command(struct hs_facts *facts, const char *line)
{
	size_t count = 0, capacity = 0;
	while (*(line += strspn(line, " "))) {
		size_t length = strcspn(line, " ");
		facts->command = hs_grow(facts->command, count + 1, &capacity, sizeof *facts->command);
		char *word = hs_allocate(length + 1);
		memcpy(word, line, length);
		word[length] = 0;
		facts->command[count++] = word;
		facts->command[count] = NULL;
		line += length;
	}
	facts->program = hs_copy_string(count ? facts->command[0] : "");
}

static void read_facts(struct reading *reading)
{
	const json_t *document = reading->document, *own = json_object_get(document, "heapscope");
	struct hs_facts *facts = &reading->tally.facts;
	const char *unit = text_of(document, "tu");
	bool lifetimes = json_is_true(json_object_get(document, "bklt"));
	bool microseconds = strcmp(unit, "µs") == 0 || strcmp(unit, "us") == 0;
	facts->imported = hs_copy_string("dhat");
	facts->unknown = HS_TOLD_ALL & ~(HS_TOLD_ALLOCATED_BYTES | HS_TOLD_ALLOCATIONS);
	if (lifetimes)
		facts->unknown &= ~(uint32_t)(HS_TOLD_PEAK_BYTES | HS_TOLD_PEAK_BLOCKS | HS_TOLD_LIVE_BYTES |
					      HS_TOLD_LIVE_BLOCKS);
	if (lifetimes && microseconds)
		facts->unknown &= ~(uint32_t)(HS_TOLD_LIFETIME_US | HS_TOLD_PEAK_US);
	/* valgrind's own maxima are wrong for most program points: it only looks when the whole heap peaks */
	if (lifetimes && strcmp(unit, "instrs") != 0)
		facts->unknown &= ~(uint32_t)HS_TOLD_MAX;
	if (microseconds) {
		facts->unknown &= ~(uint32_t)HS_TOLD_DURATION_US;
		facts->duration_us = number_of(document, "te");
		reading->tally.peak_us = number_of(document, "tg");
	}
	uint64_t pid = number_of(document, "pid");
	facts->pid = pid <= UINT32_MAX ? (uint32_t)pid : 0;
	read_command(facts, text_of(document, "cmd"));
	facts->lost_events = number_of(own, "lost_events");
	facts->truncated_stacks = number_of(own, "truncated_stacks");
	facts->broken_stacks = number_of(own, "broken_stacks");
	facts->unknown_frees = number_of(own, "unknown_frees");
}

static size_t read_more(void *buffer, size_t most, void *context)
{
	return hs_source_read(context, buffer, most);
}

static json_t *load(struct hs_source *source, struct hs_error *error)
{
	json_error_t cause;
	size_t count;
	char mark[3];
	const char *head = hs_source_head(source, &count);
	if (count >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
		hs_source_read(source, mark, sizeof mark); /* a byte order mark */
	json_t *document = json_load_callback(read_more, source, 0, &cause);
	const char *wrong = hs_source_wrong(source);
	if (wrong)
		hs_fail(error, "%s", wrong);
	else if (!document)
		hs_fail(error, "it is no whole JSON: line %d: %s", cause.line, cause.text);
	else if (!json_is_object(document))
		hs_fail(error, "it is JSON, but not DHAT's");
	else
		return document;
	json_decref(document);
	return NULL;
}

int hs_dhat_import_convert(struct hs_source *source, const struct hs_import_options *options, int fd,
			   struct hs_error *warning, struct hs_error *error)
{
	struct reading reading = {.source = source};
	json_t *document = load(source, error);
	(void)options;
	if (!document)
		return -1;
	reading.document = document;
	hs_tally_init(&reading.tally);
	hs_strings_init(&reading.modules);
	int result = check_document(document, error);
	if (result == 0) {
		read_facts(&reading);
		result = read_frames(&reading, error);
	}
	if (result == 0)
		result = read_points(&reading, error);
	const char *old = text_of(json_object_get(document, "heapscope"), "warning");
	if (result == 0 && *old) {
		hs_fail(warning, "%s", old);
		reading.tally.facts.stopped = hs_copy_string(old);
	}
	json_decref(document);
	if (result == 0)
		result = hs_tally_write(&reading.tally, fd, error);
	hs_tally_free(&reading.tally);
	hs_strings_free(&reading.modules);
	free(reading.frame_of_line);
	free(reading.address_of_line);
	return result;
}
