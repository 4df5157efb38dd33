/* Functions of the ELF symbol tables, by address. */
#include "symbol_table.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What a symbol needs to know of the section it lies in. */
struct section_extent {
	uint64_t low;
	uint64_t high;
	bool code;
};

static struct section_extent *read_extents(Elf *elf, size_t *count)
{
	size_t sections = 0;
	if (elf_getshdrnum(elf, &sections) != 0)
		sections = 0;
	struct section_extent *extents = hs_allocate_zero(sections, sizeof *extents);
	for (size_t i = 0; i < sections; i++) {
		GElf_Shdr header;
		if (!gelf_getshdr(elf_getscn(elf, i), &header) || !(header.sh_flags & SHF_ALLOC))
			continue;
		extents[i].low = header.sh_addr;
		if (__builtin_add_overflow(header.sh_addr, header.sh_size, &extents[i].high))
			extents[i].high = UINT64_MAX;
		extents[i].code = header.sh_flags & SHF_EXECINSTR;
	}
	*count = sections;
	return extents;
}

static bool is_function(const GElf_Sym *symbol, const struct section_extent *extent, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && extent->code))
		return false;
	if (symbol->st_value < extent->low || symbol->st_value >= extent->high)
		return false;
	/* Local labels of assemblers; mapping symbols ($x, $d) of some CPUs. */
	return name[0] && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static void add_symbol(struct hs_symbol_table *table, const GElf_Sym *symbol,
		       const struct section_extent *extent, const char *name)
{
	uint64_t end = extent->high;
	if (symbol->st_size && symbol->st_size < extent->high - symbol->st_value)
		end = symbol->st_value + symbol->st_size;
	table->symbols = hs_grow(table->symbols, table->count, &table->capacity, sizeof *table->symbols);
	table->symbols[table->count++] = (struct hs_symbol){
		.address = symbol->st_value,
		.end = end,
		.name = name,
		.sized = symbol->st_size != 0,
		.local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
	};
}

static void add_section(struct hs_symbol_table *table, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			const struct section_extent *extents, size_t extent_count)
{
	Elf_Scn *string_section = elf_getscn(elf, header->sh_link);
	GElf_Shdr string_header;
	if (!string_section || !gelf_getshdr(string_section, &string_header) ||
	    ((header->sh_flags | string_header.sh_flags) & SHF_COMPRESSED))
		return;
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Data *strings = elf_rawdata(string_section, NULL);
	if (!data || !data->d_buf || !strings || !strings->d_buf || string_header.sh_type == SHT_NOBITS)
		return;
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t count = entry ? data->d_size / entry : 0;
	/* A name is good if a NUL ends it within the section. */
	const char *last = memrchr(strings->d_buf, 0, strings->d_size);
	size_t usable = last ? (size_t)(last - (const char *)strings->d_buf) : 0;
	for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx >= extent_count || symbol.st_name >= usable)
			continue;
		const char *name = (const char *)strings->d_buf + symbol.st_name;
		const struct section_extent *extent = &extents[symbol.st_shndx];
		if (is_function(&symbol, extent, name))
			add_symbol(table, &symbol, extent, name);
	}
}

size_t hs_symbol_table_add(struct hs_symbol_table *table, Elf *elf, uint32_t section_type)
{
	size_t before = table->count, extent_count = 0;
	struct section_extent *extents = read_extents(elf, &extent_count);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_type == section_type)
			add_section(table, elf, section, &header, extents, extent_count);
	}
	free(extents);
	return table->count - before;
}

/* Names may be long and many of them equal in a damaged file: enough to tell real ones apart. */
enum { COMPARED_BYTES = 1024 };

static size_t underscores(const char *name)
{
	size_t count = 0;
	while (name[count] == '_' && count < COMPARED_BYTES)
		count++;
	return count;
}

/* Up to the version: "fopen@@GLIBC_2.2.5" is no longer than "fopen64". */
static size_t plain_length(const char *name)
{
	size_t length = strnlen(name, COMPARED_BYTES);
	const char *version = memchr(name, '@', length);
	return version ? (size_t)(version - name) : length;
}

static int worse_first(const char *a, const char *b)
{
	size_t a_underscores = underscores(a), b_underscores = underscores(b);
	if (a_underscores != b_underscores)
		return a_underscores > b_underscores ? -1 : 1;
	size_t a_length = plain_length(a), b_length = plain_length(b);
	if (a_length != b_length)
		return a_length > b_length ? -1 : 1;
	return strncmp(b, a, COMPARED_BYTES);
}

/* Of symbols at one address: by size, the largest first; at equal ones the best name last, which is the one
 * that the range map keeps: public before local, `write` before `__write`, then the shorter one. */
static int better_last(const void *left, const void *right)
{
	const struct hs_symbol *a = left, *b = right;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized ? 1 : -1;
	if (a->local != b->local)
		return a->local ? -1 : 1;
	return worse_first(a->name, b->name);
}

/* A symbol without a size (assembly) reaches to the next symbol, and is none if one with a size covers it.
 * The symbols are in the order of by_address. */
static void bound_unsized(struct hs_symbol_table *table)
{
	uint64_t next = UINT64_MAX; /* the nearest address above that has a symbol */
	for (size_t i = table->count; i-- > 0;) {
		struct hs_symbol *symbol = &table->symbols[i];
		if (i + 1 < table->count && table->symbols[i + 1].address != symbol->address)
			next = table->symbols[i + 1].address;
		if (!symbol->sized && symbol->end > next)
			symbol->end = next;
	}
	uint64_t covered = 0; /* by sized symbols so far */
	for (size_t i = 0; i < table->count; i++) {
		struct hs_symbol *symbol = &table->symbols[i];
		if (symbol->sized && covered < symbol->end)
			covered = symbol->end;
		else if (!symbol->sized && symbol->address < covered)
			symbol->end = symbol->address;
	}
}

/* Those with a size first. */
static int by_address(const void *left, const void *right)
{
	const struct hs_symbol *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (b->sized > a->sized) - (b->sized < a->sized);
}

void hs_symbol_table_build(struct hs_symbol_table *table)
{
	if (!table->count)
		return;
	qsort(table->symbols, table->count, sizeof *table->symbols, by_address);
	bound_unsized(table);
	for (size_t i = 0, next; i < table->count; i = next) {
		for (next = i + 1;
		     next < table->count && table->symbols[next].address == table->symbols[i].address;)
			next++;
		if (next - i > 1)
			qsort(&table->symbols[i], next - i, sizeof *table->symbols, better_last);
	}
	for (size_t i = 0; i < table->count && i < UINT32_MAX; i++)
		hs_range_map_add(&table->map, table->symbols[i].address, table->symbols[i].end, (uint32_t)i);
	hs_range_map_build(&table->map);
}

const struct hs_symbol *hs_symbol_table_find(const struct hs_symbol_table *table, uint64_t address)
{
	uint32_t index;
	return hs_range_map_find(&table->map, address, &index) ? &table->symbols[index] : NULL;
}

void hs_symbol_table_free(struct hs_symbol_table *table)
{
	free(table->symbols);
	hs_range_map_free(&table->map);
	*table = (struct hs_symbol_table){0};
}
