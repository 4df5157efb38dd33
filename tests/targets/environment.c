/* Usage: environment overwrite: argv and environment are overwritten as setproctitle does it, and cleared;
 * what is started then runs without heapscope. environment empty PROGRAM: runs it with no argument at all
 * (argc 0). environment: prints whether LD_PRELOAD and LANG are as the caller had them, but for heapscope's
 * own part. */
#define _GNU_SOURCE
#include "check.h"

extern char **environ;

KEEPER(before, 3, 10)
KEEPER(after, 300, 10)

static void overwrite(int argc, char **argv)
{
	before();
	char *begin = argv[0], *end = argv[argc - 1] + strlen(argv[argc - 1]);
	for (char **variable = environ; *variable; variable++)
		if (*variable == end + 1)
			end = *variable + strlen(*variable);
	memset(begin, 'X', (size_t)(end - begin));
	CHECK(clearenv() == 0);
	environ = NULL;
	pid_t pid = fork();
	if (pid == 0) {
		after();
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	check_status(pid, 0);
	after();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "overwrite") == 0)
		overwrite(argc, argv);
	else if (argc == 3) {
		execve(argv[2], (char *[]){NULL}, environ);
		return FAILED;
	} else {
		CHECK(argc <= 1);
		after();
	}
	return 0;
}
