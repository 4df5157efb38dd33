/* Stacks that differ in the calls of their innermost frames: when a note of one may be used. */
#include "../../../preload/unwind/variants.h"

#include "world.h"

enum { FRAMES = RUN + 3, FRAME_WORDS = 4 };

static uint64_t stack[FRAMES * FRAME_WORDS];
static struct frame frames[FRAMES];
static struct thread thread;
static const struct frame *const start = &frames[FRAMES - 1];

/* The word that frame i, counted from start outwards, was called from. */
static uint64_t *call(unsigned i)
{
	return (uint64_t *)start[-(int)i].sp - 1;
}

/* As after a walk: frames as the stack is. */
static void remember(void)
{
	for (unsigned i = 0; i < FRAMES; i++) {
		struct frame *frame = &frames[FRAMES - 1 - i];
		frame->sp = (uint64_t)&stack[i * FRAME_WORDS + 1];
		frame->pc = *call(i);
		frame->path = frame->pc * 31;
	}
}

static void call_all(uint64_t from)
{
	for (unsigned i = 0; i < FRAMES; i++)
		stack[i * FRAME_WORDS] = from + i;
}

static uint32_t known(void)
{
	return hs_variant_node(thread.variants, thread.shape, start);
}

static void add(uint32_t node)
{
	uint32_t *place = hs_variant_add(&thread, start);
	CHECK(place != NULL);
	*place = node;
}

/* A note counts for the same calls, and nothing else that is different. */
static void test_what_counts(void)
{
	CHECK(known() == 0);
	add(7);
	CHECK(known() == 7);
	for (unsigned i = 1; i <= RUN; i++) {
		*call(i) += 1;
		CHECK(known() == 0);
		*call(i) -= 1;
	}
	CHECK(known() == 7);
	*call(RUN + 1) += 1; /* is not looked at: whoever asks has done so */
	CHECK(known() == 7);
	*call(RUN + 1) -= 1;
	thread.shape++;
	CHECK(known() == 0);
	thread.shape--;
	frames[FRAMES - 1].pc++;
	CHECK(known() == 0);
	frames[FRAMES - 1].pc--;
	frames[FRAMES - 2 - RUN].path++;
	CHECK(known() == 0);
	frames[FRAMES - 2 - RUN].path--;
	CHECK(known() == 7);
}

/* What was noted before the frames outside were others does not come back with them. */
static void test_eras(void)
{
	frames[FRAMES - 2 - RUN].path++;
	*call(1) += 100;
	frames[FRAMES - 2].pc += 100;
	add(8);
	CHECK(known() == 8);
	*call(1) -= 100;
	CHECK(known() == 0);
	frames[FRAMES - 2 - RUN].path--;
	CHECK(known() == 0);
}

/* Of an eighth as many as there are places most are still known. */
static void test_many(void)
{
	enum { MANY = 64 };
	unsigned kept = 0;
	thread.shape++;
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned bit = 0; bit < 6; bit++)
			*call(1 + bit) = 0x5555000 + bit * 64 + (i >> bit & 1) * 24;
		remember();
		CHECK(known() == 0);
		add(100 + i);
		CHECK(known() == 100 + i);
	}
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned bit = 0; bit < 6; bit++)
			*call(1 + bit) = 0x5555000 + bit * 64 + (i >> bit & 1) * 24;
		uint32_t node = known();
		CHECK(node == 0 || node == 100 + i);
		kept += node != 0;
	}
	CHECK(kept >= MANY * 7 / 8);
}

/* ---- the shape that a walk leaves behind --------------------------------------------------------------- */

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP_FRAME() __asm__ volatile("")

NOINLINE static void walk(void)
{
	struct thread *own = event_begin();
	CHECK(own != NULL);
	hs_walk(own, CALLER_PC, CALLER_SP, CALLER_FP);
	event_end(own);
	KEEP_FRAME();
}

#define CALLS_WALK(name, bytes)                                                                              \
	NOINLINE static void name(void)                                                                      \
	{                                                                                                    \
		char room[bytes];                                                                            \
		__asm__ volatile("" : : "r"(room) : "memory");                                               \
		walk();                                                                                      \
		KEEP_FRAME();                                                                                \
	}
CALLS_WALK(one, 24)
CALLS_WALK(other, 24)
CALLS_WALK(larger, 240)

static uint64_t shape_after(void (*function)(void))
{
	function();
	return hs_thread->shape;
}

static void test_shape(void)
{
	uint64_t first = shape_after(one);
	CHECK(shape_after(one) == first);
	CHECK(shape_after(other) == first);
	uint64_t second = shape_after(larger);
	CHECK(second != first);
	CHECK(shape_after(larger) == second);
	uint64_t third = shape_after(one);
	CHECK(third != second && third != first);
}

int main(void)
{
	struct hs_view view;
	world_begin_alone(&view, 16);
	call_all(0x1000);
	remember();
	test_what_counts();
	test_eras();
	test_many();
	test_shape();
	return 0;
}
