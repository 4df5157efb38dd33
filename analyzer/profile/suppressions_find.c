/* Which rule suppresses what a node allocated: strings, frames and kinds of nodes are looked at once each. */
#include "base/memory.h"
#include "pairs.h"
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

/* What was found out about a string, as the text that user's rules look at and as a function of each library.
 */
struct known_string {
	uint32_t rule;                   /* index + 1; 0: not tried yet; UINT32_MAX: none */
	uint32_t kept[HS_KEPT_BY_COUNT]; /* likewise, of a built-in rule for that library */
};

/* A node with its callers; or its own frames, of which many nodes have the same. That is its kind: there are
 * few, so that a node's is found by its caller's kind and that of its own frames. */
struct known_node {
	uint32_t rule; /* + 1: a user's or the program's, of the innermost frame that one matches; 0: none */
	uint32_t anywhere; /* likewise: a built-in one that looks at all frames */
	uint32_t kept;     /* likewise: a built-in one, in the innermost frames that are of one library */
	uint8_t library;   /* of the innermost frame */
	uint8_t caller;    /* of the first frame outwards that is of another one */
	bool one_library;  /* own frames: there is no other one among them */
	uint8_t unused;
};
_Static_assert(sizeof(struct known_node) == sizeof(struct hs_pair), "one stands for the other");

/* A call's frames, and what they made of the caller's kind when it was last met: nearly always the same. */
struct known_call {
	uint32_t own;    /* + 1; 0: not looked at yet */
	uint32_t caller; /* + 1; 0: not met yet */
	uint32_t kind;
};

struct hs_matching {
	struct hs_suppressions *suppressions;
	const struct hs_profile *profile;
	struct known_string *strings;
	struct known_call *calls;
	struct hs_pairs kinds; /* known_nodes */
	struct hs_pairs steps; /* the caller's kind and that of own frames */
	uint32_t *kind_after;  /* each step */
	size_t step_capacity;
	uint8_t *library_of_module;
	uint32_t rule_of_library[HS_KEPT_BY_COUNT][HS_KEPT_BY_COUNT]; /* by caller; + 1, 0 none */
};

static uint32_t module_string(const struct hs_profile *profile, const struct hs_frame *frame)
{
	return frame->module < profile->module_count ? profile->modules[frame->module].path : 0;
}

/* The first rule of the user or the program that matches a text. */
static uint32_t rule_of_text(struct hs_matching *matching, uint32_t string)
{
	uint32_t *known = &matching->strings[string].rule;
	if (*known)
		return *known == UINT32_MAX ? 0 : *known;
	*known = UINT32_MAX;
	for (uint32_t i = 0; i < matching->suppressions->count; i++) {
		const struct hs_suppression *rule = &matching->suppressions->items[i];
		if (rule->kept ||
		    !hs_suppression_matches(rule->pattern, matching->profile->strings.items[string]))
			continue;
		*known = i + 1;
		return *known;
	}
	return 0;
}

static uint32_t rule_of_frames(struct hs_matching *matching, const struct hs_frame *frames, uint32_t count)
{
	uint32_t rule = count ? rule_of_text(matching, module_string(matching->profile, frames)) : 0;
	for (uint32_t i = 0; i < count && !rule; i++) {
		rule = rule_of_text(matching, frames[i].function);
		if (!rule)
			rule = rule_of_text(matching, frames[i].file);
	}
	return rule;
}

static uint8_t library_of_frame(struct hs_matching *matching, const struct hs_frame *frame)
{
	if (frame->module < matching->profile->module_count && matching->library_of_module[frame->module])
		return matching->library_of_module[frame->module];
	return frame->rust ? HS_KEPT_BY_RUST_STD : HS_KEPT_BY_ANY;
}

