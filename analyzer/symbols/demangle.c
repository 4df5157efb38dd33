/* C++, Rust and D names made readable with libiberty, with bounds on what a hostile name can cost. */
#include "symbols.h"

#include "base/memory.h"
#include "names.h"
#include "rust_names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* libiberty's parsers recurse at most once a character; names of this length take 1.5 MiB of stack at
	   most. */
	LONGEST_MANGLED = 8192,
	/* Back references make the output grow exponentially with the input; nobody reads more than this. */
	LONGEST_OUTPUT = 16384,
	/* From here on libiberty wants to be told that its own limit (2048 components, two a character) is
	   off. */
	LIBIBERTY_LIMIT = 1024,
};

struct output {
	char *text;
	size_t length;
	size_t capacity;
	jmp_buf too_long;
};

/* libiberty's callback demanglers hold no memory while they call out (but for one small buffer of Rust's
 * punycode), so a jump out of them is safe: there is no other way to stop them. */
static void collect(const char *piece, size_t length, void *context)
{
	struct output *output = context;
	while (output->length + length + 4 > output->capacity)
		output->text = hs_grow(output->text, output->capacity, &output->capacity, 1);
	if (length) /* piece may be NULL then */
		memcpy(output->text + output->length, piece, length);
	output->length += length;
	output->text[output->length] = 0;
	if (output->length > LONGEST_OUTPUT)
		longjmp(output->too_long, 1);
}

typedef int callback_demangler(const char *, int, demangle_callbackref, void *);

/* Returns NULL if the demangler does not know the name; cuts off what is too long. */
static char *demangle_bounded(callback_demangler *demangler, const char *name, int options)
{
	struct output *output = hs_allocate_zero(1, sizeof *output);
	char *text = NULL;
	if (setjmp(output->too_long)) {
		memcpy(output->text + LONGEST_OUTPUT, "...", 4);
		text = output->text;
	} else if (demangler(name, options, collect, output) && output->length) {
		text = output->text;
	} else {
		free(output->text);
	}
	free(output);
	return text;
}

/* An upper bound of the work for a D name: a back reference (Q and a number in base 26, the last digit in
 * lower case) stands for an identifier, or for a type that may hold more of them, so that the work could
 * double every few characters. */
static bool dlang_is_cheap(const char *name, size_t length)
{
	double work[LONGEST_MANGLED + 1]; /* for the first i characters */
	work[0] = 0;
	for (size_t i = 0; i < length; i++) {
		work[i + 1] = work[i] + 1;
		if (name[i] != 'Q')
			continue;
		size_t distance = 0, digit = i + 1;
		while (digit < length && isupper((unsigned char)name[digit]) && distance < LONGEST_MANGLED)
			distance = distance * 26 + (size_t)(name[digit++] - 'A');
		if (digit >= length || !islower((unsigned char)name[digit]))
			continue;
		distance = distance * 26 + (size_t)(name[digit] - 'a');
		if (distance == 0 || distance > i)
			continue;
		const char *target = name + i - distance;
		if (isdigit((unsigned char)*target))
			work[i + 1] += LONGEST_MANGLED / 64;
		else
			work[i + 1] += work[i] - work[i - distance];
		if (work[i + 1] > 1e6)
			return false;
	}
	return true;
}

/* What gcc and clang call the code that runs before main() for a file: its name ends with that of a symbol or
 * of the file. */
static char *demangle_initializer(const char *name)
{
	static const char constructors[] = "_GLOBAL__sub_I_", destructors[] = "_GLOBAL__sub_D_";
	bool construct = strncmp(name, constructors, sizeof constructors - 1) == 0;
	if (!construct && strncmp(name, destructors, sizeof destructors - 1) != 0)
		return NULL;
	const char *key = name + sizeof constructors - 1;
	char *readable_key = key[0] == '_' && key[1] == 'Z' ? hs_demangle(key) : NULL;
	char *text = NULL;
	if (asprintf(&text, "global %s keyed to %s", construct ? "constructors" : "destructors",
		     readable_key ? readable_key : key) < 0)
		text = NULL;
	free(readable_key);
	return text;
}

static char *demangle_plain(const char *name, size_t length)
{
	int options = DMGL_PARAMS | DMGL_ANSI;
	if (name[0] != '_')
		return NULL;
	if (name[1] == 'D')
		return dlang_is_cheap(name, length) ? dlang_demangle(name, options) : NULL;
	if (name[1] != 'R' && name[1] != 'Z' && strncmp(name, "_GLOBAL_", 8) != 0)
		return NULL;
	char *text = demangle_initializer(name);
	if (text)
		return text;
	if (name[1] == 'R' && !hs_rust_name_is_sane(name, length))
		return NULL;
	/* A legacy Rust name is a C++ name with a hash at its end: ask for Rust first. */
	text = demangle_bounded(rust_demangle_callback, name, options);
	if (text || name[1] == 'R')
		return text;
	/* The return type of a template function stands in front of the name and would hide it. */
	options |= DMGL_RET_DROP;
	if (length >= LIBIBERTY_LIMIT)
		options |= DMGL_NO_RECURSE_LIMIT;
	return demangle_bounded(cplus_demangle_v3_callback, name, options);
}

char *hs_demangle(const char *name)
{
	if (strnlen(name, LONGEST_MANGLED + 1) > LONGEST_MANGLED)
		return NULL;
	char *plain = hs_copy_string(name);
	size_t length = hs_symbol_name_length(plain);
	plain[length] = 0;
	char *text = demangle_plain(plain, length);
	free(plain);
	return text;
}
