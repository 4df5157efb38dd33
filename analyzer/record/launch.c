/* fork and exec. The target gets our streams, directory and signal state untouched, and three more variables.
 */
#include "record/launch.h"

#include "base/memory.h"
#include "heapscope/region.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char preload[] = "LD_PRELOAD";

/* The library's absolute path, or that of a link to it if the loader would split it (at spaces and colons) or
 * expand it ($ORIGIN). malloc'ed; NULL with errno. */
static char *preloadable_path(const struct hs_launch *launch)
{
	char *path = realpath(launch->library, NULL), *link;
	if (!path || !strpbrk(path, " :$;"))
		return path;
	if (asprintf(&link, "%s/library", launch->directory) < 0)
		link = NULL;
	if (!link || symlink(path, link) != 0 || strpbrk(link, " :$;")) {
		free(link);
		link = NULL;
		errno = EINVAL;
	}
	free(path);
	return link;
}

static char *variable(const char *name, const char *value, const char *more)
{
	char *text;
	if (asprintf(&text, "%s=%s%s%s", name, value, more && *more ? ":" : "", more ? more : "") < 0)
		abort();
	return text;
}

static bool is_variable(const char *text, const char *name)
{
	size_t length = strlen(name);
	return strncmp(text, name, length) == 0 && text[length] == '=';
}

/* The environment with our variables in front, those of an outer heapscope left out. The first four strings
 * are malloced, and the array. */
static char **make_environment(const struct hs_launch *launch, const char *library)
{
	static const char *const own[] = {preload, HS_ENV_SOCKET, HS_ENV_TOKEN, HS_ENV_FOLLOW};
	enum { OWN = sizeof own / sizeof *own };
	size_t count = 0, used = 0;
	while (environ && environ[count])
		count++;
	char **environment = hs_allocate((count + OWN + 1) * sizeof *environment);
	environment[used++] = variable(preload, library, getenv(preload));
	environment[used++] = variable(HS_ENV_SOCKET, launch->socket, NULL);
	environment[used++] = variable(HS_ENV_TOKEN, launch->token, NULL);
	environment[used++] = variable(HS_ENV_FOLLOW, launch->follow, NULL);
	for (size_t i = 0; i < count; i++) {
		bool ours = false;
		for (size_t j = 0; j < OWN; j++)
			ours |= is_variable(environ[i], own[j]);
		if (!ours)
			environment[used++] = environ[i];
	}
	environment[used] = NULL;
	return environment;
}

/* In the child; does not return. */
static void become(const struct hs_launch *launch, char **environment, int report)
{
	hs_signals_give_back(launch->signals);
	execve(launch->path, launch->arguments, environment);
	int reason = errno;
	if (write(report, &reason, sizeof reason) < 0)
		_exit(126);
	_exit(127);
}

/* Waits for the exec, or for the reason why there was none: the pipe closes itself on exec. */
static int exec_result(int report, pid_t pid)
{
	int reason = 0;
	ssize_t got;
	do
		got = read(report, &reason, sizeof reason);
	while (got < 0 && errno == EINTR);
	if (got != sizeof reason)
		return 0;
	waitpid(pid, NULL, 0);
	return reason ? reason : ENOEXEC;
}

int hs_launch(const struct hs_launch *launch, pid_t *pid, struct hs_error *error)
{
	int report[2];
	char *library = preloadable_path(launch);
	if (!library) {
		hs_fail(error,
			"cannot preload '%s': %s; set HEAPSCOPE_LIBRARY to a path without spaces and colons",
			launch->library, strerror(errno));
		return 125;
	}
	char **environment = make_environment(launch, library);
	free(library);
	if (pipe2(report, O_CLOEXEC) != 0) {
		hs_fail(error, "cannot start '%s': %s", launch->path, strerror(errno));
		return 125;
	}
	*pid = fork();
	if (*pid == 0)
		become(launch, environment, report[1]);
	int reason = *pid < 0 ? errno : 0;
	close(report[1]);
	if (*pid > 0)
		reason = exec_result(report[0], *pid);
	close(report[0]);
	for (unsigned i = 0; i < 4; i++)
		free(environment[i]);
	free(environment);
	if (!reason)
		return 0;
	hs_fail(error, "cannot start '%s': %s", launch->path, strerror(reason));
	return *pid < 0 ? 125 : reason == ENOENT ? 127 : 126;
}
