/* Rules for leaks: reading, matching, counting. The syntax and the order of matching are LeakSanitizer's
 * (compiler-rt: sanitizer_common/sanitizer_suppressions.cpp, lsan/lsan_common.cpp). */
#include "suppressions.h"

#include "base/memory.h"

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
		size_t length = strcspn(pattern, "*$");
		const char *found;
		if (at_start)
			found = strncmp(text, pattern, length) == 0 ? text : NULL;
		else if (pattern[length]) /* strstr is faster */
			found = memmem(text, strlen(text), pattern, length);
		else
			found = strstr(text, pattern);
		if (!found)
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

static void forget_kinds(struct hs_suppressions *suppressions)
{
	free(suppressions->kind_of_node);
	free(suppressions->kind_of_node_high);
	free(suppressions->rule_of_kind);
	suppressions->kind_of_node = suppressions->kind_of_node_high = NULL;
	suppressions->rule_of_kind = NULL;
}

void hs_suppressions_free(struct hs_suppressions *suppressions)
{
	for (uint32_t i = 0; i < suppressions->count; i++) {
		free(suppressions->items[i].pattern);
		free(suppressions->items[i].file);
	}
	free(suppressions->items);
	forget_kinds(suppressions);
	*suppressions = (struct hs_suppressions){0};
}

void hs_suppressions_apply(struct hs_suppressions *suppressions, struct hs_profile *profile)
{
	forget_kinds(suppressions);
	profile->suppressions = suppressions;
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
	for (uint32_t i = 0; i < sites->suppressed_count; i++) {
		const struct hs_site *site = &sites->items[sites->suppressed[i]];
		struct hs_counts counts = hs_site_counts(sites, site);
		list[site->suppression - 1].bytes += counts.suppressed_bytes;
		list[site->suppression - 1].blocks += counts.suppressed_blocks;
	}
	for (uint32_t i = 0; i < profile->suppressions->count; i++) {
		list[i].rule = i;
		if (list[i].bytes || list[i].blocks) /* an imported file may not tell one of them */
			list[(*count)++] = list[i];
	}
	qsort(list, *count, sizeof(*list), more_bytes_first);
	return list;
}
