/* Ways to have more than one process. Usage: processes MODE. Each KEEPER is the fact that a recording has to
 * show: blocks and bytes, all kept. "leaf" is the program that the others start. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern char **environ;
static char *self;

KEEPER(leaf, 5, 11)
KEEPER(before, 10, 100)
KEEPER(after, 10, 200)
KEEPER(in_child, 100, 50)
KEEPER(at_exit, 1, 55)
KEEPER(in_daemon, 50, 100)
KEEPER(in_worker, 20, 25)
KEEPER(in_clone, 3, 21)

static void *blocks[10];

NOINLINE static void inherited(void)
{
	for (int i = 0; i < 10; i++)
		blocks[i] = keep(malloc(100));
}

NOINLINE static void regrow(void)
{
	blocks[9] = keep(realloc(blocks[9], 5000));
}

/* The child keeps 100 blocks of its own, frees 4 that it inherited, grows one, and leaves by exit(). */
static void mode_fork(void)
{
	inherited();
	pid_t pid = fork();
	if (pid == 0) {
		atexit(at_exit);
		in_child();
		for (int i = 0; i < 4; i++)
			free(blocks[i]);
		regrow();
		exit(5);
	}
	check_status(pid, 5);
	after();
}

/* 3 generations, and the last one does not allocate. */
static void mode_generations(void)
{
	before();
	pid_t pid = fork();
	if (pid == 0) {
		in_child();
		pid = fork();
		if (pid == 0) {
			in_worker();
			pid = fork();
			if (pid == 0)
				_exit(3);
			check_status(pid, 3);
			_exit(2);
		}
		check_status(pid, 2);
		_exit(1);
	}
	check_status(pid, 1);
}

static atomic_int stop;

static void *churn(void *unused)
{
	while (!stop) {
		void *small = keep(malloc(64)), *large = keep(malloc(3000));
		free(small);
		free(large);
	}
	return unused;
}

static void *fork_often(void *unused)
{
	for (int i = 0; i < 15; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			alarm(60); /* a child that hangs is a failure, not a hanging test */
			CHECK(setenv("SOME_NAME", "some value", 1) == 0);
			in_child();
			_exit(0);
		}
		check_status(pid, 0);
	}
	return unused;
}

/* Two threads fork while three others allocate. */
static void mode_fork_threads(void)
{
	pthread_t threads[3], forker;
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	CHECK(pthread_create(&forker, NULL, fork_often, NULL) == 0);
	fork_often(NULL);
	pthread_join(forker, NULL);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	after();
}

/* Double fork, new session, all descriptors closed; works when the first process is long gone. */
static void mode_daemon(void)
{
	int gone[2];
	char byte;
	CHECK(pipe(gone) == 0);
	before();
	pid_t pid = fork();
	if (pid != 0) {
		close(gone[0]);
		check_status(pid, 0);
		return; /* and with us goes the writing end */
	}
	close(gone[1]);
	CHECK(setsid() > 0);
	if (fork() != 0)
		_exit(0);
	CHECK(chdir("/") == 0);
	CHECK(read(gone[0], &byte, 1) == 0);
	CHECK(syscall(SYS_close_range, 0, ~0u, 0) == 0);
	CHECK(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
	in_daemon();
}

static void mode_vfork(void)
{
	char *arguments[] = {self, "leaf", NULL};
	before();
	pid_t pid = vfork();
	if (pid == 0) {
		in_worker(); /* not allowed, and done all the same: the blocks are the parent's */
		execv("/no/such/program", arguments);
		_exit(127);
	}
	check_status(pid, 127);
	for (int i = 0; i < 3; i++) {
		pid = vfork();
		if (pid == 0) {
			execv(self, arguments);
			_exit(127);
		}
		check_status(pid, 4);
	}
	after();
}

static void mode_spawn(void)
{
	char *arguments[] = {self, "leaf", NULL}, command[4200];
	pid_t pid;
	before();
	CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
	check_status(pid, 4);
	snprintf(command, sizeof command, "'%s' leaf", self);
	int status = system(command);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	FILE *pipe = popen(command, "r");
	CHECK(pipe);
	status = pclose(pipe);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	after();
}

static int clone_body(void *unused)
{
	(void)unused;
	in_clone();
	return 6;
}

static int clone_exec(void *unused)
{
	char *arguments[] = {self, "leaf", NULL};
	execv(self, arguments);
	_exit(127);
	return unused != NULL;
}

static void clone_leaves(void)
{
	_exit(clone_body(NULL));
}

/* libc's syscall is what it is without us: all six arguments, errno, and no use of the stack, so that a child
 * with a new one returns to where that says. */
static void clone_by_number(char *stack_end)
{
	void (**stack)(void) = (void (**)(void))(stack_end - 64);
	stack[0] = clone_leaves;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, stack, NULL, NULL, NULL);
	check_status(pid, 6);
	errno = 0;
	CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
	CHECK(syscall(SYS_clone, CLONE_THREAD, NULL, NULL, NULL, NULL) == -1 && errno == EINVAL);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), *second;
	second = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	CHECK(memcmp(page, "\177ELF", 4) == 0 && memcmp(second, "\177ELF", 4) != 0);
	close(fd);
}

