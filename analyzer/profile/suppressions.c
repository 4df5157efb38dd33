/* Rules for leaks: reading, matching, counting. The syntax and the order of matching are LeakSanitizer's
 * (compiler-rt: sanitizer_common/sanitizer_suppressions.cpp, lsan/lsan_common.cpp). */
#include "suppressions.h"

#include "base/memory.h"
#include "fold.h"

#include <stdlib.h>
#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------------------
 */

bool hs_suppression_matches(const char *pattern, const char *text)
{
	if (!*text)
		return false;
	bool at_start = *pattern == '^', after_star = false;
	pattern += at_start;
	while (*pattern) {
		if (*pattern == '*') {
			pattern++;
			at_start = false;
			after_star = true;
			continue;
		}
		if (*pattern == '$') /* what follows it does not count */
			return !*text || after_star;
		if (!*text)
			return false;
		/* The first place where the piece stands is taken; there is no second try. */
		size_t length = strcspn(pattern, "*$"), left = strlen(text);
		const char *found = memmem(text, left, pattern, length);
		if (!found || (at_start && found != text))
			return false;
		text = found + length;
		pattern += length;
		at_start = after_star = false;
	}
	return true;
}

/* ---- reading --------------------------------------------------------------------------------------------
 */

static struct hs_suppression *add(struct hs_suppressions *suppressions)
{
	suppressions->items = hs_grow(suppressions->items, suppressions->count, &suppressions->capacity,
				      sizeof(*suppressions->items));
	struct hs_suppression *item = &suppressions->items[suppressions->count++];
	*item = (struct hs_suppression){0};
	return item;
}

static char *copy(const char *text, size_t count)
{
	char *made = hs_allocate(count + 1);
	memcpy(made, text, count);
	made[count] = 0;
	return made;
}

