/* Function, file and line of an address, with the calls that were inlined there; from DWARF. */
#include "dwarf_frames.h"

#include "base/memory.h"
#include "die_scan.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_REFERENCES = 16, /* a name is that many abstract origins and specifications away, or unknown */
	MOST_SCOPES = 64,     /* namespaces around a function */
	LONGEST_QUALIFIED = 4096, /* a name built from its parts */
};

static uint64_t number_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

/* Follows DW_AT_abstract_origin, else DW_AT_specification. */
static bool follow_reference(struct hs_units *units, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die target;
	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
	    !dwarf_attr(die, DW_AT_specification, &attribute))
		return false;
	if (!dwarf_formref_die(&attribute, &target) &&
	    !(hs_units_read_all(units) && dwarf_formref_die(&attribute, &target)))
		return false;
	*die = target;
	return true;
}

/* C functions have a linkage name too if an assembler name was given to them (glibc: __GI___libc_malloc for
 * malloc): that is none for people. */
static const char *mangled_attribute(Dwarf_Die *die, unsigned attribute)
{
	const char *name = hs_die_string(die, attribute);
	return name && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D') ? name : NULL;
}

/* Of a function: the mangled name, else NULL with *name set to DW_AT_name, or to NULL if there is neither.
 * *die becomes the last one of the chain of abstract origins and specifications: the declaration. */
static const char *find_names(struct hs_units *units, Dwarf_Die *die, const char **name)
{
	*name = NULL;
	for (int i = 0; i < MOST_REFERENCES; i++) {
		const char *linkage_name = mangled_attribute(die, DW_AT_linkage_name);
		if (!linkage_name)
			linkage_name = mangled_attribute(die, DW_AT_MIPS_linkage_name);
		if (!*name)
			*name = hs_die_string(die, DW_AT_name);
		if (linkage_name)
			return linkage_name;
		if (!follow_reference(units, die))
			break;
	}
	return NULL;
}

/* Writes the part of a qualified name that a scope adds. True if it is complete: nothing belongs in front of
 * it. */
static bool write_scope(struct hs_units *units, struct hs_names *names, Dwarf_Die *scope,
			bool holds_call_operator, FILE *out)
{
	const char *name;
	switch (dwarf_tag(scope)) {
	case DW_TAG_subprogram: {
		const char *linkage_name = find_names(units, scope, &name);
		if (linkage_name) {
			fprintf(out, "%s::", names->texts.items[hs_names_readable(names, linkage_name)]);
			return true;
		}
		break;
	}
	case DW_TAG_namespace:
		name = hs_die_string(scope, DW_AT_name);
		if (!name)
			name = "(anonymous namespace)";
		break;
	default:
		name = hs_die_string(scope, DW_AT_name);
		if (!name && holds_call_operator)
			name = "{lambda}"; /* gcc gives the class of a lambda function no name */
		break;
	}
	if (name)
		fprintf(out, "%.*s::", LONGEST_QUALIFIED, name);
	return false;
}

/* The text of one scope; malloc'ed. */
static char *scope_text(struct hs_units *units, struct hs_names *names, Dwarf_Die *scope,
			bool holds_call_operator, bool *complete)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return NULL;
	*complete = write_scope(units, names, scope, holds_call_operator, out);
	fclose(out);
	return text;
}

/* Writes "outer::inner::" for the scopes around a DIE. */
static void write_scopes(struct hs_units *units, struct hs_unit *near, struct hs_names *names, Dwarf_Die *die,
			 const char *name, FILE *out)
{
	struct hs_unit *unit = hs_units_of_die(units, die, near);
	if (!unit)
		return;
	hs_unit_index(units, unit);
	char *texts[MOST_SCOPES];
	uint32_t count = 0;
	bool complete = false;
	for (uint32_t index = hs_unit_scope_around(unit, dwarf_dieoffset(die));
	     index != HS_NO_INDEX && count < MOST_SCOPES && !complete; index = unit->scopes[index].parent) {
		Dwarf_Die scope;
		bool lambda = count == 0 && strcmp(name, "operator()") == 0;
		if (dwarf_offdie(dwarf_cu_getdwarf(die->cu), unit->scopes[index].die_offset, &scope))
			texts[count++] = scope_text(units, names, &scope, lambda, &complete);
	}
	while (count-- > 0) {
		fputs(texts[count] ? texts[count] : "", out);
		free(texts[count]);
	}
}

