/* ELF files: opening, build-ids, sections by name. */
#include "elf_file.h"

#include "base/memory.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct hs_elf_file closed = {.fd = -1};

void hs_elf_close(struct hs_elf_file *file)
{
	elf_end(file->elf);
	hs_inflated_free(&file->inflated);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	free(file->path);
	*file = closed;
}

static bool keep_if_elf(struct hs_elf_file *file)
{
	GElf_Ehdr header;
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF && gelf_getehdr(file->elf, &header))
		return true;
	hs_elf_close(file);
	return false;
}

/* Files from this size on are mapped: of so much debug information only a little is looked at. Smaller ones
 * are read, as far as needed: somebody who builds a library anew just now may cut it short, and touching a
 * mapping of it would be SIGBUS. */
static const off_t MAPPED_BYTES = 256 << 20;

/* Takes over file->fd. */
static bool open_descriptor(struct hs_elf_file *file, const char *path)
{
	struct stat status;
	if (file->fd < 0 || fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		hs_elf_close(file);
		return false;
	}
	if (path)
		file->path = hs_copy_string(path);
	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, status.st_size >= MAPPED_BYTES ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
	return keep_if_elf(file);
}

bool hs_elf_open_path(struct hs_elf_file *file, const char *path)
{
	*file = closed;
	/* Not blocking: the name may be that of a FIFO by now. */
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return open_descriptor(file, path);
}

bool hs_elf_open_fd(struct hs_elf_file *file, int fd, const char *path)
{
	*file = closed;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return open_descriptor(file, path);
}

/* Decodes a whole .xz stream; NULL if it is damaged or would grow beyond reason. */
static char *decode_xz(const uint8_t *input, size_t input_bytes, size_t *output_bytes)
{
	enum { LARGEST_MINIDEBUGINFO = 256 << 20, DECODER_MEMORY = 128 << 20 };
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, DECODER_MEMORY, 0) != LZMA_OK)
		return NULL;
	size_t capacity = 256 << 10;
	char *output = hs_allocate(capacity);
	stream.next_in = input;
	stream.avail_in = input_bytes;
	lzma_ret result = LZMA_OK;
	while (result == LZMA_OK) {
		if (stream.total_out == capacity) {
			if (capacity >= LARGEST_MINIDEBUGINFO)
				break;
			capacity *= 2;
			output = hs_reallocate(output, capacity, 1);
		}
		stream.next_out = (uint8_t *)output + stream.total_out;
		stream.avail_out = capacity - (size_t)stream.total_out;
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*output_bytes = (size_t)stream.total_out;
	lzma_end(&stream);
	if (result == LZMA_STREAM_END)
		return output;
	free(output);
	return NULL;
}

bool hs_elf_open_minidebuginfo(struct hs_elf_file *file, Elf *holder)
{
	*file = closed;
	Elf_Data *data = hs_elf_section_data(holder, ".gnu_debugdata");
	if (!data)
		return false;
	size_t bytes = 0;
	file->image = decode_xz(data->d_buf, data->d_size, &bytes);
	if (file->image)
		file->elf = elf_memory(file->image, bytes);
	return keep_if_elf(file);
}

size_t hs_elf_build_id(Elf *elf, const uint8_t **id)
{
	const void *note = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &note);
	if (bytes <= 0 || !note)
		return 0;
	*id = note;
	return (size_t)bytes;
}

bool hs_elf_has_build_id(Elf *elf, const uint8_t *id, size_t bytes)
{
	const uint8_t *own = NULL;
	return hs_elf_build_id(elf, &own) == bytes && memcmp(own, id, bytes) == 0;
}

Elf_Scn *hs_elf_section(Elf *elf, const char *name)
{
	size_t names = 0;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		const char *own = elf_strptr(elf, names, header.sh_name);
		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Data *hs_elf_section_data(Elf *elf, const char *name)
{
	Elf_Scn *section = hs_elf_section(elf, name);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	return data && data->d_buf && data->d_size ? data : NULL;
}

bool hs_elf_has_debug_info(Elf *elf)
{
	return hs_elf_section(elf, ".debug_info") || hs_elf_section(elf, ".zdebug_info");
}

static bool is_debug_string_table(const char *name)
{
	static const char *const tables[] = {".debug_str",     ".debug_line_str",     ".zdebug_str",
					     ".debug_str.dwo", ".debug_line_str.dwo", ".zdebug_line_str"};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (strcmp(name, tables[i]) == 0)
			return true;
	return false;
}

bool hs_elf_debug_strings_end(Elf *elf)
{
	size_t names = 0;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		if (!name || !is_debug_string_table(name))
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		if (data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] != 0)
			return false;
	}
	return true;
}
