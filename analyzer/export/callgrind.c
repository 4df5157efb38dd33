/* callgrind's format, for KCachegrind and callgrind_annotate: functions, what their own lines allocate and
 * what their calls bring. The format has no stacks, so contexts are lost. Recursion is folded: a function
 * that stands in a stack already takes back what came after it; no stack then passes a function twice, and
 * inclusive sums are right. */
#include "formats.h"

#include "base/memory.h"
#include "profile/pairs.h"
#include "stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Their names may have letters and digits only. */
static const struct event {
	const char *name, *title;
	enum hs_told told;
} events[] = {
	{"Peak", "Bytes live at the peak", HS_TOLD_PEAK_BYTES},
	{"PeakBlocks", "Blocks live at the peak", HS_TOLD_PEAK_BLOCKS},
	{"Allocated", "Bytes allocated", HS_TOLD_ALLOCATED_BYTES},
	{"Calls", "Allocation calls", HS_TOLD_ALLOCATIONS},
	{"Temporary", "Temporary allocations", HS_TOLD_TEMPORARY},
	{"Live", "Bytes live at the end", HS_TOLD_LIVE_BYTES},
	{"LiveBlocks", "Blocks live at the end", HS_TOLD_LIVE_BLOCKS},
	{"Moved", "Bytes moved by realloc", HS_TOLD_MOVED_BYTES},
};
enum { EVENTS = sizeof events / sizeof *events, EVENT_CALLS = 3 };

struct cost {
	uint64_t values[EVENTS];
};

struct costs {
	struct cost *items;
	size_t capacity;
};

struct writing {
	struct hs_export export;
	FILE *output;
	struct hs_pairs functions; /* name, module << 32 | file */
	uint32_t *function_of_place;
	struct hs_pairs lines;                              /* function, line */
	struct hs_pairs calls;                              /* index in lines, called function */
	struct costs own, called;                           /* of lines, of calls */
	bool *name_written, *file_written, *module_written; /* later only their number is */
};

static struct cost cost_of(const struct hs_counts *counts)
{
	return (struct cost){{counts->peak_bytes, counts->peak_blocks, counts->allocated_bytes,
			      counts->allocations, counts->temporary, counts->live_bytes, counts->live_blocks,
			      counts->moved_bytes}};
}

static void add_cost(struct costs *costs, uint32_t index, const struct cost *cost)
{
	for (unsigned i = 0; i < EVENTS; i++)
		costs->items[index].values[i] += cost->values[i];
}

static uint32_t find_or_add(struct hs_pairs *pairs, uint64_t first, uint64_t second, struct costs *costs)
{
	bool added;
	uint32_t index = hs_pairs_add(pairs, first, second, &added);
	if (added) {
		costs->items = hs_grow(costs->items, index, &costs->capacity, sizeof *costs->items);
		costs->items[index] = (struct cost){{0}};
	}
	return index;
}

/* ---- from stacks to calls -------------------------------------------------------------------------------
 */

static void number_functions(struct writing *writing)
{
	const struct hs_export *export = &writing->export;
	writing->function_of_place =
		hs_allocate_zero(export->place_count, sizeof *writing->function_of_place);
	for (uint32_t i = 0; i < export->place_count; i++) {
		const struct hs_place *place = &export->places[i];
		writing->function_of_place[i] = hs_pairs_add(
			&writing->functions, place->name, (uint64_t)place->module << 32 | place->file, NULL);
	}
}

/* Reorders places, innermost first, to the path from the outermost, each function once. `position`: of each
 * function in the path + 1, all 0 before and after. Returns how many. */
static uint32_t make_path(const struct writing *writing, const uint32_t *places, uint32_t count,
			  uint32_t *position, uint32_t *path)
{
	const uint32_t *function_of = writing->function_of_place;
	uint32_t length = 0;
	while (count-- > 0) {
		uint32_t known = position[function_of[places[count]]];
		while (known && length >= known)
			position[function_of[path[--length]]] = 0;
		path[length++] = places[count];
		position[function_of[places[count]]] = length;
	}
	for (uint32_t i = 0; i < length; i++)
		position[function_of[path[i]]] = 0;
	return length;
}

