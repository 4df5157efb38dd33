/* Leaks that are known or meant: rules in LeakSanitizer's syntax (docs/check.md), and those for what libc and
 * the languages' runtimes keep on purpose. A rule belongs to nodes, that is to whole recorded stacks, so that
 * live = leaked + suppressed holds exactly. Nothing is ever left out: sites carry what is suppressed. Pure.
 */
#ifndef HS_SUPPRESSIONS_H
#define HS_SUPPRESSIONS_H

#include "profile/profile.h"

enum hs_suppression_source {
	HS_SUPPRESSION_FILE,     /* the user's */
	HS_SUPPRESSION_PROGRAM,  /* __lsan_default_suppressions of the recorded program */
	HS_SUPPRESSION_BUILT_IN, /* hs_kept */
};

/* A built-in rule: blocks that a library keeps on purpose. So that it hides no leak of the user's, it looks
 * only at the innermost frames, up to the first that is not of that library. */
enum hs_kept_by {
	HS_KEPT_BY_ANY, /* all frames of the stack are looked at, whosever they are */
	HS_KEPT_BY_LIBC,
	HS_KEPT_BY_LOADER,
	HS_KEPT_BY_LIBSTDCXX,
	HS_KEPT_BY_RUST_STD, /* std, core and alloc, told by the names of their functions */
	HS_KEPT_BY_COUNT,
};
extern const char *const hs_kept_by_names[HS_KEPT_BY_COUNT];

struct hs_kept {
	enum hs_kept_by library;
	const char *function;   /* the pattern of one among those frames; NULL: any */
	enum hs_kept_by caller; /* whose the frame that follows is, if there is no function; ANY: anybody's */
	const char *what;       /* it is */
};
extern const struct hs_kept hs_kept[]; /* ends with what == NULL */

struct hs_suppression {
	enum hs_suppression_source source;
	char *pattern;              /* what stands after "leak:" */
	char *file;                 /* where it stands; NULL for built-in rules */
	uint32_t line;              /* in the file, from 1 */
	const struct hs_kept *kept; /* NULL, or the built-in rule */
};

struct hs_suppressions {
	struct hs_suppression *items; /* in the order in which they are tried */
	uint32_t count;
	size_t capacity;
	/* hs_suppressions_find's: nodes of which the same is known are of one kind; there are few, so that
	 * the upper half of their numbers is NULL, unless it is needed */
	uint16_t *kind_of_node, *kind_of_node_high;
	uint32_t *rule_of_kind; /* index + 1, 0 none */
};

/* LeakSanitizer's match: the pattern is found anywhere in the text; ^ at its start and $ ties it to an end, *
 * stands for anything. An empty text matches nothing. */
bool hs_suppression_matches(const char *pattern, const char *text);

/* Adds the rules of a text: lines "leak:PATTERN"; empty lines and those that begin with # do not count.
 * `name` is the text's, for messages. Returns 0, or -1 and an error at the first line that is none of these;
 * what stands before it was added. */
int hs_suppressions_read(struct hs_suppressions *suppressions, enum hs_suppression_source source,
			 const char *name, const char *text, size_t count, struct hs_error *error);
void hs_suppressions_add_built_in(struct hs_suppressions *suppressions);

/* The profile takes the rules over: hs_sites_make heeds them from then on. */
void hs_suppressions_apply(struct hs_suppressions *suppressions, struct hs_profile *profile);
/* Finds each node's rule, once. As LeakSanitizer does: the innermost frame that a rule matches decides (its
 * module, then function and file of each inlined call), and the first rule that does. Built-in rules come
 * last. */
void hs_suppressions_find(const struct hs_profile *profile);
/* The same in pieces, while nodes are looked at for something else as well. NULL: there are no rules, or
 * those of all nodes are known. */
struct hs_matching *hs_matching_begin(const struct hs_profile *profile);
/* The nodes from `first` to before `end` are next; the first ones of all from 1. */
void hs_matching_take(struct hs_matching *matching, uint32_t first, uint32_t end);
void hs_matching_end(struct hs_matching *matching); /* after all nodes; may be NULL */

static inline uint32_t hs_suppression_kind(const struct hs_suppressions *suppressions, uint32_t node)
{
	uint32_t kind = suppressions->kind_of_node[node];
	if (suppressions->kind_of_node_high)
		kind |= (uint32_t)suppressions->kind_of_node_high[node] << 16;
	return kind;
}
/* After that: index in profile->suppressions->items + 1; 0: none, perhaps because the profile has no rules.
 */
static inline uint32_t hs_suppression_of(const struct hs_profile *profile, uint32_t node)
{
	const struct hs_suppressions *suppressions = profile->suppressions;
	return suppressions ? suppressions->rule_of_kind[hs_suppression_kind(suppressions, node)] : 0;
}
void hs_suppressions_free(struct hs_suppressions *suppressions);

/* What a rule suppressed. */
struct hs_suppressed {
	uint32_t rule; /* index in profile->suppressions->items */
	uint64_t bytes, blocks;
};
/* The rules that suppressed something, most bytes first. malloc'ed; NULL if there are none. */
struct hs_suppressed *hs_suppressed_list(const struct hs_profile *profile, const struct hs_sites *sites,
					 uint32_t *count);

#endif
