/* Threads, handlers and coroutines. Usage: contexts MODE, or contexts returns WAY [greet]. What `signals` and
 * `jumps` do needs an allocator that a handler may call at any moment: linked with bump.c. */
#define _GNU_SOURCE
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

KEEPER(main_kept, 5, 100)

/* ---- ten thousand threads: each takes four blocks, main frees three of them ------------------------------
 */

static void *handed_over[50][3];

NOINLINE static void *short_life(void *index)
{
	for (int i = 0; i < 3; i++)
		handed_over[(intptr_t)index][i] = keep(malloc(32));
	keep(malloc(32));
	return NULL;
}

static long resident_kilobytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void mode_many(void)
{
	long early = 0;
	for (int round = 0; round < 200; round++) {
		pthread_t threads[50];
		for (intptr_t i = 0; i < 50; i++)
			CHECK(pthread_create(&threads[i], NULL, short_life, (void *)i) == 0);
		for (int i = 0; i < 50; i++) {
			pthread_join(threads[i], NULL);
			for (int j = 0; j < 3; j++)
				free(handed_over[i][j]);
		}
		if (round == 20)
			early = resident_kilobytes();
	}
	char text[32];
	int length = snprintf(text, sizeof text, "%ld\n", resident_kilobytes() - early);
	CHECK(write(1, text, (size_t)length) == length);
}

/* ---- cancellation ---------------------------------------------------------------------------------------
 */

static atomic_int waiting;

NOINLINE static void clean_up(void *block)
{
	free(block);
	keep(malloc(40));
}

static void *until_cancelled(void *unused)
{
	void *block = keep(malloc(300));
	pthread_cleanup_push(clean_up, block);
	waiting++;
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return unused;
}

static void mode_cancel(void)
{
	pthread_t threads[20];
	void *result;
	for (int i = 0; i < 20; i++)
		CHECK(pthread_create(&threads[i], NULL, until_cancelled, NULL) == 0);
	while (waiting < 20)
		sched_yield();
	for (int i = 0; i < 20; i++)
		CHECK(pthread_cancel(threads[i]) == 0);
	for (int i = 0; i < 20; i++)
		CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
}

/* ---- the smallest stacks ---------------------------------------------------------------------------------
 */

NOINLINE static void *tiny(void *unused)
{
	volatile char own[5000];
	own[0] = own[4999] = 1;
	keep(malloc(50));
	free(keep(realloc(keep(malloc(60)), 6000)));
	return own[0] == 2 ? (void *)own : unused;
}

static void mode_tiny(void)
{
	pthread_attr_t attributes;
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
	for (int i = 0; i < 10; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, &attributes, tiny, NULL) == 0);
		pthread_join(thread, NULL);
	}
}

/* ---- handlers that interrupt malloc and free -------------------------------------------------------------
 */

static volatile sig_atomic_t handled;
static sigjmp_buf back;
static volatile sig_atomic_t jump, jumps;
static volatile long completed;

NOINLINE static void in_handler(void)
{
	void *block = keep(malloc(24));
	keep(malloc(8));
	free(block);
}

static void on_alarm(int number)
{
	(void)number;
	in_handler();
	handled++;
	if (jump) {
		jump = 0;
		jumps++;
		siglongjmp(back, 1);
	}
}

NOINLINE static void work(void)
{
	void *block = keep(malloc(100));
	block = keep(realloc(block, 200));
	free(block);
	completed++;
}