/* The built-in rule for a function of a library; ANY: those that do not ask whose it is. */
static uint32_t kept_rule(struct hs_matching *matching, uint32_t function, uint8_t library)
{
	uint32_t *known = &matching->strings[function].kept[library];
	if (*known)
		return *known == UINT32_MAX ? 0 : *known;
	*known = UINT32_MAX;
	for (uint32_t i = 0; i < matching->suppressions->count; i++) {
		const struct hs_suppression *rule = &matching->suppressions->items[i];
		if (!rule->kept || rule->kept->library != library || rule->kept->caller ||
		    !hs_suppression_matches(rule->pattern, matching->profile->strings.items[function]))
			continue;
		*known = i + 1;
		return *known;
	}
	return 0;
}

/* The built-in rules for whatever a library allocates, in general or when a certain one called it. */
static void find_rules_of_libraries(struct hs_matching *matching)
{
	for (uint32_t i = matching->suppressions->count; i-- > 0;) {
		const struct hs_kept *kept = matching->suppressions->items[i].kept;
		if (!kept || kept->library == HS_KEPT_BY_ANY || kept->function)
			continue;
		for (unsigned caller = 0; caller < HS_KEPT_BY_COUNT; caller++)
			if (kept->caller == HS_KEPT_BY_ANY || kept->caller == caller)
				matching->rule_of_library[kept->library][caller] = i + 1;
	}
}

static struct known_node know_frames(struct hs_matching *matching, const struct hs_frame *frames,
				     uint32_t count)
{
	struct known_node known = {.rule = rule_of_frames(matching, frames, count), .one_library = true};
	for (uint32_t i = 0; i < count; i++) {
		uint8_t library = library_of_frame(matching, &frames[i]);
		if (i == 0)
			known.library = library;
		if (library != known.library && known.one_library) {
			known.one_library = false;
			known.caller = library;
		}
		if (known.one_library && library && !known.kept)
			known.kept = kept_rule(matching, frames[i].function, library);
	}
	for (uint32_t i = 0; i < count && !known.anywhere; i++)
		known.anywhere = kept_rule(matching, frames[i].function, HS_KEPT_BY_ANY);
	return known;
}

static uint32_t kind_of(struct hs_matching *matching, const struct known_node *known)
{
	struct hs_pair pair;
	memcpy(&pair, known, sizeof(pair));
	return hs_pairs_add(&matching->kinds, pair.first, pair.second, NULL);
}

static struct known_node known_of(const struct hs_matching *matching, uint32_t kind)
{
	struct known_node known;
	memcpy(&known, &matching->kinds.items[kind], sizeof(known));
	return known;
}

/* What frames are when somebody calls them. */
static struct known_node called_from(const struct known_node *parent, struct known_node known)
{
	if (!known.rule)
		known.rule = parent->rule;
	if (!known.anywhere)
		known.anywhere = parent->anywhere;
	if (!known.one_library)
		return known;
	known.caller = parent->library == known.library ? parent->caller : parent->library;
	if (!known.kept && parent->library == known.library)
		known.kept = parent->kept;
	return known;
}

static uint32_t step(struct hs_matching *matching, uint32_t caller, uint32_t own)
{
	bool added;
	uint32_t step = hs_pairs_add(&matching->steps, caller, own, &added);
	matching->kind_after =
		hs_grow(matching->kind_after, step, &matching->step_capacity, sizeof(*matching->kind_after));
	if (added) {
		struct known_node parent = known_of(matching, caller);
		struct known_node known = called_from(&parent, known_of(matching, own));
		matching->kind_after[step] = kind_of(matching, &known);
	}
	return matching->kind_after[step];
}

static void know_call(struct hs_matching *matching, const struct hs_call *call, struct known_call *known)
{
	const struct hs_frame *frames = &matching->profile->frames[call->first_frame];
	struct known_node own = {.one_library = true};
	if (call->frame_count)
		own = know_frames(matching, frames, call->frame_count);
	known->own = kind_of(matching, &own) + 1;
}

static void call_from(struct hs_matching *matching, uint32_t call, uint32_t caller)
{
	struct hs_suppressions *suppressions = matching->suppressions;
	struct known_call *known = &matching->calls[call];
	if (!known->own)
		know_call(matching, &matching->profile->calls[call], known);
	known->caller = caller + 1;
	known->kind = step(matching, caller, known->own - 1);
	if (known->kind > UINT16_MAX && !suppressions->kind_of_node_high)
		suppressions->kind_of_node_high = hs_allocate_zero(matching->profile->node_count,
								   sizeof(*suppressions->kind_of_node_high));
}

