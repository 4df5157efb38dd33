/* massif's format, for ms_print and massif-visualizer: the heap over time, and what it was made of at the
 * peak. The tree is inverted: allocating code at the root, callers below it. */
#include "formats.h"

#include "base/memory.h"
#include "profile/pairs.h"
#include "stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SNAPSHOTS_MOST = 100, /* massif's own --max-snapshots */
	DEPTH_MOST = 100,     /* a line is indented by its depth, and readers recurse; massif stops at 30 */
};

/* ---- the tree at the peak -------------------------------------------------------------------------------
 */

struct node {
	uint64_t bytes;
	uint32_t place;
	uint32_t first_child, sibling; /* 0 none */
};

struct tree {
	const struct hs_export *export;
	struct node *nodes; /* [0] is the root */
	uint32_t count;
	size_t capacity;
	uint64_t total;
	FILE *output;
};

static void add_site(struct tree *tree, struct hs_pairs *known, const uint32_t *places, uint32_t count,
		     uint64_t bytes)
{
	uint32_t node = 0;
	tree->nodes[0].bytes += bytes;
	for (uint32_t i = 0; i < count && i < DEPTH_MOST; i++) {
		bool added;
		uint32_t child = hs_pairs_add(known, node, places[i], &added) + 1;
		if (added) {
			tree->nodes = hs_grow(tree->nodes, child, &tree->capacity, sizeof *tree->nodes);
			tree->nodes[child] =
				(struct node){.place = places[i], .sibling = tree->nodes[node].first_child};
			tree->nodes[node].first_child = child;
			tree->count++;
		}
		node = child;
		tree->nodes[node].bytes += bytes;
	}
}

static void make_tree(struct tree *tree)
{
	const struct hs_export *export = tree->export;
	struct hs_pairs known = {0}; /* parent, place; index + 1 is the node */
	uint32_t *places = hs_allocate_zero(export->stack_most, sizeof *places);
	tree->nodes = hs_grow(NULL, 0, &tree->capacity, sizeof *tree->nodes);
	tree->nodes[0] = (struct node){0};
	tree->count = 1;
	for (uint32_t i = 0; i < export->sites.count; i++) {
		const struct hs_site *site = &export->sites.items[i];
		if (site->counts->peak_bytes)
			add_site(tree, &known, places, hs_export_stack(export, site, places),
				 site->counts->peak_bytes);
	}
	free(places);
	hs_pairs_free(&known);
}

static int larger_first(const void *left, const void *right, void *context)
{
	const struct tree *tree = context;
	const struct node *a = &tree->nodes[*(const uint32_t *)left],
			  *b = &tree->nodes[*(const uint32_t *)right];
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	const struct hs_place *one = &tree->export->places[a->place], *two = &tree->export->places[b->place];
	int order = strcmp(tree->export->names.items[one->name], tree->export->names.items[two->name]);
	if (order)
		return order;
	return one->line != two->line ? (one->line < two->line ? -1 : 1) : a->place < b->place ? -1 : 1;
}

/* "0xADDRESS: function (file:line)"; readers want a place in brackets at the end. */
static void write_place(const struct tree *tree, uint32_t index)
{
	const struct hs_profile *profile = tree->export->profile;
	const struct hs_place *place = &tree->export->places[index];
	char *const *strings = profile->strings.items;
	fprintf(tree->output, "0x%" PRIX64 ": %s ", place->address, tree->export->names.items[place->name]);
	bool module = place->module != UINT32_MAX && *strings[profile->modules[place->module].path];
	const char *path = strings[place->file ? place->file
				   : module    ? profile->modules[place->module].path
					       : 0];
	char *line = hs_line_text(*path ? path : "???", "#.");
	const char *slash = place->file ? strrchr(line, '/') : NULL;
	const char *shown = slash && slash[1] ? slash + 1 : line;
	if (place->file && place->line)
		fprintf(tree->output, "(%s:%u)\n", shown, place->line);
	else
		fprintf(tree->output, place->file ? "(%s)\n" : "(in %s)\n", shown);
	free(line);
}

/* massif's --threshold=1.0; ms_print has the same. */
static bool is_small(const struct tree *tree, const struct node *node)
{
	return node->bytes < tree->total / 100 + (tree->total % 100 != 0);
}