int hs_suppressions_read(struct hs_suppressions *suppressions, enum hs_suppression_source source,
			 const char *name, const char *text, size_t count, struct hs_error *error)
{
	static const char type[] = "leak:";
	const char *all = text + count;
	uint32_t line = 0;
	for (const char *end; text < all; text = end + 1) {
		end = memchr(text, '\n', (size_t)(all - text));
		if (!end)
			end = all;
		line++;
		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		const char *last = end;
		while (last > text && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r'))
			last--;
		size_t length = (size_t)(last - text);
		if (length == 0 || *text == '#')
			continue;
		/* Nothing after the colon would match everything; LeakSanitizer lets it. */
		if (length < sizeof(type) || memcmp(text, type, sizeof(type) - 1) != 0 ||
		    memchr(text, 0, length))
			return hs_fail(
				error,
				"%s, line %u: \"%.*s\" is no suppression\nwrite leak:PATTERN, a comment "
				"after #, or nothing",
				name, line, (int)(length < 60 ? length : 60), text);
		struct hs_suppression *item = add(suppressions);
		item->source = source;
		item->pattern = copy(text + sizeof(type) - 1, length - (sizeof(type) - 1));
		item->file = hs_copy_string(name);
		item->line = line;
	}
	return 0;
}

void hs_suppressions_add_built_in(struct hs_suppressions *suppressions)
{
	for (const struct hs_kept *kept = hs_kept; kept->what; kept++) {
		struct hs_suppression *item = add(suppressions);
		item->source = HS_SUPPRESSION_BUILT_IN;
		item->pattern =
			hs_copy_string(kept->function ? kept->function : hs_kept_by_names[kept->library]);
		item->kept = kept;
	}
}

void hs_suppressions_free(struct hs_suppressions *suppressions)
{
	for (uint32_t i = 0; i < suppressions->count; i++) {
		free(suppressions->items[i].pattern);
		free(suppressions->items[i].file);
	}
	free(suppressions->items);
	free(suppressions->rule_of_node);
	*suppressions = (struct hs_suppressions){0};
}

/* ---- matching -------------------------------------------------------------------------------------------
 */

/* What was found out about a string, as the text that user's rules look at and as a function of each library.
 */
struct known_string {
	uint32_t rule;                   /* index + 1; 0: not tried yet; UINT32_MAX: none */
	uint32_t kept[HS_KEPT_BY_COUNT]; /* likewise, of a built-in rule for that library */
	uint8_t is_std;                  /* 1 no, 2 yes; 0: not tried yet */
};

/* A node with its callers; or its own frames, of which many nodes have the same. */
struct known_node {
	uint32_t rule; /* + 1: a user's or the program's, of the innermost frame that one matches; 0: none */
	uint32_t anywhere; /* likewise: a built-in one that looks at all frames */
	uint32_t kept;     /* likewise: a built-in one, in the innermost frames that are of one library */
	uint8_t library;   /* of the innermost frame */
	uint8_t caller;    /* of the first frame outwards that is of another one */
	bool one_library;  /* own frames: there is no other one among them */
};

struct matching {
	const struct hs_suppressions *suppressions;
	const struct hs_profile *profile;
	struct known_string *strings;
	struct known_node *nodes;
	struct known_node *own; /* by the first of the frames */
	bool *own_known;
	uint8_t *library_of_module;
	uint32_t rule_of_library[HS_KEPT_BY_COUNT][HS_KEPT_BY_COUNT]; /* by caller; + 1, 0 none */
};

static uint32_t module_string(const struct hs_profile *profile, const struct hs_frame *frame)
{
	return frame->module < profile->module_count ? profile->modules[frame->module].path : 0;
}

/* The first rule of the user or the program that matches a text. */
static uint32_t rule_of_text(struct matching *matching, uint32_t string)
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

static uint32_t rule_of_frames(struct matching *matching, const struct hs_frame *frames, uint32_t count)
{
	uint32_t rule = count ? rule_of_text(matching, module_string(matching->profile, frames)) : 0;
	for (uint32_t i = 0; i < count && !rule; i++) {
		rule = rule_of_text(matching, frames[i].function);
		if (!rule)
			rule = rule_of_text(matching, frames[i].file);
	}
	return rule;
}

static uint8_t library_of_frame(struct matching *matching, const struct hs_frame *frame)
{
	if (frame->module < matching->profile->module_count && matching->library_of_module[frame->module])
		return matching->library_of_module[frame->module];
	uint8_t *is_std = &matching->strings[frame->function].is_std;
	if (!*is_std) {
		const char *function = matching->profile->strings.items[frame->function];
		*is_std = hs_fold_is_internal(function, HS_FOLD_RUST) ? 2 : 1;
	}
	return *is_std == 2 ? HS_KEPT_BY_RUST_STD : HS_KEPT_BY_ANY;
}

/* The built-in rule for a function of a library; ANY: those that do not ask whose it is. */
static uint32_t kept_rule(struct matching *matching, uint32_t function, uint8_t library)
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
static void find_rules_of_libraries(struct matching *matching)
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

static struct known_node know_frames(struct matching *matching, const struct hs_frame *frames, uint32_t count)
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

/* Callers first, so that a node knows all about its own. */
static void know_node(struct matching *matching, uint32_t id)
{
	const struct hs_node *node = &matching->profile->nodes[id];
	const struct known_node *parent = &matching->nodes[node->parent];
	struct known_node *known = &matching->nodes[id];
	*known = (struct known_node){.one_library = true};
	struct hs_call call = matching->profile->calls[node->call];
	if (call.frame_count && !matching->own_known[call.first_frame]) {
		matching->own_known[call.first_frame] = true;
		matching->own[call.first_frame] =
			know_frames(matching, &matching->profile->frames[call.first_frame], call.frame_count);
	}
	if (call.frame_count)
		*known = matching->own[call.first_frame];
	if (!known->rule)
		known->rule = parent->rule;
	if (!known->anywhere)
		known->anywhere = parent->anywhere;
	if (!known->one_library)
		return;
	known->caller = parent->library == known->library ? parent->caller : parent->library;
	if (!known->kept && parent->library == known->library)
		known->kept = parent->kept;
}

static uint32_t choose(const struct matching *matching, const struct known_node *node)
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

void hs_suppressions_apply(struct hs_suppressions *suppressions, struct hs_profile *profile)
{
	free(suppressions->rule_of_node);
	suppressions->rule_of_node = NULL;
	profile->suppressions = suppressions;
}

const uint32_t *hs_suppressions_find(const struct hs_profile *profile)
{
	struct hs_suppressions *suppressions = profile->suppressions;
	if (!suppressions || suppressions->rule_of_node)
		return suppressions ? suppressions->rule_of_node : NULL;
	struct matching matching = {
		.suppressions = suppressions,
		.profile = profile,
		.strings = hs_allocate_zero((size_t)profile->strings.count + 1, sizeof(*matching.strings)),
		.nodes = hs_allocate_zero((size_t)profile->node_count + 1, sizeof(*matching.nodes)),
		.own = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*matching.own)),
		.own_known = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*matching.own_known)),
		.library_of_module = find_libraries(profile),
	};
	find_rules_of_libraries(&matching);
	suppressions->rule_of_node = hs_allocate_zero((size_t)profile->node_count + 1, sizeof(uint32_t));
	for (uint32_t id = 1; id < profile->node_count; id++) {
		know_node(&matching, id);
		suppressions->rule_of_node[id] = choose(&matching, &matching.nodes[id]);
	}
	free(matching.strings);
	free(matching.nodes);
	free(matching.own);
	free(matching.own_known);
	free(matching.library_of_module);
	return suppressions->rule_of_node;
}

/* ---- counting -------------------------------------------------------------------------------------------
 */

static int more_bytes_first(const void *left, const void *right)
{
	const struct hs_suppressed *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

struct hs_suppressed *hs_suppressed_list(const struct hs_profile *profile, const struct hs_sites *sites,
					 uint32_t *count)
{
	*count = 0;
	if (!profile->suppressions)
		return NULL;
	struct hs_suppressed *list =
		hs_allocate_zero((size_t)profile->suppressions->count + 1, sizeof(*list));
	for (uint32_t i = 0; i < sites->count; i++) {
		const struct hs_site *site = &sites->items[i];
		if (!site->suppression)
			continue;
		list[site->suppression - 1].bytes += site->counts->suppressed_bytes;
		list[site->suppression - 1].blocks += site->counts->suppressed_blocks;
	}
	for (uint32_t i = 0; i < profile->suppressions->count; i++) {
		list[i].rule = i;
		if (list[i].bytes || list[i].blocks) /* an imported file may not tell one of them */
			list[(*count)++] = list[i];
	}
	qsort(list, *count, sizeof(*list), more_bytes_first);
	return list;
}
