// C++20 coroutines, and thread_local objects whose destructors allocate.
#include <coroutine>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static void *keep(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

struct Task {
	struct promise_type {
		Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::abort(); }
	};
	std::coroutine_handle<promise_type> handle;
};

NOINLINE static void awaited_leak()
{
	keep(malloc(70));
	__asm__ volatile("");
}

NOINLINE static void awaited_buffer(void **place)
{
	*place = keep(malloc(500));
}

static Task fetch(int turns)
{
	for (int i = 0; i < turns; i++) {
		void *buffer;
		awaited_buffer(&buffer);
		co_await std::suspend_always{};
		awaited_leak();
		free(buffer);
	}
}

NOINLINE static void destructor_leak()
{
	keep(malloc(60));
	__asm__ volatile("");
}

NOINLINE static void *late_block()
{
	return keep(malloc(100));
}

struct Late {
	void *block = late_block();
	~Late()
	{
		free(block);
		destructor_leak();
	}
};

NOINLINE static void body()
{
	static thread_local Late late;
	keep(&late);
}

int main()
{
	std::vector<Task> tasks;
	for (int i = 0; i < 10; i++)
		tasks.push_back(fetch(5));
	for (bool any = true; std::exchange(any, false);)
		for (auto &task : tasks)
			if (!task.handle.done()) {
				task.handle.resume();
				any = true;
			}
	for (auto &task : tasks)
		task.handle.destroy();
	for (int i = 0; i < 50; i++)
		std::thread(body).join();
}
