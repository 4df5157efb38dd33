/* The lines of source around the page's frames, as far as they can be read here and now. A recording may name
 * any file, and pages are passed on: only regular files with the name of a source file are read, and of those
 * only the lines near the frames' own. */
#include "page.h"

#include "base/memory.h"
#include "json.h"
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CONTEXT_LINES = 10, /* before and after */
	LINE_BYTES_MOST = 500,
	FILE_BYTES_MOST = 8 << 20,
	FILES_MOST = 2000,
};

struct line {
	uint32_t file, line; /* string of the page */
	float weight;        /* of the file, once they are sorted */
};

struct gathering {
	json_t *list;
	size_t bytes, bytes_most;
	uint32_t missing, left_out, changed;
	const char *missing_file;
	uint64_t recorded_us; /* since 1970; 0 unknown */
};

/* ---- files ----------------------------------------------------------------------------------------------
 */

static bool has_source_name(const char *path)
{
	static const char suffixes[] =
		" c h cc hh cpp hpp cxx hxx c++ h++ C H i ii inl inc ipp tcc tpp def y l yy ll rs d di "
		"go zig nim swift m mm cu cuh s S asm f for f90 f95 f03 f08 F F90 pas pp adb ads ml mli "
		"hs vala cr v odin jl py pyx pxd cs java kt scala ";
	const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;
	char wanted[16];
	/* headers of the C++ library */
	if (name && !dot)
		return strstr(path, "/include/c++/") != NULL;
	if (!dot || strlen(dot + 1) > sizeof wanted - 3 || strchr(dot, ' '))
		return false;
	snprintf(wanted, sizeof wanted, " %s ", dot + 1);
	return strstr(suffixes, wanted) != NULL;
}

/* The file's text, NUL-terminated; NULL if it is not to be had. */
static char *read_file(const char *path, struct stat *status)
{
	if (path[0] != '/' || !has_source_name(path) || stat(path, status) != 0 ||
	    !S_ISREG(status->st_mode) || status->st_size > FILE_BYTES_MOST)
		return NULL;
	/* what it is now is what counts */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	char *text = NULL;
	size_t count = 0;
	if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_size <= FILE_BYTES_MOST) {
		size_t room = (size_t)status->st_size;
		ssize_t got = 1;
		text = hs_allocate(room + 1);
		while (count < room && (got = read(fd, text + count, room - count)) > 0)
			count += (size_t)got;
		text[count] = 0;
		if (got < 0 || strlen(text) < count) { /* unreadable, or no text */
			free(text);
			text = NULL;
		}
	}
	close(fd);
	return text;
}

/* ---- lines ----------------------------------------------------------------------------------------------
 */

/* Adds lines first..last of the text, which has at least `first`. `at` and *number: a line's start in the
 * text and its number, from which to go on. Returns where the next line starts. */
static const char *add_lines(struct gathering *gathering, const char *at, uint32_t *number, uint32_t file,
			     uint32_t first, uint32_t last)
{
	for (; *number < first && *at; ++*number)
		at = strchrnul(at, '\n') + (*strchrnul(at, '\n') == '\n');
	if (!*at)
		return at;
	char *text = NULL;
	size_t count = 0;
	FILE *output = open_memstream(&text, &count);
	for (const char *separator = ""; *number <= last && *at; ++*number, separator = "\n") {
		const char *end = strchrnul(at, '\n');
		size_t length = (size_t)(end - at);
		length = length && at[length - 1] == '\r' ? length - 1 : length;
		fprintf(output, "%s%.*s", separator,
			(int)(length < LINE_BYTES_MOST ? length : LINE_BYTES_MOST), at);
		at = end + (*end == '\n');
	}
	fclose(output);
	json_t *item = json_object();
	hs_json_put(item, "file", hs_json_integer(file));
	hs_json_put(item, "first_line", hs_json_integer(first));
	hs_json_put(item, "text", hs_json_string(text));
	json_array_append_new(gathering->list, item);
	gathering->bytes += count;
	free(text);
	return at;
}

