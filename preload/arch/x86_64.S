/* What cannot be said in C: functions that leave no frame of their own (see libc.c). */

	.text

/* hidden functions of ours */
	.hidden hs_before_dlopen
	.hidden hs_before_dlmopen
	.hidden hs_process_forked
	.hidden hs_syscall_fails

/* The real function is told our caller's address, not ours. */
.macro PASS_ON name, before
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	push %rdx
	.cfi_adjust_cfa_offset 8
	call \before
	pop %rdx
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
	.size \name, . - \name
.endm

	PASS_ON dlopen, hs_before_dlopen
	PASS_ON dlmopen, hs_before_dlmopen

/* long syscall(long number, ...), as libc has it; but the child of a fork, which is to return on the stack and
 * with the memory that its parent has, calls hs_process_forked first. No stack is used before that is known. */
.macro DO_SYSCALL
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsi
	mov %rcx, %rdx
	mov %r8, %r10
	mov %r9, %r8
	mov 8(%rsp), %r9
	syscall
	cmp $-4095, %rax
	jae .Lfails
.endm

#define SYS_clone 56
#define SYS_fork 57
#define SYS_clone3 435
#define CLONE_VM 0x100
#define CLONE_ARGS_STACK 40

	.globl syscall
	.type syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmp $SYS_clone, %rdi
	je .Lclone
	cmp $SYS_fork, %rdi
	je .Lfork
	cmp $SYS_clone3, %rdi
	je .Lclone3
	DO_SYSCALL
	ret
.Lclone:
	DO_SYSCALL
	test %rax, %rax
	jnz .Lreturn
	test $CLONE_VM, %edi
	jnz .Lreturn
	test %rsi, %rsi
	jnz .Lreturn
	jmp .Lchild
.Lclone3:
	DO_SYSCALL
	test %rax, %rax
	jnz .Lreturn
	testl $CLONE_VM, (%rdi)
	jnz .Lreturn
	cmpq $0, CLONE_ARGS_STACK(%rdi)
	jne .Lreturn
	jmp .Lchild
.Lfork:
	DO_SYSCALL
	test %rax, %rax
	jnz .Lreturn
.Lchild:
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call hs_process_forked
	xor %eax, %eax
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
.Lreturn:
	ret
.Lfails:
	mov %rax, %rdi
	jmp hs_syscall_fails
	.cfi_endproc
	.size syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
