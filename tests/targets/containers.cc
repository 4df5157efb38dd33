// Containers of the C++ library, each filled by a function of its own.
//
//   fill_list:   500 nodes of 24 bytes (two links and a value) = 12000
//   fill_vector: doubles from 1 to 1024 ints: 4 + 8 + ... + 4096 = 8188 bytes in 11 calls
//   The rest is the library's business: valgrind counts it too.
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

NOINLINE static void fill_vector(std::vector<int> &numbers)
{
	for (int i = 0; i < 1000; i++)
		numbers.push_back(i);
}

NOINLINE static void fill_list(std::list<int> &numbers)
{
	for (int i = 0; i < 500; i++)
		numbers.push_back(i);
}

NOINLINE static void fill_map(std::map<int, std::string> &names)
{
	for (int i = 0; i < 300; i++)
		names[i * 7 % 301] = std::string(static_cast<size_t>(i), 'x');
}

NOINLINE static void fill_table(std::unordered_map<std::string, int> &table)
{
	for (int i = 0; i < 400; i++)
		table["a key that is too long to be stored inside " + std::to_string(i)] = i;
}

NOINLINE static void fill_deque(std::deque<long> &queue)
{
	for (int i = 0; i < 3000; i++) {
		queue.push_back(i);
		if (i % 3 == 0)
			queue.pop_front();
	}
}

namespace shapes
{
struct Shape {
	virtual ~Shape() = default;
	char body[56];
};
struct Circle : Shape {
	std::unique_ptr<int[]> points{new int[100]};
};

NOINLINE std::shared_ptr<Shape> make_circle()
{
	return std::make_shared<Circle>();
}
} // namespace shapes

int main()
{
	auto *kept = new std::vector<std::shared_ptr<shapes::Shape>>;
	{
		std::vector<int> vector;
		std::list<int> list;
		fill_vector(vector);
		fill_list(list);
		std::map<int, std::string> map;
		fill_map(map);
	}
	std::unordered_map<std::string, int> table;
	fill_table(table);
	std::deque<long> queue;
	fill_deque(queue);
	for (int i = 0; i < 20; i++)
		kept->push_back(shapes::make_circle());
	__asm__ volatile("" : : "r"(kept) : "memory");
	return 0;
}
