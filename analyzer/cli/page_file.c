#include "cli/page_file.h"

#include "base/memory.h"
#include "cli/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 4 << 20 }; /* many times what it has */

char *hs_page_read(size_t *bytes, struct hs_error *error)
{
	char *path = hs_page_find(error);
	if (path == NULL)
		return NULL;
	FILE *file = fopen(path, "re");
	char *page = file ? hs_allocate(BYTES_MOST) : NULL;
	if (file == NULL) {
		hs_fail(error, "cannot read the page \"%s\": %s", path, strerror(errno));
	} else {
		*bytes = fread(page, 1, BYTES_MOST, file);
		if (ferror(file) || *bytes == BYTES_MOST) {
			hs_fail(error, "cannot read the page \"%s\": %s", path,
				ferror(file) ? strerror(errno) : "it is too large to be heapscope's");
			free(page);
			page = NULL;
		}
		fclose(file);
	}
	free(path);
	return page;
}
