/* ELF files: opening, build-ids, sections by name. */
#ifndef HS_ELF_FILE_H
#define HS_ELF_FILE_H

#include "inflate.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_elf_file {
	Elf *elf;    /* NULL: not open */
	int fd;      /* own descriptor, or -1 */
	void *image; /* own memory that `elf` reads, or NULL */
	char *path;  /* NULL if unknown */
	struct hs_inflated inflated;
};

/* Each returns false, with *file closed, if this is not a readable ELF file. `fd` is duplicated. */
bool hs_elf_open_path(struct hs_elf_file *file, const char *path);
bool hs_elf_open_fd(struct hs_elf_file *file, int fd, const char *path);
/* The ELF file that .gnu_debugdata of another holds, xz-compressed (minidebuginfo). */
bool hs_elf_open_minidebuginfo(struct hs_elf_file *file, Elf *holder);
void hs_elf_close(struct hs_elf_file *file);

/* Points *id into the file; returns its length, 0 if there is none. */
size_t hs_elf_build_id(Elf *elf, const uint8_t **id);
bool hs_elf_has_build_id(Elf *elf, const uint8_t *id, size_t bytes);

/* NULL if there is none, or nothing of it is in the file. */
Elf_Scn *hs_elf_section(Elf *elf, const char *name);
/* The bytes of a section as they stand in the file, or NULL. */
Elf_Data *hs_elf_section_data(Elf *elf, const char *name);
bool hs_elf_has_debug_info(Elf *elf);

/* Whether the string tables of the debug information end with a NUL, which libdw takes for granted (0.188).
 * To be asked when libdw has decompressed them. */
bool hs_elf_debug_strings_end(Elf *elf);

#endif
