/* The table of open module files. The lock guards the list and the counts; symbolizers belong to the naming
 * thread. */
#include "record/files.h"

#include "base/memory.h"
#include "symbols/symbols.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_UNUSED = 64 }; /* most sessions come back to the same few libraries */

struct hs_files {
	pthread_mutex_t lock;
	struct hs_module_file *first; /* the latest used first */
	uint32_t unused;
};

struct hs_files *hs_files_new(void)
{
	struct hs_files *files = hs_allocate_zero(1, sizeof *files);
	pthread_mutex_init(&files->lock, NULL);
	return files;
}

static void close_file(struct hs_module_file *file)
{
	if (file->symbolizer)
		hs_symbolizer_close(file->symbolizer);
	close(file->fd);
	free(file->real_path);
	free(file);
}

void hs_files_free(struct hs_files *files)
{
	while (files->first) {
		struct hs_module_file *file = files->first;
		files->first = file->next;
		close_file(file);
	}
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* A handle of the file, not yet opened for reading: what is no regular file may do anything when opened. */
static int find_file(pid_t pid, const char *path, const char *cwd)
{
	char place[PATH_MAX + 64];
	if (!path)
		snprintf(place, sizeof place, "/proc/%d/exe", (int)pid);
	else
		snprintf(place, sizeof place, "/proc/%d/%s/%s", (int)pid, path[0] == '/' ? "root" : "cwd",
			 path);
	int handle = open(place, O_PATH | O_CLOEXEC);
	if (handle >= 0 || !path)
		return handle;
	/* The process is gone, or hides. */
	if (path[0] == '/')
		return open(path, O_PATH | O_CLOEXEC);
	if (!cwd || snprintf(place, sizeof place, "%s/%s", cwd, path) >= (int)sizeof place)
		return -1;
	return open(place, O_PATH | O_CLOEXEC);
}

static char *path_of(int handle)
{
	char link[64], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
	ssize_t bytes = readlink(link, path, sizeof path - 1);
	path[bytes > 0 ? bytes : 0] = 0;
	char *tail = strstr(path, " (deleted)");
	if (tail && !tail[strlen(" (deleted)")])
		*tail = 0;
	return hs_copy_string(path);
}

static struct hs_module_file *find_known(struct hs_files *files, const struct stat *status)
{
	for (struct hs_module_file **link = &files->first; *link; link = &(*link)->next) {
		struct hs_module_file *file = *link;
		if (file->inode != status->st_ino || file->device != status->st_dev)
			continue;
		*link = file->next;
		file->next = files->first;
		files->first = file;
		files->unused -= file->references++ == 0;
		return file;
	}
	return NULL;
}

static struct hs_module_file *open_file(struct hs_files *files, int handle, const struct stat *status)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
	int fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	struct hs_module_file *file = hs_allocate_zero(1, sizeof *file);
	*file = (struct hs_module_file){
		.device = status->st_dev, .inode = status->st_ino, .fd = fd, .references = 1};
	file->real_path = path_of(handle);
	file->next = files->first;
	files->first = file;
	return file;
}

struct hs_module_file *hs_files_open(struct hs_files *files, pid_t pid, const char *path, const char *cwd)
{
	struct stat status;
	int handle = find_file(pid, path, cwd);
	if (handle < 0)
		return NULL;
	struct hs_module_file *file = NULL;
	if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode)) {
		pthread_mutex_lock(&files->lock);
		file = find_known(files, &status);
		if (!file)
			file = open_file(files, handle, &status);
		pthread_mutex_unlock(&files->lock);
	}
	close(handle);
	return file;
}

struct hs_module_file *hs_files_share(struct hs_files *files, struct hs_module_file *file)
{
	if (!file)
		return NULL;
	pthread_mutex_lock(&files->lock);
	file->references++;
	pthread_mutex_unlock(&files->lock);
	return file;
}

/* Takes the unused file that was not wanted for the longest time out of the list, if there are too many. */
static struct hs_module_file *take_surplus(struct hs_files *files)
{
	struct hs_module_file **oldest = NULL;
	if (files->unused <= KEEP_UNUSED)
		return NULL;
	for (struct hs_module_file **link = &files->first; *link; link = &(*link)->next)
		if ((*link)->references == 0)
			oldest = link;
	if (!oldest)
		return NULL;
	struct hs_module_file *file = *oldest;
	*oldest = file->next;
	files->unused--;
	return file;
}

void hs_files_release(struct hs_files *files, struct hs_module_file *file)
{
	pthread_mutex_lock(&files->lock);
	files->unused += --file->references == 0;
	struct hs_module_file *surplus = take_surplus(files);
	pthread_mutex_unlock(&files->lock);
	if (surplus)
		close_file(surplus);
}
