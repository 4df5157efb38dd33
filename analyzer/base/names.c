/* Function names and places in source, made short enough for a column. */
#include "base/names.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *ellipsis(bool utf8)
{
	return utf8 ? "\xe2\x80\xa6" : "...";
}

const char *hs_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static bool ends_with(const struct hs_text *text, const char *end)
{
	size_t length = strlen(end);
	return text->count >= length && memcmp(text->bytes + text->count - length, end, length) == 0;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* Whether the text ends in the keyword `operator`. */
static bool ends_in_operator(const struct hs_text *text)
{
	return ends_with(text, "operator") && (text->count == 8 || !is_word(text->bytes[text->count - 9]));
}

/* Which of the four kinds of brackets it is; -1: none. */
static inline int bracket_kind(char c, bool *closes)
{
	*closes = c == '>' || c == ')' || c == '}' || c == ']';
	switch (c) {
	case '<':
	case '>':
		return 0;
	case '(':
	case ')':
		return 1;
	case '{':
	case '}':
		return 2;
	case '[':
	case ']':
		return 3;
	default:
		return -1;
	}
}

/* For each position of name that opens a bracket, the length of its group, both brackets included; 0
 * elsewhere and where it does not close. One pass: names may be hostile, and long. The arrow of a return type
 * closes nothing. malloc'ed. */
static uint32_t *find_groups(const char *name)
{
	size_t count = strlen(name);
	uint32_t *groups = hs_allocate_zero(count + 1, sizeof(*groups));
	uint32_t last[4] = {
		0}; /* of the brackets that are open, position + 1; the group holds the one before */
	for (size_t i = 0; i < count; i++) {
		bool closes;
		int kind = bracket_kind(name[i], &closes);
		if (kind < 0)
			continue;
		if (!closes) {
			groups[i] = last[kind];
			last[kind] = (uint32_t)i + 1;
		} else if (last[kind] && !(name[i] == '>' && i && name[i - 1] == '-')) {
			uint32_t start = last[kind] - 1;
			last[kind] = groups[start];
			groups[start] = (uint32_t)i + 1 - start;
		}
	}
	for (unsigned kind = 0; kind < 4; kind++) { /* those that never closed */
		while (last[kind]) {
			uint32_t start = last[kind] - 1;
			last[kind] = groups[start];
			groups[start] = 0;
		}
	}
	return groups;
}

/* Adds the inside of <T as Trait>, without nested arguments and without the modules that T and Trait are in.
 */
static void add_shallow(struct hs_text *out, const char *name, const uint32_t *groups, size_t length,
			bool utf8)
{
	size_t path = out->count; /* where the current path began */
	for (size_t i = 0; i < length; i++) {
		size_t group = name[i] == '<' ? groups[i] : 0;
		if (group > 2 && group <= length - i) {
			hs_text_addf(out, "<%s>", ellipsis(utf8));
			i += group - 1;
		} else if (name[i] == ':' && i + 1 < length && name[i + 1] == ':') {
			out->bytes[out->count = path] = 0;
			i++;
		} else {
			hs_text_add_bytes(out, name + i, 1);
			if (strchr(" &*([,", name[i]))
				path = out->count;
		}
	}
}

/* Adds what stands for the <...> group at name[at]; returns the bytes it took, 0 if this is no group. */
static size_t add_angle_group(struct hs_text *out, const char *name, const uint32_t *groups, size_t at,
			      bool utf8)
{
	size_t group = groups[at];
	if (group == 0)
		return 0;
	char before = out->count ? out->bytes[out->count - 1] : 0;
	const char *inside = name + at + 1;
	bool implementation = strncmp(inside, "impl ", 5) == 0 || strncmp(inside, "lambda", 6) == 0;
	bool arguments = is_word(before) || before == ']' || before == ')' || before == '}' ||
			 (before == ':' && !implementation) || ends_with(out, "operator< ") ||
			 ends_with(out, "operator<< ");
	if (group == 2) {
		hs_text_add(out, "<>");
	} else if (arguments) {
		if (before == ':') /* Rust's turbofish, name::<T> */
			out->bytes[out->count -= 2] = 0;
		hs_text_addf(out, "<%s>", ellipsis(utf8));
	} else {
		hs_text_add(out, "<");
		add_shallow(out, inside, groups + at + 1, group - 2, utf8);
		hs_text_add(out, ">");
	}
	return group;
}

/* Adds what stands for the (...) group at name[at]; returns the bytes it took, 0 if this is no group. */
static size_t add_round_group(struct hs_text *out, const char *name, const uint32_t *groups, size_t at)
{
	static const char anonymous[] = "(anonymous namespace)";
	if (strncmp(name + at, anonymous, sizeof(anonymous) - 1) == 0) {
		hs_text_add(out, anonymous);
		return sizeof(anonymous) - 1;
	}
	if (ends_in_operator(out) && name[at + 1] == ')') {
		hs_text_add(out, "()");
		return 2;
	}
	return out->count ? groups[at] : 0; /* parameters are left out */
}

/* Copies name into out without arguments, parameters and what follows them. */
static void drop_arguments(struct hs_text *out, const char *name, bool utf8)
{
	uint32_t *groups = find_groups(name);
	for (size_t at = 0; name[at];) {
		size_t taken = strcspn(name + at, "<({ ");
		if (taken) {
			hs_text_add_bytes(out, name + at, taken);
		} else if (name[at] == '<' && ends_in_operator(out)) {
			/* operator<, <<, <=, <=>, <<= */
			size_t symbols = strspn(name + at, "<=>");
			hs_text_add_bytes(out, name + at, symbols);
			taken = symbols;
		} else if (name[at] == '<') {
			taken = add_angle_group(out, name, groups, at, utf8);
		} else if (name[at] == '(') {
			size_t before = out->count;
			taken = add_round_group(out, name, groups, at);
			/* after the parameters only qualifiers follow, unless a local name does */
			if (taken && out->count == before && name[at + taken] != ':' &&
			    name[at + taken] != '(')
				break;
		} else if (name[at] == '{') {
			taken = groups[at];
			hs_text_add_bytes(out, name + at, taken);
		} else if (strncmp(name + at, " [clone", 7) == 0) {
			break;
		}
		if (taken == 0) {
			hs_text_add_bytes(out, name + at, 1);
			taken = 1;
		}
		at += taken;
	}
	free(groups);
}

/* Where the name proper starts: after the return type, which ends at the last space outside of brackets. */
static size_t skip_return_type(const char *name, const uint32_t *groups)
{
	if (strstr(name, " thunk to "))
		return 0;
	size_t start = 0;
	for (size_t at = 0; name[at]; at++) {
		if (groups[at])
			at += groups[at] - 1;
		else if (name[at] == ' ')
			start = at + 1;
		if (name[at] == 'o' && strncmp(name + at, "operator", 8) == 0 &&
		    (at == 0 || !is_word(name[at - 1])) && !is_word(name[at + 8]))
			break; /* spaces that follow belong to the name: "operator new" */
	}
	while (name[start] == '*' || name[start] == '&')
		start++;
	return name[start] ? start : 0;
}

/* The bytes at the start of text that take at most `columns`. */
static size_t bytes_of_columns(const char *text, size_t columns)
{
	size_t at = 0, count = strlen(text), length;
	char one[8];
	while (at < count) {
		hs_text_decode(text + at, count - at, &length);
		memcpy(one, text + at, length);
		one[length] = 0;
		size_t width = length == 1 ? 1 : hs_text_columns(one);
		if (width > columns)
			break;
		columns -= width;
		at += length;
	}
	return at;
}

void hs_middle_short(struct hs_text *text, const char *words, size_t columns, bool utf8)
{
	size_t all = hs_text_columns(words), dots = utf8 ? 1 : 3;
	if (all <= columns) {
		hs_text_add(text, words);
		return;
	}
	if (columns <= dots) {
		hs_text_repeat(text, ".", columns);
		return;
	}
	size_t head = (columns - dots + 1) / 2, tail = columns - dots - head;
	hs_text_add_bytes(text, words, bytes_of_columns(words, head));
	hs_text_add(text, ellipsis(utf8));
	size_t skipped = bytes_of_columns(words, all - tail);
	while (hs_text_columns(words + skipped) > tail) { /* a wide character straddled the cut */
		size_t length;
		hs_text_decode(words + skipped, strlen(words + skipped), &length);
		skipped += length;
	}
	hs_text_add(text, words + skipped);
}

/* The start of the scope after the one at `at`, past its "::"; 0 if that is the last. */
static size_t next_scope(const char *name, const uint32_t *groups, size_t at)
{
	for (; name[at]; at++) {
		if (groups[at] && !(at >= 8 && strncmp(name + at - 8, "operator", 8) == 0))
			at += groups[at] - 1;
		else if (name[at] == ':' && name[at + 1] == ':')
			return at + 2;
	}
	return 0;
}

/* Whether a name that begins here would not say whose it is: {closure#0}, operator(). */
static bool says_nothing(const char *name)
{
	return name[0] == '{' || strncmp(name, "operator", 8) == 0;
}

void hs_name_fit(struct hs_text *text, const char *name, size_t columns, bool utf8)
{
	if (hs_text_columns(name) <= columns) {
		hs_text_add(text, name);
		return;
	}
	uint32_t *groups = find_groups(name);
	size_t dots = (utf8 ? 1 : 3) + 2; /* "...::" */
	size_t start = 0, scope = next_scope(name, groups, 0);
	if (scope) {
		for (size_t next; hs_text_columns(name + scope) + dots > columns; scope = next) {
			next = next_scope(name, groups, scope);
			if (next == 0 || says_nothing(name + next))
				break;
		}
		if (!says_nothing(name + scope)) {
			if (columns > dots + 8) {
				hs_text_addf(text, "%s::", ellipsis(utf8));
				columns -= dots;
			}
			start = scope;
		}
	}
	hs_middle_short(text, name + start, columns, utf8);
	free(groups);
}

char *hs_name_simple(const char *name, bool utf8)
{
	enum { LONGEST = 4096 }; /* without arguments; nobody sees more of it, and fitting takes time */
	struct hs_text clean = {0}, simple = {0};
	size_t start = 0;
	hs_text_add(&clean, "");
	hs_text_add(&simple, "");
	/* glibc's second names of its own functions */
	hs_text_clean(&clean, strncmp(name, "__GI_", 5) == 0 ? name + 5 : name);
	drop_arguments(&simple, clean.bytes, utf8);
	if (simple.count > LONGEST) {
		start = simple.count - LONGEST;
		while ((simple.bytes[start] & 0xc0) == 0x80) /* inside of a character */
			start++;
	}
	uint32_t *groups = find_groups(simple.bytes + start);
	start += skip_return_type(simple.bytes + start, groups);
	memmove(simple.bytes, simple.bytes + start, simple.count + 1 - start);
	free(groups);
	hs_text_free(&clean);
	return simple.bytes;
}

void hs_name_short(struct hs_text *text, const char *name, size_t columns, bool utf8)
{
	char *simple = hs_name_simple(name, utf8);
	hs_name_fit(text, simple, columns, utf8);
	free(simple);
}

/* Takes "/./", "//" and "/x/../" out of an absolute path, in place. */
static void normalize(char *path)
{
	char *out = path;
	for (char *at = path; *at;) {
		size_t length = strcspn(at + 1, "/") + 1; /* "/component" */
		if (*at != '/')
			return; /* relative: kept as it is */
		if (length == 3 && at[1] == '.' && at[2] == '.') {
			while (out > path && *--out != '/')
				;
		} else if (length > 2 || (length == 2 && at[1] != '.')) {
			memmove(out, at, length);
			out += length;
		}
		at += length;
	}
	*out = 0;
}

void hs_place_short(struct hs_text *text, const char *path, uint32_t line, const char *directory,
		    size_t columns, bool utf8)
{
	struct hs_text clean = {0};
	char number[16] = "";
	if (line)
		snprintf(number, sizeof(number), ":%u", line);
	hs_text_add(&clean, "");
	hs_text_clean(&clean, path);
	normalize(clean.bytes);

	size_t room = columns > strlen(number) ? columns - strlen(number) : 1;
	const char *last = hs_last_component(clean.bytes), *shown = last;
	size_t length = directory ? strlen(directory) : 0;
	if (length > 1 && strncmp(clean.bytes, directory, length) == 0 && clean.bytes[length] == '/') {
		shown = clean.bytes + length + 1;
	} else if (last > clean.bytes + 1) {
		for (shown = last - 1; shown > clean.bytes && shown[-1] != '/'; shown--)
			;
	}
	if (hs_text_columns(shown) > room)
		shown = last;
	hs_middle_short(text, shown, room, utf8);
	hs_text_add(text, number);
	hs_text_free(&clean);
}