static void alarm_every(long microseconds)
{
	struct itimerval often = {{0, microseconds}, {0, microseconds}};
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void tell(void)
{
	char text[96];
	int length = snprintf(text, sizeof text, "%ld %d %d\n", completed, (int)handled, (int)jumps);
	CHECK(write(1, text, (size_t)length) == length);
}

static void mode_signals(void)
{
	CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
	alarm_every(50);
	while (handled < 3000)
		work();
	alarm_every(0);
	tell();
}

static void mode_jumps(void)
{
	CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
	alarm_every(100);
	while (jumps < 1000) {
		if (sigsetjmp(back, 1))
			continue;
		jump = 1;
		for (;;)
			work();
	}
	alarm_every(0);
	while (completed % 1000)
		work();
	tell();
}

/* ---- handlers that fork, as crash reporters do
 * --------------------------------------------------------------- */

KEEPER(in_forked, 10, 12)
static volatile sig_atomic_t forks;

static void fork_in_handler(int number)
{
	(void)number;
	if (forks == 50)
		return;
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		in_forked();
		_exit(3);
	}
	check_status(pid, 3);
	forks++;
}

static void mode_forks(void)
{
	CHECK(signal(SIGALRM, fork_in_handler) != SIG_ERR);
	alarm_every(1000);
	while (forks < 50)
		work();
	alarm_every(0);
	tell();
}

/* ---- handlers that fork, and the child goes on with what they interrupted ---------------------------------
 */

enum { RETURNING = 60 };
static pid_t (*fork_by)(void);
static volatile sig_atomic_t in_returned; /* in the child */
static volatile pid_t children[RETURNING];

/* Not the call of a library: nobody can tell the child before it allocates. */
static pid_t fork_by_itself(void)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_fork) : "rcx", "r11", "memory");
	return (pid_t)result;
}

static pid_t fork_by_number(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t fork_by_structure(void)
{
	struct {
		unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = {.exit_signal = SIGCHLD};
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static volatile sig_atomic_t greets; /* the child allocates in the handler already */

NOINLINE static void greet(void)
{
	keep(malloc(17));
	__asm__ volatile("");
}

static void fork_and_return(int number)
{
	(void)number;
	if (forks == RETURNING || in_returned)
		return;
	pid_t pid = fork_by();
	CHECK(pid >= 0);
	if (pid == 0) {
		in_returned = 1;
		if (greets)
			greet();
		return;
	}
	children[forks++] = pid;
}

NOINLINE static void after_return(void)
{
	static void *blocks[3000];
	for (int i = 0; i < 3000; i++)
		blocks[i] = keep(malloc(40));
	for (int i = 0; i < 2990; i++)
		free(blocks[i]);
}

static void *idle(void *stop)
{
	CHECK(read(*(int *)stop, &(char){0}, 1) == 0);
	return NULL;
}

/* The parent works as if nothing had happened; each child finishes the call that the signal has interrupted,
 * keeps 10 of 3,000 blocks, and leaves by exit. */
static void mode_returns(char **options)
{
	static const struct {
		const char *name;
		pid_t (*fork)(void);
	} ways[] = {{"fork", fork},
		    {"_Fork", _Fork},
		    {"clone", fork_by_number},
		    {"clone3", fork_by_structure},
		    {"itself", fork_by_itself}};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(options[0], ways[i].name) == 0)
			fork_by = ways[i].fork;
	CHECK(fork_by);
	greets = options[1] != NULL;
	pthread_t thread;
	int stop[2];
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	CHECK(pipe(stop) == 0 && sigprocmask(SIG_BLOCK, &alarms, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, idle, &stop[0]) == 0);
	CHECK(sigprocmask(SIG_UNBLOCK, &alarms, NULL) == 0);
	CHECK(signal(SIGALRM, fork_and_return) != SIG_ERR);
	alarm_every(700);
	while (forks < RETURNING && !in_returned)
		work();
	if (in_returned) {
		alarm(60); /* hanging is a failure */
		after_return();
		exit(6);
	}
	alarm_every(0);
	close(stop[1]);
	pthread_join(thread, NULL);
	for (int i = 0; i < RETURNING; i++)
		check_status(children[i], 6);
	while (completed % 1000)
		work();
	tell();
}

/* ---- code that was made at run time
 * ------------------------------------------------------------------------ */

NOINLINE static void from_generated(void)
{
	keep(malloc(50));
	__asm__ volatile("");
}

/* push rbp; mov rbp, rsp; call rdi; without the frame pointer; with a large frame, and junk in rbp. */
static void mode_generated(void)
{
	static const unsigned char with_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3},
				   without[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
						0x48, 0x83, 0xc4, 0x08, 0xc3},
				   junk[] = {0x55, 0x48, 0x81, 0xec, 0x30, 0x01, 0x00, 0x00, 0x48,
					     0xc7, 0xc5, 0x0b, 0x00, 0x00, 0x00, 0xff, 0xd7, 0x48,
					     0x81, 0xc4, 0x30, 0x01, 0x00, 0x00, 0x5d, 0xc3};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	memcpy(code, with_pointer, sizeof with_pointer);
	memcpy(code + 64, without, sizeof without);
	memcpy(code + 128, junk, sizeof junk);
	CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
	for (int i = 0; i < 30; i++) {
		void (*stub)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)(code + i % 3 * 64);
		stub(from_generated);
	}
}

