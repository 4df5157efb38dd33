/* The libraries that ld.so would load for a program: man ld.so(8), "DESCRIPTION", followed by reading files.
 */
#include "libraries.h"

#include "base/memory.h"
#include "elf_file.h"
#include "module_facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIBRARIES_MOST = 4096 };

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
static const char platform[] = "x86_64";
enum { CACHE_FLAGS = 0x0303, MACHINE = EM_X86_64 }; /* an ELF library of libc 6, x86-64 */
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
static const char platform[] = "aarch64";
enum { CACHE_FLAGS = 0x0a03, MACHINE = EM_AARCH64 };
#endif

/* ---- ld.so.cache --------------------------------------------------------------------------------------- */

/* The format of glibc 2.2 and later: a header, entries, strings. Offsets count from the header. */
struct cache_header {
	char magic[20]; /* "glibc-ld.so.cache1.1" */
	uint32_t entries;
	uint32_t string_bytes;
	uint32_t unused[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t name, path;
	uint32_t os_version;
	uint64_t hardware; /* not 0: only for some processors */
};
static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct cache {
	const char *bytes;
	size_t count;
	const char *header;
};

static struct cache open_cache(void)
{
	struct cache cache = {0};
	struct stat status;
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > (off_t)sizeof(struct cache_header)) {
		void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED)
			cache = (struct cache){bytes, (size_t)status.st_size, NULL};
	}
	if (fd >= 0)
		close(fd);
	/* an older format may stand in front */
	if (cache.bytes)
		cache.header = memmem(cache.bytes, cache.count, cache_magic, strlen(cache_magic));
	return cache;
}

static void close_cache(struct cache *cache)
{
	if (cache->bytes)
		munmap((void *)cache->bytes, cache->count);
}

/* A string of the cache; NULL if it does not end in it. */
static const char *cache_string(const struct cache *cache, uint32_t offset)
{
	size_t left = cache->count - (size_t)(cache->header - cache->bytes);
	return offset < left && memchr(cache->header + offset, 0, left - offset) ? cache->header + offset
										 : NULL;
}

static const char *look_in_cache(const struct cache *cache, const char *name)
{
	struct cache_header header;
	struct cache_entry entry;
	size_t left = cache->header ? cache->count - (size_t)(cache->header - cache->bytes) : 0;
	if (left < sizeof header)
		return NULL;
	memcpy(&header, cache->header, sizeof header);
	if (header.entries > (left - sizeof header) / sizeof entry)
		return NULL;
	for (uint32_t i = 0; i < header.entries; i++) {
		memcpy(&entry, cache->header + sizeof header + i * sizeof entry, sizeof entry);
		const char *own = entry.flags == CACHE_FLAGS && entry.hardware == 0
					  ? cache_string(cache, entry.name)
					  : NULL;
		if (own && strcmp(own, name) == 0)
			return cache_string(cache, entry.path);
	}
	return NULL;
}

/* ---- search -------------------------------------------------------------------------------------------- */

struct search {
	const char *library_path;
	const char *program_rpath; /* unless the program has a RUNPATH */
	char *program_folder;
	struct cache cache;
	struct hs_libraries *libraries;
	size_t capacity;
};

static bool is_library(const char *path)
{
	struct hs_elf_file file;
	GElf_Ehdr header;
	if (!hs_elf_open_path(&file, path))
		return false; /* ld.so would give up; so do we */
	bool good = gelf_getclass(file.elf) == ELFCLASS64 && gelf_getehdr(file.elf, &header) &&
		    header.e_machine == MACHINE;
	hs_elf_close(&file);
	return good;
}

/* Appends one folder of a search path with its variables replaced. Returns false if it does not fit. */
static bool expand(char place[PATH_MAX], const char *folder, size_t length, const char *origin,
		   const char *name)
{
	static const char *const variables[] = {"ORIGIN", "LIB", "PLATFORM"};
	const char *const values[] = {origin, "lib/" MULTIARCH, platform};
	size_t used = 0;
	for (size_t i = 0; i < length;) {
		const char *value = NULL;
		size_t skip = 1;
		for (unsigned v = 0; folder[i] == '$' && v < 3 && !value; v++) {
			size_t brace = i + 1 < length && folder[i + 1] == '{', count = strlen(variables[v]);
			if (i + 1 + brace + count + brace > length ||
			    strncmp(folder + i + 1 + brace, variables[v], count) != 0 ||
			    (brace && folder[i + 2 + count] != '}'))
				continue;
			value = values[v];
			skip = 1 + count + 2 * brace;
		}
		size_t bytes = value ? strlen(value) : 1;
		if (used + bytes >= PATH_MAX)
			return false;
		memcpy(place + used, value ? value : folder + i, bytes);
		used += bytes;
		i += skip;
	}
	int more = snprintf(place + used, PATH_MAX - used, "%s%s", length ? "/" : "./", name);
	return more > 0 && used + (size_t)more < PATH_MAX;
}

