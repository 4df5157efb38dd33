/* A table of the latest variants, each at one of the two places that its calls lead to. */
#include "variants.h"

#include <string.h>

/* Words of a run differ in their low bits. The other place is this one ^ 1. */
static inline unsigned place_of(const uint64_t calls[RUN])
{
	uint64_t mixed = 0;
#pragma GCC unroll 8
	for (unsigned i = 0; i < RUN; i++)
		mixed ^= calls[i] << 8 * i | calls[i] >> (64 - 8 * i) % 64;
	return (unsigned)(mixed * 0x9e3779b97f4a7c15u >> (64 - VARIANT_BITS));
}
_Static_assert(RUN == 8, "a byte each");

static inline bool is_of_era(const struct variants *variants, uint64_t shape, const struct frame *start)
{
	return variants->shape == shape && variants->pc == start->pc &&
	       variants->path == start[-RUN - 1].path;
}

static inline uint32_t node_at(const struct variants *variants, unsigned place, const uint64_t calls[RUN])
{
	uint64_t differs = variants->known[place].era ^ variants->era;
#pragma GCC unroll 8
	for (int i = 0; i < RUN; i++)
		differs |= calls[i] ^ variants->calls[place][i];
	return differs ? 0 : variants->known[place].node;
}

uint32_t hs_variant_node(const struct variants *variants, uint64_t shape, const struct frame *start)
{
	if (!variants || !is_of_era(variants, shape, start))
		return 0;
	uint64_t calls[RUN];
#pragma GCC unroll 8
	for (int i = 0; i < RUN; i++)
		calls[i] = word_at(start[-i - 1].sp - 8);
	unsigned place = place_of(calls);
	uint32_t node = node_at(variants, place, calls);
	return likely(node) ? node : node_at(variants, place ^ 1, calls);
}

/* Whole pieces of 64 KiB, so that what is mapped next, below it, is aligned as well as without: with the
 * eleven pages that it takes python3 ran 50 ms longer, in code of its own. */
enum { PIECE = 64 << 10, VARIANTS_BYTES = (sizeof(struct variants) + PIECE - 1) & ~(size_t)(PIECE - 1) };

uint32_t *hs_variant_add(struct thread *thread, const struct frame *start)
{
	struct variants *variants = thread->variants;
	if (!variants && !thread->no_variants) {
		variants = thread->variants = hs_pages(VARIANTS_BYTES);
		thread->no_variants = !variants; /* not to be asked for with each event */
	}
	if (!variants)
		return NULL;
	if (!is_of_era(variants, thread->shape, start)) {
		variants->era++;
		variants->shape = thread->shape;
		variants->pc = start->pc;
		variants->path = start[-RUN - 1].path;
	}
	uint64_t calls[RUN];
	for (int i = 0; i < RUN; i++)
		calls[i] = start[-i - 1].pc;
	unsigned place = place_of(calls);
	if (variants->known[place].era == variants->era && variants->known[place ^ 1].era != variants->era)
		place ^= 1;
	memcpy(variants->calls[place], calls, sizeof calls);
	variants->known[place].era = variants->era;
	variants->known[place].node = 0;
	return &variants->known[place].node;
}
