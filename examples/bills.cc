/* Writes the bills of a dairy, from a list of deliveries that it makes up itself. With the memory habits of
 * real programs, for trying heapscope on.
 *
 *	g++ -g -O2 bills.cc -o bills
 *	bills > bills.txt
 *
 * What there is to find: a peak of more than twice what the work needs. by_customer sorts a copy of all
 * deliveries, and render makes the text of all bills before the first is written. docs/guide.md finds it. */
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

struct Delivery {
	unsigned customer, cents;
	std::string what;
};

static const unsigned CUSTOMERS = 500, DELIVERIES = 20000;

static std::vector<Delivery> load()
{
	static const char *const goods[] = {"milk", "butter", "yoghurt", "cream"};
	std::vector<Delivery> deliveries;
	deliveries.reserve(DELIVERIES);
	for (unsigned i = 0; i < DELIVERIES; i++) {
		std::string what = std::string("crate of ") + goods[i % 4] + " at the back door";
		deliveries.push_back({i * 7 % CUSTOMERS, 500 + i % 90, std::move(what)});
	}
	return deliveries;
}

static std::vector<Delivery> by_customer(std::vector<Delivery> deliveries)
{
	std::stable_sort(deliveries.begin(), deliveries.end(),
			 [](const Delivery &a, const Delivery &b) { return a.customer < b.customer; });
	return deliveries;
}

static std::string render(const std::vector<Delivery> &deliveries)
{
	std::string text;
	for (const Delivery &delivery : deliveries) {
		char line[120];
		snprintf(line, sizeof(line), "%03u  %-36s %2u.%02u\n", delivery.customer,
			 delivery.what.c_str(), delivery.cents / 100, delivery.cents % 100);
		text += line;
	}
	return text;
}

int main()
{
	std::vector<Delivery> deliveries = load();
	std::vector<Delivery> sorted = by_customer(deliveries);
	std::string text = render(sorted);
	fputs(text.c_str(), stdout);
	return 0;
}
