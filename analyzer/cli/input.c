/* Small text files that the user wrote. */
#include "cli/input.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hs_input_read(const char *path, size_t *count, struct hs_error *error)
{
	FILE *file = fopen(path, "re");
	if (!file) {
		hs_fail(error, "cannot read \"%s\": %s", path, strerror(errno));
		return NULL;
	}
	char *text = hs_allocate(HS_INPUT_MOST + 1);
	errno = 0;
	*count = fread(text, 1, HS_INPUT_MOST + 1, file);
	int failure = ferror(file) ? errno : 0;
	fclose(file);
	if (failure)
		hs_fail(error, "cannot read \"%s\": %s", path, strerror(failure));
	else if (*count > HS_INPUT_MOST)
		hs_fail(error, "\"%s\" is larger than %d MiB: is it the right file?", path,
			HS_INPUT_MOST >> 20);
	if (failure || *count > HS_INPUT_MOST) {
		free(text);
		return NULL;
	}
	text = hs_reallocate(text, *count + 1, 1);
	text[*count] = 0;
	return text;
}
