/* What all fuzz targets use. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_fail(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

void fuzz_silence(void)
{
	static FILE *nowhere;
	if (!nowhere) {
		nowhere = fopen("/dev/null", "w");
		FUZZ_CHECK(nowhere != NULL);
		stdout = stderr = nowhere;
	}
}

struct fuzz_file fuzz_file_make(const void *data, size_t size)
{
	struct fuzz_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
	FUZZ_CHECK(file.fd >= 0);
	FUZZ_CHECK(write(file.fd, data, size) == (ssize_t)size);
	snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
	return file;
}

void fuzz_file_close(struct fuzz_file *file)
{
	close(file->fd);
}
