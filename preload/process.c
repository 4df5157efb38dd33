/* Start and fork: finds the settings, shakes hands with the collector, maps the region.
 *
 * The first event may come before libc is initialised (.preinit_array), under libc's own locks, or in a fork
 * child of a threaded program: raw system calls and no libc but what is safe there. */
#include "stamps.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

struct process hs_process = {.header = &hs_no_region};
_Alignas(HS_PAGE_BYTES) uint32_t hs_alive[HS_PAGE_BYTES / sizeof(uint32_t)];

static char socket_name[sizeof((struct sockaddr_un){0}.sun_path)];
static char token[HS_TOKEN_BYTES + 1];

extern void *__libc_stack_end;

void hs_process_stop(enum hs_stop reason)
{
	uint32_t none = HS_STOP_NONE;
	if (__atomic_compare_exchange_n(&hs_process.stopped, &none, reason, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		store_relaxed(&hs_process.header->stopped, reason);
}

void hs_process_heed_pauses(void)
{
	uint32_t records;
	/* again if another thread has changed it meanwhile: the last one to look sees the last state */
	do {
		records = __atomic_load_n(&hs_process.pauses, __ATOMIC_SEQ_CST) == 0;
		__atomic_store_n(&hs_alive[ALIVE_AND_RECORDS], records, __ATOMIC_SEQ_CST);
	} while (records != (__atomic_load_n(&hs_process.pauses, __ATOMIC_SEQ_CST) == 0));
}

uint64_t hs_signals_block(void)
{
	uint64_t all = ~0ull, mask = 0;
	arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, sizeof mask, 0, 0);
	return mask;
}

void hs_signals_restore(uint64_t mask)
{
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}

/* ---- settings ---------------------------------------------------------------------------------------- */

/* The environment as the kernel laid it on the stack: environ is still NULL in .preinit_array. */
static char **initial_environment(void)
{
	long *stack = __libc_stack_end;
	return stack ? (char **)(stack + 1 + stack[0] + 1) : NULL;
}

static const char *setting(char **environment, const char *name)
{
	size_t length = strlen(name);
	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* Behind the environment the kernel laid what it tells the loader. */
static uint64_t vdso_address(char **environment)
{
	if (!environment)
		return 0;
	while (*environment)
		environment++;
	const ElfW(auxv_t) *entry = (const ElfW(auxv_t) *)(environment + 1);
	while (entry->a_type != AT_NULL && entry->a_type != AT_SYSINFO_EHDR)
		entry++;
	return entry->a_type == AT_SYSINFO_EHDR ? entry->a_un.a_val : 0;
}

/* The TSC counts time only if it is invariant and the kernel trusts it. */
static bool kernel_trusts_tsc(void)
{
	static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char text[8] = "";
	long fd = arch_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return false;
	arch_syscall(SYS_read, fd, (long)text, sizeof text - 1, 0, 0, 0);
	arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return strncmp(text, "tsc", 3) == 0;
}

static struct range mapped_around(const void *address)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found) != 0)
		return (struct range){0};
	return (struct range){(uint64_t)found.dlfo_map_start,
			      (uint64_t)found.dlfo_map_end - (uint64_t)found.dlfo_map_start};
}

static void read_settings(void)
{
	char **environment = initial_environment();
	const char *name = setting(environment, HS_ENV_SOCKET), *key = setting(environment, HS_ENV_TOKEN);
	const char *follow = setting(environment, HS_ENV_FOLLOW),
		   *unwinder = setting(environment, HS_ENV_UNWINDER);
	if (name && key && strlen(name) < sizeof socket_name && strlen(key) == HS_TOKEN_BYTES) {
		memcpy(socket_name, name, strlen(name) + 1);
		memcpy(token, key, sizeof token);
	}
	hs_process.follow_forks = !follow || strcmp(follow, "all") == 0;
	if (unwinder && strcmp(unwinder, "libunwind") == 0)
		hs_process.unwinder = UNWINDER_LIBUNWIND;
	else if (unwinder && strcmp(unwinder, "fp") == 0)
		hs_process.unwinder = UNWINDER_FP;
	hs_process.stack_end = (uint64_t)__libc_stack_end;
	hs_process.clock_is_tsc = arch_stamp_is_invariant() && kernel_trusts_tsc();
	hs_process.clock_is_readable = hs_process.clock_is_tsc;
	hs_stamps_begin(vdso_address(environment));
	hs_process.loader = mapped_around((void *)_r_debug.r_brk);
	hs_process.libc = mapped_around((void *)dlsym);
}