/* The lines of one file, in order. */
static void add_file(struct gathering *gathering, const char *path, const struct line *lines, uint32_t count)
{
	struct stat status;
	char *text = read_file(path, &status);
	if (!text) {
		gathering->missing++;
		if (!gathering->missing_file)
			gathering->missing_file = path;
		return;
	}
	gathering->changed +=
		gathering->recorded_us && (uint64_t)status.st_mtime > gathering->recorded_us / 1000000;
	const char *at = text;
	uint32_t number = 1;
	for (uint32_t i = 0; i < count && gathering->bytes < gathering->bytes_most;) {
		uint32_t first = lines[i].line > CONTEXT_LINES ? lines[i].line - CONTEXT_LINES : 1;
		uint32_t last = lines[i].line;
		/* ranges that touch are one */
		while (i < count && lines[i].line <= last + 2 * CONTEXT_LINES + 1)
			last = lines[i++].line;
		at = add_lines(gathering, at, &number, lines[i - 1].file, first > number ? first : number,
			       last > UINT32_MAX - CONTEXT_LINES ? last : last + CONTEXT_LINES);
	}
	free(text);
}

static int by_file_and_line(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int by_weight(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return by_file_and_line(left, right);
}

/* All lines of frames, the heaviest file's first, ascending within a file. */
static struct line *list_lines(const struct hs_page_view *view, uint32_t *count)
{
	struct line *lines = hs_allocate_zero((size_t)view->frame_count + 1, sizeof *lines);
	*count = 0;
	for (uint32_t i = 0; i < view->frame_count; i++) {
		const struct hs_page_frame *frame = &view->frames[i];
		if (frame->file && frame->line)
			lines[(*count)++] = (struct line){frame->file, frame->line, frame->weight};
	}
	qsort(lines, *count, sizeof *lines, by_file_and_line);
	for (uint32_t first = 0, end; first < *count; first = end) {
		float most = 0;
		for (end = first; end < *count && lines[end].file == lines[first].file; end++)
			most = lines[end].weight > most ? lines[end].weight : most;
		for (uint32_t i = first; i < end; i++)
			lines[i].weight = most;
	}
	qsort(lines, *count, sizeof *lines, by_weight);
	return lines;
}

static void tell(const struct gathering *gathering, json_t *notes)
{
	char text[512];
	if (gathering->missing) {
		snprintf(text, sizeof text, "%u source file%s could not be read here, e.g. %.300s",
			 gathering->missing, gathering->missing == 1 ? "" : "s", gathering->missing_file);
		json_array_append_new(notes, hs_json_string(text));
	}
	if (gathering->changed) {
		snprintf(text, sizeof text,
			 "%u source file%s changed after the recording: lines may not be those that ran",
			 gathering->changed, gathering->changed == 1 ? " was" : "s were");
		json_array_append_new(notes, json_string(text));
	}
	if (gathering->left_out) {
		snprintf(text, sizeof text, "%u source file%s left out to keep the page small",
			 gathering->left_out, gathering->left_out == 1 ? " was" : "s were");
		json_array_append_new(notes, json_string(text));
	}
}

json_t *hs_page_sources(struct hs_page_view *view, const struct hs_page_tree *tree, size_t bytes_most,
			json_t *notes)
{
	struct gathering gathering = {
		.list = json_array(),
		.bytes_most = bytes_most,
		.recorded_us = tree->sides[HS_PAGE_NEW].profile->facts.start_unix_us,
	};
	uint32_t count, files = 0;
	struct line *lines = list_lines(view, &count);
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && lines[end].file == lines[first].file; end++)
			;
		if (gathering.bytes >= bytes_most || files++ >= FILES_MOST)
			gathering.left_out++;
		else
			add_file(&gathering, view->strings.items[lines[first].file], &lines[first],
				 end - first);
	}
	tell(&gathering, notes);
	free(lines);
	return gathering.list;
}
