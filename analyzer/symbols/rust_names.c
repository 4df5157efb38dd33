/* The grammar of Rust's v0 names (RFC 2603), without printing. libiberty's demangler counts the lifetimes of
 * a binder one by one, also where it prints nothing (the path of an impl): twenty characters can keep it busy
 * for years. It has no way to be stopped there, so such names are recognised first. */
#include "symbols/rust_names.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIFETIMES_MOST = 1000, DEPTH_MOST = 400 };
enum { PATH = 1, TYPE = 2, CONST = 4 };

struct scan {
	const char *name; /* behind the "_R" */
	size_t length, at;
	unsigned depth;
	uint64_t lifetimes; /* of all binders */
	uint8_t *starts;    /* what begins at each place: PATH | ... */
};

static bool path(struct scan *scan);
static bool type(struct scan *scan);
static bool constant(struct scan *scan);

static char next(struct scan *scan)
{
	return scan->at < scan->length ? scan->name[scan->at++] : 0;
}

static bool eat(struct scan *scan, char letter)
{
	if (scan->at >= scan->length || scan->name[scan->at] != letter)
		return false;
	scan->at++;
	return true;
}

/* Base 62, closed by an underscore; large values saturate. */
static bool number(struct scan *scan, uint64_t *value)
{
	*value = 0;
	if (eat(scan, '_'))
		return true;
	for (;;) {
		char letter = next(scan);
		uint64_t digit = isdigit((unsigned char)letter)   ? (uint64_t)(letter - '0')
				 : islower((unsigned char)letter) ? (uint64_t)(letter - 'a') + 10
				 : isupper((unsigned char)letter) ? (uint64_t)(letter - 'A') + 36
								  : 62;
		if (letter == '_')
			break;
		if (digit == 62)
			return false;
		*value = *value < UINT32_MAX ? *value * 62 + digit : *value;
	}
	*value += 1;
	return true;
}

static bool optional_number(struct scan *scan, char tag, uint64_t *value)
{
	*value = 0;
	if (!eat(scan, tag))
		return true;
	if (!number(scan, value))
		return false;
	*value += 1;
	return true;
}

static bool disambiguator(struct scan *scan)
{
	uint64_t value;
	return optional_number(scan, 's', &value);
}

static bool identifier(struct scan *scan)
{
	eat(scan, 'u');
	char digit = next(scan);
	if (!isdigit((unsigned char)digit))
		return false;
	size_t bytes = (size_t)(digit - '0');
	while (digit != '0' && scan->at < scan->length && isdigit((unsigned char)scan->name[scan->at]) &&
	       bytes <= scan->length)
		bytes = bytes * 10 + (size_t)(next(scan) - '0');
	eat(scan, '_');
	if (bytes > scan->length - scan->at)
		return false;
	scan->at += bytes;
	return true;
}

static bool binder(struct scan *scan)
{
	uint64_t count;
	if (!optional_number(scan, 'G', &count))
		return false;
	scan->lifetimes += count;
	return scan->lifetimes <= LIFETIMES_MOST;
}

/* Back to something of these sorts that came before. */
static bool reference(struct scan *scan, uint8_t sorts)
{
	uint64_t target;
	size_t own = scan->at - 1;
	return number(scan, &target) && target < own && (scan->starts[target] & sorts);
}

static bool until_end(struct scan *scan, bool (*item)(struct scan *))
{
	while (!eat(scan, 'E'))
		if (!item(scan))
			return false;
	return true;
}

static bool lifetime(struct scan *scan)
{
	uint64_t value;
	return number(scan, &value);
}

static bool generic_argument(struct scan *scan)
{
	if (eat(scan, 'L'))
		return lifetime(scan);
	return eat(scan, 'K') ? constant(scan) : type(scan);
}

static bool path_inside(struct scan *scan)
{
	switch (next(scan)) {
	case 'C':
		return disambiguator(scan) && identifier(scan);
	case 'N':
		return isalpha((unsigned char)next(scan)) && path(scan) && disambiguator(scan) &&
		       identifier(scan);
	case 'M':
		return disambiguator(scan) && path(scan) && type(scan);
	case 'X':
		return disambiguator(scan) && path(scan) && type(scan) && path(scan);
	case 'Y':
		return type(scan) && path(scan);
	case 'I':
		return path(scan) && until_end(scan, generic_argument);
	case 'B':
		return reference(scan, PATH);
	default:
		return false;
	}
}

static bool function_type(struct scan *scan)
{
	if (!binder(scan))
		return false;
	eat(scan, 'U');
	if (eat(scan, 'K') && !eat(scan, 'C') && !identifier(scan))
		return false;
	return until_end(scan, type) && type(scan);
}

static bool dyn_trait(struct scan *scan)
{
	if (!path(scan))
		return false;
	while (eat(scan, 'p'))
		if (!identifier(scan) || !type(scan))
			return false;
	return true;
}

static bool type_inside(struct scan *scan)
{
	char tag = next(scan);
	if (tag && strchr("abcdefhijlmnopstuvxyz", tag))
		return true;
	switch (tag) {
	case 'R':
	case 'Q':
		return (!eat(scan, 'L') || lifetime(scan)) && type(scan);
	case 'P':
	case 'O':
	case 'S':
		return type(scan);
	case 'A':
		return type(scan) && constant(scan);
	case 'T':
		return until_end(scan, type);
	case 'F':
		return function_type(scan);
	case 'D':
		return binder(scan) && until_end(scan, dyn_trait) && eat(scan, 'L') && lifetime(scan);
	case 'B':
		return reference(scan, TYPE | PATH); /* a path is a type as well */
	default:
		scan->at--;
		return tag && path(scan);
	}
}

static bool constant_field(struct scan *scan)
{
	return disambiguator(scan) && identifier(scan) && constant(scan);
}

static bool constant_inside(struct scan *scan)
{
	char tag = next(scan);
	if (tag && strchr("abceshijlmnotxy", tag)) {
		eat(scan, 'n');
		while (scan->at < scan->length && isxdigit((unsigned char)scan->name[scan->at]))
			scan->at++;
		return eat(scan, '_');
	}
	switch (tag) {
	case 'p':
		return true;
	case 'R':
	case 'Q':
		return constant(scan);
	case 'A':
	case 'T':
		return until_end(scan, constant);
	case 'V':
		if (!path(scan))
			return false;
		if (eat(scan, 'T'))
			return until_end(scan, constant);
		return eat(scan, 'S') ? until_end(scan, constant_field) : eat(scan, 'U');
	case 'B':
		return reference(scan, CONST);
	default:
		return false;
	}
}

static bool inside(struct scan *scan, uint8_t sort, bool (*read)(struct scan *))
{
	if (scan->at >= scan->length || scan->depth == DEPTH_MOST)
		return false;
	scan->starts[scan->at] |= sort;
	scan->depth++;
	bool right = read(scan);
	scan->depth--;
	return right;
}

static bool path(struct scan *scan)
{
	return inside(scan, PATH, path_inside);
}

static bool type(struct scan *scan)
{
	return inside(scan, TYPE, type_inside);
}

static bool constant(struct scan *scan)
{
	return inside(scan, CONST, constant_inside);
}

bool hs_rust_name_is_sane(const char *name, size_t length)
{
	if (length < 3 || length > HS_RUST_NAME_MOST || strncmp(name, "_R", 2) != 0)
		return false;
	struct scan scan = {.name = name + 2, .length = length - 2, .starts = calloc(length, 1)};
	bool sane = scan.starts && path(&scan) && (scan.at == scan.length || path(&scan)) &&
		    scan.at == scan.length;
	free(scan.starts);
	return sane;
}
