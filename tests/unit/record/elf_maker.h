/* Small ELF files for the tests of target checks: a header, segments, and one blob of data behind them. */
#ifndef RECORD_ELF_MAKER_H
#define RECORD_ELF_MAKER_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct elf_image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	Elf64_Shdr sections[4];
	char data[1024];
	size_t data_bytes;
};

static inline void elf_begin(struct elf_image *image, uint16_t type, uint16_t machine)
{
	memset(image, 0, sizeof *image);
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->header.e_type = type;
	image->header.e_machine = machine;
	image->header.e_ehsize = sizeof image->header;
	image->header.e_phentsize = sizeof *image->segments;
	image->header.e_phoff = offsetof(struct elf_image, segments);
	image->header.e_shentsize = sizeof *image->sections;
	Elf64_Phdr *load = &image->segments[image->header.e_phnum++];
	load->p_type = PT_LOAD;
	load->p_filesz = load->p_memsz = sizeof *image;
}

/* Returns the data's offset in the file, which is its address as well. */
static inline uint64_t elf_data(struct elf_image *image, const void *data, size_t bytes)
{
	size_t at = (image->data_bytes + 7) & ~(size_t)7;
	memcpy(image->data + at, data, bytes);
	image->data_bytes = at + bytes;
	return offsetof(struct elf_image, data) + at;
}

static inline void elf_segment(struct elf_image *image, uint32_t type, const void *data, size_t bytes)
{
	Elf64_Phdr *segment = &image->segments[image->header.e_phnum++];
	segment->p_type = type;
	segment->p_offset = segment->p_vaddr = elf_data(image, data, bytes);
	segment->p_filesz = segment->p_memsz = bytes;
}

static inline void elf_loader(struct elf_image *image, const char *loader)
{
	elf_segment(image, PT_INTERP, loader, strlen(loader) + 1);
}

static inline void elf_needed(struct elf_image *image, const char *library)
{
	char strings[64] = "";
	snprintf(strings + 1, sizeof strings - 1, "%s", library);
	Elf64_Dyn dynamic[3] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = 1}, {.d_tag = DT_STRTAB}, {.d_tag = DT_NULL}};
	dynamic[1].d_un.d_ptr = elf_data(image, strings, sizeof strings);
	elf_segment(image, PT_DYNAMIC, dynamic, sizeof dynamic);
}

/* A symbol table with one symbol. */
static inline void elf_symbol(struct elf_image *image, const char *name, uint16_t section, unsigned char type)
{
	char strings[64] = "";
	snprintf(strings + 1, sizeof strings - 1, "%s", name);
	const Elf64_Sym symbol = {
		.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, type), .st_shndx = section};
	image->header.e_shoff = offsetof(struct elf_image, sections);
	image->header.e_shnum = 3;
	image->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
					  .sh_link = 2,
					  .sh_offset = elf_data(image, &symbol, sizeof symbol),
					  .sh_size = sizeof symbol,
					  .sh_entsize = sizeof symbol};
	image->sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					  .sh_offset = elf_data(image, strings, sizeof strings),
					  .sh_size = sizeof strings};
}

static inline void elf_write(const void *bytes, size_t count, const char *path, mode_t mode)
{
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0 || chmod(path, mode) != 0) {
		perror(path);
		exit(1);
	}
}

#endif
