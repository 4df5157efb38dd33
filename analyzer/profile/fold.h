/* Which functions are allocator or container plumbing: what a report leaves out between the call of malloc
 * and the first line that somebody wants to read. The rules stand in one table in fold.c. */
#ifndef HS_FOLD_H
#define HS_FOLD_H

#include "profile.h"

/* Groups of rules, to be combined. */
enum {
	HS_FOLD_C = 1,     /* the malloc family and its wrappers */
	HS_FOLD_CXX = 2,   /* operator new, the C++ standard library */
	HS_FOLD_RUST = 4,  /* Rust's alloc, core, std and hashbrown */
	HS_FOLD_LOOPS = 8, /* what calls a program's own code back: executors, event loops */
	HS_FOLD_ALL = 15,
};

struct hs_fold_group {
	unsigned group; /* one bit */
	const char *name, *help;
};

/* How a rule's text is compared with a function. */
enum hs_fold_how {
	HS_FOLD_NAME,      /* is the function's whole qualified name, without arguments */
	HS_FOLD_START,     /* begins the qualified name */
	HS_FOLD_NAMESPACE, /* is its outermost C++ namespace */
	HS_FOLD_CRATE,     /* is the Rust crate that the function comes from */
};

struct hs_fold_rule {
	unsigned group;
	enum hs_fold_how how;
	const char *text;
	const char *example; /* a demangled name that it is for */
};

extern const struct hs_fold_group hs_fold_groups[]; /* ends with group == 0 */
extern const struct hs_fold_rule hs_fold_rules[];   /* ends with group == 0 */

/* Whether a demangled function is internal by the rules of these groups. */
bool hs_fold_is_internal(const char *function, unsigned groups);

/* The Rust crate that a function comes from: where its name stands in `function` (or in a text of its own),
 * and its length; NULL if it is no Rust function. An implementation is of the crate of its type, unless that
 * is the standard library's and the trait is not. */
const char *hs_fold_crate(const char *function, size_t *bytes);

/* Sets `internal` of all frames. hs_profile_load has done so with all groups. */
void hs_fold_mark(struct hs_profile *profile, unsigned groups);

#endif
