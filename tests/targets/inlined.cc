// Inlined callers, templates, lambdas and containers in C++. The tests look for the lines marked "here".
//
//   app::Cache<app::Row>::add: 20 x new Row = 20 x 96 bytes; the lambda in main: 5 x new char[1000];
//                              Index::fill: a vector grows
#include <cstddef>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

template <typename T> static INLINE T *hide(T *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

namespace app
{

struct Row {
	char cells[96];
};

template <typename T> class Cache
{
      public:
	NOINLINE void add(int count)
	{
		for (int i = 0; i < count; i++)
			last = make_entry(); // here: add
		hide(this);
	}

      private:
	INLINE T *make_entry()
	{
		return hide(new T); // here: make_entry
	}
	T *last = nullptr;
};

namespace
{
class Index
{
      public:
	NOINLINE void fill(int count)
	{
		for (int i = 0; i < count; i++)
			numbers.push_back(i); // here: fill
		hide(this);
	}
	std::vector<long> numbers;
};
} // namespace

} // namespace app

template <typename Function> NOINLINE static void repeat(int times, Function function)
{
	for (int i = 0; i < times; i++)
		function(i); // here: repeat
	__asm__ volatile("");
}

int main()
{
	app::Cache<app::Row> cache;
	cache.add(20); // here: main add
	app::Index index;
	index.fill(1000); // here: main fill
	repeat(5, [](int) {
		hide(new char[1000]); // here: lambda
	});
	return 0;
}
