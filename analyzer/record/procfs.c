/* Reads /proc. */
#include "record/procfs.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENT_BYTES_MOST = 256 << 10, ENVIRONMENT_BYTES_MOST = 1 << 20 };

/* Reads a file of /proc/PID; returns bytes read, or -1. The text is terminated. */
static ssize_t read_file(char *text, size_t capacity, const char *format, ...)
{
	char path[128];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t bytes = 0;
	ssize_t got = 0;
	while (bytes < capacity - 1 && (got = read(fd, text + bytes, capacity - 1 - bytes)) > 0)
		bytes += (size_t)got;
	close(fd);
	text[bytes] = 0;
	return got < 0 ? -1 : (ssize_t)bytes;
}

char *hs_proc_link(pid_t pid, const char *name)
{
	static const char deleted[] = " (deleted)";
	char path[64], text[PATH_MAX + sizeof deleted];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	ssize_t bytes = readlink(path, text, sizeof text - 1);
	if (bytes <= 0)
		return NULL;
	text[bytes] = 0;
	size_t tail = sizeof deleted - 1;
	if ((size_t)bytes > tail && strcmp(text + bytes - tail, deleted) == 0)
		text[(size_t)bytes - tail] = 0;
	return hs_copy_string(text);
}

char **hs_proc_arguments(pid_t pid)
{
	char *text = hs_allocate(ARGUMENT_BYTES_MOST);
	ssize_t bytes = read_file(text, ARGUMENT_BYTES_MOST, "/proc/%d/cmdline", (int)pid);
	size_t count = 0;
	for (ssize_t i = 0; i < bytes; i++)
		count += text[i] == 0 || i + 1 == bytes;
	char **arguments = NULL;
	if (bytes > 0) {
		arguments = hs_allocate((count + 1) * sizeof *arguments + (size_t)bytes + 1);
		char *copy = (char *)(arguments + count + 1);
		memcpy(copy, text, (size_t)bytes + 1);
		for (size_t i = 0; i < count; i++, copy += strlen(copy) + 1)
			arguments[i] = copy;
		arguments[count] = NULL;
	}
	free(text);
	return arguments;
}

void hs_proc_thread_name(pid_t pid, uint32_t tid, char name[16])
{
	char text[32];
	if (read_file(text, sizeof text, "/proc/%d/task/%u/comm", (int)pid, tid) <= 0)
		return;
	text[strcspn(text, "\n")] = 0;
	snprintf(name, 16, "%.15s", text);
}

bool hs_proc_thread_lives(pid_t pid, uint32_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%u", (int)pid, tid);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

bool hs_proc_executable(pid_t pid, dev_t *device, ino_t *inode)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (stat(path, &status) != 0)
		return false;
	*device = status.st_dev;
	*inode = status.st_ino;
	return true;
}

bool hs_proc_has_variable(pid_t pid, const char *name, const char *value)
{
	char *text = hs_allocate(ENVIRONMENT_BYTES_MOST), *variable;
	if (asprintf(&variable, "%s=%s", name, value) < 0)
		variable = NULL;
	ssize_t bytes = read_file(text, ENVIRONMENT_BYTES_MOST, "/proc/%d/environ", (int)pid);
	bool has = bytes > 0 && variable && memmem(text, (size_t)bytes, variable, strlen(variable) + 1);
	free(variable);
	free(text);
	return has;
}

bool hs_proc_shares_root(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;
	snprintf(path, sizeof path, "/proc/%d/root/", (int)pid);
	return stat("/", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

int hs_proc_open_statm(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The text of a file that is open; "" if it cannot be read. */
enum { OPEN_TEXT_MOST = 128 };
static void read_open(int fd, char text[OPEN_TEXT_MOST])
{
	ssize_t bytes = pread(fd, text, OPEN_TEXT_MOST - 1, 0);
	text[bytes > 0 ? bytes : 0] = 0;
}

uint64_t hs_proc_resident(int statm)
{
	char text[OPEN_TEXT_MOST];
	unsigned long long pages;
	read_open(statm, text);
	return sscanf(text, "%*u %llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int hs_proc_open_schedstat(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

bool hs_proc_scheduled(int schedstat, uint64_t *ran_ns, uint64_t *waited_ns)
{
	char text[OPEN_TEXT_MOST];
	read_open(schedstat, text);
	return sscanf(text, "%" SCNu64 " %" SCNu64, ran_ns, waited_ns) == 2;
}

uint64_t hs_proc_most_resident(pid_t pid)
{
	char text[4096];
	unsigned long long kilobytes;
	if (read_file(text, sizeof text, "/proc/%d/status", (int)pid) <= 0)
		return 0;
	const char *line = strstr(text, "\nVmHWM:");
	return line && sscanf(line, "\nVmHWM: %llu", &kilobytes) == 1 ? kilobytes * 1024 : 0;
}

/* As of wait(). */
static bool pidfd_exit_status(int pidfd, int *status)
{
	/* struct pidfd_info of linux/pidfd.h, newer than our headers */
	struct {
		uint64_t mask, cgroup;
		uint32_t ids[11];
		int32_t exit_code;
	} info = {.mask = 1u << 3 /* PIDFD_INFO_EXIT */};
	_Static_assert(sizeof info == 64, "PIDFD_INFO_SIZE_VER0");
	if (pidfd < 0 || ioctl(pidfd, _IOWR(0xff, 11, info), &info) != 0 || !(info.mask & 1u << 3))
		return false;
	*status = info.exit_code;
	return true;
}

static struct hs_proc_end end_by_proc(pid_t pid)
{
	struct hs_proc_end end = {0};
	char text[2048], path[32], state;
	unsigned long long child_minor, child_major;
	int status;
	struct stat owner;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (read_file(text, sizeof text, "/proc/%d/stat", (int)pid) <= 0 || stat(path, &owner) != 0)
		return end;
	const char *rest = strrchr(text, ')'), *last = strrchr(text, ' ');
	/* state, then fields 4 .. 10, minflt, cminflt, majflt, cmajflt; the exit code is field 52, the last
	 * one. */
	if (!rest || !last ||
	    sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %llu %*u %llu", &state, &child_minor,
		   &child_major) != 3 ||
	    sscanf(last, " %d", &status) != 1)
		return end;
	/* To others than its owner the kernel says 0. */
	end.known = state == 'Z' && (geteuid() == 0 || owner.st_uid == geteuid());
	end.status = status;
	end.had_children = child_minor || child_major;
	return end;
}

struct hs_proc_end hs_proc_end(pid_t pid, int pidfd)
{
	struct hs_proc_end end = end_by_proc(pid);
	if (!end.known)
		end.known = pidfd_exit_status(pidfd, &end.status);
	return end;
}
