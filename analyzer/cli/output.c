/* A file that appears whole or not at all. */
#include "cli/output.h"

#include "base/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget(struct hs_output *output)
{
	free(output->path);
	free(output->temporary);
	*output = (struct hs_output){0};
}

/* The mode that a file made in the ordinary way would have, or that of the file that it replaces. */
static mode_t file_mode(const struct stat *old)
{
	if (old)
		return old->st_mode & 07777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static int open_beside(struct hs_output *output, const struct stat *old, struct hs_error *error)
{
	size_t length = strlen(output->path) + 16;
	output->temporary = hs_allocate(length);
	snprintf(output->temporary, length, "%s.XXXXXX", output->path);
	int fd = mkstemp(output->temporary);
	if (fd < 0) {
		hs_fail(error, "cannot write \"%s\": %s\nchoose another place with -o", output->path,
			strerror(errno));
		forget(output);
		return -1;
	}
	fchmod(fd, file_mode(old));
	output->stream = fdopen(fd, "w");
	return 0;
}

int hs_output_open(struct hs_output *output, const char *path, struct hs_error *error)
{
	struct stat old;
	*output = (struct hs_output){0};
	if (strcmp(path, "-") == 0) {
		output->stream = stdout;
		output->path = hs_copy_string("standard output");
		return 0;
	}
	bool exists = stat(path, &old) == 0;
	if (exists && S_ISDIR(old.st_mode))
		return hs_fail(error, "cannot write \"%s\": it is a directory\nname a file with -o", path);
	if (exists && !S_ISREG(old.st_mode)) {
		output->stream = fopen(path, "w");
		if (output->stream == NULL)
			return hs_fail(error, "cannot write \"%s\": %s", path, strerror(errno));
		output->path = hs_copy_string(path);
		return 0;
	}
	/* a symbolic link stays: the file it names is replaced */
	output->path = exists ? realpath(path, NULL) : NULL;
	if (output->path == NULL)
		output->path = hs_copy_string(path);
	return open_beside(output, exists ? &old : NULL, error);
}

int hs_output_commit(struct hs_output *output, struct hs_error *error)
{
	int failure = 0;
	errno = 0;
	if (ferror(output->stream) || fflush(output->stream) != 0)
		failure = errno ? errno : EIO;
	if (output->stream != stdout && fclose(output->stream) != 0 && failure == 0)
		failure = errno;
	output->stream = NULL;
	if (failure == 0 && output->temporary && rename(output->temporary, output->path) != 0)
		failure = errno;
	if (failure) {
		hs_fail(error, "cannot write \"%s\": %s", output->path, strerror(failure));
		hs_output_discard(output);
		return -1;
	}
	forget(output);
	return 0;
}

void hs_output_discard(struct hs_output *output)
{
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	if (output->temporary)
		unlink(output->temporary);
	forget(output);
}
