/* The sites of nodes that a replay meets, while it goes on. Of many nodes events name few, so there is no
 * table of all stacks: each node has a hash of its stack, and only those of met nodes are looked up. */
#include "base/memory.h"
#include "own.h"
#include "sites_making.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* 80 bits tell stacks apart: that two of a million have the same by chance happens once in 10^12 recordings.
 * Each frame's text is mixed into what its callers' make, by both halves of a product (as in wyhash) and, on
 * its own, by a shorter one. */
static inline void add_text(struct hs_stack_hash *hash, uint32_t text)
{
	uint64_t key = (text + 1ULL) * 0xd6e8feb86659fd93ULL;
	unsigned __int128 product = (unsigned __int128)(hash->low ^ key) * 0x9e3779b97f4a7c15ULL;
	hash->low = (uint64_t)product ^ (uint64_t)(product >> 64);
	uint32_t high = (hash->high ^ (uint32_t)(key >> 32)) * 0x85ebca6bU;
	hash->high = (uint16_t)(high ^ high >> 16);
}

/* The frames of a node's call from the outermost one to that at `cut`. */
static inline void add_call(const struct hs_sites_making *making, struct hs_stack_hash *hash, uint32_t node,
			    uint32_t cut)
{
	struct hs_call call = hs_call_of(making->profile, node);
	for (uint32_t i = call.frame_count; i-- > cut;)
		add_text(hash, making->texts[call.first_frame + i]);
}

static inline struct hs_stack_hash hash_of_node(const struct hs_sites_making *making, uint32_t node)
{
	return (struct hs_stack_hash){making->hashes_low[node], making->hashes_high[node]};
}

static void hash_stacks(struct hs_sites_making *making, uint32_t first, uint32_t end)
{
	for (uint32_t id = first; id < end; id++) {
		struct hs_stack_hash hash = hash_of_node(making, making->profile->nodes[id].parent);
		add_call(making, &hash, id, 0);
		making->hashes_low[id] = hash.low;
		making->hashes_high[id] = hash.high;
	}
}

void hs_sites_hash_stacks(struct hs_sites_making *making)
{
	enum {
		AT_ONCE = 4096
	}; /* so that nodes and their calls are still at hand when their rules are due */
	const struct hs_profile *profile = making->profile;
	uint32_t count = profile->node_count;
	struct hs_matching *matching = hs_matching_begin(profile);
	making->texts = hs_frame_texts(profile);
	making->hashes_low = hs_allocate_filled(count * sizeof *making->hashes_low);
	making->hashes_high = hs_allocate_filled(count * sizeof *making->hashes_high);
	making->hashes_low[0] = 0xa0761d6478bd642fULL;
	making->hashes_high[0] = 0xe703;
	for (uint32_t first = 1, end; first < count; first = end) {
		end = count - first < AT_ONCE ? count : first + AT_ONCE;
		hash_stacks(making, first, end);
		if (matching)
			hs_matching_take(matching, first, end);
	}
	hs_matching_end(matching);
}

static struct hs_stack_hash hash_of_rest(const struct hs_sites_making *making, struct hs_rest rest)
{
	struct hs_stack_hash hash;
	if (!rest.cut)
		return hash_of_node(making, rest.node);
	hash = hash_of_node(making, making->profile->nodes[rest.node].parent);
	add_call(making, &hash, rest.node, rest.cut);
	return hash;
}

/* ---- sites ----------------------------------------------------------------------------------------------
 */

/* A folded stack and the rule + 1 that applies to it: of each such pair there is a site. */
struct wanted {
	struct hs_rest rest;
	struct hs_stack_hash hash;
	uint32_t rule;
};

static bool is_site_of(const struct hs_sites_making *making, const struct hs_site *site,
		       const struct wanted *wanted)
{
	struct hs_stack_hash hash = hash_of_rest(making, hs_rest_of_site(site));
	return site->suppression == wanted->rule && hash.low == wanted->hash.low &&
	       hash.high == wanted->hash.high;
}

