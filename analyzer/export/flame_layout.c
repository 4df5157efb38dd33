/* Which boxes are drawn, and where. What is too narrow to be seen is left out, and so are the narrowest if
 * there are more boxes than a browser likes; the boxes below count it all the same, and a grey box on them
 * says how much it is. */
#include "flame.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* With the grey ones there may be twice as many; a browser has trouble beyond. */
enum { BOXES_MOST = 5000 };

/* Among equals what stands lower, so that no box lacks the one that it stands on. */
static int wider_first(const void *left, const void *right, void *context)
{
	const struct hs_flame_node *nodes = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (nodes[a].width != nodes[b].width)
		return nodes[a].width > nodes[b].width ? -1 : 1;
	if (nodes[a].level != nodes[b].level)
		return nodes[a].level < nodes[b].level ? -1 : 1;
	return a < b ? -1 : 1;
}

static void choose_drawn(struct hs_flame *flame)
{
	unsigned __int128 least = (unsigned __int128)flame->nodes[0].width * flame->options->flame.min_width;
	uint32_t *wide = NULL, count = 0;
	size_t capacity = 0;
	flame->least = (uint64_t)((least + 999999) / 1000000);
	if (flame->least == 0)
		flame->least = 1;
	flame->threshold = flame->least;
	for (uint32_t i = 1; i < flame->node_count; i++) {
		if (flame->nodes[i].width < flame->threshold)
			continue;
		wide = hs_grow(wide, count, &capacity, sizeof *wide);
		wide[count++] = i;
	}
	if (count > BOXES_MOST) {
		qsort_r(wide, count, sizeof *wide, wider_first, flame->nodes);
		count = BOXES_MOST;
		flame->threshold = flame->nodes[wide[count - 1]].width;
	}
	flame->nodes[0].drawn = true;
	flame->drawn_count = 1 + count;
	for (uint32_t i = 0; i < count; i++)
		flame->nodes[wide[i]].drawn = true;
	free(wide);
}

static int compare_children(const void *left, const void *right, void *context)
{
	const struct hs_flame *flame = context;
	const struct hs_flame_node *a = &flame->nodes[*(const uint32_t *)left],
				   *b = &flame->nodes[*(const uint32_t *)right];
	if (a->width != b->width)
		return a->width > b->width ? -1 : 1;
	int order = strcmp(flame->labels[a->label].name, flame->labels[b->label].name);
	return order ? order : a->label < b->label ? -1 : 1;
}

/* Chains the drawn children, widest first, then the others. */
static void sort_children(struct hs_flame *flame, uint32_t parent, uint32_t **list, size_t *capacity)
{
	uint32_t count = 0, others = 0;
	for (uint32_t child = flame->nodes[parent].first_child, next; child; child = next) {
		next = flame->nodes[child].sibling;
		if (flame->nodes[child].drawn) {
			*list = hs_grow(*list, count, capacity, sizeof **list);
			(*list)[count++] = child;
		} else {
			flame->nodes[child].sibling = others;
			others = child;
		}
	}
	if (count)
		qsort_r(*list, count, sizeof **list, compare_children, flame);
	uint32_t *place = &flame->nodes[parent].first_child;
	for (uint32_t i = 0; i < count; i++) {
		*place = (*list)[i];
		place = &flame->nodes[*place].sibling;
	}
	*place = others;
}

/* Side by side from where their parent begins. In a chart they stand where they are. */
static void place_children(struct hs_flame *flame, uint32_t parent)
{
	uint64_t first = flame->nodes[parent].first;
	for (uint32_t child = flame->nodes[parent].first_child; child; child = flame->nodes[child].sibling) {
		flame->nodes[child].first = first;
		first += flame->nodes[child].width;
	}
}

void hs_flame_layout(struct hs_flame *flame)
{
	uint32_t *list = NULL;
	size_t capacity = 0;
	choose_drawn(flame);
	flame->levels = flame->box_count = 1;
	for (uint32_t i = 1; i < flame->node_count; i++) {
		const struct hs_flame_node *node = &flame->nodes[i];
		bool on_drawn = flame->nodes[node->parent].drawn;
		flame->box_count += node->width > 0;
		if (!node->drawn && on_drawn)
			flame->joined_width += node->width;
		/* a row for those that are joined, too */
		if (on_drawn && node->width && node->level + 1 > flame->levels)
			flame->levels = node->level + 1;
	}
	for (uint32_t i = 0; i < flame->node_count && !flame->options->flame.chart; i++) {
		if (!flame->nodes[i].drawn)
			continue;
		sort_children(flame, i, &list, &capacity);
		place_children(flame, i);
	}
	free(list);
}
