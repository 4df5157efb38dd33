/* Sizes, counts, shares and times, at and around every point where their form changes. */
#include "base/format.h"
#include "check.h"

static void test_sizes(void)
{
	CHECK_TEXT(hs_size(0).text, "0 B");
	CHECK_TEXT(hs_size(1023).text, "1023 B");
	CHECK_TEXT(hs_size(1024).text, "1.0 KiB");
	CHECK_TEXT(hs_size(1075).text, "1.0 KiB"); /* 1.0498 */
	CHECK_TEXT(hs_size(1076).text, "1.1 KiB"); /* 1.0508 */
	CHECK_TEXT(hs_size(1536).text, "1.5 KiB");
	CHECK_TEXT(hs_size(1048524).text, "1023.9 KiB"); /* 1023.949 */
	CHECK_TEXT(hs_size(1048525).text, "1.0 MiB");    /* 1023.950 would round to 1024.0 KiB */
	CHECK_TEXT(hs_size(1048576).text, "1.0 MiB");
	CHECK_TEXT(hs_size(191260262).text, "182.4 MiB");
	CHECK_TEXT(hs_size(2040109466).text, "1.9 GiB");
	CHECK_TEXT(hs_size(UINT64_MAX).text, "16.0 EiB");
}

static void test_counts(void)
{
	CHECK_TEXT(hs_count(0).text, "0");
	CHECK_TEXT(hs_count(999).text, "999");
	CHECK_TEXT(hs_count(1000).text, "1,000");
	CHECK_TEXT(hs_count(4212004).text, "4,212,004");
	CHECK_TEXT(hs_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_TEXT(hs_counted(1, "block").text, "1 block");
	CHECK_TEXT(hs_counted(0, "block").text, "0 blocks");
	CHECK_TEXT(hs_counted(1000, "block").text, "1,000 blocks");
}

static void test_shares(void)
{
	CHECK_TEXT(hs_share(0, 0).text, "-");
	CHECK_TEXT(hs_share(0, 7).text, "0.0%");
	CHECK_TEXT(hs_share(7, 7).text, "100.0%");
	CHECK_TEXT(hs_share(1, 3).text, "33.3%");
	CHECK_TEXT(hs_share(2, 3).text, "66.7%");
	CHECK_TEXT(hs_share(1, 1000000).text, "<0.1%");
	CHECK_TEXT(hs_share(999999, 1000000).text, ">99.9%");
	CHECK_TEXT(hs_share(1, 2000).text, "0.1%"); /* 0.05 rounds up */
	CHECK_TEXT(hs_share(UINT64_MAX / 2, UINT64_MAX).text, "50.0%");
}

static void test_times(void)
{
	CHECK_TEXT(hs_time(0).text, "0 us");
	CHECK_TEXT(hs_time(999).text, "999 us");
	CHECK_TEXT(hs_time(1000).text, "1.0 ms");
	CHECK_TEXT(hs_time(12345).text, "12.3 ms");
	CHECK_TEXT(hs_time(999949).text, "999.9 ms");
	CHECK_TEXT(hs_time(999950).text, "1.00 s");
	CHECK_TEXT(hs_time(8210000).text, "8.21 s");
	CHECK_TEXT(hs_time(59994999).text, "59.99 s");
	CHECK_TEXT(hs_time(59995000).text, "1 min 00 s");
	CHECK_TEXT(hs_time(125400000).text, "2 min 05 s");
	CHECK_TEXT(hs_time(3599499999).text, "59 min 59 s");
	CHECK_TEXT(hs_time(3599500000).text, "1 h 00 min");
	CHECK_TEXT(hs_time(3720000000).text, "1 h 02 min");
	CHECK_TEXT(hs_time(UINT64_MAX).text, "5124095576 h 02 min"); /* 18446744073709.6 s = h + 109.6 s */
}

int main(void)
{
	test_sizes();
	test_counts();
	test_shares();
	test_times();
	return 0;
}
