/* The places of an image's nodes (module and address), each named once. The names are kept in memory, packed,
 * until the image's own events are in its file. Belongs to the naming thread. */
#ifndef HS_RECORD_PLACE_NAMES_H
#define HS_RECORD_PLACE_NAMES_H

#include "heapscope/region.h"
#include "record/files.h"
#include "record/writer.h"

struct hs_place {
	uint64_t address; /* link-time */
	uint32_t module;  /* file id + 1; 0: none */
};

struct hs_place_module {
	struct hs_module_file *file; /* or NULL; the image keeps it */
	uint8_t build_id[HS_BUILD_ID_MOST];
	uint32_t build_id_bytes;
};

/* How far the naming is, and whether it should end without the rest: atomics. */
struct hs_naming_state {
	bool hurry;
	unsigned long long done, total;
};

struct hs_place_names;

struct hs_place_names *hs_place_names_new(void);
/* The module with the next file id. */
void hs_place_names_module(struct hs_place_names *names, const struct hs_place_module *module);
/* Names those places that are new. Their order is changed. */
void hs_place_names_add(struct hs_place_names *names, struct hs_place *places, uint32_t count,
			struct hs_packer *packer, struct hs_naming_state *state);
/* Writes the symbols members, frees it all. */
void hs_place_names_finish(struct hs_place_names *names, struct hs_writer *writer);

#endif
