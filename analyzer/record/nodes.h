/* Region node ids -> file node ids, which are dense, in order of first use, parents first. Only used nodes
 * get one. */
#ifndef HS_RECORD_NODES_H
#define HS_RECORD_NODES_H

#include "record/encode.h"
#include "record/view.h"

enum { HS_NODES_A_PAGE = 4096 };

struct hs_nodes {
	struct hs_view *view;
	struct hs_encoder *encoder;
	/* Turns a run-time address of a region module into a file module + 1 (or 0) and its link-time
	 * address. */
	uint32_t (*module)(void *context, uint32_t region_module, uint64_t *address);
	void *context;
	uint32_t **pages;  /* as sparse as the target's use of ids */
	uint32_t page_end; /* behind the last one that there is */
	uint32_t *path;    /* scratch: ids from a node towards the root */
	size_t path_capacity;
};

void hs_nodes_init(struct hs_nodes *nodes, struct hs_view *view, struct hs_encoder *encoder);
void hs_nodes_free(struct hs_nodes *nodes);
uint32_t hs_nodes_add(struct hs_nodes *nodes, uint32_t region_node);

/* 0, the root, for a node that the target never wrote. */
static inline uint32_t hs_nodes_file_id(struct hs_nodes *nodes, uint32_t region_node)
{
	uint32_t page = region_node / HS_NODES_A_PAGE;
	if (__builtin_expect(page < HS_MAX_NODES / HS_NODES_A_PAGE && nodes->pages[page] != NULL, 1)) {
		uint32_t id = nodes->pages[page][region_node % HS_NODES_A_PAGE];
		if (__builtin_expect(id != 0, 1))
			return id;
	}
	return region_node ? hs_nodes_add(nodes, region_node) : 0;
}

#endif
