/* The boxes of a flame graph. Frames of the same function are one box, whatever their line; the lines of two
 * recordings differ anyway. A chart is the same but that boxes only join their neighbours: its stacks come in
 * the order of time. */
#include "flame.h"

#include "base/memory.h"
#include "profile/diff.h"
#include "profile/own.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEVELS_MOST = 400, /* what is beyond is one box */
	SLICES_MOST = 512, /* of a chart: more could hardly be seen */
};

static const char deeper[] = "[deeper levels]";

uint64_t hs_flame_other(const struct hs_counts *counts, enum hs_metric metric)
{
	switch (metric) {
	case HS_METRIC_PEAK:
		return counts->peak_blocks;
	case HS_METRIC_ALLOCATED:
	case HS_METRIC_LIFETIME:
		return counts->allocations;
	case HS_METRIC_CALLS:
		return counts->allocated_bytes;
	case HS_METRIC_TEMPORARY:
		return counts->temporary_bytes;
	case HS_METRIC_LEAKED:
		return counts->live_blocks - counts->suppressed_blocks;
	default:
		return counts->moved;
	}
}

/* ---- labels ---------------------------------------------------------------------------------------------
 */

static enum hs_flame_code code_of(const struct hs_profile *profile, const bool *own,
				  const struct hs_frame *frame)
{
	if (frame->internal)
		return HS_FLAME_INTERNAL;
	bool mine = frame->module < profile->module_count ? own[frame->module] : profile->module_count == 0;
	return mine ? HS_FLAME_OWN : HS_FLAME_LIBRARY;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static struct hs_flame_label describe(const struct hs_export *export, const struct hs_frame *frame,
				      const struct hs_place *place, const bool *own)
{
	const struct hs_profile *profile = export->profile;
	char *const *strings = profile->strings.items;
	bool module = frame->module < profile->module_count;
	return (struct hs_flame_label){
		.name = export->names.items[place->name],
		.file = strings[place->file],
		.module = module ? strings[profile->modules[frame->module].path] : "",
		.code = code_of(profile, own, frame),
	};
}

/* Two frames without a name that nothing tells apart: they are known by their module only. */
static void forget_address(struct hs_flame *flame, struct hs_flame_label *label)
{
	struct hs_text text = {0};
	char *module = hs_line_text(last_component(label->module), NULL);
	hs_text_addf(&text, "[no name in %s]", *module ? module : "???");
	label->name = flame->texts.items[hs_strings_add_text(&flame->texts, text.bytes)];
	hs_text_free(&text);
	free(module);
}

/* key_of_frame is below key_count. Labels begin with first_label. */
static void label_side(struct hs_flame *flame, unsigned index, const uint32_t *key_of_frame)
{
	struct hs_flame_side *side = &flame->sides[index];
	const struct hs_export *export = &side->export;
	const struct hs_profile *profile = export->profile;
	bool *own = hs_own_modules(profile);
	side->label_of_place = hs_allocate_zero(export->place_count, sizeof *side->label_of_place);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		uint32_t place = export->place_of_frame[i];
		struct hs_flame_label *label = &flame->labels[key_of_frame[i]];
		struct hs_flame_label made = describe(export, frame, &export->places[place], own);
		side->label_of_place[place] = key_of_frame[i];
		if (label->name == NULL)
			*label = made;
		else if (frame->function == 0 && strcmp(label->name, made.name) != 0)
			forget_address(flame, label);
	}
	free(own);
}

static uint32_t add_own_label(struct hs_flame *flame, const char *name)
{
	flame->labels[flame->label_count] =
		(struct hs_flame_label){.name = name, .file = "", .module = "", .code = HS_FLAME_NO_CODE};
	return flame->label_count++;
}

/* Keys of the frames of the only side: the same function of the same file and module. */
static uint32_t *make_keys(const struct hs_export *export, uint32_t *count)
{
	const struct hs_profile *profile = export->profile;
	struct hs_pairs known = {0};
	uint32_t *keys = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof *keys);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_place *place = &export->places[export->place_of_frame[i]];
		keys[i] =
			hs_pairs_add(&known, place->name, (uint64_t)place->module << 32 | place->file, NULL);
	}
	*count = known.count;
	hs_pairs_free(&known);
	return keys;
}

