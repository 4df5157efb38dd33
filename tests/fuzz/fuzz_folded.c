/* Folded stacks. */
#include "imported.h"

void fuzz_seeds(fuzz_add *add, void *context)
{
	static const char stacks[] =
		"# a comment\nperf;main;f(int, char) 10\nperf;main;g 20\n\nperf;main;f(int, char);"
		"malloc 5\n_start;_start;main;a name 7 3\r\nalone 1\n;;x 18446744073709551615\n";
	static const char difference[] = "a;b 10 20\na;c 1 2\n";
	add(context, stacks, sizeof stacks - 1);
	add(context, stacks, sizeof stacks - 33);
	add(context, difference, sizeof difference - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("folded", data, size);
	return 0;
}
