/* Which modules are the user's own code. */
#include "profile/own.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAIN_PROGRAM = 1, VDSO = 2, SHIM = 8 }; /* module flags of FORMAT.md */

static bool starts_with_any(const char *text, const char *const *starts)
{
	for (; *starts; starts++) {
		if (strncmp(text, *starts, strlen(*starts)) == 0)
			return true;
	}
	return false;
}

static const char *module_path(const struct hs_profile *profile, uint32_t module)
{
	return module < profile->module_count ? profile->strings.items[profile->modules[module].path] : "";
}

static const char *module_name(const struct hs_profile *profile, uint32_t module)
{
	const char *path = module_path(profile, module), *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool hs_is_libc(const struct hs_profile *profile, uint32_t module)
{
	static const char *const names[] = {"libc.so", "libc-", "ld-linux", "libpthread", NULL};
	return starts_with_any(module_name(profile, module), names);
}

static bool is_system_library(const char *path)
{
	static const char *const folders[] = {"/lib/",       "/lib32/",      "/lib64/",
					      "/libx32/",    "/usr/lib/",    "/usr/lib32/",
					      "/usr/lib64/", "/usr/libx32/", NULL};
	return starts_with_any(path, folders);
}

static bool is_runtime(const char *name)
{
	static const char *const names[] = {"libc.so",   "libc-",    "ld-linux", "libpthread", "libm.so",
					    "libstdc++", "libgcc_s", "libc++",   "libdl.so",   NULL};
	return starts_with_any(name, names);
}

static bool is_system_program(const struct hs_profile *profile)
{
	static const char *const folders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/",
					      "/bin/",     "/sbin/",     "/lib/",     NULL};
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (profile->modules[i].flags & MAIN_PROGRAM)
			return starts_with_any(module_path(profile, i), folders);
	}
	return false;
}

bool *hs_own_modules(const struct hs_profile *profile)
{
	bool *own = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*own));
	bool system = is_system_program(profile);
	for (uint32_t i = 0; i < profile->module_count; i++) {
		uint32_t flags = profile->modules[i].flags;
		bool foreign = system ? is_runtime(module_name(profile, i))
				      : is_system_library(module_path(profile, i));
		own[i] = flags & MAIN_PROGRAM || (!(flags & (VDSO | SHIM)) && !foreign);
	}
	return own;
}

bool *hs_rust_modules(const struct hs_profile *profile)
{
	static const char *const starts[] = {"std::rt::lang_start", NULL};
	bool *rust = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*rust));
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		if (frame->module < profile->module_count &&
		    starts_with_any(profile->strings.items[frame->function], starts))
			rust[frame->module] = true;
	}
	return rust;
}

bool hs_is_start_code(const struct hs_profile *profile, const bool *rust_modules, uint32_t index)
{
	const struct hs_frame *frame = &profile->frames[index];
	const char *function = profile->strings.items[frame->function];
	if (frame->file)
		return false;
	return strcmp(function, "_start") == 0 ||
	       (frame->module < profile->module_count && rust_modules[frame->module] &&
		strcmp(function, "main") == 0);
}

uint32_t hs_without_start(const struct hs_profile *profile, const uint32_t *frames, uint32_t count)
{
	uint32_t end = count;
	while (end &&
	       (hs_is_libc(profile, profile->frames[frames[end - 1]].module) ||
		strcmp(profile->strings.items[profile->frames[frames[end - 1]].function], "_start") == 0))
		end--;
	return end ? end : count;
}

void hs_own_frames_add(struct hs_own_frames *own, const struct hs_profile *profile, uint32_t frame)
{
	uint32_t none = profile->frame_count;
	if (!own->numbers)
		own->numbers = hs_allocate_zero((size_t)none + 1, sizeof *own->numbers);
	uint32_t *number = &own->numbers[frame == HS_NO_FRAME ? none : frame];
	if (*number == 0) {
		own->frames = hs_grow(own->frames, own->count, &own->capacity, sizeof *own->frames);
		own->frames[own->count++] = frame;
		*number = own->count;
	}
	own->of_site = hs_grow(own->of_site, own->site_count, &own->site_capacity, sizeof *own->of_site);
	own->of_site[own->site_count++] = *number - 1;
}

void hs_own_frames_free(struct hs_own_frames *own)
{
	free(own->of_site);
	free(own->frames);
	free(own->numbers);
	*own = (struct hs_own_frames){0};
}