static void make_labels(struct hs_flame *flame)
{
	struct hs_export *new = &flame->sides[HS_FLAME_NEW].export, *old = &flame->sides[HS_FLAME_OLD].export;
	uint32_t *keys[HS_FLAME_SIDES] = {NULL, NULL}, count;
	if (flame->side_count == 1) {
		keys[HS_FLAME_NEW] = make_keys(new, &count);
	} else {
		struct hs_strings names;
		hs_strings_init(&names);
		keys[HS_FLAME_NEW] = hs_diff_names(&names, new->profile, old->profile);
		keys[HS_FLAME_OLD] = hs_diff_names(&names, old->profile, new->profile);
		count = names.count;
		hs_strings_free(&names);
	}
	flame->labels = hs_allocate_zero((size_t)count + 4, sizeof *flame->labels);
	flame->label_count = count;
	uint32_t root = add_own_label(flame, "all"), lost, cut;
	flame->nodes[0].label = root;
	flame->deeper_label = add_own_label(flame, deeper);
	lost = add_own_label(flame, new->names.items[new->places[new->lost_place].name]);
	cut = add_own_label(flame, new->names.items[new->places[new->cut_place].name]);
	for (unsigned side = 0; side < flame->side_count; side++) {
		const struct hs_export *export = &flame->sides[side].export;
		label_side(flame, side, keys[side]);
		flame->sides[side].label_of_place[export->lost_place] = lost;
		flame->sides[side].label_of_place[export->cut_place] = cut;
		free(keys[side]);
	}
}

/* ---- the tree -------------------------------------------------------------------------------------------
 */

static uint32_t add_node(struct hs_flame *flame, uint32_t parent, uint32_t label)
{
	uint32_t index = flame->node_count++;
	flame->nodes = hs_grow(flame->nodes, index, &flame->node_capacity, sizeof *flame->nodes);
	struct hs_flame_node *outer = &flame->nodes[parent];
	flame->nodes[index] =
		(struct hs_flame_node){.label = label, .parent = parent, .level = outer->level + 1};
	if (outer->last_child)
		flame->nodes[outer->last_child].sibling = index;
	else
		outer->first_child = index;
	outer->last_child = index;
	return index;
}

/* The box of that function on another. */
static uint32_t find_node(struct hs_flame *flame, uint32_t parent, uint32_t label)
{
	bool added;
	uint32_t index = hs_pairs_add(&flame->known, parent, label, &added) + 1;
	return added ? add_node(flame, parent, label) : index;
}

static void note_line(struct hs_flame_node *node, uint32_t line)
{
	if (!node->has_line)
		node->line = line;
	else if (node->line != line)
		node->line = 0;
	node->has_line = true;
}

/* A stack as the picture has it, outermost first (or the other way round), cut to LEVELS_MOST. */
struct path {
	uint32_t labels[LEVELS_MOST], lines[LEVELS_MOST];
	uint32_t count;
	uint32_t *places;
};

static void make_path(const struct hs_flame *flame, unsigned index, const struct hs_site *site,
		      struct path *path)
{
	const struct hs_flame_side *side = &flame->sides[index];
	uint32_t count = hs_export_stack(&side->export, site, path->places);
	path->count = count < LEVELS_MOST ? count : LEVELS_MOST;
	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t place = path->places[flame->options->flame.reverse ? i : count - 1 - i];
		bool cut = count > LEVELS_MOST && i == LEVELS_MOST - 1;
		path->labels[i] = cut ? flame->deeper_label : side->label_of_place[place];
		path->lines[i] = cut ? 0 : side->export.places[place].line;
	}
}

static void add_counts(struct hs_flame *flame, uint32_t node, unsigned side, const struct hs_counts *counts)
{
	enum hs_metric metric = flame->options->metric;
	flame->nodes[node].selves[side] += hs_metric_value(counts, metric);
	if (side == HS_FLAME_NEW)
		flame->nodes[node].others += hs_flame_other(counts, metric);
}

static void add_side(struct hs_flame *flame, unsigned side)
{
	const struct hs_export *export = &flame->sides[side].export;
	struct path *path = hs_allocate_zero(1, sizeof *path);
	path->places = hs_allocate_zero(export->stack_most, sizeof *path->places);
	for (uint32_t i = 0; i < export->sites.count; i++) {
		const struct hs_site *site = &export->sites.items[i];
		uint32_t node = 0;
		if (!hs_metric_value(site->counts, flame->options->metric))
			continue;
		make_path(flame, side, site, path);
		for (uint32_t level = 0; level < path->count; level++) {
			node = find_node(flame, node, path->labels[level]);
			note_line(&flame->nodes[node], path->lines[level]);
		}
		add_counts(flame, node, side, site->counts);
	}
	free(path->places);
	free(path);
}

