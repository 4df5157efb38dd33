/* Reads ELF headers, needed libraries and symbol names. Every offset is checked by reading through it: pread
 * fails where the file ends. */
#include "record/elf_check.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger tables are not searched: they would cost more time at the start than the answer is worth. */
enum { TABLE_BYTES_MOST = 64 << 20, HEADERS_MOST = 4096, NEEDED_MOST = 1024 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#endif

struct file {
	int fd;
	uint64_t bytes;
};

static bool read_at(const struct file *file, void *data, uint64_t bytes, uint64_t offset)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return false;
	return pread(file->fd, data, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* A table of the file with a zero byte behind it, malloc'ed; NULL if it is not there or too large. */
static void *read_table(const struct file *file, uint64_t offset, uint64_t bytes)
{
	if (!bytes || bytes > TABLE_BYTES_MOST || offset > file->bytes || bytes > file->bytes - offset)
		return NULL;
	char *table = malloc(bytes + 1);
	if (!table || !read_at(file, table, bytes, offset)) {
		free(table);
		return NULL;
	}
	table[bytes] = 0;
	return table;
}

static const char *sanitizer_of_library(const char *name)
{
	static const struct {
		const char *prefix, *sanitizer;
	} known[] = {
		{"libasan.so", "AddressSanitizer"},      {"libclang_rt.asan", "AddressSanitizer"},
		{"libhwasan.so", "HWAddressSanitizer"},  {"libclang_rt.hwasan", "HWAddressSanitizer"},
		{"libtsan.so", "ThreadSanitizer"},       {"libclang_rt.tsan", "ThreadSanitizer"},
		{"libclang_rt.msan", "MemorySanitizer"}, {"liblsan.so", "LeakSanitizer"},
		{"libclang_rt.lsan", "LeakSanitizer"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(name, known[i].prefix, strlen(known[i].prefix)) == 0)
			return known[i].sanitizer;
	return NULL;
}

static const char *sanitizer_of_symbol(const char *name)
{
	static const struct {
		const char *symbol, *sanitizer;
	} known[] = {
		{"__asan_init", "AddressSanitizer"}, {"__hwasan_init", "HWAddressSanitizer"},
		{"__tsan_init", "ThreadSanitizer"},  {"__msan_init", "MemorySanitizer"},
		{"__lsan_init", "LeakSanitizer"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i].symbol) == 0)
			return known[i].sanitizer;
	return NULL;
}

static void set_sanitizer(struct hs_elf_facts *facts, const char *sanitizer)
{
	if (sanitizer)
		snprintf(facts->sanitizer, sizeof facts->sanitizer, "%s", sanitizer);
}

/* ---- symbols ------------------------------------------------------------------------------------------- */

static void look_at_symbols(const struct file *file, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
			    struct hs_elf_facts *facts)
{
	char *names = read_table(file, strings->sh_offset, strings->sh_size);
	Elf64_Sym *table = read_table(file, symbols->sh_offset, symbols->sh_size);
	for (uint64_t i = 0; names && table && i < symbols->sh_size / sizeof *table; i++) {
		if (table[i].st_name >= strings->sh_size)
			continue;
		const char *name = names + table[i].st_name;
		unsigned type = ELF64_ST_TYPE(table[i].st_info);
		bool defined = table[i].st_shndx != SHN_UNDEF;
		if (name[0] == '_')
			set_sanitizer(facts, sanitizer_of_symbol(name));
		else if (defined && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
			 strcmp(name, "malloc") == 0)
			facts->own_malloc = true;
	}
	free(names);
	free(table);
}

static void look_at_sections(const struct file *file, const Elf64_Ehdr *header, struct hs_elf_facts *facts)
{
	if (header->e_shentsize != sizeof(Elf64_Shdr) || !header->e_shnum || header->e_shnum > HEADERS_MOST)
		return;
	Elf64_Shdr *sections =
		read_table(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
	for (unsigned i = 0; sections && i < header->e_shnum; i++)
		if ((sections[i].sh_type == SHT_DYNSYM || sections[i].sh_type == SHT_SYMTAB) &&
		    sections[i].sh_link < header->e_shnum)
			look_at_symbols(file, &sections[i], &sections[sections[i].sh_link], facts);
	free(sections);
}

/* ---- segments ------------------------------------------------------------------------------------------ */

/* File offset of a virtual address; UINT64_MAX: in no segment. */
static uint64_t offset_of(const Elf64_Phdr *segments, unsigned count, uint64_t address)
{
	for (unsigned i = 0; i < count; i++)
		if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
		    address - segments[i].p_vaddr < segments[i].p_filesz)
			return segments[i].p_offset + (address - segments[i].p_vaddr);
	return UINT64_MAX;
}

static void look_at_needed(const struct file *file, const Elf64_Phdr *segments, unsigned count,
			   const Elf64_Phdr *dynamic, struct hs_elf_facts *facts)
{
	Elf64_Dyn *entries = read_table(file, dynamic->p_offset, dynamic->p_filesz);
	uint64_t entry_count = dynamic->p_filesz / sizeof *entries, strings = UINT64_MAX;
	for (uint64_t i = 0; entries && i < entry_count && entries[i].d_tag != DT_NULL; i++)
		if (entries[i].d_tag == DT_STRTAB)
			strings = offset_of(segments, count, entries[i].d_un.d_ptr);
	unsigned needed = 0;
	for (uint64_t i = 0; strings != UINT64_MAX && i < entry_count && entries[i].d_tag != DT_NULL; i++) {
		char name[24] = "";
		if (entries[i].d_tag != DT_NEEDED || needed++ == NEEDED_MOST)
			continue;
		uint64_t offset = strings + entries[i].d_un.d_val;
		if (offset < strings || offset >= file->bytes ||
		    pread(file->fd, name, sizeof name - 1, (off_t)offset) <= 0)
			continue;
		set_sanitizer(facts, sanitizer_of_library(name));
	}
	free(entries);
}

static void look_at_segments(const struct file *file, const Elf64_Ehdr *header, struct hs_elf_facts *facts)
{
	Elf64_Phdr *segments = NULL;
	if (header->e_phentsize == sizeof *segments && header->e_phnum && header->e_phnum <= HEADERS_MOST)
		segments = read_table(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof *segments);
	facts->damaged = !segments;
	for (unsigned i = 0; segments && i < header->e_phnum; i++) {
		char loader[64] = "";
		uint64_t bytes =
			segments[i].p_filesz < sizeof loader - 1 ? segments[i].p_filesz : sizeof loader - 1;
		if (segments[i].p_type == PT_INTERP) {
			facts->interpreted = true;
			facts->musl = read_at(file, loader, bytes, segments[i].p_offset) &&
				      strstr(loader, "/ld-musl-");
		} else if (segments[i].p_type == PT_DYNAMIC) {
			look_at_needed(file, segments, header->e_phnum, &segments[i], facts);
		}
	}
	free(segments);
}

void hs_elf_check(int fd, struct hs_elf_facts *facts)
{
	Elf64_Ehdr header;
	struct stat status;
	*facts = (struct hs_elf_facts){0};
	if (fstat(fd, &status) != 0)
		return;
	struct file file = {fd, (uint64_t)status.st_size};
	unsigned char ident[EI_NIDENT];
	if (!read_at(&file, ident, sizeof ident, 0) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return;
	facts->elf = true;
	facts->other_class = ident[EI_CLASS] != ELFCLASS64;
	facts->other_machine = ident[EI_DATA] != ELFDATA2LSB;
	if (facts->other_class || facts->other_machine)
		return;
	if (!read_at(&file, &header, sizeof header, 0)) {
		facts->damaged = true;
		return;
	}
	facts->other_machine = header.e_machine != OWN_MACHINE;
	facts->executable = header.e_type == ET_EXEC || header.e_type == ET_DYN;
	if (facts->other_machine || !facts->executable)
		return;
	look_at_segments(&file, &header, facts);
	look_at_sections(&file, &header, facts);
}
