/* Prints the libraries of a program, "name path" a line: tests/e2e/test_doctor.py compares them with what
 * ld.so says. */
#include "symbols/libraries.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct hs_libraries libraries;
	if (argc != 2)
		return 2;
	hs_libraries_find(argv[1], getenv("LD_LIBRARY_PATH"), &libraries);
	for (uint32_t i = 0; i < libraries.count; i++)
		printf("%s %s\n", libraries.items[i].name,
		       libraries.items[i].path ? libraries.items[i].path : "-");
	hs_libraries_free(&libraries);
	return 0;
}
