/* A library with some debug information: what fuzz_symbols.c mutates. */
#include <stddef.h>

struct pair {
	int first;
	struct pair *next;
};

static inline int add(int left, int right)
{
	return left * 31 + right;
}

static inline int fold(const struct pair *list, int start)
{
	for (; list; list = list->next)
		start = add(start, list->first);
	return start;
}

int seed_sum(const struct pair *list);
int seed_sum(const struct pair *list)
{
	return fold(list, 1) ^ fold(list, 2);
}

int seed_twice(const struct pair *list, int (*function)(int));
int seed_twice(const struct pair *list, int (*function)(int))
{
	int sum = function(seed_sum(list));
	if (sum & 1)
		sum = add(sum, function(fold(list->next, sum)));
	return sum;
}

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:seed_twice\n";
}
