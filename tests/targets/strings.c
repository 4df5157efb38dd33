/* Functions of libc that hand out heap blocks: strdup, strndup, asprintf, getline, getdelim,
 * open_memstream, realpath.
 *
 *   by_strdup:  20 x strdup("0123456789") = 220 bytes, kept
 *   by_strndup: 5 x strndup(.., 4) = 25 bytes, freed
 *   by_memstream: a stream whose buffer grows by realloc inside libc, 140,000 bytes of text in the end,
 *                 kept
 *   by_getline:   reads its 200 lines; the line buffer starts at 120 bytes and is reallocated inside
 *                 getline
 *   What libc asks for inside is libc's business: valgrind counts it too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target.h"

#include <stdio.h>
#include <string.h>

NOINLINE static void by_strdup(void)
{
	for (int i = 0; i < 20; i++)
		keep(strdup("0123456789"));
}

NOINLINE static void by_strndup(void)
{
	for (int i = 0; i < 5; i++)
		free(keep(strndup("0123456789", 4)));
}

NOINLINE static void by_asprintf(void)
{
	for (int i = 0; i < 10; i++) {
		char *text = NULL;
		if (asprintf(&text, "%0*d", 50 * i + 1, i) < 0)
			abort();
		keep(text);
		if (i % 2)
			free(text);
	}
}

NOINLINE static void write_lines(FILE *stream)
{
	for (int i = 0; i < 200; i++)
		fprintf(stream, "%0*d\n", 7 * i + 1, i);
}

NOINLINE static char *by_memstream(size_t *size)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, size);
	if (stream == NULL)
		abort();
	write_lines(stream);
	fclose(stream);
	return text;
}

NOINLINE static void by_getline(char *text, size_t size)
{
	FILE *stream = fmemopen(text, size, "r");
	char *line = NULL;
	size_t capacity = 0;
	int lines = 0;
	while (getline(&line, &capacity, stream) >= 0)
		lines++;
	if (lines != 200)
		abort();
	free(line);
	line = NULL;
	capacity = 0;
	rewind(stream);
	while (getdelim(&line, &capacity, '0', stream) >= 0)
		lines++;
	keep(line);
	fclose(stream);
}

NOINLINE static void by_realpath(void)
{
	free(keep(realpath("/", NULL)));
}

int main(void)
{
	size_t size;
	by_strdup();
	by_strndup();
	by_asprintf();
	char *text = by_memstream(&size);
	by_getline(text, size);
	by_realpath();
	return 0;
}