/* `path` has folders with colons between (semicolons too in LD_LIBRARY_PATH). */
static char *look_in_path(const char *path, const char *separators, const char *origin, const char *name)
{
	char place[PATH_MAX];
	while (path) {
		size_t length = strcspn(path, separators);
		if (expand(place, path, length, origin, name) && is_library(place))
			return hs_copy_string(place);
		path = path[length] ? path + length + 1 : NULL;
	}
	return NULL;
}

static char *look_in_defaults(const char *name)
{
	static const char *const folders[] = {
		"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
	char place[PATH_MAX];
	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		int length = snprintf(place, sizeof place, "%s/%s", folders[i], name);
		if (length > 0 && (size_t)length < sizeof place && is_library(place))
			return hs_copy_string(place);
	}
	return NULL;
}

static char *find_library(const struct search *search, const struct hs_module_facts *needs,
			  const char *origin, const char *name)
{
	char *found = NULL;
	if (strchr(name, '/'))
		return is_library(name) ? hs_copy_string(name) : NULL;
	if (needs->runpath == NULL) {
		if (needs->rpath)
			found = look_in_path(needs->rpath, ":", origin, name);
		if (!found && search->program_rpath)
			found = look_in_path(search->program_rpath, ":", search->program_folder, name);
	}
	if (!found && search->library_path && *search->library_path)
		found = look_in_path(search->library_path, ":;", search->program_folder, name);
	if (!found && needs->runpath)
		found = look_in_path(needs->runpath, ":", origin, name);
	const char *cached = found ? NULL : look_in_cache(&search->cache, name);
	if (cached && is_library(cached))
		return hs_copy_string(cached);
	return found ? found : look_in_defaults(name);
}

/* malloc'ed: the folder of a path, links resolved, as $ORIGIN has it. */
static char *folder_of(const char *path)
{
	char *real = realpath(path, NULL);
	char *folder = real ? real : hs_copy_string(path), *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	else
		strcpy(folder, *folder ? "." : "");
	return folder;
}

static bool is_known(const struct hs_libraries *libraries, const char *name)
{
	/* the loader is there already */
	if (strncmp(name, "ld-linux", 8) == 0)
		return true;
	for (uint32_t i = 0; i < libraries->count; i++) {
		if (strcmp(libraries->items[i].name, name) == 0)
			return true;
	}
	return false;
}

static void add_needed(struct search *search, const struct hs_module_facts *facts, const char *path,
		       uint32_t index)
{
	struct hs_libraries *libraries = search->libraries;
	char *origin = folder_of(path);
	for (uint32_t i = 0; i < facts->needed_count && libraries->count < LIBRARIES_MOST; i++) {
		if (is_known(libraries, facts->needed[i]))
			continue;
		libraries->items = hs_grow(libraries->items, libraries->count, &search->capacity,
					   sizeof *libraries->items);
		struct hs_library *library = &libraries->items[libraries->count++];
		*library = (struct hs_library){
			.name = hs_copy_string(facts->needed[i]),
			.path = find_library(search, facts, origin, facts->needed[i]),
			.needed_by = index,
		};
		libraries->missing += library->path == NULL;
	}
	free(origin);
}

void hs_libraries_find(const char *program, const char *library_path, struct hs_libraries *libraries)
{
	struct hs_module_facts facts, own;
	*libraries = (struct hs_libraries){0};
	if (!hs_module_facts_needed(program, &facts)) {
		hs_module_facts_free(&facts);
		return;
	}
	struct search search = {
		.library_path = library_path,
		.program_rpath = facts.runpath ? NULL : facts.rpath,
		.program_folder = folder_of(program),
		.cache = open_cache(),
		.libraries = libraries,
	};
	add_needed(&search, &facts, program, UINT32_MAX);
	for (uint32_t i = 0; i < libraries->count; i++) {
		if (libraries->items[i].path && hs_module_facts_needed(libraries->items[i].path, &own))
			add_needed(&search, &own, libraries->items[i].path, i);
		else
			own = (struct hs_module_facts){0};
		hs_module_facts_free(&own);
	}
	close_cache(&search.cache);
	free(search.program_folder);
	hs_module_facts_free(&facts);
}

void hs_libraries_free(struct hs_libraries *libraries)
{
	for (uint32_t i = 0; i < libraries->count; i++) {
		free(libraries->items[i].name);
		free(libraries->items[i].path);
	}
	free(libraries->items);
	*libraries = (struct hs_libraries){0};
}
