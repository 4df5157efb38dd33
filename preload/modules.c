/* Modules: program and libraries, with build-id, from the first address of theirs that a walk meets until
 * ld.so unmaps them. dlopen is not wrapped (a wrapper would become the caller and break RUNPATH); the
 * loader's lock is never taken. */
#include "stamps.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct known_module {
	uint64_t start, end;
	const struct link_map *map;
	uint32_t live; /* 1 (release) once the rest stands; 0 again when it is gone */
};

static struct known_module known[HS_MAX_MODULES];
static uint32_t known_count; /* like the region's count; ids are the same in a fork child */

static void copy_build_id(struct hs_module_record *record, const ElfW(Phdr) * note, uint64_t bias)
{
	uint64_t at = bias + note->p_vaddr, end = at + note->p_memsz;
	if (at < record->start || end > record->end || note->p_memsz > record->end)
		return;
	while (at + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)at;
		uint64_t name = at + sizeof *header;
		uint64_t value = name + ((header->n_namesz + 3u) & ~3u);
		at = value + ((header->n_descsz + 3u) & ~3u);
		if (at > end)
			return;
		if (header->n_type != NT_GNU_BUILD_ID || header->n_namesz != 4 ||
		    memcmp((const char *)name, "GNU", 4) != 0)
			continue;
		record->build_id_bytes =
			header->n_descsz < HS_BUILD_ID_MOST ? header->n_descsz : HS_BUILD_ID_MOST;
		memcpy(record->build_id, (const void *)value, record->build_id_bytes);
		return;
	}
}

static void find_build_id(struct hs_module_record *record)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)record->start;
	if (record->end - record->start < sizeof *elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_phoff + (uint64_t)elf->e_phnum * sizeof(ElfW(Phdr)) > HS_PAGE_BYTES)
		return;
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(record->start + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum && !record->build_id_bytes; i++)
		if (headers[i].p_type == PT_NOTE)
			copy_build_id(record, &headers[i], record->bias);
}

static void describe(uint32_t id, const struct dl_find_object *found)
{
	struct hs_module_record *record = hs_area_at(&hs_process.modules, (uint64_t)id * HS_MODULE_BYTES);
	if (!record)
		return;
	const struct link_map *map = found->dlfo_link_map;
	record->start = (uint64_t)found->dlfo_map_start;
	record->end = (uint64_t)found->dlfo_map_end;
	record->bias = map ? map->l_addr : 0;
	record->load_stamp = hs_stamp_now();
	const char *name = map && map->l_name ? map->l_name : "";
	size_t length = strlen(name), room = sizeof record->path;
	record->path_bytes = (uint32_t)(length < room ? length : room);
	memcpy(record->path, name, record->path_bytes);
	if (!length && map && !map->l_prev)
		record->flags |= HS_MODULE_FLAG_MAIN;
	if (length > room)
		record->flags |= HS_MODULE_FLAG_PATH_CUT;
	if (strncmp(name, "linux-vdso", 10) == 0)
		record->flags |= HS_MODULE_FLAG_VDSO;
	if ((uint64_t)&hs_process - record->start < record->end - record->start)
		record->flags |= HS_MODULE_FLAG_SHIM;
	find_build_id(record);
	store_release(&record->ready, 1);
}

/* Not a mere addition: in a fork child hs_modules_begin may have counted the one that was being registered.
 */
static void publish_count(uint32_t count)
{
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	uint32_t before = load_relaxed(&header->module_count);
	while (before < count && !__atomic_compare_exchange_n(&header->module_count, &before, count, true,
							      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

uint32_t hs_module_of(const struct dl_find_object *found)
{
	uint64_t start = (uint64_t)found->dlfo_map_start;
	uint32_t count = load_acquire(&known_count);
	for (uint32_t i = 0; i < count && i < HS_MAX_MODULES; i++)
		if (load_acquire(&known[i].live) && known[i].start == start)
			return i;
	/* Two threads may register one module under two ids: both describe it rightly. */
	uint32_t id = __atomic_fetch_add(&known_count, 1, __ATOMIC_ACQ_REL);
	if (id >= HS_MAX_MODULES)
		return HS_MODULE_NONE;
	known[id].start = start;
	known[id].end = (uint64_t)found->dlfo_map_end;
	known[id].map = found->dlfo_link_map;
	publish_count(id + 1);
	describe(id, found);
	store_release(&known[id].live, 1);
	return id;
}

/* By the time that ld.so frees a library's data, the address belongs to nobody (or, later, to somebody else).
 */
static bool still_there(const struct known_module *module)
{
	struct dl_find_object found;
	return _dl_find_object((void *)module->start, &found) == 0 &&
	       (uint64_t)found.dlfo_map_start == module->start &&
	       (uint64_t)found.dlfo_map_end == module->end && found.dlfo_link_map == module->map;
}

void hs_modules_check(void)
{
	hs_inside++;
	uint32_t count = load_acquire(&known_count);
	for (uint32_t i = 0; i < count && i < HS_MAX_MODULES; i++) {
		uint32_t live = load_acquire(&known[i].live);
		if (!live || still_there(&known[i]) ||
		    !__atomic_compare_exchange_n(&known[i].live, &live, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		hs_rules_forget_module(i);
		__atomic_add_fetch(&hs_process.generation, 1, __ATOMIC_RELEASE);
		struct hs_module_record *record =
			hs_recording() ? hs_area_at(&hs_process.modules, (uint64_t)i * HS_MODULE_BYTES)
				       : NULL;
		if (record)
			store_release(&record->unload_stamp, hs_stamp_now());
	}
	hs_inside--;
}

void hs_modules_begin(void)
{
	uint32_t count = known_count < HS_MAX_MODULES ? known_count : HS_MAX_MODULES;
	for (uint32_t i = 0; i < count; i++) {
		struct dl_find_object found;
		if (known[i].live && _dl_find_object((void *)known[i].start, &found) == 0) {
			describe(i, &found);
			continue;
		}
		struct hs_module_record *record =
			hs_area_at(&hs_process.modules, (uint64_t)i * HS_MODULE_BYTES);
		if (!record)
			continue;
		record->start = known[i].start;
		record->end = known[i].end;
		record->unload_stamp = hs_stamp_now();
		store_release(&record->ready, 1);
	}
	store_release(&hs_process.header->module_count, count);
}
