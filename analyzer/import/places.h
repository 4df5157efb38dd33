/* Gives frames of other tools their places in a recording: a module and an address that names can be looked
 * up by. Private to import/. */
#ifndef HS_IMPORT_PLACES_H
#define HS_IMPORT_PLACES_H

#include "profile/pairs.h"

struct hs_places {
	struct hs_pairs taken; /* module, address */
	uint64_t unknown;      /* how many places have no address */
};

void hs_places_free(struct hs_places *places);
/* The node address of the place, which nobody else gets: behind `call` if that is known (not 0) and free. */
uint64_t hs_places_take(struct hs_places *places, uint32_t module, uint64_t call);

#endif