static void add_path(struct writing *writing, const uint32_t *path, uint32_t length, const struct cost *cost)
{
	const struct hs_place *places = writing->export.places;
	for (uint32_t i = 0; i < length; i++) {
		uint32_t line = find_or_add(&writing->lines, writing->function_of_place[path[i]],
					    places[path[i]].line, &writing->own);
		if (i + 1 == length) {
			add_cost(&writing->own, line, cost);
			break;
		}
		uint32_t call = find_or_add(&writing->calls, line, writing->function_of_place[path[i + 1]],
					    &writing->called);
		add_cost(&writing->called, call, cost);
	}
}

static void add_sites(struct writing *writing)
{
	const struct hs_export *export = &writing->export;
	uint32_t *places = hs_allocate_zero(export->stack_most, sizeof *places);
	uint32_t *path = hs_allocate_zero(export->stack_most, sizeof *path);
	uint32_t *position = hs_allocate_zero(writing->functions.count, sizeof *position);
	for (uint32_t i = 0; i < export->sites.count; i++) {
		const struct hs_site *site = &export->sites.items[i];
		struct cost cost = cost_of(site->counts);
		uint32_t count = hs_export_stack(export, site, places);
		add_path(writing, path, make_path(writing, places, count, position, path), &cost);
	}
	free(places);
	free(path);
	free(position);
}

/* ---- writing --------------------------------------------------------------------------------------------
 */

/* "fn=(3) name", later "fn=(3)". */
static void write_name(struct writing *writing, const char *key, uint32_t number, const char *name,
		       bool *written)
{
	if (*written) {
		fprintf(writing->output, "%s=(%u)\n", key, number + 1);
		return;
	}
	char *line = hs_line_text(*name ? name : "???", NULL);
	fprintf(writing->output, "%s=(%u) %s\n", key, number + 1, line);
	free(line);
	*written = true;
}

static void write_function(struct writing *writing, uint32_t function, bool called)
{
	const struct hs_profile *profile = writing->export.profile;
	const struct hs_pair *pair = &writing->functions.items[function];
	uint32_t name = (uint32_t)pair->first, file = (uint32_t)pair->second;
	uint32_t module = (uint32_t)(pair->second >> 32);
	char *const *strings = profile->strings.items;
	if (module > profile->module_count) /* none */
		module = profile->module_count;
	write_name(writing, called ? "cob" : "ob", module,
		   module < profile->module_count ? strings[profile->modules[module].path] : "",
		   &writing->module_written[module]);
	write_name(writing, called ? "cfi" : "fl", file, strings[file], &writing->file_written[file]);
	write_name(writing, called ? "cfn" : "fn", name, writing->export.names.items[name],
		   &writing->name_written[name]);
}

static bool is_known(const struct writing *writing, unsigned event)
{
	return !(writing->export.sites.replay.unknown & events[event].told);
}

/* The events that are known, behind what begins the line. */
static void write_values(const struct writing *writing, const struct cost *cost)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (is_known(writing, i))
			fprintf(writing->output, " %" PRIu64, cost->values[i]);
	fputc('\n', writing->output);
}

static void write_cost(const struct writing *writing, uint64_t line, const struct cost *cost)
{
	fprintf(writing->output, "%" PRIu64, line);
	write_values(writing, cost);
}

static int by_first(const void *left, const void *right, void *context)
{
	const struct hs_pair *pairs = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (pairs[a].first != pairs[b].first)
		return pairs[a].first < pairs[b].first ? -1 : 1;
	return pairs[a].second < pairs[b].second ? -1 : pairs[a].second > pairs[b].second;
}

