/* Whose line stands for a site when the recorded program itself belongs to the system. */
#include "cli/own.h"

#include "base/memory.h"
#include "cli/names.h"

#include <stdlib.h>
#include <string.h>

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

bool hs_is_libc(const struct hs_profile *profile, uint32_t frame)
{
	static const char *const names[] = {"libc.so", "libc-", "ld-linux", "libpthread", NULL};
	return starts_with_any(hs_last_component(module_path(profile, profile->frames[frame].module)), names);
}

static bool is_system_program(const struct hs_profile *profile)
{
	enum { MAIN_PROGRAM = 1 }; /* module flag of FORMAT.md */
	static const char *const folders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/",
					      "/bin/",     "/sbin/",     "/lib/",     NULL};
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (profile->modules[i].flags & MAIN_PROGRAM)
			return starts_with_any(module_path(profile, i), folders);
	}
	return false;
}

/* By module: whether its frames can be a site's own line. */
static bool *find_own_modules(const struct hs_profile *profile)
{
	enum { VDSO = 2, SHIM = 8 };
	static const char *const runtime[] = {"libc.so",   "libc-",    "ld-linux", "libpthread", "libm.so",
					      "libstdc++", "libgcc_s", "libc++",   "libdl.so",   NULL};
	bool *own = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*own));
	for (uint32_t i = 0; i < profile->module_count; i++)
		own[i] = !(profile->modules[i].flags & (VDSO | SHIM)) &&
			 !starts_with_any(hs_last_component(module_path(profile, i)), runtime);
	return own;
}

void hs_own_frames_adjust(const struct hs_profile *profile, struct hs_sites *sites)
{
	if (!is_system_program(profile))
		return;
	bool *own = find_own_modules(profile);
	for (uint32_t i = 0; i < sites->count; i++) {
		struct hs_site *site = &sites->items[i];
		for (uint32_t position = 0; position < site->frame_count; position++) {
			const struct hs_frame *frame = &profile->frames[site->frames[position]];
			if (frame->module < profile->module_count && own[frame->module] && !frame->internal) {
				site->own_frame = position;
				break;
			}
		}
	}
	free(own);
}
