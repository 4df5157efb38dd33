/* What a program or library says about itself. */
#include "module_facts.h"

#include "base/memory.h"
#include "elf_file.h"

#include <stdlib.h>
#include <string.h>

/* More than any module has. */
enum { NEEDED_MOST = 4096, SYMBOLS_MOST = 8 << 20 };

static const struct {
	const char *name;
	const char *symbols[6]; /* functions that only it has */
	const char *text;       /* of its messages */
} allocators[] = {
	{"jemalloc",
	 {"je_mallocx", "_rjem_mallocx", "mallocx", "je_malloc", "_rjem_malloc", NULL},
	 "<jemalloc>"},
	{"mimalloc", {"mi_malloc", "mi_heap_malloc", NULL}, "mimalloc: "},
	{"tcmalloc", {"tc_malloc", "TCMallocInternalMalloc", NULL}, "tcmalloc: "},
	{"snmalloc", {"sn_malloc", "sn_rust_alloc", NULL}, NULL},
	{"rpmalloc", {"rpmalloc", NULL}, NULL},
};
enum { ALLOCATORS = sizeof allocators / sizeof *allocators };

/* ---- segments ------------------------------------------------------------------------------------------ */

/* The file offset of an address, UINT64_MAX if it is in no segment; *bytes: how much of the segment follows.
 */
static uint64_t offset_of(Elf *elf, uint64_t address, uint64_t *bytes)
{
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
			*bytes = segment.p_filesz - (address - segment.p_vaddr);
			return segment.p_offset + (address - segment.p_vaddr);
		}
	}
	return UINT64_MAX;
}

/* A string of the file as a copy; NULL if it does not end where it may. */
static char *string_at(Elf *elf, uint64_t offset, uint64_t bytes)
{
	enum { STRING_MOST = 4096 };
	size_t size = 0;
	const char *file = elf_rawfile(elf, &size);
	if (!file || offset >= size)
		return NULL;
	if (bytes > size - offset)
		bytes = size - offset;
	size_t length = strnlen(file + offset, bytes < STRING_MOST ? bytes : STRING_MOST);
	if (length == bytes || length == STRING_MOST)
		return NULL;
	return strndup(file + offset, length);
}

static void read_dynamic(Elf *elf, const GElf_Phdr *dynamic, struct hs_module_facts *facts)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
	uint64_t strings = UINT64_MAX, string_bytes = 0;
	GElf_Dyn entry;
	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_STRTAB)
			strings = offset_of(elf, entry.d_un.d_ptr, &string_bytes);
	}
	facts->needed = hs_allocate_zero(NEEDED_MOST, sizeof *facts->needed);
	for (int i = 0;
	     data && strings != UINT64_MAX && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_un.d_val >= string_bytes ||
		    (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH))
			continue;
		char *text = string_at(elf, strings + entry.d_un.d_val, string_bytes - entry.d_un.d_val);
		if (text && entry.d_tag == DT_NEEDED && facts->needed_count < NEEDED_MOST) {
			facts->needed[facts->needed_count++] = text;
			continue;
		}
		char **place = entry.d_tag == DT_RPATH ? &facts->rpath : &facts->runpath;
		if (text && entry.d_tag != DT_NEEDED && *place == NULL)
			*place = text;
		else
			free(text);
	}
}

static void read_segments(Elf *elf, struct hs_module_facts *facts)
{
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(elf, (int)i, &segment))
			continue;
		if (segment.p_type == PT_INTERP && facts->loader == NULL)
			facts->loader = string_at(elf, segment.p_offset, segment.p_filesz);
		else if (segment.p_type == PT_DYNAMIC && facts->needed == NULL)
			read_dynamic(elf, &segment, facts);
	}
}

/* ---- sections ------------------------------------------------------------------------------------------ */

static const char *allocator_of_symbol(const char *name)
{
	for (unsigned i = 0; i < ALLOCATORS; i++)
		for (unsigned j = 0; allocators[i].symbols[j]; j++)
			if (strcmp(allocators[i].symbols[j], name) == 0)
				return allocators[i].name;
	return NULL;
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct hs_module_facts *facts)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < count && i < SYMBOLS_MOST && facts->allocator == NULL; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name)
			facts->allocator = allocator_of_symbol(name);
	}
}

/* libc's own versions: GLIBC_2.36 is the latest of 2.36. */
static void read_versions(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct hs_module_facts *facts)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Verdef definition;
	for (size_t offset = 0, i = 0;
	     data && i < header->sh_info && gelf_getverdef(data, (int)offset, &definition); i++) {
		GElf_Verdaux name;
		const char *text = gelf_getverdaux(data, (int)(offset + definition.vd_aux), &name)
					   ? elf_strptr(elf, header->sh_link, name.vda_name)
					   : NULL;
		if (text && strncmp(text, "GLIBC_2.", 8) == 0) {
			unsigned long minor = strtoul(text + 8, NULL, 10);
			if (minor > facts->glibc_minor && minor < 1000)
				facts->glibc_minor = (uint32_t)minor;
		}
		if (definition.vd_next == 0 || definition.vd_next > data->d_size - offset)
			break;
		offset += definition.vd_next;
	}
}

