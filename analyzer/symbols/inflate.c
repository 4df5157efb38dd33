/* Inflates the compressed debug sections of a file with libdeflate before libdw would do it with zlib, which
 * takes three times as long: of a short recording's time it was most of what naming cost. */
#include "inflate.h"

#include "base/memory.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What libdw reads, but nobody here asks for: where variables live, and macros. */
static bool is_needless(const char *name)
{
	static const char *const needless[] = {".debug_loc", ".debug_loclists", ".debug_macro",
					       ".debug_macinfo"};
	for (size_t i = 0; i < sizeof needless / sizeof *needless; i++)
		if (strcmp(name, needless[i]) == 0)
			return true;
	return false;
}

/* The section's own bytes, malloc'ed; NULL if they are damaged, too many, or compressed in another way. */
static void *inflate(struct libdeflate_decompressor *decompressor, Elf *elf, Elf_Scn *section,
		     const Elf_Data *packed, size_t *bytes)
{
	enum { MOST_TIMES = 1032 }; /* deflate cannot do better */
	GElf_Chdr header;
	size_t start = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	if (!gelf_getchdr(section, &header) || header.ch_type != ELFCOMPRESS_ZLIB || packed->d_size < start ||
	    header.ch_size == 0 || header.ch_size / MOST_TIMES > packed->d_size)
		return NULL;
	void *data = malloc(header.ch_size);
	*bytes = header.ch_size;
	if (data &&
	    libdeflate_zlib_decompress(decompressor, (const char *)packed->d_buf + start,
				       packed->d_size - start, data, *bytes, NULL) != LIBDEFLATE_SUCCESS) {
		free(data);
		data = NULL;
	}
	return data;
}

static void inflate_section(struct hs_inflated *inflated, struct libdeflate_decompressor *decompressor,
			    Elf *elf, Elf_Scn *section, GElf_Shdr *header)
{
	size_t bytes;
	Elf_Data *data = elf_rawdata(section, NULL);
	void *own = data && data->d_buf ? inflate(decompressor, elf, section, data, &bytes) : NULL;
	if (!own)
		return;
	inflated->blocks =
		hs_grow(inflated->blocks, inflated->count, &inflated->capacity, sizeof *inflated->blocks);
	inflated->blocks[inflated->count++] = own;
	/* libelf keeps both; which of them libdw asks for is its affair */
	Elf_Data *views[] = {data, elf_getdata(section, NULL)};
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (views[i]) {
			views[i]->d_buf = own;
			views[i]->d_size = bytes;
		}
	header->sh_size = bytes;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	gelf_update_shdr(section, header);
}

void hs_inflate_debug(struct hs_inflated *inflated, Elf *elf)
{
	size_t names = 0;
	struct libdeflate_decompressor *decompressor = NULL;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    !(header.sh_flags & SHF_COMPRESSED))
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		if (!name || strncmp(name, ".debug_", strlen(".debug_")) != 0)
			continue;
		if (is_needless(name)) {
			header.sh_type = SHT_NOBITS;
			gelf_update_shdr(section, &header);
			continue;
		}
		if (!decompressor)
			decompressor = libdeflate_alloc_decompressor();
		if (decompressor)
			inflate_section(inflated, decompressor, elf, section, &header);
	}
	if (decompressor)
		libdeflate_free_decompressor(decompressor);
}

void hs_inflated_free(struct hs_inflated *inflated)
{
	for (size_t i = 0; i < inflated->count; i++)
		free(inflated->blocks[i]);
	free(inflated->blocks);
	*inflated = (struct hs_inflated){0};
}
