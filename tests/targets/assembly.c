/* Code by hand. Usage: assembly MODE.
 *
 * fibres: 40 stacks, switched by a few instructions, resumed in turn by two threads.
 *   fibre_keeps:  40 x malloc(72), kept
 *   fibre_works:  40 x 9 x malloc(90), freed in the next turn, by another thread
 * no_cfi: functions without unwind data in a program that has some.
 *   from_assembly: 20 x malloc(33), kept; 10 below assembly with a frame pointer, 10 below one without */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { FIBRES = 40, TURNS = 10, STACK_BYTES = 16384 };

/* void switch_stack(void **save, void *to): what the ABI keeps goes to the old stack and comes from the new
 * one. */
void switch_stack(void **save, void *to);
__asm__(".text\n"
	".globl switch_stack\n"
	"switch_stack:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
	"ret\n");

static void *fibres[FIBRES], *resumer;
static int current;

NOINLINE static void fibre_keeps(void)
{
	keep(malloc(72));
	__asm__ volatile("");
}

NOINLINE static void fibre_works(int own)
{
	for (int turn = 1; turn < TURNS; turn++) {
		void *block = keep(malloc(90));
		switch_stack(&fibres[own], resumer);
		free(block);
	}
}

NOINLINE static void fibre_main(void)
{
	int own = current;
	fibre_keeps();
	fibre_works(own);
	for (;;)
		switch_stack(&fibres[own], resumer);
}

static void *resume_all(void *unused)
{
	for (current = 0; current < FIBRES; current++)
		switch_stack(&resumer, fibres[current]);
	return unused;
}

static void mode_fibres(void)
{
	for (int i = 0; i < FIBRES; i++) {
		char *stack =
			mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(stack != MAP_FAILED);
		/* six registers, where to begin, and no caller */
		void **top = (void **)(stack + STACK_BYTES) - 3;
		top[-1] = (void *)(uintptr_t)fibre_main;
		fibres[i] = top - 7;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_t thread;
		if (turn % 2) {
			resume_all(NULL);
			continue;
		}
		CHECK(pthread_create(&thread, NULL, resume_all, NULL) == 0);
		pthread_join(thread, NULL);
	}
}

void with_pointer(void (*function)(void)), without_pointer(void (*function)(void));
__asm__(".globl with_pointer\n"
	"with_pointer:\n"
	"push %rbp\nmov %rsp, %rbp\ncall *%rdi\npop %rbp\nret\n"
	".globl without_pointer\n"
	"without_pointer:\n"
	"push %rbp\nmov $11, %ebp\nsub $48, %rsp\ncall *%rdi\nadd $48, %rsp\npop %rbp\nret\n");

NOINLINE static void from_assembly(void)
{
	keep(malloc(33));
	__asm__ volatile("");
}

NOINLINE static void mode_no_cfi(void)
{
	for (int i = 0; i < 10; i++) {
		with_pointer(from_assembly);
		without_pointer(from_assembly);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (strcmp(argv[1], "fibres") == 0)
		mode_fibres();
	else
		mode_no_cfi();
	return 0;
}