/* ---- hand-shake -------------------------------------------------------------------------------------- */

static long connect_to(bool abstract)
{
	long fd = arch_syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0);
	if (fd < 0)
		return fd;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(socket_name);
	if (length + 1 < sizeof address.sun_path) {
		memcpy(address.sun_path + abstract, socket_name, length);
		long bytes = (long)(offsetof(struct sockaddr_un, sun_path) + length + 1);
		if (arch_syscall(SYS_connect, fd, (long)&address, bytes, 0, 0, 0) == 0)
			return fd;
	}
	arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return -1;
}

static bool send_hello(long fd, enum hs_origin origin)
{
	struct hs_hello hello = {
		.magic = HS_REGION_MAGIC,
		.version = HS_REGION_VERSION,
		.origin = origin,
		.pid = (uint32_t)arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0),
		.parent_pid = (uint32_t)arch_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0),
		.stamp = hs_stamp_now(),
	};
	memcpy(hello.token, token, HS_TOKEN_BYTES);
	long sent;
	do
		sent = arch_syscall(SYS_sendto, fd, (long)&hello, sizeof hello, MSG_NOSIGNAL, 0, 0);
	while (sent == -4 /* EINTR */);
	return sent == sizeof hello;
}

/* The region's descriptor, or -1: the collector does not want this process, or cannot be heard. */
static long receive_welcome(long fd)
{
	struct hs_welcome welcome = {0};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&welcome, sizeof welcome};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct timeval time_out = {.tv_sec = 10};
	arch_syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&time_out, sizeof time_out, 0);
	long got;
	do
		got = arch_syscall(SYS_recvmsg, fd, (long)&message, MSG_CMSG_CLOEXEC | MSG_WAITALL, 0, 0, 0);
	while (got == -4);
	int region = -1;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (got > 0 && header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&region, CMSG_DATA(header), sizeof region);
	if (got == sizeof welcome && welcome.magic == HS_REGION_MAGIC &&
	    welcome.version == HS_REGION_VERSION && welcome.record)
		return region;
	if (region >= 0)
		arch_syscall(SYS_close, region, 0, 0, 0, 0, 0);
	return -1;
}

/* The hand-shake needs two descriptors for a moment. If the program has used up its own its limit goes up for
 * that time; *before is what to put back. */
static bool make_room(struct rlimit *before)
{
	enum { NEEDED = 2 };
	long fds[NEEDED];
	bool room = true;
	for (int i = 0; i < NEEDED; i++)
		room &= (fds[i] = arch_syscall(SYS_eventfd2, 0, O_CLOEXEC, 0, 0, 0, 0)) >= 0;
	for (int i = 0; i < NEEDED; i++)
		if (fds[i] >= 0)
			arch_syscall(SYS_close, fds[i], 0, 0, 0, 0, 0);
	if (room || arch_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)before, 0, 0) != 0)
		return false;
	struct rlimit more = {before->rlim_max, before->rlim_max};
	return arch_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&more, 0, 0, 0) == 0;
}

static bool shake_hands(enum hs_origin origin)
{
	long fd = connect_to(true);
	if (fd < 0)
		fd = connect_to(false);
	if (fd < 0)
		return false;
	long region = send_hello(fd, origin) ? receive_welcome(fd) : -1;
	arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	if (region < 0)
		return false;
	bool mapped = hs_region_map((int)region);
	arch_syscall(SYS_close, region, 0, 0, 0, 0, 0);
	return mapped;
}

