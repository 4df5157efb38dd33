/* Function names and places in source, made short enough for a column. */
#include "cli/names.h"

#include <limits.h>
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

/* The length of the bracketed group that starts at name[0], both brackets included; 0 if it does not end. The
 * arrow of a return type closes nothing. */
static size_t group_length(const char *name)
{
	char open = name[0], close = open == '<' ? '>' : open == '(' ? ')' : open == '{' ? '}' : ']';
	unsigned depth = 0;
	for (size_t i = 0; name[i]; i++) {
		if (name[i] == open)
			depth++;
		else if (name[i] == close && !(close == '>' && i && name[i - 1] == '-') && --depth == 0)
			return i + 1;
	}
	return 0;
}

/* Adds the inside of <T as Trait>, in which only nested arguments are left out. */
static void add_shallow(struct hs_text *out, const char *name, size_t length, bool utf8)
{
	for (size_t i = 0; i < length; i++) {
		size_t group = name[i] == '<' && i ? group_length(name + i) : 0;
		if (group > 2 && group <= length - i) {
			hs_text_addf(out, "<%s>", ellipsis(utf8));
			i += group - 1;
		} else {
			hs_text_add_bytes(out, name + i, 1);
		}
	}
}

/* Adds what stands for the <...> group at name[at]; returns the bytes it took, 0 if this is no group. */
static size_t add_angle_group(struct hs_text *out, const char *name, size_t at, bool utf8)
{
	size_t group = group_length(name + at);
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
		add_shallow(out, inside, group - 2, utf8);
		hs_text_add(out, ">");
	}
	return group;
}

/* Adds what stands for the (...) group at name[at]; returns the bytes it took, 0 if this is no group. */
static size_t add_round_group(struct hs_text *out, const char *name, size_t at)
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
	return out->count ? group_length(name + at) : 0; /* parameters are left out */
}

/* Copies name into out without arguments, parameters and what follows them. */
static void drop_arguments(struct hs_text *out, const char *name, bool utf8)
{
	for (size_t at = 0; name[at];) {
		size_t taken = 0;
		if (name[at] == '<' && ends_in_operator(out)) {
			/* operator<, <<, <=, <=>, <<= */
			size_t symbols = strspn(name + at, "<=>");
			hs_text_add_bytes(out, name + at, symbols);
			taken = symbols;
		} else if (name[at] == '<') {
			taken = add_angle_group(out, name, at, utf8);
		} else if (name[at] == '(') {
			size_t before = out->count;
			taken = add_round_group(out, name, at);
			/* after the parameters only qualifiers follow, unless a local name does */
			if (taken && out->count == before && name[at + taken] != ':' &&
			    name[at + taken] != '(')
				return;
		} else if (name[at] == '{') {
			taken = group_length(name + at);
			hs_text_add_bytes(out, name + at, taken);
		} else if (strncmp(name + at, " [clone", 7) == 0) {
			return;
		}
		if (taken == 0) {
			hs_text_add_bytes(out, name + at, 1);
			taken = 1;
		}
		at += taken;
	}
}

/* Where the name proper starts: after the return type, which ends at the last space outside of brackets. */
static size_t skip_return_type(const char *name)
{
	if (strstr(name, " thunk to "))
		return 0;
	size_t start = 0;
	for (size_t at = 0; name[at]; at++) {
		if (strchr("<({[", name[at])) {
			size_t group = group_length(name + at);
			if (group)
				at += group - 1;
		} else if (name[at] == ' ') {
			start = at + 1;
		}
		if (strncmp(name + at, "operator", 8) == 0 && (at == 0 || !is_word(name[at - 1])) &&
		    !is_word(name[at + 8]))
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
		size_t width = hs_text_columns(one);
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

/* The start of the next scope after `name`, past its "::"; NULL if it is the last. */
static const char *next_scope(const char *name)
{
	for (size_t at = 0; name[at]; at++) {
		if (strchr("<({[", name[at]) && !(at >= 8 && strncmp(name + at - 8, "operator", 8) == 0)) {
			size_t group = group_length(name + at);
			if (group)
				at += group - 1;
		} else if (name[at] == ':' && name[at + 1] == ':') {
			return name + at + 2;
		}
	}
	return NULL;
}

void hs_name_short(struct hs_text *text, const char *name, size_t columns, bool utf8)
{
	struct hs_text clean = {0}, simple = {0};
	hs_text_add(&clean, "");
	hs_text_add(&simple, "");
	hs_text_clean(&clean, name);
	drop_arguments(&simple, clean.bytes, utf8);
	const char *rest = simple.bytes + skip_return_type(simple.bytes);
	size_t dots = (utf8 ? 1 : 3) + 2; /* "...::" */
	if (hs_text_columns(rest) > columns) {
		const char *scope = next_scope(rest);
		while (scope && hs_text_columns(scope) + dots > columns) {
			const char *next = next_scope(scope);
			if (next == NULL)
				break;
			scope = next;
		}
		if (scope && columns > dots + 8) {
			hs_text_addf(text, "%s::", ellipsis(utf8));
			columns -= dots;
			rest = scope;
		} else if (scope) {
			rest = scope;
		}
	}
	hs_middle_short(text, rest, columns, utf8);
	hs_text_free(&simple);
	hs_text_free(&clean);
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
