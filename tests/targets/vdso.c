/* Signals that interrupt the vdso. Tells how many did, of those that came.
 *
 *   from_vdso: each handler that interrupted code of the vdso: malloc(24), kept; below ask_time and main
 *   elsewhere: each other: malloc(8), freed */
#define _GNU_SOURCE
#include "check.h"

#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

static uintptr_t vdso, vdso_end;
static volatile sig_atomic_t in_vdso, others;

NOINLINE static void from_vdso(void)
{
	keep(malloc(24));
	__asm__ volatile("");
}

NOINLINE static void elsewhere(void)
{
	free(keep(malloc(8)));
	__asm__ volatile("");
}

static void on_alarm(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	if (pc >= vdso && pc < vdso_end) {
		from_vdso();
		in_vdso++;
	} else {
		elsewhere();
		others++;
	}
}

static void find_vdso(void)
{
	vdso = getauxval(AT_SYSINFO_EHDR);
	CHECK(vdso);
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)vdso;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(vdso + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    vdso + segments[i].p_vaddr + segments[i].p_memsz > vdso_end)
			vdso_end = vdso + segments[i].p_vaddr + segments[i].p_memsz;
}

NOINLINE static void ask_time(void)
{
	struct timespec now;
	struct timeval day;
	for (int i = 0; i < 1000; i++) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
		CHECK(gettimeofday(&day, NULL) == 0);
	}
}

int main(void)
{
	char text[64];
	struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
	find_vdso();
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (in_vdso < 500)
		ask_time();
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	int length = snprintf(text, sizeof text, "%d %d\n", (int)in_vdso, (int)others);
	CHECK(write(1, text, (size_t)length) == length);
	return 0;
}