static uint64_t own_width(const struct hs_flame *flame, const struct hs_flame_node *node)
{
	uint64_t new = node->selves[HS_FLAME_NEW], old = node->selves[HS_FLAME_OLD];
	switch (flame->options->flame.widths) {
	case HS_FLAME_BY_OLD:
		return old;
	case HS_FLAME_BY_LARGER:
		return new > old ? new : old;
	default:
		return new;
	}
}

/* From the leaves to the root. */
static void add_up(struct hs_flame *flame)
{
	bool chart = flame->options->flame.chart;
	for (uint32_t i = flame->node_count; i-- > 0;) {
		struct hs_flame_node *node = &flame->nodes[i], *outer = &flame->nodes[node->parent];
		for (unsigned side = 0; side < flame->side_count; side++)
			node->values[side] += node->selves[side];
		if (!chart || i == 0)
			node->width += own_width(flame, node);
		if (i == 0)
			break;
		for (unsigned side = 0; side < flame->side_count; side++)
			outer->values[side] += node->values[side];
		outer->others += node->others;
		if (!chart || node->parent == 0)
			outer->width += node->width;
	}
}

/* ---- a chart --------------------------------------------------------------------------------------------
 */

/* What one stack has in one slice of the run. */
struct stroke {
	uint32_t slice, rank, site;
	const struct hs_counts *counts;
};

static int by_time(const void *left, const void *right)
{
	const struct stroke *a = left, *b = right;
	if (a->slice != b->slice)
		return a->slice < b->slice ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Numbers the sites so that stacks that begin alike follow one another: depth first, in the tree of them all
 * that is in flame for the moment. */
static uint32_t *rank_sites(struct hs_flame *flame, const uint32_t *node_of_site)
{
	const struct hs_export *export = &flame->sides[HS_FLAME_NEW].export;
	uint32_t *ranks = hs_allocate_zero((size_t) export->sites.count + 1, sizeof *ranks);
	uint32_t *order = hs_allocate_zero(flame->node_count, sizeof *order), next = 0, node = 0;
	do {
		order[node] = next++;
		if (flame->nodes[node].first_child) {
			node = flame->nodes[node].first_child;
			continue;
		}
		while (node && !flame->nodes[node].sibling)
			node = flame->nodes[node].parent;
		node = flame->nodes[node].sibling;
	} while (node);
	for (uint32_t i = 0; i < export->sites.count; i++)
		ranks[i] = order[node_of_site[i]];
	free(order);
	return ranks;
}

static void clear_nodes(struct hs_flame *flame)
{
	flame->nodes[0] = (struct hs_flame_node){.label = flame->nodes[0].label};
	flame->node_count = 1;
	hs_pairs_free(&flame->known);
	flame->known = (struct hs_pairs){0};
}

static uint32_t *rank_by_stack(struct hs_flame *flame, struct path *path)
{
	const struct hs_sites *sites = &flame->sides[HS_FLAME_NEW].export.sites;
	uint32_t *node_of_site = hs_allocate_zero((size_t)sites->count + 1, sizeof *node_of_site);
	for (uint32_t i = 0; i < sites->count; i++) {
		make_path(flame, HS_FLAME_NEW, &sites->items[i], path);
		for (uint32_t level = 0; level < path->count; level++)
			node_of_site[i] = find_node(flame, node_of_site[i], path->labels[level]);
	}
	uint32_t *ranks = rank_sites(flame, node_of_site);
	free(node_of_site);
	clear_nodes(flame);
	return ranks;
}

/* Puts a stack to the right of those before it. */
static void add_stroke(struct hs_flame *flame, const struct stroke *stroke, struct path *path,
		       uint64_t *first)
{
	const struct hs_sites *sites = &flame->sides[HS_FLAME_NEW].export.sites;
	uint32_t node = 0;
	bool joined = true; /* what is below it goes on from the left */
	make_path(flame, HS_FLAME_NEW, &sites->items[stroke->site], path);
	for (uint32_t level = 0; level < path->count; level++) {
		uint32_t last = flame->nodes[node].last_child;
		const struct hs_flame_node *left = &flame->nodes[last];
		joined = joined && last && left->label == path->labels[level] &&
			 left->first + left->width == *first;
		if (!joined) {
			last = add_node(flame, node, path->labels[level]);
			flame->nodes[last].first = *first;
		}
		node = last;
		note_line(&flame->nodes[node], path->lines[level]);
		flame->nodes[node].width += hs_metric_value(stroke->counts, flame->options->metric);
	}
	add_counts(flame, node, HS_FLAME_NEW, stroke->counts);
	*first += hs_metric_value(stroke->counts, flame->options->metric);
}

static void add_strokes(struct hs_flame *flame, const struct hs_replay *replay, struct stroke *strokes,
			uint32_t count, struct path *path)
{
	uint64_t first = 0;
	flame->slice_first = hs_allocate_zero((size_t)replay->slice_count + 1, sizeof *flame->slice_first);
	flame->slice_us = hs_allocate_zero((size_t)replay->slice_count + 1, sizeof *flame->slice_us);
	if (count)
		qsort(strokes, count, sizeof *strokes, by_time);
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || strokes[i].slice != strokes[i - 1].slice) {
			flame->slice_first[flame->slice_count] = first;
			flame->slice_us[flame->slice_count++] = replay->slice_us[strokes[i].slice];
		}
		add_stroke(flame, &strokes[i], path, &first);
	}
}