/* A stripped program has no names, but its allocator's messages. */
static void look_for_messages(Elf *elf, struct hs_module_facts *facts)
{
	Elf_Data *data = hs_elf_section_data(elf, ".rodata");
	for (unsigned i = 0; data && i < ALLOCATORS && facts->allocator == NULL; i++) {
		if (allocators[i].text &&
		    memmem(data->d_buf, data->d_size, allocators[i].text, strlen(allocators[i].text))) {
			facts->allocator = allocators[i].name;
			facts->allocator_by_text = true;
		}
	}
}

/* Adds up the functions of .eh_frame by the table in .eh_frame_hdr (LSB Core, "Exception Frames"): pairs of
 * 32-bit offsets, of a function and of its entry, relative to the section. The entry has, after its length
 * and the distance to its common part, the function's start and size; both of 32 bits in the usual encoding.
 */
static void read_unwind_tables(Elf *elf, struct hs_module_facts *facts)
{
	enum {
		HEADER = 12,
		PAIR = 8,
		ENTRY_SIZE_OFFSET = 12,
		USUAL_FRAME = 0x1b,
		USUAL_COUNT = 0x03,
		USUAL_TABLE = 0x3b
	};
	GElf_Shdr table, frames;
	Elf_Scn *table_section = hs_elf_section(elf, ".eh_frame_hdr"),
		*frame_section = hs_elf_section(elf, ".eh_frame");
	Elf_Data *pairs = hs_elf_section_data(elf, ".eh_frame_hdr"),
		 *entries = hs_elf_section_data(elf, ".eh_frame");
	if (!pairs || !entries || !gelf_getshdr(table_section, &table) ||
	    !gelf_getshdr(frame_section, &frames)) {
		if (entries)
			facts->code_bytes = 0; /* not known */
		return;
	}
	const uint8_t *head = pairs->d_buf;
	if (pairs->d_size < HEADER || head[1] != USUAL_FRAME || head[2] != USUAL_COUNT ||
	    head[3] != USUAL_TABLE) {
		facts->code_bytes = 0;
		return;
	}
	uint32_t count;
	memcpy(&count, head + 8, sizeof count);
	for (uint32_t i = 0; i < count && i < (pairs->d_size - HEADER) / PAIR; i++) {
		int32_t entry;
		uint32_t bytes;
		memcpy(&entry, head + HEADER + (size_t)i * PAIR + 4, sizeof entry);
		uint64_t offset =
			table.sh_addr + (uint64_t)(int64_t)entry - frames.sh_addr + ENTRY_SIZE_OFFSET;
		if (offset > entries->d_size || entries->d_size - offset < sizeof bytes)
			continue;
		memcpy(&bytes, (const uint8_t *)entries->d_buf + offset, sizeof bytes);
		facts->unwind_bytes += bytes;
	}
}

static void read_sections(Elf *elf, struct hs_module_facts *facts)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR))
			facts->code_bytes += header.sh_size;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			read_symbols(elf, section, &header, facts);
		else if (header.sh_type == SHT_GNU_verdef)
			read_versions(elf, section, &header, facts);
	}
	read_unwind_tables(elf, facts);
	facts->go = hs_elf_section(elf, ".go.buildinfo") || hs_elf_section(elf, ".gopclntab") ||
		    hs_elf_section(elf, ".note.go.buildid");
	Elf_Data *link = hs_elf_section_data(elf, ".gnu_debuglink");
	if (link && strnlen(link->d_buf, link->d_size) < link->d_size)
		facts->debug_link = hs_copy_string(link->d_buf);
	if (facts->allocator == NULL)
		look_for_messages(elf, facts);
}

static bool read_facts(const char *path, struct hs_module_facts *facts, bool all)
{
	struct hs_elf_file file;
	const uint8_t *id = NULL;
	GElf_Ehdr header;
	*facts = (struct hs_module_facts){0};
	if (!hs_elf_open_path(&file, path))
		return false;
	/* Strings need it, and libelf (0.188) loses what it has read of a file in pieces before. */
	elf_rawfile(file.elf, NULL);
	facts->position_independent = gelf_getehdr(file.elf, &header) && header.e_type == ET_DYN;
	size_t id_bytes = hs_elf_build_id(file.elf, &id);
	if (id_bytes && id_bytes <= sizeof facts->build_id) {
		facts->build_id_bytes = (uint32_t)id_bytes;
		memcpy(facts->build_id, id, id_bytes);
	}
	read_segments(file.elf, facts);
	if (all)
		read_sections(file.elf, facts);
	hs_elf_close(&file);
	return true;
}

bool hs_module_facts_needed(const char *path, struct hs_module_facts *facts)
{
	return read_facts(path, facts, false);
}

bool hs_module_facts_read(const char *path, struct hs_module_facts *facts)
{
	if (!read_facts(path, facts, true))
		return false;
	struct hs_symbolizer *symbolizer =
		hs_symbolizer_open(&(struct hs_symbolizer_options){.path = path, .fd = -1});
	facts->found = hs_symbolizer_found(symbolizer);
	facts->units = hs_symbolizer_units(symbolizer);
	hs_symbolizer_close(symbolizer);
	return true;
}

void hs_module_facts_free(struct hs_module_facts *facts)
{
	for (uint32_t i = 0; i < facts->needed_count; i++)
		free(facts->needed[i]);
	free(facts->needed);
	free(facts->loader);
	free(facts->rpath);
	free(facts->runpath);
	free(facts->debug_link);
	*facts = (struct hs_module_facts){0};
}
