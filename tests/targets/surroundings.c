/* Programs in difficult surroundings. Usage: surroundings MODE [ARGUMENT...] */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

KEEPER(before, 10, 100)
KEEPER(after, 800, 20)
KEEPER(in_child, 30, 40)

NOINLINE static void churn(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		void *first = keep(malloc(16 + (size_t)i % 5000)), *second = keep(malloc(64));
		free(first);
		free(second);
	}
}

/* 2^depth stacks: so many that the recorder's tables of stacks grow. */
NOINLINE static void branch(int depth)
{
	if (depth == 0)
		free(keep(malloc(8)));
	else if (depth % 2)
		branch(depth - 1), keep(NULL), branch(depth - 1);
	else
		branch(depth - 1), branch(depth - 1);
	keep(NULL);
}

static char **arguments;

/* A file of the program's gets the number that a descriptor of a recorder might have had. */
static void mode_closes_all(void)
{
	char text[16] = "";
	before();
	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	int fd = open(arguments[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd == 3 && write(fd, "hello", 5) == 5);
	churn(100000);
	after();
	struct stat status;
	CHECK(fstat(fd, &status) == 0 && status.st_size == 5 && pread(fd, text, 5, 0) == 5 &&
	      strcmp(text, "hello") == 0);
}

static void *thread_after(void *unused)
{
	after();
	return unused;
}

/* Into an empty directory, and no rights any more; then a new thread, and a new process. */
static void mode_chroot(void)
{
	pthread_t thread;
	before();
	CHECK(chroot(arguments[0]) == 0 && chdir("/") == 0);
	if (arguments[1])
		CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
	CHECK(pthread_create(&thread, NULL, thread_after, NULL) == 0 && pthread_join(thread, NULL) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		in_child();
		_exit(0);
	}
	check_status(pid, 0);
}

static void mode_seccomp_strict(void)
{
	before();
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	after();
	if (arguments[0])
		churn(1500000);
	syscall(SYS_exit, 0); /* the only one that is left */
}

/* What a small sandbox allows; anything else is the end of the process. */
static void mode_seccomp_filter(void)
{
	static const unsigned allowed[] = {SYS_read, SYS_write, SYS_exit,   SYS_exit_group, SYS_rt_sigreturn,
					   SYS_brk,  SYS_mmap,  SYS_munmap, SYS_futex};
	enum { COUNT = sizeof allowed / sizeof *allowed };
	struct sock_filter filter[COUNT + 3];
	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < COUNT; i++)
		filter[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
							     (unsigned char)(COUNT - i), 0);
	filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {COUNT + 3, filter};
	before();
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	churn(arguments[0] ? 1500000 : 300000);
	branch(17);
	after();
}

/* Fills the address space, sees the failures that it would see alone, and goes on. Tells how many blocks it
 * got. */
NOINLINE static int hog(void **blocks, int most)
{
	int count = 0;
	errno = 0;
	while (count < most && (blocks[count] = keep(malloc(1 << 20))))
		count++;
	CHECK(count < most && errno == ENOMEM);
	for (int i = 0; i < 100; i++) {
		errno = 0;
		CHECK(keep(malloc(1 << 20)) == NULL && errno == ENOMEM);
	}
	return count;
}

static void mode_address_space(void)
{
	static void *blocks[4096];
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
	close(fd);
	rlim_t most = strtoul(text, NULL, 10) * 4096 + (64 << 20);
	before();
	CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0);
	int count = hog(blocks, 4096);
	for (int i = 0; i < count; i++)
		free(blocks[i]);
	churn(100000);
	after();
	int length = snprintf(text, sizeof text, "%d\n", count);
	CHECK(write(1, text, (size_t)length) == length);
}

NOINLINE static void *without_recorder(void *unused)
{
	for (int i = 0; i < 1000; i++)
		CHECK(keep(malloc(24)));
	return unused;
}

/* A new thread for which the program has brought a stack and a heap, and the recorder finds nothing left. */
static void mode_no_memory(void)
{
	static void *blocks[20000];
	char text[64] = "",
	     *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;
	CHECK(mallopt(M_ARENA_MAX, 1) && mallopt(M_TRIM_THRESHOLD, 64 << 20));
	before();
	for (int i = 0; i < 20000; i++)
		blocks[i] = keep(malloc(24));
	for (int i = 0; i < 20000; i++)
		free(blocks[i]);
	CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, 65536) == 0);
	int fd = open("/proc/self/statm", O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
	close(fd);
	rlim_t most = strtoul(text, NULL, 10) * 4096;
	CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0);
	CHECK(pthread_create(&thread, &attributes, without_recorder, NULL) == 0);
	pthread_join(thread, NULL);
	after();
}

static void mode_file_size(void)
{
	before();
	CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) == 0);
	churn(300000);
	after();
}

/* No descriptor is to be had; then a child is made. */
static void mode_descriptors(void)
{
	struct rlimit limit;
	before();
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(dup(0) == -1 && errno == EMFILE);
	pid_t pid = fork();
	if (pid == 0) {
		in_child();
		CHECK(dup(0) == -1 && errno == EMFILE);
		struct rlimit now;
		CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 3);
		_exit(0);
	}
	check_status(pid, 0);
	after();
}

/* The working directory goes away. */
static void mode_directory(void)
{
	CHECK(chdir(arguments[0]) == 0);
	before();
	CHECK(rmdir(arguments[0]) == 0);
	after();
}

/* Tells how much is locked, in KiB. */
static void mode_locked(void)
{
	char text[4096] = "";
	before();
	CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
	churn(100000);
	after();
	int fd = open("/proc/self/status", O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
	const char *line = strstr(text, "VmLck:");
	CHECK(line);
	int length = snprintf(text, sizeof text, "%ld\n", strtol(line + 6, NULL, 10));
	CHECK(write(1, text, (size_t)length) == length);
}

/* Says "ready", waits for a line, works on; the number of events is given. */
static void mode_waits(void)
{
	char byte;
	before();
	CHECK(write(1, "ready\n", 6) == 6 && read(0, &byte, 1) == 1);
	churn(atoi(arguments[0]));
	after();
	CHECK(write(1, "done\n", 5) == 5);
}

/* Events that do not compress: 16 bytes each is what they take in the recording. */
static void mode_random(void)
{
	static void *blocks[4096];
	unsigned long state = 88172645463325252;
	before();
	for (int i = atoi(arguments[0]); i > 0; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		void **place = &blocks[state % 4096];
		free(*place);
		*place = keep(malloc(state >> 20 & 0xffff));
	}
	after();
	CHECK(write(1, "done\n", 5) == 5);
}

static void mode_plain(void)
{
	before();
	after();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"closes_all", mode_closes_all},
		{"chroot", mode_chroot},
		{"seccomp_strict", mode_seccomp_strict},
		{"seccomp_filter", mode_seccomp_filter},
		{"address_space", mode_address_space},
		{"no_memory", mode_no_memory},
		{"file_size", mode_file_size},
		{"descriptors", mode_descriptors},
		{"directory", mode_directory},
		{"locked", mode_locked},
		{"waits", mode_waits},
		{"random", mode_random},
		{"plain", mode_plain},
	};
	CHECK(argc >= 2);
	arguments = argv + 2;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	return FAILED;
}