/* A node's line has been written up to the children's number; writes the rest of it and the children. */
static void write_node(const struct tree *tree, uint32_t index, unsigned depth)
{
	const struct node *node = &tree->nodes[index];
	uint32_t large[100], count = 0; /* each has 1 % of the total at least */
	uint64_t small_bytes = 0, small_count = 0;
	for (uint32_t child = node->first_child; child; child = tree->nodes[child].sibling) {
		if (is_small(tree, &tree->nodes[child])) {
			small_bytes += tree->nodes[child].bytes;
			small_count++;
		} else {
			large[count++] = child;
		}
	}
	qsort_r(large, count, sizeof *large, larger_first, (void *)tree);
	fprintf(tree->output, "%*sn%u: %" PRIu64 " ", (int)depth, "", count + (small_count > 0), node->bytes);
	if (depth == 0)
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", tree->output);
	else
		write_place(tree, node->place);
	for (uint32_t i = 0; i < count; i++)
		write_node(tree, large[i], depth + 1);
	if (small_count == 1)
		fprintf(tree->output, "%*sn0: %" PRIu64 " in 1 place, below massif's threshold (1.00%%)\n",
			(int)depth + 1, "", small_bytes);
	else if (small_count)
		fprintf(tree->output,
			"%*sn0: %" PRIu64 " in %" PRIu64 " places, all below massif's threshold (1.00%%)\n",
			(int)depth + 1, "", small_bytes, small_count);
}

/* ---- snapshots ------------------------------------------------------------------------------------------
 */

struct writing {
	struct hs_export export;
	FILE *output;
	unsigned count;
};

/* Times are milliseconds, with decimals: ms_print knows no shorter unit, and many programs are. */
static void write_snapshot(struct writing *writing, uint64_t time_us, uint64_t bytes, const char *tree)
{
	fprintf(writing->output,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 ".%03" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		writing->count++, time_us / 1000, time_us % 1000, bytes, tree);
}

static void write_peak(struct writing *writing)
{
	const struct hs_totals *totals = &writing->export.sites.replay.totals;
	struct tree tree = {
		.export = &writing->export, .total = totals->counts.peak_bytes, .output = writing->output};
	write_snapshot(writing, totals->peak_us, totals->counts.peak_bytes, "peak");
	make_tree(&tree);
	write_node(&tree, 0, 0);
	free(tree.nodes);
}

/* The largest heap of even steps; in the one of the peak, the peak. */
static void write_snapshots(struct writing *writing)
{
	const struct hs_replay *replay = &writing->export.sites.replay;
	const struct hs_totals *totals = &replay->totals;
	uint64_t duration_us = writing->export.profile->facts.duration_us;
	uint32_t step = replay->point_count / SNAPSHOTS_MOST + 1;
	for (uint32_t i = 0; i < replay->point_count; i += step) {
		bool last = replay->point_count - i <= step;
		uint64_t most = 0, start_us = replay->timeline[i].time_us;
		for (uint32_t p = i; p < replay->point_count && p - i < step; p++)
			most = replay->timeline[p].heap_bytes > most ? replay->timeline[p].heap_bytes : most;
		if (totals->counts.peak_bytes && totals->peak_us >= start_us &&
		    (last || totals->peak_us < replay->timeline[i + step].time_us))
			write_peak(writing);
		else
			write_snapshot(writing, start_us, most, "empty");
	}
	if (duration_us < totals->peak_us)
		duration_us = totals->peak_us;
	write_snapshot(writing, duration_us, totals->counts.live_bytes, "empty");
}

int hs_massif_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		    struct hs_error *error)
{
	struct writing writing = {.output = output};
	/* ms_print takes what follows a # for a comment */
	if (hs_export_make(profile, options->raw, "#.", &writing.export, error) != 0)
		return -1;
	char *command = hs_command_line(&profile->facts);
	char *line = hs_line_text(command, "#.");
	fprintf(output, "desc: heapscope %s\ncmd: %s\ntime_unit: ms\n", HEAPSCOPE_VERSION, line);
	write_snapshots(&writing);
	free(line);
	free(command);
	hs_export_free(&writing.export);
	return hs_export_finish(output, "massif", error);
}
