/* Which stream alone has ever booked an event at the addresses of a piece of memory: there its stamps need no
 * fence.
 *
 * A stamp that is not fenced may be taken early, before loads that stand in front of it. That matters only if
 * an event at the same address, in another stream, came before: the later one could get the earlier stamp.
 * But whoever books an event has claimed the address's piece before the address is passed on (before the real
 * free, before malloc returns), and looks at the claim after the address has come to him. A claim goes from
 * nobody's to one stream's to everybody's and never back. So a stream that finds its own number is the only
 * one so far. */
#ifndef HS_CLAIMS_H
#define HS_CLAIMS_H

#include "shim.h"

/* Pieces of 64 KiB: glibc's arenas and other allocators' pages lie apart by that much. Two pieces that share
 * a place in the table only lose the advantage. */
enum { CLAIM_SHIFT = 16, CLAIMS = 1 << 15 };
extern uint32_t hs_claims[CLAIMS]; /* 0, the number of a stream, or CLAIM_OF_ALL */
#define CLAIM_OF_ALL UINT32_MAX

/* For a piece that is not the stream's own yet. */
bool hs_claim_take(uint32_t *claim, uint32_t stream);

/* Claims the address's piece. true: no other stream ever had an event there. */
static inline bool hs_claim(uint64_t address, uint32_t stream)
{
	uint32_t *claim = &hs_claims[address >> CLAIM_SHIFT & (CLAIMS - 1)];
	return likely(load_relaxed(claim) == stream) || hs_claim_take(claim, stream);
}

#endif
