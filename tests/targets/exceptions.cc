// Exceptions thrown through many frames, rethrown, nested, kept in an exception_ptr; operator new in all
// its forms.
//
//   thrower:  100 exceptions of a type of 512 bytes; the library asks for 512 + 128 bytes (its header)
//             each
//   every_new: new, new[], nothrow, aligned: 5 calls of 40, 80, 10, 20, 128 = 278 bytes; the one of 40
//              is kept
//   failing:  operator new that throws bad_alloc: the request itself counts for nothing
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))

struct Big {
	char body[512];
};

static volatile int depth_reached;

NOINLINE static void thrower(int depth)
{
	std::string local(100, 'a');
	if (depth == 0)
		throw Big();
	thrower(depth - 1);
	depth_reached = depth + static_cast<int>(local.size());
}

NOINLINE static int catcher(int i)
{
	try {
		thrower(i % 10);
	} catch (const Big &big) {
		return 1;
	}
	return 0;
}

NOINLINE static std::exception_ptr nested()
{
	try {
		try {
			throw std::runtime_error("the inner one, which has a message of some length");
		} catch (...) {
			std::throw_with_nested(std::logic_error("the outer one"));
		}
	} catch (...) {
		return std::current_exception();
	}
}

template <typename T> NOINLINE static T *hide(T *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

NOINLINE static void every_new()
{
	struct alignas(64) Wide {
		char body[128];
	};
	hide(new char[40]);
	delete[] hide(new double[10]);
	operator delete(hide(operator new(10)));
	delete[] hide(new (std::nothrow) char[20]);
	delete hide(new Wide);
}

#ifndef NO_FAILING_NEW // valgrind ends the program there
NOINLINE static int failing()
{
	volatile size_t most = std::numeric_limits<long>::max();
	try {
		hide(new char[most]);
	} catch (const std::bad_alloc &) {
		return 1;
	}
	return 0;
}
#else
static int failing()
{
	return 1;
}
#endif

int main()
{
	int caught = 0;
	for (int i = 0; i < 100; i++)
		caught += catcher(i);
	std::exception_ptr kept = nested();
	every_new();
	return caught == 100 && failing() && kept ? 0 : 1;
}
