/* Phases of C++ that overlap, nest in themselves, and go over threads; a memory resource whose buffers are slabs.
 *
 *   outer  5 blocks of 100 bytes; "inner" has 3 of them; "inner" within "inner" 1 of those
 *   left   2 blocks of 10 bytes alone, 2 with right, then right has 3 alone: left 4, right 5 of them
 *   other  begun here, ended by another thread: 1 block of 7 bytes, and what std::thread allocates
 *   pool   a slab of 4096 bytes by operator new, 8 blocks of 32 bytes out of it that end with it */
#include "heapscope/heapscope.h"

#include <cstdio>
#include <new>
#include <thread>

static void make(std::size_t bytes, int count)
{
	for (int i = 0; i < count; i++) {
		void *block = ::operator new(bytes);
		__asm__ volatile("" : : "r"(block) : "memory");
	}
}

static void nested()
{
	heapscope::phase outer("outer");
	make(100, 1);
	{
		heapscope::phase inner("inner");
		make(100, 1);
		{
			heapscope::phase again("inner");
			make(100, 1);
		}
		make(100, 1);
	}
	make(100, 1);
}

static void overlapping()
{
	heapscope_phase_begin("left");
	make(10, 2);
	heapscope_phase_begin("right");
	make(10, 2);
	heapscope_phase_end("left");
	make(10, 3);
	heapscope_phase_end("right");
}

static void over_threads()
{
	heapscope_phase_begin("other");
	std::thread([] {
		heapscope_name_thread("a thread with a name that is longer than sixteen bytes");
		make(7, 1);
		heapscope_phase_end("other");
	}).join();
}

static void pool()
{
	heapscope::phase phase("pool");
	heapscope_slab_begin();
	char *slab = static_cast<char *>(::operator new(4096));
	heapscope_slab_end();
	for (int i = 0; i < 8; i++)
		heapscope_pool_alloc(slab, slab + 32 * i, 32);
	::operator delete(slab);
}

int main()
{
	nested();
	overlapping();
	over_threads();
	pool();
	std::puts("done");
	return 0;
}
