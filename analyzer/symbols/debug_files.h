/* Where distributions keep debug information that was taken out of a program or library. Looks at local files
 * only. */
#ifndef HS_DEBUG_FILES_H
#define HS_DEBUG_FILES_H

#include "elf_file.h"

struct hs_debug_places {
	const char *root;            /* prefix of all paths, "" for none */
	const char *debug_directory; /* such as /usr/lib/debug */
};

/* Opens the file with the debug information of `module`: by build-id, else by .gnu_debuglink (with its
 * checksum, or the same build-id). False if there is none. */
bool hs_debug_file_find(const struct hs_debug_places *places, const struct hs_elf_file *module,
			struct hs_elf_file *found);

/* Opens the file that .gnu_debugaltlink of `file` names (shared debug information, made by dwz), if its
 * build-id is the right one. */
bool hs_alternate_file_find(const struct hs_debug_places *places, const struct hs_elf_file *file,
			    struct hs_elf_file *found);

#endif
