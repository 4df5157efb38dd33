/* What depends on the CPU: time stamps, raw system calls (libc's may be replaced by the program, and set
 * errno), where a signal frame keeps its registers. */
#ifndef HS_ARCH_X86_64_H
#define HS_ARCH_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

static inline uint64_t arch_stamp(void)
{
	return __builtin_ia32_rdtsc();
}

/* No earlier load is still under way when the stamp is taken: whoever saw another thread's block has a later
 * stamp than that thread took before handing it on. */
static inline uint64_t arch_stamp_fenced(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return __builtin_ia32_rdtsc();
}

/* Another thread is waited for. */
static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

static inline bool arch_stamp_is_invariant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* The registers that a kernel-made signal frame holds, given the stack pointer after the handler's return. */
static inline void arch_signal_frame(uint64_t sp, uint64_t *pc, uint64_t *next_sp, uint64_t *fp)
{
	const greg_t *registers = ((const ucontext_t *)sp)->uc_mcontext.gregs;
	*pc = (uint64_t)registers[REG_RIP];
	*next_sp = (uint64_t)registers[REG_RSP];
	*fp = (uint64_t)registers[REG_RBP];
}

/* The thread pointer: on a thread's own stack it lies above all frames (the initial thread's does not). */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Does a call instruction end at this (readable) address? */
static inline bool arch_follows_call(uint64_t address)
{
	const uint8_t *code = (const uint8_t *)address;
	if (code[-5] == 0xe8)
		return true;
	/* FF /2: call r/m, 2 to 7 bytes long */
	for (int length = 2; length <= 7; length++)
		if (code[-length] == 0xff && (code[1 - length] >> 3 & 7) == 2)
			return true;
	return false;
}

/* DWARF numbers of the registers that unwinding follows. */
enum { ARCH_DWARF_FP = 6, ARCH_DWARF_SP = 7, ARCH_DWARF_RETURN = 16 };

#endif