static int add_chart(struct hs_flame *flame, struct hs_profile *profile, struct hs_error *error)
{
	const struct hs_export *export = &flame->sides[HS_FLAME_NEW].export;
	const struct hs_sites *sites = &export->sites;
	struct hs_replay replay;
	uint32_t *site_of_node = hs_allocate_zero(profile->node_count, sizeof *site_of_node);
	for (uint32_t i = 0; i < profile->node_count; i++) /* nodes of no site have no allocations */
		site_of_node[i] =
			sites->site_of_node[i] < sites->count ? sites->site_of_node[i] : sites->count;
	int result = hs_replay_run_as(profile, site_of_node, sites->count + 1,
				      &(struct hs_replay_how){.slices = SLICES_MOST}, &replay, error);
	free(site_of_node);
	if (result != 0)
		return -1;
	struct path *path = hs_allocate_zero(1, sizeof *path);
	path->places = hs_allocate_zero(export->stack_most, sizeof *path->places);
	uint32_t *ranks = rank_by_stack(flame, path), count = 0;
	struct stroke *strokes = hs_allocate_zero((size_t)replay.group_count + 1, sizeof *strokes);
	for (uint32_t i = 0; i < replay.group_count; i++) {
		const struct hs_part *part = &replay.parts[i];
		if (part->group < sites->count && sites->items[part->group].suppression) {
			replay.groups[i].suppressed_bytes = replay.groups[i].live_bytes;
			replay.groups[i].suppressed_blocks = replay.groups[i].live_blocks;
		}
		if (part->group < sites->count && hs_metric_value(&replay.groups[i], flame->options->metric))
			strokes[count++] = (struct stroke){part->slice, ranks[part->group], part->group,
							   &replay.groups[i]};
	}
	add_strokes(flame, &replay, strokes, count, path);
	free(strokes);
	free(ranks);
	free(path->places);
	free(path);
	hs_replay_free(&replay);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------
 */

int hs_flame_make(struct hs_flame *flame, struct hs_profile *profile, const struct hs_export_options *options,
		  struct hs_error *error)
{
	struct hs_profile *sides[HS_FLAME_SIDES] = {profile, options->baseline};
	*flame = (struct hs_flame){.options = options, .node_count = 1};
	hs_strings_init(&flame->texts);
	flame->nodes = hs_grow(NULL, 0, &flame->node_capacity, sizeof *flame->nodes);
	flame->nodes[0] = (struct hs_flame_node){0};
	if (options->flame.chart && profile->facts.unknown & HS_TOLD_EVENTS)
		return hs_fail(error,
			       "the file does not tell when something was allocated, which a chart needs; "
			       "leave --chart out");
	for (unsigned i = 0; i < HS_FLAME_SIDES && sides[i]; i++) {
		if (hs_export_make(sides[i], options->raw, NULL, &flame->sides[i].export, error) != 0)
			return -1;
		flame->side_count++;
	}
	make_labels(flame);
	if (options->flame.chart && add_chart(flame, profile, error) != 0)
		return -1;
	for (unsigned side = 0; !options->flame.chart && side < flame->side_count; side++)
		add_side(flame, side);
	add_up(flame);
	hs_flame_layout(flame);
	return 0;
}

void hs_flame_free(struct hs_flame *flame)
{
	for (unsigned i = 0; i < flame->side_count; i++) {
		hs_export_free(&flame->sides[i].export);
		free(flame->sides[i].label_of_place);
	}
	hs_strings_free(&flame->texts);
	hs_pairs_free(&flame->known);
	free(flame->labels);
	free(flame->nodes);
	free(flame->slice_first);
	free(flame->slice_us);
	*flame = (struct hs_flame){0};
}
