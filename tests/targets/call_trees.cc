/* call_trees SEED CAPTURES: random call trees whose leaves allocate, through every kind of frame that makes
 * unwinding hard: alloca, realigned stacks, exceptions, longjmp, ucontext, a stack switched by hand, a signal
 * handler on an alternate stack, deep recursion. For the unwinder's oracle; built at several optimisation
 * levels. */
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static uint64_t state;
static long captures_left;
static uint64_t sink;

static unsigned next(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % below;
}

static void descend(int depth);

NOINLINE static void leaf()
{
	void *blocks[3];
	unsigned count = 1 + next(3);
	for (unsigned i = 0; i < count; i++)
		blocks[i] = malloc(1 + next(100));
	if (next(4) == 0)
		blocks[0] = realloc(blocks[0], 200);
	for (unsigned i = 0; i < count; i++)
		free(blocks[i]);
	captures_left -= count;
	KEEP_FRAME();
}

NOINLINE static void plain(int depth)
{
	descend(depth - 1);
	KEEP_FRAME();
}

NOINLINE static void with_alloca(int depth)
{
	volatile char *room = (char *)alloca(16 + next(300));
	room[0] = 1;
	descend(depth - 1);
	sink += room[0];
}

NOINLINE static void realigned(int depth)
{
	alignas(64) volatile char wide[64];
	wide[next(64)] = 2;
	descend(depth - 1);
	sink += wide[3];
}

NOINLINE static void realigned_with_alloca(int depth)
{
	alignas(128) volatile char wide[128];
	volatile char *room = (char *)alloca(16 + next(200));
	wide[5] = room[0] = 3;
	descend(depth - 1);
	sink += wide[5] + room[0];
}

NOINLINE static uint64_t many_registers(int depth, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
					uint64_t f, uint64_t g, uint64_t h)
{
	uint64_t x = a * b, y = c * d, z = e * f, w = g * h, v = a ^ h;
	descend(depth - 1);
	return x + y * z + w * v + a + b + c + d + e + f + g + h;
}

NOINLINE static void big_frame(int depth)
{
	volatile char room[9000];
	room[next(9000)] = 1;
	descend(depth - 1);
	sink += room[17];
}

struct unwound {
	int value;
};

struct guard {
	void *block = malloc(24);
	~guard()
	{
		free(block);
	}
};

NOINLINE static void thrower(int depth)
{
	guard held;
	descend(depth - 1);
	if (next(3) == 0)
		throw unwound{depth};
	KEEP_FRAME();
}

NOINLINE static void catcher(int depth)
{
	try {
		guard held;
		thrower(depth - 1);
	} catch (const unwound &caught) {
		sink += (uint64_t)caught.value;
		descend(depth - 2);
	}
}

NOINLINE static void jumper(int depth, jmp_buf *back)
{
	descend(depth - 1);
	if (next(2))
		longjmp(*back, 1);
	KEEP_FRAME();
}

NOINLINE static void jump_target(int depth)
{
	jmp_buf back;
	if (setjmp(back) == 0)
		jumper(depth - 1, &back);
	else
		leaf();
	KEEP_FRAME();
}

NOINLINE static void deep(int depth, int more)
{
	if (more > 0)
		deep(depth, more - 1);
	else
		descend(depth - 1);
	KEEP_FRAME();
}

/* ---- other stacks ---- */

enum { STACK_BYTES = 256 * 1024, STACKS = 4 };
static char *stacks[STACKS];
static int stacks_used;
static ucontext_t outer_context, inner_context;

static void context_body(int depth)
{
	try {
		descend(depth);
	} catch (const unwound &) {
		leaf();
	}
}

NOINLINE static void on_context(int depth)
{
	if (stacks_used == STACKS || depth < 3) {
		leaf();
		return;
	}
	ucontext_t saved_outer = outer_context, saved_inner = inner_context;
	getcontext(&inner_context);
	inner_context.uc_stack.ss_sp = stacks[stacks_used++];
	inner_context.uc_stack.ss_size = STACK_BYTES;
	inner_context.uc_link = &outer_context;
	makecontext(&inner_context, (void (*)())context_body, 1, depth - 2);
	swapcontext(&outer_context, &inner_context);
	stacks_used--;
	outer_context = saved_outer;
	inner_context = saved_inner;
}

/* call_on_stack(top, function, argument) */
extern "C" void call_on_stack(void *top, void (*function)(int), int argument);
__asm__(".text\n"
	".globl call_on_stack\n"
	".type call_on_stack, @function\n"
	"call_on_stack:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"mov %rdi, %rsp\n"
	"mov %edx, %edi\n"
	"call *%rsi\n"
	"leave\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_on_stack, .-call_on_stack\n");

NOINLINE static void on_switched_stack(int depth)
{
	if (stacks_used == STACKS || depth < 3) {
		leaf();
		return;
	}
	char *stack = stacks[stacks_used++];
	call_on_stack(stack + STACK_BYTES, context_body, depth - 2);
	stacks_used--;
	KEEP_FRAME();
}

static int handler_depth;
static bool in_handler;

static void on_signal(int)
{
	try {
		descend(handler_depth);
	} catch (const unwound &) {
		leaf();
	}
}

NOINLINE static void raising(int depth)
{
	if (in_handler || depth < 3) {
		leaf();
		return;
	}
	in_handler = true;
	handler_depth = depth - 2;
	raise(SIGUSR1);
	in_handler = false;
}

/* ---- the tree ---- */

NOINLINE static void descend(int depth)
{
	unsigned children = depth <= 0 ? 0 : 1 + (next(3) == 0);
	if (!children || captures_left <= 0)
		return leaf();
	for (; children; children--)
		switch (next(14)) {
		case 0:
		case 1:
			plain(depth);
			break;
		case 2:
			with_alloca(depth);
			break;
		case 3:
			realigned(depth);
			break;
		case 4:
			realigned_with_alloca(depth);
			break;
		case 5:
			sink += many_registers(depth, next(9), 2, 3, next(7), 5, 6, 7, 8);
			break;
		case 6:
			big_frame(depth);
			break;
		case 7:
			catcher(depth);
			break;
		case 8:
			jump_target(depth);
			break;
		case 9:
			on_context(depth);
			break;
		case 10:
			on_switched_stack(depth);
			break;
		case 11:
			raising(depth);
			break;
		case 12:
			deep(depth, (int)next(next(20) == 0 ? 300 : 6));
			break;
		default:
			leaf();
		}
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	state = 88172645463325252ull + strtoull(argv[1], nullptr, 10) * 2654435761u;
	captures_left = atol(argv[2]);
	for (char *&stack : stacks)
		stack = (char *)malloc(STACK_BYTES);
	stack_t alternate = {};
	alternate.ss_sp = malloc(STACK_BYTES * 8);
	alternate.ss_size = STACK_BYTES * 8;
	sigaltstack(&alternate, nullptr);
	struct sigaction action = {};
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGUSR1, &action, nullptr);
	while (captures_left > 0) {
		stacks_used = 0;
		in_handler = false;
		try {
			descend(12);
		} catch (const unwound &) {
			leaf();
		}
	}
	return sink == 0x123456789abcull;
}
