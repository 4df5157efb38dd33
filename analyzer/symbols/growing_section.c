/* A compressed section that is inflated as far as it is needed. */
#include "growing_section.h"

#include "base/memory.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 256 << 10 }; /* goes on from one unit to the next are not worth starting for */

struct hs_growing_section {
	struct inflate_state state;
	Elf_Data *views[2]; /* libelf keeps both; which of them libdw asks for is its affair */
	uint8_t *bytes;
	size_t there, shown, whole;
};

/* Inflates up to `end` or more, without showing it. */
static bool grow(struct hs_growing_section *growing, uint64_t end)
{
	if (end > growing->whole)
		return false;
	if (end <= growing->there)
		return true;
	size_t step = end - growing->there;
	if (step < STEP_BYTES)
		step = STEP_BYTES;
	if (step > growing->whole - growing->there)
		step = growing->whole - growing->there;
	growing->state.next_out = growing->bytes + growing->there;
	growing->state.avail_out = (uint32_t)step;
	int result = isal_inflate(&growing->state);
	growing->there += step - growing->state.avail_out;
	if (result != ISAL_DECOMP_OK || growing->state.avail_out)
		growing->whole = growing->there; /* damaged */
	return end <= growing->there;
}

static void show(struct hs_growing_section *growing, size_t end)
{
	if (growing->shown < end)
		growing->shown = end;
	for (unsigned i = 0; i < sizeof growing->views / sizeof *growing->views; i++)
		if (growing->views[i])
			growing->views[i]->d_size = growing->shown;
}

bool hs_growing_section_unit(struct hs_growing_section *growing, uint64_t offset)
{
	uint32_t length;
	uint64_t begin = offset + sizeof length;
	if (offset > growing->whole || !grow(growing, begin))
		return false;
	memcpy(&length, growing->bytes + offset, sizeof length);
	/* 64-bit DWARF is too rare to matter */
	if (length >= 0xfffffff0 || !grow(growing, begin + length))
		return false;
	show(growing, begin + length);
	return true;
}

void hs_growing_section_rest(struct hs_growing_section *growing)
{
	grow(growing, growing->whole);
	show(growing, growing->there);
}

bool hs_growing_section_is_whole(const struct hs_growing_section *growing)
{
	return growing->shown == growing->whole;
}

/* Lengths of units are read as they stand. */
static bool has_own_byte_order(Elf *elf)
{
	static const int own = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	const char *identification = elf_getident(elf, NULL);
	return identification && identification[EI_DATA] == own;
}

struct hs_growing_section *hs_growing_section_new(Elf *elf, const uint8_t *packed, size_t packed_bytes,
						  size_t whole)
{
	if (packed_bytes > UINT32_MAX || whole > UINT32_MAX || !has_own_byte_order(elf))
		return NULL;
	struct hs_growing_section *growing = hs_allocate_zero(1, sizeof *growing);
	growing->bytes = malloc(whole);
	growing->whole = whole;
	isal_inflate_init(&growing->state);
	growing->state.crc_flag = ISAL_ZLIB;
	growing->state.next_in = (uint8_t *)(uintptr_t)packed;
	growing->state.avail_in = (uint32_t)packed_bytes;
	if (growing->bytes && hs_growing_section_unit(growing, 0))
		return growing;
	hs_growing_section_free(growing);
	return NULL;
}

void hs_growing_section_place(struct hs_growing_section *growing, Elf_Scn *section)
{
	growing->views[0] = elf_rawdata(section, NULL);
	growing->views[1] = elf_getdata(section, NULL);
	for (unsigned i = 0; i < sizeof growing->views / sizeof *growing->views; i++)
		if (growing->views[i])
			growing->views[i]->d_buf = growing->bytes;
	show(growing, growing->shown);
}

void hs_growing_section_free(struct hs_growing_section *growing)
{
	if (growing)
		free(growing->bytes);
	free(growing);
}
