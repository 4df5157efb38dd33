/* Inflates the compressed debug sections of a file with libdeflate before libdw would do it with zlib, which
 * takes three times as long: of a short recording's time it was most of what naming cost. */
#include "inflate.h"

#include "base/memory.h"

#include <libdeflate.h>
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

/* Where a section's zlib stream begins, and how many bytes it becomes; NULL if they are too many, or if it is
 * compressed in another way. */
static const uint8_t *packed_bytes_of(Elf *elf, Elf_Scn *section, size_t *packed_bytes, size_t *bytes)
{
	enum { MOST_TIMES = 1032 }; /* deflate cannot do better */
	GElf_Chdr header;
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t start = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	if (!data || !data->d_buf || !gelf_getchdr(section, &header) || header.ch_type != ELFCOMPRESS_ZLIB ||
	    data->d_size < start || header.ch_size == 0 || header.ch_size / MOST_TIMES > data->d_size)
		return NULL;
	*packed_bytes = data->d_size - start;
	*bytes = header.ch_size;
	return (const uint8_t *)data->d_buf + start;
}

static bool inflate_whole(struct hs_inflated *inflated, struct libdeflate_decompressor *decompressor,
			  Elf_Scn *section, const uint8_t *packed, size_t packed_bytes, size_t bytes)
{
	void *own = malloc(bytes);
	if (!own || !decompressor ||
	    libdeflate_zlib_decompress(decompressor, packed, packed_bytes, own, bytes, NULL) !=
		    LIBDEFLATE_SUCCESS) {
		free(own);
		return false;
	}
	inflated->blocks =
		hs_grow(inflated->blocks, inflated->count, &inflated->capacity, sizeof *inflated->blocks);
	inflated->blocks[inflated->count++] = own;
	/* libelf keeps both; which of them libdw asks for is its affair */
	Elf_Data *views[] = {elf_rawdata(section, NULL), elf_getdata(section, NULL)};
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (views[i]) {
			views[i]->d_buf = own;
			views[i]->d_size = bytes;
		}
	return true;
}

static bool begin_growing(struct hs_inflated *inflated, Elf *elf, Elf_Scn *section, const char *name,
			  const uint8_t *packed, size_t packed_bytes, size_t bytes)
{
	static const char *const names[HS_GROWING_SECTIONS] = {".debug_info", ".debug_line"};
	for (unsigned i = 0; i < HS_GROWING_SECTIONS; i++) {
		if (strcmp(name, names[i]) != 0 || inflated->growing[i])
			continue;
		inflated->growing[i] = hs_growing_section_new(elf, packed, packed_bytes, bytes);
		if (inflated->growing[i])
			hs_growing_section_place(inflated->growing[i], section);
		return inflated->growing[i] != NULL;
	}
	return false;
}

static void inflate_section(struct hs_inflated *inflated, struct libdeflate_decompressor *decompressor,
			    Elf *elf, Elf_Scn *section, const char *name, GElf_Shdr *header, bool partly)
{
	size_t packed_bytes, bytes;
	const uint8_t *packed = packed_bytes_of(elf, section, &packed_bytes, &bytes);
	if (!packed ||
	    (!(partly && begin_growing(inflated, elf, section, name, packed, packed_bytes, bytes)) &&
	     !inflate_whole(inflated, decompressor, section, packed, packed_bytes, bytes)))
		return;
	header->sh_size = bytes;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	gelf_update_shdr(section, header);
}

void hs_inflate_debug(struct hs_inflated *inflated, Elf *elf, bool partly)
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
		inflate_section(inflated, decompressor, elf, section, name, &header, partly);
	}
	if (decompressor)
		libdeflate_free_decompressor(decompressor);
}

bool hs_inflate_unit(struct hs_inflated *inflated, enum hs_growing which, uint64_t offset)
{
	return !inflated->growing[which] || hs_growing_section_unit(inflated->growing[which], offset);
}

bool hs_inflate_rest(struct hs_inflated *inflated, enum hs_growing which)
{
	struct hs_growing_section *growing = inflated->growing[which];
	if (!growing || hs_growing_section_is_whole(growing))
		return false;
	hs_growing_section_rest(growing);
	return true;
}

void hs_inflated_free(struct hs_inflated *inflated)
{
	for (size_t i = 0; i < inflated->count; i++)
		free(inflated->blocks[i]);
	free(inflated->blocks);
	for (unsigned i = 0; i < HS_GROWING_SECTIONS; i++)
		hs_growing_section_free(inflated->growing[i]);
	*inflated = (struct hs_inflated){0};
}
