/* The rare half of claims.h: the first event of a stream in a piece of memory, and all events in shared ones.
 */
#include "claims.h"

uint32_t hs_claims[CLAIMS];

bool hs_claim_take(uint32_t *claim, uint32_t stream)
{
	uint32_t owner = load_relaxed(claim);
	if (owner == CLAIM_OF_ALL)
		return false;
	if (!owner &&
	    __atomic_compare_exchange_n(claim, &owner, stream, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return true;
	__atomic_store_n(claim, CLAIM_OF_ALL, __ATOMIC_SEQ_CST);
	return false;
}