static bool connect_region(enum hs_origin origin)
{
	struct rlimit before;
	bool raised = make_room(&before), connected = shake_hands(origin);
	if (raised)
		arch_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&before, 0, 0, 0);
	return connected;
}

/* Events that found the process still beginning, for too long. */
static _Atomic(uint64_t) early_lost;

static void begin(enum hs_origin origin)
{
	if (!socket_name[0] || (origin == HS_ORIGIN_FORK && !hs_process.follow_forks) ||
	    !connect_region(origin))
		return;
	struct hs_region_header *header = hs_process.header;
	header->clock = hs_process.clock_is_tsc ? HS_CLOCK_TSC : HS_CLOCK_MONOTONIC;
	header->origin = origin;
	header->flags = hs_real_first() ? 0 : HS_REGION_FLAG_NOT_FIRST;
	header->pid = (uint32_t)arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	header->start_stamp = hs_stamp_now();
	header->node_count = 1;
	hs_threads_begin();
	hs_trie_begin();
	hs_modules_begin();
	header->lost_events = early_lost;
	header->began_paused = hs_process.pauses != 0;
	store_release(&header->ready, 1);
}

static bool lives(uint32_t tid)
{
	long pid = arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	return arch_syscall(SYS_tgkill, pid, tid, 0, 0, 0, 0) != -3 /* ESRCH */;
}

void hs_process_forked(void)
{
	if (!hs_process.begun || load_relaxed(&hs_alive[ALIVE]))
		return;
	uint64_t mask = hs_signals_block();
	if (hs_threads_forked())
		hs_process.interrupted = true;
	hs_region_forget(hs_process.interrupted);
	hs_stamps_end_solo(NULL);
	hs_process.epoch++;
	hs_process.generation++;
	hs_process.stopped = HS_STOP_NONE;
	early_lost = 0;
	hs_signals_restore(mask);
}

/* The first process of this image, or a fork child after hs_process_forked. */
static void begin_once(void)
{
	if (load_relaxed(&hs_alive[ALIVE]))
		return;
	if (hs_process.begun) {
		void *parents_lifeline = hs_process.lifeline;
		hs_process.lifeline = NULL;
		if (hs_process.was_recorded)
			begin(HS_ORIGIN_FORK);
		if (parents_lifeline)
			hs_pages_free(parents_lifeline, HS_PAGE_BYTES);
		hs_process.interrupted = false;
	} else {
		read_settings();
		/* Without it a fork child would not be known for one. */
		if (arch_syscall(SYS_madvise, (long)hs_alive, sizeof hs_alive, MADV_WIPEONFORK, 0, 0, 0) == 0)
			begin(HS_ORIGIN_START);
		hs_process.was_recorded = hs_recording();
		hs_process.begun = true;
	}
	store_release(&hs_alive[ALIVE], 1);
	hs_process_heed_pauses();
}

void hs_process_begin(void)
{
	/* Whoever comes second waits: his event shall count. But not for himself (what we call may allocate),
	 * and not for a thread that a fork has left behind with the flag in its hand. */
	static uint32_t owner;
	uint32_t other = 0, me = (uint32_t)arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	uint64_t mask = hs_signals_block(); /* a handler's events shall count, too */
	for (int turns = 1;
	     !__atomic_compare_exchange_n(&owner, &other, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	     turns++) {
		if (other == me || turns == 10000) {
			early_lost += other != me;
			hs_signals_restore(mask);
			return;
		}
		if (turns % 100 != 0 || lives(other))
			other = 0;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	begin_once();
	store_release(&owner, 0);
	hs_signals_restore(mask);
}

/* Programs that allocate nothing before main still want their library list and their start. */
__attribute__((constructor)) static void load(void)
{
	hs_real_begin();
	if (!load_relaxed(&hs_alive[ALIVE]))
		hs_process_begin();
	pthread_atfork(NULL, NULL, hs_process_forked);
}
