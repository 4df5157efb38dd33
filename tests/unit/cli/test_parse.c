/* Sizes and times as people write them. */
#include "check.h"
#include "cli/parse.h"

#include <stddef.h>

static void check(bool (*parse)(const char *, uint64_t *), const char *text, uint64_t wanted)
{
	uint64_t amount = 77;
	if (!parse(text, &amount) || amount != wanted) {
		fprintf(stderr, "\"%s\" is %llu, not %llu\n", text, (unsigned long long)amount,
			(unsigned long long)wanted);
		exit(1);
	}
}

static void check_refused(bool (*parse)(const char *, uint64_t *), const char *const *texts)
{
	for (; *texts; texts++) {
		uint64_t amount;
		if (parse(*texts, &amount)) {
			fprintf(stderr, "\"%s\" was taken for %llu\n", *texts, (unsigned long long)amount);
			exit(1);
		}
	}
}

int main(void)
{
	static const char *const no_sizes[] = {"",         "-1",  "x",     "1x",   "1e3",
					       "1.2.3",    "KiB", ".5",    "0x10", "99999999999999999999",
					       "9000000T", " 1",  "1 k b", "1s",   NULL};
	static const char *const no_times[] = {"",   "-1s", "s",           "1 year", "1e3",
					       "..", "1k",  "3000000000h", NULL};
	check(hs_parse_size, "0", 0);
	check(hs_parse_size, "4096", 4096);
	check(hs_parse_size, "4096B", 4096);
	check(hs_parse_size, "1k", 1024);
	check(hs_parse_size, "64KiB", 65536);
	check(hs_parse_size, "64 KB", 64000);
	check(hs_parse_size, "64 kib", 65536);
	check(hs_parse_size, "1.5MB", 1500000);
	check(hs_parse_size, "1.5M", 1572864);
	check(hs_parse_size, "0.1k", 102); /* 102.4 */
	check(hs_parse_size, "2g", 2147483648);
	check(hs_parse_size, "1TiB", 1099511627776);
	check(hs_parse_size, "9007199254740993", 9007199254740993); /* beyond a double's 53 bits */
	check(hs_parse_time, "2", 2000000);
	check(hs_parse_time, "1.5", 1500000);
	check(hs_parse_time, "1.5s", 1500000);
	check(hs_parse_time, "0.000001", 1);
	check(hs_parse_time, "68.8 ms", 68800);
	check(hs_parse_time, "200ms", 200000);
	check(hs_parse_time, "5us", 5);
	check(hs_parse_time, "2min", 120000000);
	check(hs_parse_time, "2m", 120000000);
	check(hs_parse_time, "1h", 3600000000);
	check_refused(hs_parse_size, no_sizes);
	check_refused(hs_parse_time, no_times);
	return 0;
}
