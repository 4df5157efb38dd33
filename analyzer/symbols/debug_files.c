/* Where distributions keep debug information that was taken out of a program or library. */
#include "debug_files.h"

#include "base/memory.h"

#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What makes a file the right one. */
struct wanted {
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: not known */
	bool has_checksum;
	uint32_t checksum;
	const struct hs_elf_file *instead_of; /* this very file does not count */
};

static bool same_file(int a, int b)
{
	struct stat a_status, b_status;
	return a >= 0 && b >= 0 && fstat(a, &a_status) == 0 && fstat(b, &b_status) == 0 &&
	       a_status.st_dev == b_status.st_dev && a_status.st_ino == b_status.st_ino;
}

/* CRC-32 of a whole file, as .gnu_debuglink has it. */
static bool checksum_of(int fd, uint32_t *checksum)
{
	enum { BLOCK = 1 << 20 };
	uint8_t *block = hs_allocate(BLOCK);
	ssize_t got;
	off_t offset = 0;
	*checksum = 0;
	while ((got = pread(fd, block, BLOCK, offset)) > 0) {
		*checksum = libdeflate_crc32(*checksum, block, (size_t)got);
		offset += got;
	}
	free(block);
	return got == 0;
}

static bool is_wanted(const struct hs_elf_file *file, const struct wanted *wanted)
{
	if (same_file(file->fd, wanted->instead_of->fd))
		return false;
	const uint8_t *id = NULL;
	size_t id_bytes = hs_elf_build_id(file->elf, &id);
	if (wanted->build_id_bytes && id_bytes)
		return id_bytes == wanted->build_id_bytes && memcmp(id, wanted->build_id, id_bytes) == 0;
	uint32_t checksum;
	return wanted->has_checksum && checksum_of(file->fd, &checksum) && checksum == wanted->checksum;
}

/* Takes over `path`, which may be NULL. */
static bool try_path(char *path, const struct wanted *wanted, struct hs_elf_file *found)
{
	bool good = false;
	if (path && hs_elf_open_path(found, path)) {
		good = is_wanted(found, wanted);
		if (!good)
			hs_elf_close(found);
	}
	free(path);
	return good;
}

static char *format_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *format_path(const char *format, ...)
{
	char *path = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&path, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : path;
}

static bool find_by_build_id(const struct hs_debug_places *places, const struct wanted *wanted,
			     struct hs_elf_file *found)
{
	enum { LONGEST_BUILD_ID = 64 };
	char digits[LONGEST_BUILD_ID * 2 + 1];
	if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > LONGEST_BUILD_ID)
		return false;
	for (size_t i = 0; i < wanted->build_id_bytes; i++)
		sprintf(digits + 2 * i, "%02x", wanted->build_id[i]);
	return try_path(format_path("%s%s/.build-id/%.2s/%s.debug", places->root, places->debug_directory,
				    digits, digits + 2),
			wanted, found);
}

/* Reads a section that begins with a file name; points *rest behind its NUL. */
static const char *linked_name(Elf *elf, const char *section, const uint8_t **rest, size_t *rest_bytes)
{
	Elf_Data *data = hs_elf_section_data(elf, section);
	const uint8_t *end = data ? memchr(data->d_buf, 0, data->d_size) : NULL;
	if (!end || end == data->d_buf)
		return NULL;
	*rest = end + 1;
	*rest_bytes = data->d_size - (size_t)(*rest - (const uint8_t *)data->d_buf);
	return data->d_buf;
}

/* The section holds a name, zeros up to a multiple of 4, and the CRC-32 of the file in the file's byte order.
 */
static const char *debuglink(Elf *elf, uint32_t *checksum)
{
	const uint8_t *rest;
	size_t bytes;
	const char *name = linked_name(elf, ".gnu_debuglink", &rest, &bytes);
	if (!name)
		return NULL;
	size_t padding = (4 - (size_t)(rest - (const uint8_t *)name) % 4) % 4;
	if (bytes < padding + 4)
		return NULL;
	rest += padding;
	const char *identification = elf_getident(elf, NULL);
	if (identification && identification[EI_DATA] == ELFDATA2MSB)
		*checksum =
			(uint32_t)rest[0] << 24 | (uint32_t)rest[1] << 16 | (uint32_t)rest[2] << 8 | rest[3];
	else
		*checksum =
			(uint32_t)rest[3] << 24 | (uint32_t)rest[2] << 16 | (uint32_t)rest[1] << 8 | rest[0];
	return name;
}

/* The directory of a path: malloc'ed, with its slash. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

static bool find_beside(const struct hs_debug_places *places, const char *path, const char *name,
			const struct wanted *wanted, struct hs_elf_file *found)
{
	char *directory = directory_of(path);
	size_t root = strlen(places->root);
	/* The debug directory repeats the path within the root. */
	const char *inside =
		directory && strncmp(directory, places->root, root) == 0 ? directory + root : directory;
	bool good = directory &&
		    (try_path(format_path("%s%s", directory, name), wanted, found) ||
		     try_path(format_path("%s.debug/%s", directory, name), wanted, found) ||
		     (inside[0] == '/' &&
		      try_path(format_path("%s%s%s%s", places->root, places->debug_directory, inside, name),
			       wanted, found)));
	free(directory);
	return good;
}

static bool find_by_debuglink(const struct hs_debug_places *places, const char *path, struct wanted *wanted,
			      struct hs_elf_file *found)
{
	const char *name = debuglink(wanted->instead_of->elf, &wanted->checksum);
	if (!name || !path)
		return false;
	wanted->has_checksum = true;
	if (find_beside(places, path, name, wanted, found))
		return true;
	char *real = realpath(path, NULL);
	bool good = real && strcmp(real, path) != 0 && find_beside(places, real, name, wanted, found);
	free(real);
	return good;
}

bool hs_debug_file_find(const struct hs_debug_places *places, const struct hs_elf_file *module,
			struct hs_elf_file *found)
{
	struct wanted wanted = {.instead_of = module};
	wanted.build_id_bytes = hs_elf_build_id(module->elf, &wanted.build_id);
	return find_by_build_id(places, &wanted, found) ||
	       find_by_debuglink(places, module->path, &wanted, found);
}

bool hs_alternate_file_find(const struct hs_debug_places *places, const struct hs_elf_file *file,
			    struct hs_elf_file *found)
{
	struct wanted wanted = {.instead_of = file};
	const char *name =
		linked_name(file->elf, ".gnu_debugaltlink", &wanted.build_id, &wanted.build_id_bytes);
	if (!name || wanted.build_id_bytes == 0)
		return false;
	if (find_by_build_id(places, &wanted, found))
		return true;
	if (name[0] == '/')
		return try_path(format_path("%s%s", places->root, name), &wanted, found);
	/* Relative to where the file really is: it may have been found through a link in .build-id. */
	char *real = file->path ? realpath(file->path, NULL) : NULL;
	char *directory = real ? directory_of(real) : NULL;
	bool good = directory && try_path(format_path("%s%s", directory, name), &wanted, found);
	free(directory);
	free(real);
	return good;
}
