/* What libc does inside (between its entry that the program called and malloc), how it starts the program or
 * a thread, and plumbing tell nobody where to look: such frames are left out, unless --raw. */
#include "cli/report_shown.h"

#include "base/memory.h"
#include "profile/own.h"

#include <stdlib.h>
#include <string.h>

/* What of a frame decides whether it is shown, and whether it looks like another one. */
enum trait {
	TRAIT_INTERNAL = 1,
	TRAIT_LIBC = 2,
	TRAIT_START = 4, /* libc, or the program's own start */
	TRAIT_RUST = 8,  /* where Rust's way to the function that the user wrote ends */
};

struct hs_looks {
	uint32_t key; /* the same if they look the same: hs_frame.rank, of which no bit is 0 more often than 1
		       */
	uint32_t traits;
};

/* Different ranks have different keys: each step can be undone. */
static uint32_t key_of(uint32_t rank)
{
	rank *= 0x9e3779b1;
	return (rank ^ rank >> 15) * 0x85ebca6b;
}

static struct hs_looks *find_looks(const struct hs_profile *profile)
{
	static const char rust[] = "__rust_begin_short_backtrace"; /* near the start of its name */
	enum { UNKNOWN, NO, YES };
	struct hs_looks *looks = hs_allocate(((size_t)profile->frame_count + 1) * sizeof(*looks));
	uint8_t *is_rust = hs_allocate_zero((size_t)profile->strings.count + 1, 1); /* by function */
	bool *is_libc = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*is_libc)); /* by module */
	for (uint32_t i = 0; i < profile->module_count; i++)
		is_libc[i] = hs_is_libc(profile, i);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		const char *name = profile->strings.items[frame->function];
		bool libc = frame->module < profile->module_count && is_libc[frame->module];
		bool start = libc || strcmp(name, "_start") == 0;
		uint8_t *known = &is_rust[frame->function];
		if (*known == UNKNOWN)
			*known = memmem(name, strnlen(name, 256), rust, sizeof(rust) - 1) ? YES : NO;
		looks[i].key = key_of(frame->rank);
		looks[i].traits = (frame->internal ? TRAIT_INTERNAL : 0) | (libc ? TRAIT_LIBC : 0) |
				  (start ? TRAIT_START : 0) | (*known == YES ? TRAIT_RUST : 0);
	}
	free(is_rust);
	free(is_libc);
	return looks;
}

/* Of the frames of a stack, from the outermost inwards, a hash of those that are shown; or that there is none
 * yet: not even one that would be, or since Rust's start. */
#define HASH_OF_START 0
#define HASH_OF_NONE 0x80000000
#define HASH_OF_SOME 0x40000000 /* a bit that all others have */

/* Takes few cycles: hashes of several 100,000 stacks wait for their callers'. */
static inline uint32_t add_key(uint32_t hash, uint32_t key)
{
	return ((hash & ~HASH_OF_NONE) ^ key) * 0x9e3779b1 | HASH_OF_SOME;
}

static inline uint32_t add_shown(uint32_t hash, const struct hs_looks *looks)
{
	return add_key(hash, looks->key);
}

/* How stacks are shown. */
enum manner {
	MANNER_WHOLE,
	/* without plumbing between the user's own functions: std::sort, an executor's way from its main loop
	 * to a task; */
	MANNER_NO_INTERNAL,
	/* and without how libc starts the program or a thread, and Rust's way from there to the function that
	 * the user wrote; */
	MANNER_SHORT,
	/* but with plumbing: there is nothing else. */
	MANNER_NO_START,
};

enum fate {
	FATE_SHOWN,
	FATE_SKIPPED,
	FATE_START, /* neither it nor callers further out are shown */
	FATE_RUST_START,
};