/* Callers first, so that a node knows all about its own. */
void hs_matching_take(struct hs_matching *matching, uint32_t first, uint32_t end)
{
	struct hs_suppressions *suppressions = matching->suppressions;
	const struct hs_node *nodes = matching->profile->nodes;
	const struct known_call *calls = matching->calls;
	for (uint32_t id = first; id < end; id++) {
		const struct hs_node *node = &nodes[id];
		const struct known_call *known = &calls[node->call];
		uint32_t caller = hs_suppression_kind(suppressions, node->parent);
		if (known->caller != caller + 1)
			call_from(matching, node->call, caller);
		suppressions->kind_of_node[id] = (uint16_t)known->kind;
		if (suppressions->kind_of_node_high)
			suppressions->kind_of_node_high[id] = (uint16_t)(known->kind >> 16);
	}
}

static uint32_t choose(const struct hs_matching *matching, const struct known_node *node)
{
	if (node->rule)
		return node->rule;
	if (node->kept)
		return node->kept;
	uint32_t rule = matching->rule_of_library[node->library][node->caller];
	return rule ? rule : node->anywhere;
}

static uint8_t *find_libraries(const struct hs_profile *profile)
{
	static const struct {
		enum hs_kept_by library;
		const char *pattern;
	} libraries[] = {
		{HS_KEPT_BY_LIBC, "/libc.so"}, /* libc.so.6 */
		{HS_KEPT_BY_LIBC, "/libc-2"},  /* libc-2.31.so */
		{HS_KEPT_BY_LOADER, "/ld-linux"},
		{HS_KEPT_BY_LOADER, "/ld-2"},
		{HS_KEPT_BY_LIBSTDCXX, "/libstdc++.so"},
	};
	uint8_t *found = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*found));
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const char *name = strrchr(profile->strings.items[profile->modules[i].path], '/');
		for (size_t k = 0; name && k < sizeof(libraries) / sizeof(*libraries); k++) {
			if (strncmp(name, libraries[k].pattern, strlen(libraries[k].pattern)) == 0)
				found[i] = libraries[k].library;
		}
	}
	return found;
}

struct hs_matching *hs_matching_begin(const struct hs_profile *profile)
{
	struct hs_suppressions *suppressions = profile->suppressions;
	if (!suppressions || suppressions->kind_of_node)
		return NULL;
	struct hs_matching *matching = hs_allocate_zero(1, sizeof(*matching));
	matching->suppressions = suppressions;
	matching->profile = profile;
	matching->strings = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof(*matching->strings));
	matching->calls = hs_allocate_zero(profile->call_count, sizeof(*matching->calls));
	matching->library_of_module = find_libraries(profile);
	find_rules_of_libraries(matching);
	suppressions->kind_of_node =
		hs_allocate_filled(profile->node_count * sizeof(*suppressions->kind_of_node));
	suppressions->kind_of_node[0] = (uint16_t)kind_of(matching, &(struct known_node){0}); /* the first */
	return matching;
}

void hs_matching_end(struct hs_matching *matching)
{
	if (!matching)
		return;
	uint32_t *rules = hs_allocate(matching->kinds.count * sizeof(*rules));
	for (uint32_t kind = 0; kind < matching->kinds.count; kind++) {
		struct known_node known = known_of(matching, kind);
		rules[kind] = choose(matching, &known);
	}
	matching->suppressions->rule_of_kind = rules;
	free(matching->strings);
	free(matching->calls);
	free(matching->kind_after);
	hs_pairs_free(&matching->kinds);
	hs_pairs_free(&matching->steps);
	free(matching->library_of_module);
	free(matching);
}

void hs_suppressions_find(const struct hs_profile *profile)
{
	struct hs_matching *matching = hs_matching_begin(profile);
	if (matching)
		hs_matching_take(matching, 1, profile->node_count);
	hs_matching_end(matching);
}