/* ---- a handler on a stack of its own, when the thread's is used up ---------------------------------------
 */

NOINLINE static void last_words(void)
{
	KEEP(3, 33);
	__asm__ volatile("");
}

static void on_overflow(int number)
{
	(void)number;
	last_words();
	_exit(5);
}

NOINLINE static int overflow(volatile char *from)
{
	volatile char here[1000];
	here[0] = from[0];
	return here[0] == 1 ? 1 : overflow(here) + here[0];
}

static void mode_overflow(void)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
	struct rlimit limit = {1 << 20, 1 << 20}, none = {0, 0};
	volatile char zero = 0;
	CHECK(setrlimit(RLIMIT_STACK, &limit) == 0 && setrlimit(RLIMIT_CORE, &none) == 0);
	CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	overflow(&zero);
}

/* ---- coroutines, resumed by one thread and then by another -----------------------------------------------
 */

enum { COROUTINES = 100, TURNS = 10, STACK = 16384 };
static ucontext_t coroutines[COROUTINES];
static __thread ucontext_t *resumer;

NOINLINE static ucontext_t *my_resumer(void)
{
	__asm__ volatile("" : : : "memory");
	return resumer;
}

NOINLINE static void coroutine_keeps(void)
{
	keep(malloc(48));
	__asm__ volatile("");
}

NOINLINE static void coroutine(int index)
{
	for (int turn = 0; turn < TURNS; turn++) {
		void *block = keep(malloc(48));
		if (turn == 0)
			coroutine_keeps();
		swapcontext(&coroutines[index], my_resumer());
		free(block);
	}
	for (;;)
		swapcontext(&coroutines[index], my_resumer());
}

static void *resume_all(void *turns)
{
	ucontext_t here;
	resumer = &here;
	for (int turn = 0; turn < (int)(intptr_t)turns; turn++)
		for (int i = 0; i < COROUTINES; i++)
			CHECK(swapcontext(&here, &coroutines[i]) == 0);
	return NULL;
}

static void mode_coroutines(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		char *stack =
			mmap(NULL, STACK + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0);
		CHECK(getcontext(&coroutines[i]) == 0);
		coroutines[i].uc_stack.ss_sp = stack + 4096;
		coroutines[i].uc_stack.ss_size = STACK;
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < TURNS + 1; i++) {
		pthread_t thread;
		if (i % 2) {
			resume_all((void *)1);
			continue;
		}
		CHECK(pthread_create(&thread, NULL, resume_all, (void *)1) == 0);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"many", mode_many},
		{"cancel", mode_cancel},
		{"tiny", mode_tiny},
		{"signals", mode_signals},
		{"jumps", mode_jumps},
		{"overflow", mode_overflow},
		{"coroutines", mode_coroutines},
		{"forks", mode_forks},
		{"generated", mode_generated},
	};
	CHECK(argc >= 2);
	if (strcmp(argv[1], "returns") == 0) {
		mode_returns(argv + 2);
		main_kept();
		return 0;
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			main_kept();
			return 0;
		}
	return FAILED;
}
