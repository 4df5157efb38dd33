/* What a program does whose recorder dies. Says "ready", waits for a line, makes more events than the shared
 * memory holds, and tells what the shim then knows: how often a thread waited, and why recording stopped.
 * "tell": it also says "waiting" as soon as a thread does. "leave": all that is done by a child, which says
 * "left" when its parent has ended, and goes on when the recorder has left it. Compiled with -I include. */
#define _GNU_SOURCE
#include "check.h"

#include "heapscope/region.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

static const struct hs_region_header *find_region(void)
{
	static char maps[1 << 18];
	size_t bytes = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY);
	CHECK(fd >= 0);
	while ((got = read(fd, maps + bytes, sizeof maps - 1 - bytes)) > 0)
		bytes += (size_t)got;
	close(fd);
	for (char *line = maps, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (strstr(line, "rw-s 00000000 ") && strstr(line, "memfd:heapscope"))
			return (const struct hs_region_header *)strtoul(line, NULL, 16);
	}
	return NULL;
}

static const struct hs_region_header *region;

static void *watch(void *unused)
{
	while (!__atomic_load_n(&region->waits, __ATOMIC_RELAXED))
		sched_yield();
	CHECK(write(1, "waiting\n", 8) == 8);
	return unused;
}

NOINLINE static void churn(void)
{
	for (int i = 0; i < 3000000; i++)
		free(keep(malloc(16 + (size_t)i % 5000)));
}

/* The parent ends, the child returns. */
static void leave(void)
{
	pid_t parent = getpid(), pid = fork();
	CHECK(pid >= 0);
	if (pid > 0)
		_exit(0);
	KEEP(10, 100);
	region = find_region();
	CHECK(region);
	while (getppid() == parent)
		sched_yield();
	CHECK(write(1, "left\n", 5) == 5);
	while (!(__atomic_load_n(&region->collector, __ATOMIC_RELAXED) & FUTEX_OWNER_DIED))
		usleep(1000);
}

int main(int argc, char **argv)
{
	char byte, text[64];
	pthread_t watcher;
	bool leaves = argc > 1 && strcmp(argv[1], "leave") == 0, tells = argc > 1 && !leaves;
	KEEP(10, 100);
	region = find_region();
	CHECK(region);
	CHECK(write(1, "ready\n", 6) == 6 && read(0, &byte, 1) == 1);
	if (leaves)
		leave();
	if (tells)
		CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0);
	churn();
	if (tells)
		pthread_join(watcher, NULL);
	int length =
		snprintf(text, sizeof text, "%llu %u\n", (unsigned long long)region->waits, region->stopped);
	CHECK(write(1, text, (size_t)length) == length);
	return 0;
}
