// operator new and delete in all their shapes: one event each, whatever libstdc++ calls inside.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

template <typename T> static T *keep(T *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

struct alignas(128) Wide {
	char bytes[128];
};

NOINLINE static void plain()
{
	keep(static_cast<char *>(::operator new(40)));
}

NOINLINE static void array()
{
	keep(new char[60]);
}

NOINLINE static void nothrow()
{
	keep(new (std::nothrow) char[50]);
}

NOINLINE static void aligned()
{
	if (reinterpret_cast<unsigned long>(keep(new Wide)) % 128 != 0)
		std::_Exit(99);
}

NOINLINE static void aligned_array()
{
	Wide *blocks = keep(new Wide[5]);
	delete[] blocks;
}

NOINLINE static void sized_delete()
{
	for (int i = 0; i < 100; i++)
		::operator delete(keep(static_cast<void *>(::operator new(8))), 8);
}

NOINLINE static void huge(size_t size)
{
	try {
		keep(static_cast<char *>(::operator new(size)));
		std::_Exit(99);
	} catch (const std::bad_alloc &) {
	}
	if (keep(static_cast<char *>(::operator new(size, std::nothrow))))
		std::_Exit(99);
}

// 4, 8, 16, 32, 64 bytes
NOINLINE static void growing()
{
	std::vector<int> numbers;
	for (int i = 0; i < 16; i++)
		numbers.push_back(i);
	keep(numbers.data());
}

int main()
{
	plain();
	array();
	nothrow();
	aligned();
	aligned_array();
	sized_delete();
	huge(static_cast<size_t>(PTRDIFF_MAX) - 10);
	growing();
	return 0;
}
