#include "import/places.h"

#include "heapscope/format.h"
#include "heapscope/region.h"

void hs_places_free(struct hs_places *places)
{
	hs_pairs_free(&places->taken);
}

/* Whether the address means something else in a recording. */
static bool is_reserved(uint32_t module, uint64_t address)
{
	return (module == 0 && (address == HS_ADDRESS_CUT || address == HS_ADDRESS_BROKEN)) ||
	       (address >= HS_ADDRESS_UNKNOWN && address - HS_ADDRESS_UNKNOWN <= UINT32_MAX);
}

uint64_t hs_places_take(struct hs_places *places, uint32_t module, uint64_t call)
{
	uint64_t address = call + 1;
	bool added = false;
	if (call && address && !is_reserved(module, address))
		hs_pairs_add(&places->taken, module, address, &added);
	return added ? address : HS_ADDRESS_UNKNOWN + places->unknown++;
}
