/* Names and opens recordings. */
#include "record/outputs.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".hs.gz";
enum { NAME_MOST = 200, SAME_NAMES_MOST = 10000 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static char *format_name(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *format_name(const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? hs_copy_string("") : text;
}

static void list_file(struct hs_outputs *output, const char *name, bool own)
{
	if (output->special && !own)
		return; /* it went to /dev/null */
	output->files = hs_grow(output->files, output->count + 1, &output->capacity, sizeof *output->files);
	char *path = format_name("%s%s", output->directory_path, name);
	output->files[output->count++] = path;
	output->files[output->count] = NULL;
	if (own && output->count > 1) {
		memmove(output->files + 1, output->files, (output->count - 1) * sizeof *output->files);
		output->files[0] = path;
	}
}

static void split_path(struct hs_outputs *output, const char *path, const char *program)
{
	char *made = path ? NULL : format_name("%.*s%s", NAME_MOST, base_name(program), suffix);
	path = path ? path : made;
	const char *name = base_name(path);
	output->directory_path = hs_copy_string(path);
	output->directory_path[name - path] = 0;
	output->name = hs_copy_string(name);
	output->stem = hs_copy_string(name);
	size_t length = strlen(name), tail = sizeof suffix - 1;
	if (length > tail && strcmp(name + length - tail, suffix) == 0)
		output->stem[length - tail] = 0;
	free(made);
}

static int cannot_write(struct hs_outputs *output, struct hs_error *error)
{
	return hs_fail(error, "cannot write '%s%s': %s; choose another file with -o FILE",
		       output->directory_path, output->name, strerror(errno));
}

int hs_outputs_open(struct hs_outputs *output, const char *path, const char *program, struct hs_error *error)
{
	*output = (struct hs_outputs){.directory = -1, .fd = -1};
	split_path(output, path, program);
	if (!*output->name)
		return hs_fail(error, "'%s' is not the name of a file; choose one with -o FILE", path);
	output->directory = open(*output->directory_path ? output->directory_path : ".",
				 O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (output->directory < 0)
		return cannot_write(output, error);
	struct stat status;
	if (fstatat(output->directory, output->name, &status, 0) == 0 && !S_ISREG(status.st_mode)) {
		output->special = true;
		output->fd = openat(output->directory, output->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		output->temporary = format_name(".%.*s.%d.part", NAME_MOST, output->name, (int)getpid());
		output->fd = openat(output->directory, output->temporary,
				    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	return output->fd < 0 ? cannot_write(output, error) : 0;
}

static void let_go(void *context)
{
	const struct hs_outputs *output = context;
	if (output->replaced >= 0)
		close(output->replaced);
}

/* server.hs.gz becomes server.old.hs.gz, so that there is something to compare with. The one before that is
 * held open, and its name free before it is used: a file system may need tens of ms to let go of a large one,
 * or to write out the one that takes its place, while the target goes on (ext4's auto_da_alloc). */
static int keep_old(struct hs_outputs *output)
{
	const char *tail = strcmp(output->stem, output->name) == 0 ? "" : suffix;
	char *old = format_name("%s.old%s", output->stem, tail);
	int result = faccessat(output->directory, output->name, F_OK, AT_SYMLINK_NOFOLLOW);
	if (result == 0) {
		output->replaced = openat(output->directory, old, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		unlinkat(output->directory, old, 0);
		hs_aside_begin(&output->letting_go, let_go, output);
		result = renameat(output->directory, output->name, output->directory, old);
	}
	free(old);
	return result == 0 || errno == ENOENT ? 0 : -1;
}

int hs_outputs_own(struct hs_outputs *output, struct hs_error *error)
{
	int fd = output->fd;
	if (!output->special) {
		if (keep_old(output) != 0 ||
		    renameat(output->directory, output->temporary, output->directory, output->name) != 0)
			return cannot_write(output, error);
		free(output->temporary);
		output->temporary = NULL;
	}
	list_file(output, output->name, true);
	output->fd = -1;
	return fd;
}

/* Programs may have any name. */
static char *harmless_name(const char *program)
{
	char *name = format_name("%.*s", NAME_MOST / 3, *base_name(program) ? base_name(program) : "program");
	for (char *at = name; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '_';
	return name;
}

int hs_outputs_other(struct hs_outputs *output, pid_t pid, const char *program, struct hs_error *error)
{
	if (output->special)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *own = harmless_name(program), *name = NULL;
	int fd = -1;
	for (unsigned i = 1; i < SAME_NAMES_MOST; i++) {
		char again[16] = "";
		if (i > 1)
			snprintf(again, sizeof again, ".%u", i);
		free(name);
		name = format_name("%.*s.%d.%s%s%s", NAME_MOST / 2, output->stem, (int)pid, own, again,
				   suffix);
		fd = openat(output->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd >= 0)
		list_file(output, name, false);
	else
		hs_fail(error, "cannot write '%s%s': %s", output->directory_path, name, strerror(errno));
	free(name);
	free(own);
	return fd;
}

void hs_outputs_close(struct hs_outputs *output)
{
	if (output->fd >= 0)
		close(output->fd);
	hs_aside_end(&output->letting_go);
	if (output->temporary)
		unlinkat(output->directory, output->temporary, 0);
	if (output->directory >= 0)
		close(output->directory);
	free(output->directory_path);
	free(output->name);
	free(output->stem);
	free(output->temporary);
	*output = (struct hs_outputs){.directory = -1, .fd = -1};
}