/* A name from DW_AT_name and what surrounds the declaration, for functions without a linkage name. */
static uint32_t qualified_name(struct hs_units *units, struct hs_unit *unit, struct hs_names *names,
			       Dwarf_Die *declaration, const char *name)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return hs_names_plain(names, name);
	write_scopes(units, unit, names, declaration, name, out);
	fprintf(out, "%.*s", LONGEST_QUALIFIED, name);
	fclose(out);
	uint32_t index = text ? hs_names_plain(names, text) : 0;
	free(text);
	return index;
}

static void name_function(struct hs_units *units, struct hs_unit *unit, struct hs_names *names,
			  struct hs_function *function, Dwarf_Die die)
{
	const char *name;
	const char *linkage_name = find_names(units, &die, &name);
	function->named = true;
	function->has_linkage_name = linkage_name != NULL;
	if (linkage_name)
		function->name = hs_names_with_rust_arguments(names, linkage_name, name);
	else if (name)
		function->name = qualified_name(units, unit, names, &die, name);
}

/* The full path of a file as the compiler noted it. */
static uint32_t file_name(struct hs_unit *unit, struct hs_names *names, const char *path)
{
	if (!path || !*path || strcmp(path, "???") == 0)
		return 0;
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/';)
			path++;
	const char *directory = path[0] == '/' ? NULL : hs_die_string(&unit->die, DW_AT_comp_dir);
	if (!directory)
		return hs_names_plain(names, path);
	char *joined = NULL;
	size_t length = strlen(directory);
	const char *slash = directory[length - 1] == '/' ? "" : "/";
	if (asprintf(&joined, "%.*s%s%.*s", LONGEST_QUALIFIED, directory, slash, LONGEST_QUALIFIED, path) < 0)
		return hs_names_plain(names, path);
	uint32_t index = hs_names_plain(names, joined);
	free(joined);
	return index;
}

static uint32_t line_number(uint64_t line)
{
	return line <= INT32_MAX ? (uint32_t)line : 0;
}

static void set_line(struct hs_unit *unit, struct hs_names *names, uint64_t address,
		     struct hs_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number = 0;
	if (!line)
		return;
	frame->file = file_name(unit, names, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/* Where an inlined call was: the place in the function around it. */
static void set_call_site(struct hs_unit *unit, struct hs_names *names, Dwarf_Die *call,
			  struct hs_dwarf_frame *frame)
{
	Dwarf_Files *files = NULL;
	size_t count = 0;
	uint64_t file = number_attribute(call, DW_AT_call_file);
	if (dwarf_getsrcfiles(&unit->code_die, &files, &count) == 0 && file < count)
		frame->file = file_name(unit, names, dwarf_filesrc(files, file, NULL, NULL));
	frame->line = line_number(number_attribute(call, DW_AT_call_line));
}

uint32_t hs_dwarf_frames(struct hs_units *units, struct hs_names *names, uint64_t address,
			 struct hs_dwarf_frame frames[static HS_MOST_INLINED])
{
	struct hs_unit *unit = hs_units_at(units, address);
	if (!unit)
		return 0;
	hs_unit_index(units, unit);
	frames[0] = (struct hs_dwarf_frame){0};
	set_line(unit, names, address, &frames[0]);

	uint32_t count = 0;
	for (uint32_t index = hs_unit_function_at(unit, address); index != HS_NO_INDEX;) {
		struct hs_function *function = &unit->functions[index];
		Dwarf_Die die = hs_unit_die(unit, function->die_offset);
		if (!function->named)
			name_function(units, unit, names, function, die);
		frames[count].function = function->name;
		frames[count].has_linkage_name = function->has_linkage_name;
		if (!function->inlined || count + 1 == HS_MOST_INLINED)
			break;
		frames[++count] = (struct hs_dwarf_frame){0};
		set_call_site(unit, names, &die, &frames[count]);
		index = function->caller;
	}
	return count + 1;
}