/* What becomes of a caller of the own line. hash: of what is shown of those further out. */
static inline enum fate decide(enum manner manner, uint32_t hash, const struct hs_looks *looks)
{
	if (manner >= MANNER_SHORT && hash == HASH_OF_START && looks->traits & TRAIT_START)
		return FATE_START;
	if (manner >= MANNER_SHORT && looks->traits & TRAIT_RUST)
		return FATE_RUST_START;
	bool shown = manner == MANNER_WHOLE || !(looks->traits & TRAIT_INTERNAL) ||
		     (manner == MANNER_NO_START && hash != HASH_OF_NONE);
	return shown ? FATE_SHOWN : FATE_SKIPPED;
}

static inline uint32_t add_caller(enum fate fate, uint32_t hash, const struct hs_looks *looks)
{
	switch (fate) {
	case FATE_SHOWN:
		return add_shown(hash, looks);
	case FATE_SKIPPED:
		return hash == HASH_OF_START ? HASH_OF_NONE : hash;
	case FATE_START:
		return HASH_OF_START;
	default:
		return HASH_OF_NONE;
	}
}

/* Adds the frames of a node's call that are among the rest. */
static inline uint32_t add_short_callers(const struct hs_showing *showing, uint32_t hash, struct hs_rest rest)
{
	struct hs_call call = hs_call_of(showing->profile, rest.node);
	for (uint32_t i = call.frame_count; i-- > rest.cut;) {
		const struct hs_looks *looks = &showing->looks[call.first_frame + i];
		if (!looks->traits) /* most of them */
			hash = add_shown(hash, looks);
		else
			hash = add_caller(decide(MANNER_SHORT, hash, looks), hash, looks);
	}
	return hash;
}

/* Of each call the key of its frame, if it has just one, which is always shown; else 0. Nearly all are such.
 */
static uint32_t *find_keys_of_calls(const struct hs_showing *showing)
{
	const struct hs_profile *profile = showing->profile;
	uint32_t *keys = hs_allocate_zero((size_t)profile->call_count + 1, sizeof(*keys));
	for (uint32_t i = 0; i < profile->call_count; i++) {
		const struct hs_looks *looks = &showing->looks[profile->calls[i].first_frame];
		if (profile->calls[i].frame_count == 1 && !looks->traits)
			keys[i] = looks->key;
	}
	return keys;
}

static void hash_nodes(const struct hs_showing *showing, uint32_t *hashes)
{
	const struct hs_profile *profile = showing->profile;
	uint32_t *keys = find_keys_of_calls(showing);
	hashes[0] = HASH_OF_START;
	for (uint32_t id = 1; id < profile->node_count; id++) {
		struct hs_node node = profile->nodes[id];
		uint32_t key = keys[node.call];
		hashes[id] = key ? add_key(hashes[node.parent], key)
				 : add_short_callers(showing, hashes[node.parent], (struct hs_rest){id, 0});
	}
	free(keys);
}

static uint32_t hash_of_callers(const struct hs_showing *showing, const struct hs_site *site)
{
	struct hs_rest callers = {site->callers, site->callers_cut};
	if (callers.cut == 0)
		return showing->hashes[callers.node];
	const struct hs_node *node = &showing->profile->nodes[callers.node];
	return add_short_callers(showing, showing->hashes[node->parent], callers);
}

static enum manner manner_of(const struct hs_showing *showing, uint32_t own_frame)
{
	unsigned traits = showing->looks[own_frame].traits;
	if (showing->raw)
		return MANNER_WHOLE;
	/* such a frame counts as own only where no other one does: internal ones if all are */
	if (traits & TRAIT_INTERNAL)
		return traits & TRAIT_LIBC ? MANNER_WHOLE : MANNER_NO_START;
	return traits & TRAIT_LIBC ? MANNER_NO_INTERNAL : MANNER_SHORT;
}

/* Moves what is shown of the own line's callers, room[own + 1 .. count), to its end. Returns where it begins.
 */