/* As fork without libc's knowledge; on a stack of its own; as posix_spawn does it; with our memory. */
static void mode_clone(void)
{
	static _Alignas(16) char stack[65536];
	before();
	clone_by_number(stack + sizeof stack);
	check_status(clone(clone_body, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), 6);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(clone_body(NULL));
	check_status(pid, 6);
	check_status(clone(clone_body, stack + sizeof stack, SIGCHLD, NULL), 6);
	check_status(clone(clone_exec, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 4);
	after();
}

static void *exec_leaf(void *unused)
{
	char *arguments[] = {self, "leaf", NULL};
	execv(self, arguments);
	return unused;
}

static void mode_exec(void)
{
	before();
	exec_leaf(NULL);
}

/* The thread that becomes the new program is not the first one, and two more are busy. */
static void mode_exec_thread(void)
{
	pthread_t threads[3];
	before();
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, i < 2 ? churn : exec_leaf, NULL) == 0);
	for (;;)
		pause();
}

static void mode_exec_fails(void)
{
	char *arguments[] = {"nothing", NULL}, garbage[] = "garbage-XXXXXX";
	before();
	errno = 0;
	CHECK(execv("/no/such/program", arguments) == -1 && errno == ENOENT);
	CHECK(execv("/dev/null", arguments) == -1 && errno == EACCES);
	int fd = mkstemp(garbage);
	CHECK(fd >= 0 && write(fd, "\1\2\3\4", 4) == 4 && fchmod(fd, 0755) == 0);
	close(fd);
	CHECK(execv(garbage, arguments) == -1 && errno == ENOEXEC);
	CHECK(setenv("PATH", "/usr/bin:/bin", 1) == 0);
	CHECK(execvp("no-such-program-anywhere", arguments) == -1 && errno == ENOENT);
	CHECK(unlink(garbage) == 0);
	after();
}

/* A server whose workers give up their rights before they allocate anything. */
static void mode_prefork(void)
{
	pid_t pids[3];
	before();
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			if (geteuid() == 0)
				CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
			in_worker();
			_exit(0);
		}
	}
	for (int i = 0; i < 3; i++)
		check_status(pids[i], 0);
}

/* A child that is this program, and one that is another. */
static void mode_both(void)
{
	char *arguments[] = {self, "leaf", NULL};
	pid_t pid = fork();
	before();
	if (pid == 0) {
		in_child();
		_exit(0);
	}
	check_status(pid, 0);
	CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
	check_status(pid, 4);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"fork", mode_fork},
		{"generations", mode_generations},
		{"fork_threads", mode_fork_threads},
		{"daemon", mode_daemon},
		{"vfork", mode_vfork},
		{"spawn", mode_spawn},
		{"clone", mode_clone},
		{"exec", mode_exec},
		{"exec_thread", mode_exec_thread},
		{"exec_fails", mode_exec_fails},
		{"prefork", mode_prefork},
		{"both", mode_both},
	};
	static char path[4096];
	CHECK(argc == 2 && readlink("/proc/self/exe", path, sizeof path - 1) > 0);
	self = path;
	if (strcmp(argv[1], "leaf") == 0) {
		leaf();
		return 4;
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	return FAILED;
}
