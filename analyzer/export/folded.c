/* Folded stacks: a line a stack, `outermost;...;innermost NUMBER`, sorted; one metric. Only functions are
 * named, so stacks that differ in lines alone are added up. */
#include "formats.h"

#include "base/memory.h"
#include "profile/pairs.h"
#include "stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The stacks by function, as a trie: a node is a pair of its parent and a name. */
struct folding {
	struct hs_pairs nodes; /* parent's index + 1, name */
	uint64_t *values;      /* of stacks that end there */
	size_t capacity;
};

static void fold_site(struct folding *folding, const struct hs_export *export, const uint32_t *places,
		      uint32_t count, uint64_t value)
{
	uint64_t node = 0;
	while (count-- > 0) {
		bool added;
		uint32_t index =
			hs_pairs_add(&folding->nodes, node, export->places[places[count]].name, &added);
		if (added) {
			folding->values =
				hs_grow(folding->values, index, &folding->capacity, sizeof *folding->values);
			folding->values[index] = 0;
		}
		node = (uint64_t)index + 1;
	}
	folding->values[node - 1] += value;
}

/* Names from the node outwards. Returns how many. */
static uint32_t unfold(const struct hs_pair *nodes, uint32_t node, const char **names, char *const *text)
{
	uint32_t count = 0;
	for (uint64_t at = (uint64_t)node + 1; at; at = nodes[at - 1].first)
		names[count++] = text[nodes[at - 1].second];
	return count;
}

/* "a name 7" would make the line look as if it had two numbers, which means a difference. */
static void guard_number(char *line)
{
	char *space = strrchr(line, ' ');
	if (space && space[1] && strspn(space + 1, "0123456789.") == strlen(space + 1))
		*space = '_';
}

/* malloc'ed. The names are innermost first. */
static char *make_line(const char *const *names, uint32_t count, uint64_t value)
{
	enum { NUMBER_BYTES = 24 };
	size_t bytes = NUMBER_BYTES;
	for (uint32_t n = 0; n < count; n++)
		bytes += strlen(names[n]) + 1;
	char *line = hs_allocate(bytes), *at = line;
	for (uint32_t n = count; n-- > 0;)
		at = stpcpy(stpcpy(at, names[n]), n ? ";" : "");
	guard_number(line);
	snprintf(at, NUMBER_BYTES, " %" PRIu64, value);
	return line;
}

static int by_line(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void write_lines(const struct hs_export *export, const struct folding *folding, FILE *output)
{
	const char **names = hs_allocate_zero(export->stack_most, sizeof *names);
	char **lines = NULL;
	size_t count = 0, capacity = 0;
	for (uint32_t i = 0; i < folding->nodes.count; i++) {
		if (folding->values[i] == 0)
			continue;
		uint32_t depth = unfold(folding->nodes.items, i, names, export->names.items);
		lines = hs_grow(lines, count, &capacity, sizeof *lines);
		lines[count++] = make_line(names, depth, folding->values[i]);
	}
	if (count)
		qsort(lines, count, sizeof *lines, by_line);
	for (size_t i = 0; i < count; i++) {
		fprintf(output, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	free(names);
}

int hs_folded_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		    struct hs_error *error)
{
	struct hs_export export;
	struct folding folding = {0};
	if (hs_export_make(profile, options->raw, ";:", &export, error) != 0)
		return -1;
	uint32_t *places = hs_allocate_zero(export.stack_most, sizeof *places);
	for (uint32_t i = 0; i < export.sites.count; i++) {
		const struct hs_site *site = &export.sites.items[i];
		uint64_t value = hs_metric_value(site->counts, options->metric);
		if (value)
			fold_site(&folding, &export, places, hs_export_stack(&export, site, places), value);
	}
	if (options->totals)
		*options->totals = export.sites.replay.totals.counts;
	write_lines(&export, &folding, output);
	hs_pairs_free(&folding.nodes);
	free(folding.values);
	free(places);
	hs_export_free(&export);
	return hs_export_finish(output, "folded", error);
}
