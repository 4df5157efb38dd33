/* The libraries that ld.so would load for a program: its search followed by reading files (needed libraries,
 * RPATH and RUNPATH, LD_LIBRARY_PATH, ld.so.cache, default folders). Runs nothing, unlike ldd. */
#ifndef HS_LIBRARIES_H
#define HS_LIBRARIES_H

#include <stdint.h>

struct hs_library {
	char *name;         /* as it is needed: "libz.so.1" */
	char *path;         /* NULL: not found */
	uint32_t needed_by; /* index of the first library that needs it; UINT32_MAX: the program */
};

struct hs_libraries {
	struct hs_library *items; /* in the order in which ld.so loads them */
	uint32_t count;
	uint32_t missing;
};

/* library_path: LD_LIBRARY_PATH or NULL. The loader itself is not among them. */
void hs_libraries_find(const char *program, const char *library_path, struct hs_libraries *libraries);
void hs_libraries_free(struct hs_libraries *libraries);

#endif
