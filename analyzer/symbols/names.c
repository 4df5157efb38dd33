/* Readable names of symbols, each demangled once. */
#include "names.h"

#include "base/memory.h"
#include "symbols/symbols.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 16384 };

void hs_names_init(struct hs_names *names)
{
	*names = (struct hs_names){0};
	hs_strings_init(&names->raw);
	hs_strings_init(&names->texts);
}

void hs_names_free(struct hs_names *names)
{
	hs_strings_free(&names->raw);
	hs_strings_free(&names->texts);
	free(names->readable_of_raw);
	*names = (struct hs_names){0};
}

/* What gcc, clang and their link-time optimisers put after a dot. */
static bool is_clone_word(const char *word, size_t length)
{
	static const char *const words[] = {
		"constprop", "isra",        "part",       "cold",    "llvm",      "lto_priv", "localalias",
		"clone",     "resolver",    "__uniq",     "warm",    "hot",       "unlikely", "split",
		"simdclone", "specialized", "privatized", "argprom", "lto_clone",
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
			return true;
	return false;
}

static bool is_number(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)word[i]))
			return false;
	return length > 0;
}

size_t hs_symbol_name_length(const char *symbol)
{
	const char *version = strchr(symbol, '@');
	size_t length = version && version > symbol ? (size_t)(version - symbol) : strlen(symbol);
	for (;;) {
		const char *dot = memrchr(symbol, '.', length);
		if (!dot || dot == symbol)
			return length;
		const char *word = dot + 1;
		size_t word_length = length - (size_t)(word - symbol);
		if (!is_number(word, word_length) && !is_clone_word(word, word_length))
			return length;
		length = (size_t)(dot - symbol);
	}
}

uint32_t hs_names_plain(struct hs_names *names, const char *text)
{
	size_t length = strnlen(text, LONGEST_NAME + 1);
	if (length <= LONGEST_NAME)
		return hs_strings_add(&names->texts, text, length);
	char *cut = hs_allocate(LONGEST_NAME + 4);
	memcpy(cut, text, LONGEST_NAME);
	memcpy(cut + LONGEST_NAME, "...", 4);
	uint32_t index = hs_strings_add_text(&names->texts, cut);
	free(cut);
	return index;
}

uint32_t hs_names_readable(struct hs_names *names, const char *symbol)
{
	uint32_t known = names->raw.count;
	uint32_t raw = hs_strings_add(&names->raw, symbol, LONGEST_NAME);
	if (raw < known && raw > 0)
		return names->readable_of_raw[raw];

	char *plain = hs_copy_string(names->raw.items[raw]);
	plain[hs_symbol_name_length(plain)] = 0;
	char *demangled = hs_demangle(plain);
	uint32_t readable = hs_names_plain(names, demangled ? demangled : plain);
	free(demangled);
	free(plain);
	if (raw == 0)
		return readable;
	names->readable_of_raw = hs_grow(names->readable_of_raw, raw, &names->readable_capacity,
					 sizeof *names->readable_of_raw);
	names->readable_of_raw[raw] = readable;
	return readable;
}

/* _ZN...17h, sixteen hexadecimal digits, E. */
static bool is_legacy_rust(const char *symbol)
{
	enum { HASH = 3 + 16 + 1 };
	size_t length = hs_symbol_name_length(symbol);
	if (strncmp(symbol, "_ZN", 3) != 0 || length < HASH + 3 || symbol[length - 1] != 'E')
		return false;
	const char *hash = symbol + length - HASH;
	return strncmp(hash, "17h", 3) == 0 && strspn(hash + 3, "0123456789abcdef") == 16;
}

uint32_t hs_names_with_rust_arguments(struct hs_names *names, const char *symbol, const char *plain)
{
	uint32_t readable = hs_names_readable(names, symbol);
	const char *arguments = plain && plain[0] != '<' && plain[0] != '{' ? strchr(plain, '<') : NULL;
	const char *path = names->texts.items[readable];
	if (!arguments || plain[strlen(plain) - 1] != '>' || !*path || path[strlen(path) - 1] == '>' ||
	    !is_legacy_rust(symbol))
		return readable;
	char *text = NULL;
	if (asprintf(&text, "%s::%.*s", path, LONGEST_NAME, arguments) < 0)
		return readable;
	readable = hs_names_plain(names, text);
	free(text);
	return readable;
}