static uint32_t tag_of(const struct wanted *wanted)
{
	return (uint32_t)(wanted->hash.low >> 32);
}

/* The slot of the site, or the free one where it belongs. */
static struct hs_site_slot *find_slot(const struct hs_sites_making *making, const struct hs_sites *sites,
				      const struct wanted *wanted)
{
	for (uint64_t at = wanted->hash.low;; at++) {
		struct hs_site_slot *slot = &making->slots[at & (making->slot_count - 1)];
		if (!slot->site || (slot->tag == tag_of(wanted) &&
				    is_site_of(making, &sites->items[slot->site - 1], wanted)))
			return slot;
	}
}

/* Room for the sites that there mostly are. */
static size_t slots_for(uint32_t nodes)
{
	size_t count = 64;
	while (count < nodes / 4)
		count *= 2;
	return count;
}

/* Empty ones; written at once: a page of zeros that is read first costs a second fault when it is written. */
static void make_slots(struct hs_sites_making *making, size_t count)
{
	free(making->slots);
	making->slot_count = count;
	making->slots = hs_allocate_filled(count * sizeof *making->slots);
	memset(making->slots, 0, count * sizeof *making->slots);
}

static void widen(struct hs_sites_making *making, const struct hs_sites *sites)
{
	make_slots(making, making->slot_count * 2);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_rest rest = hs_rest_of_site(&sites->items[i]);
		struct wanted wanted = {rest, hash_of_rest(making, rest), sites->items[i].suppression};
		*find_slot(making, sites, &wanted) = (struct hs_site_slot){tag_of(&wanted), i + 1};
	}
}

static struct wanted want(struct hs_sites_making *making, uint32_t node)
{
	struct wanted wanted = {.rest = hs_sites_fold_node(making, node),
				.rule = hs_suppression_of(making->profile, node)};
	wanted.hash = hash_of_rest(making, wanted.rest);
	__builtin_prefetch(&making->slots[wanted.hash.low & (making->slot_count - 1)], 1);
	return wanted;
}

static uint32_t find_or_add(struct hs_sites_making *making, struct hs_sites *sites,
			    const struct wanted *wanted)
{
	struct hs_site_slot *slot = find_slot(making, sites, wanted);
	if (slot->site)
		return slot->site - 1;
	hs_sites_add(making, sites, wanted->rest, wanted->rule, sites->count);
	*slot = (struct hs_site_slot){tag_of(wanted), sites->count};
	uint32_t added = sites->count - 1;
	hs_own_frames_add(&sites->own, making->profile, sites->items[added].own);
	if ((size_t)sites->count * 2 > making->slot_count)
		widen(making, sites);
	return added;
}

void hs_sites_map_met(struct hs_sites_making *making, struct hs_sites *sites)
{
	enum { AT_ONCE = 32 }; /* whose slots come while others are looked at */
	struct wanted wanted[AT_ONCE];
	uint32_t count = atomic_load_explicit(&making->met.count, memory_order_acquire);
	if (!making->slots)
		make_slots(making, slots_for(making->profile->node_count));
	for (uint32_t first = making->mapped, some; first < count; first += some) {
		some = count - first < AT_ONCE ? count - first : AT_ONCE;
		for (uint32_t i = 0; i < some; i++)
			wanted[i] = want(making, making->met.nodes[first + i]);
		for (uint32_t i = 0; i < some; i++) {
			making->site_of_group =
				hs_grow(making->site_of_group, first + i, &making->site_of_group_capacity,
					sizeof *making->site_of_group);
			making->site_of_group[first + i] = find_or_add(making, sites, &wanted[i]);
		}
	}
	making->mapped = count;
}

void hs_sites_end_mapping(struct hs_sites_making *making)
{
	free(making->texts);
	free(making->hashes_low);
	free(making->hashes_high);
	free(making->slots);
	making->texts = NULL;
	making->hashes_low = NULL;
	making->hashes_high = NULL;
	making->slots = NULL;
}