/* Indices of the pairs in their order. */
static uint32_t *sort_pairs(const struct hs_pairs *pairs)
{
	uint32_t *order = hs_allocate_zero(pairs->count, sizeof *order);
	for (uint32_t i = 0; i < pairs->count; i++)
		order[i] = i;
	if (pairs->count)
		qsort_r(order, pairs->count, sizeof *order, by_first, pairs->items);
	return order;
}

static void write_functions(struct writing *writing)
{
	uint32_t *lines = sort_pairs(&writing->lines), *calls = sort_pairs(&writing->calls);
	uint32_t *first_call = hs_allocate_zero((size_t)writing->lines.count + 1, sizeof *first_call);
	for (uint32_t i = 0; i < writing->calls.count; i++) /* how many of each line, then where they begin */
		first_call[writing->calls.items[i].first + 1]++;
	for (uint32_t i = 0; i < writing->lines.count; i++)
		first_call[i + 1] += first_call[i];
	for (uint32_t i = 0; i < writing->lines.count; i++) {
		const struct hs_pair *line = &writing->lines.items[lines[i]];
		if (i == 0 || writing->lines.items[lines[i - 1]].first != line->first) {
			fputc('\n', writing->output);
			write_function(writing, (uint32_t)line->first, false);
		}
		write_cost(writing, line->second, &writing->own.items[lines[i]]);
		for (uint32_t c = first_call[lines[i]]; c < first_call[lines[i] + 1]; c++) {
			const struct cost *cost = &writing->called.items[calls[c]];
			write_function(writing, (uint32_t)writing->calls.items[calls[c]].second, true);
			/* how often it was called is not known; how often that gave a block is */
			fprintf(writing->output, "calls=%" PRIu64 " 0\n", cost->values[EVENT_CALLS]);
			write_cost(writing, line->second, cost);
		}
	}
	free(lines);
	free(calls);
	free(first_call);
}

static void write_totals(const struct writing *writing, const char *key, const struct cost *total)
{
	fputs(key, writing->output);
	write_values(writing, total);
}

static void write_all(struct writing *writing)
{
	const struct hs_profile *profile = writing->export.profile;
	struct cost total = cost_of(&writing->export.sites.replay.totals.counts);
	char *command = hs_command_line(&profile->facts), *line = hs_line_text(command, NULL);
	FILE *output = writing->output;
	fprintf(output, "# callgrind format\nversion: 1\ncreator: heapscope %s\npid: %u\ncmd: %s\n",
		HEAPSCOPE_VERSION, profile->facts.pid, line);
	fputs("positions: line\n", output);
	for (unsigned i = 0; i < EVENTS; i++)
		if (is_known(writing, i))
			fprintf(output, "event: %s : %s\n", events[i].name, events[i].title);
	fputs("events:", output);
	for (unsigned i = 0; i < EVENTS; i++)
		if (is_known(writing, i))
			fprintf(output, " %s", events[i].name);
	fputc('\n', output);
	write_totals(writing, "summary:", &total);
	write_functions(writing);
	write_totals(writing, "\ntotals:", &total);
	free(command);
	free(line);
}

int hs_callgrind_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		       struct hs_error *error)
{
	struct writing writing = {.output = output};
	if (hs_export_make(profile, options->raw, NULL, &writing.export, error) != 0)
		return -1;
	writing.name_written = hs_allocate_zero(writing.export.names.count, sizeof(bool));
	writing.file_written = hs_allocate_zero(profile->strings.count, sizeof(bool));
	writing.module_written = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(bool));
	number_functions(&writing);
	add_sites(&writing);
	write_all(&writing);
	hs_pairs_free(&writing.functions);
	hs_pairs_free(&writing.lines);
	hs_pairs_free(&writing.calls);
	free(writing.own.items);
	free(writing.called.items);
	free(writing.function_of_place);
	free(writing.name_written);
	free(writing.file_written);
	free(writing.module_written);
	hs_export_free(&writing.export);
	return hs_export_finish(output, "callgrind", error);
}
