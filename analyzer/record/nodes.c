/* Renumbers nodes. */
#include "record/nodes.h"

#include "base/memory.h"

#include <stdlib.h>

void hs_nodes_init(struct hs_nodes *nodes, struct hs_view *view, struct hs_encoder *encoder)
{
	*nodes = (struct hs_nodes){.view = view, .encoder = encoder};
	nodes->pages = hs_allocate_zero(HS_MAX_NODES / HS_NODES_A_PAGE, sizeof *nodes->pages);
}

void hs_nodes_free(struct hs_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->page_end; i++)
		free(nodes->pages[i]);
	free(nodes->pages);
	free(nodes->path);
	*nodes = (struct hs_nodes){0};
}

static uint32_t known_id(const struct hs_nodes *nodes, uint32_t node)
{
	const uint32_t *page = nodes->pages[node / HS_NODES_A_PAGE];
	return page ? page[node % HS_NODES_A_PAGE] : 0;
}

static void set_id(struct hs_nodes *nodes, uint32_t node, uint32_t id)
{
	uint32_t **page = &nodes->pages[node / HS_NODES_A_PAGE];
	if (!*page)
		*page = hs_allocate_zero(HS_NODES_A_PAGE, sizeof **page);
	if (nodes->page_end <= node / HS_NODES_A_PAGE)
		nodes->page_end = node / HS_NODES_A_PAGE + 1;
	(*page)[node % HS_NODES_A_PAGE] = id;
}

/* Reads a written node; false if there is none. Its parent is below its own id, so chains end. */
static bool read_node(struct hs_nodes *nodes, uint32_t node, uint64_t *place, uint32_t *parent)
{
	if (node == 0 || node >= hs_view_node_count(nodes->view))
		return false;
	const struct hs_node_record *record = hs_view_node(nodes->view, node);
	*place = record ? hs_peek_acquire(&record->place) : 0;
	*parent = record ? hs_peek(&record->parent) : 0;
	if (*parent >= node)
		*parent = 0;
	return *place != 0;
}

uint32_t hs_nodes_add(struct hs_nodes *nodes, uint32_t region_node)
{
	uint64_t place;
	uint32_t parent, depth = 0;
	for (uint32_t node = region_node; read_node(nodes, node, &place, &parent) && !known_id(nodes, node);
	     node = parent) {
		nodes->path = hs_grow(nodes->path, depth, &nodes->path_capacity, sizeof *nodes->path);
		nodes->path[depth++] = node;
	}
	while (depth-- > 0) {
		uint32_t node = nodes->path[depth];
		if (!read_node(nodes, node, &place, &parent))
			return 0; /* the target took it back */
		uint64_t address = HS_PLACE_ADDRESS(place);
		uint32_t module = nodes->module(nodes->context, HS_PLACE_MODULE(place), &address);
		uint32_t parent_id = parent ? known_id(nodes, parent) : 0;
		set_id(nodes, node, hs_encoder_node(nodes->encoder, parent_id, module, address));
	}
	return region_node < HS_MAX_NODES ? known_id(nodes, region_node) : 0;
}
