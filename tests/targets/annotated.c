/* A program that tells heapscope of itself (heapscope.h). Each part has its phase of the same name; what it
 * allocates:
 *
 *   load       10 x 1000 bytes, kept; "parse" within it: 4 of them, and one moment "half" after 2 of these
 *   pool       a slab of 64 KiB, which is not counted; out of it 100 blocks of 100 bytes, 40 of them freed
 * again, one grown to 300 bytes: 101 allocations of 10,300 bytes, 60 live of 6,200 carved     a slab of 5000
 * bytes that is not said to be one, so that its first block takes its place: 1 allocation of 5000, then 3 of
 * 50 (the first as if by realloc): 4 allocations of 5,150 bytes; all end with the slab's free arena memory
 * that is not of malloc: 8 blocks of 16 bytes, reset, 2 of them again: 10 allocations of 160 bytes, 2 live
 *   thread     a thread that calls itself "worker": 5 x 10 bytes, kept, and what pthread_create allocates
 *   paused     7 x 100,000 bytes are skipped, of which 3 are freed after the pause; one block of load is
 * freed, one grows from 1000 to 1500 bytes, one that is skipped grows to 200,000 (skipped as well)
 *
 * With the argument "again" the program executes all of it twice. It writes "done" either way. */
#include "target.h"

#include "heapscope/heapscope.h"

#include <pthread.h>
#include <unistd.h>

static void *loaded[10];
static char *slab;
static void *blocks[100], *skipped[7];
static char arena[1024];

NOINLINE static void *make(size_t bytes)
{
	return keep(malloc(bytes));
}

NOINLINE static void load(void)
{
	heapscope_phase_begin("load");
	for (int i = 0; i < 3; i++)
		loaded[i] = make(1000);
	heapscope_phase_begin("parse");
	for (int i = 3; i < 7; i++) {
		if (i == 5)
			heapscope_mark("half");
		loaded[i] = make(1000);
	}
	heapscope_phase_end("parse");
	for (int i = 7; i < 10; i++)
		loaded[i] = make(1000);
	heapscope_phase_end("load");
}

NOINLINE static void *pool_alloc(size_t bytes)
{
	static size_t used;
	void *block = slab + used;
	used += bytes;
	heapscope_pool_alloc(slab, block, bytes);
	return block;
}

NOINLINE static void pool(void)
{
	heapscope_phase_begin("pool");
	heapscope_slab_begin();
	slab = make(65536);
	heapscope_slab_end();
	for (int i = 0; i < 100; i++)
		blocks[i] = pool_alloc(100);
	for (int i = 0; i < 40; i++)
		heapscope_pool_free(blocks[i]);
	heapscope_pool_realloc(slab, blocks[99], blocks[99], 300);
	heapscope_phase_end("pool");
}

NOINLINE static void carved(void)
{
	heapscope_phase_begin("carved");
	char *own = make(5000);
	for (int i = 0; i < 3; i++)
		heapscope_pool_alloc(own, own + i * 50, 50);
	free(own);
	heapscope_phase_end("carved");
}

NOINLINE static void use_arena(void)
{
	heapscope_phase_begin("arena");
	for (int i = 0; i < 8; i++)
		heapscope_pool_alloc(arena, arena + i * 16, 16);
	heapscope_pool_reset(arena);
	for (int i = 0; i < 2; i++)
		heapscope_pool_alloc(arena, arena + i * 16, 16);
	heapscope_phase_end("arena");
}

NOINLINE static void *work(void *argument)
{
	heapscope_name_thread("worker");
	for (int i = 0; i < 5; i++)
		make(10);
	return argument;
}

NOINLINE static void thread(void)
{
	pthread_t worker;
	heapscope_phase_begin("thread");
	pthread_create(&worker, NULL, work, NULL);
	pthread_join(worker, NULL);
	heapscope_phase_end("thread");
}

NOINLINE static void paused(void)
{
	heapscope_phase_begin("paused");
	heapscope_pause();
	for (int i = 0; i < 7; i++)
		skipped[i] = make(100000);
	free(loaded[0]);
	loaded[1] = keep(realloc(loaded[1], 1500));
	skipped[6] = keep(realloc(skipped[6], 200000));
	heapscope_pause();
	heapscope_resume(); /* one of two */
	free(make(1));
	heapscope_resume();
	for (int i = 0; i < 3; i++)
		free(skipped[i]);
	heapscope_phase_end("paused");
}

int main(void)
{
	heapscope_phase_end("nobody began it");
	load();
	pool();
	carved();
	use_arena();
	thread();
	paused();
	heapscope_phase_begin("end");
	make(1);
	if (heapscope_recording())
		make(77);
	return write(1, "done\n", 5) == 5 ? 0 : 1;
}