static uint32_t look_at_callers(const struct hs_showing *showing, enum manner manner, uint32_t own,
				uint32_t count, struct hs_shown *shown)
{
	uint32_t at = count;
	shown->hash = HASH_OF_START;
	for (uint32_t i = count; i-- > own + 1;) {
		const struct hs_looks *looks = &showing->looks[shown->room[i]];
		enum fate fate = decide(manner, shown->hash, looks);
		shown->hash = add_caller(fate, shown->hash, looks);
		if (fate == FATE_SHOWN)
			shown->room[--at] = shown->room[i];
		else if (fate != FATE_SKIPPED)
			at = count;
	}
	return at;
}

void hs_show_soon(const struct hs_showing *showing, uint32_t site)
{
	if (showing->hashes)
		__builtin_prefetch(&showing->hashes[showing->sites->items[site].callers]);
}

void hs_show(const struct hs_showing *showing, uint32_t index, bool only_hash, struct hs_shown *shown)
{
	const struct hs_sites *sites = showing->sites;
	const struct hs_site *site = &sites->items[index];
	const struct hs_looks *looks = showing->looks;
	uint32_t own = site->own_frame, first = 0;
	shown->count = shown->own = 0;
	shown->hash = HASH_OF_START;
	if (site->own == HS_NO_FRAME)
		return;
	enum manner manner = manner_of(showing, site->own);
	bool known = only_hash && showing->hashes && manner == MANNER_SHORT; /* what is shown of callers */
	uint32_t count = known ? own + 1 : hs_site_depth(sites, site), at = count;
	if (count >= shown->capacity) {
		free(shown->room);
		shown->capacity = (size_t)count * 2 + 1;
		shown->room = hs_allocate(shown->capacity * sizeof(*shown->room));
	}
	uint32_t *frames = shown->room;
	if (!known || own) /* else a stack that lies anywhere in memory is not looked at */
		hs_site_write_frames(sites, site, known ? own : count, frames);
	if (known)
		shown->hash = hash_of_callers(showing, site);
	else
		at = look_at_callers(showing, manner, own, count, shown);
	shown->hash = add_shown(shown->hash, &looks[site->own]);
	frames[--at] = site->own;
	shown->own = at;
	while (manner >= MANNER_SHORT && first + 1 < own && looks[frames[first]].traits & TRAIT_LIBC &&
	       looks[frames[first + 1]].traits & TRAIT_LIBC)
		first++;
	for (uint32_t i = own; i-- > first;) {
		if (looks[frames[i]].traits & TRAIT_INTERNAL && !showing->raw)
			continue;
		shown->hash = add_shown(shown->hash, &looks[frames[i]]);
		frames[--at] = frames[i];
	}
	shown->frames = frames + at;
	shown->count = count - at;
	shown->own -= at;
}

bool hs_shown_look_same(const struct hs_showing *showing, const struct hs_shown *a, const struct hs_shown *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (showing->looks[a->frames[i]].key != showing->looks[b->frames[i]].key)
			return false;
	}
	return true;
}

void hs_shown_free(struct hs_shown *shown)
{
	free(shown->room);
	*shown = (struct hs_shown){0};
}

static void look(void *context)
{
	struct hs_showing *showing = context;
	showing->looks = find_looks(showing->profile);
	if (showing->raw)
		return;
	showing->hashes = hs_sites_spare(showing->sites);
	if (showing->hashes)
		hash_nodes(showing, showing->hashes);
}

void hs_showing_start(struct hs_showing *showing, const struct hs_profile *profile,
		      const struct hs_sites *sites, bool raw)
{
	*showing = (struct hs_showing){.profile = profile, .sites = sites, .raw = raw};
	if (sites->count >= HS_MANY_SITES)
		hs_aside_begin(&showing->aside, look, showing);
	else
		look(showing);
}

void hs_showing_wait(struct hs_showing *showing)
{
	hs_aside_end(&showing->aside);
}

void hs_showing_free(struct hs_showing *showing)
{
	hs_showing_wait(showing);
	free(showing->looks);
}
