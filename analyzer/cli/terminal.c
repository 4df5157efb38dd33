/* What the streams are connected to, and the messages and the progress line on standard error. */
#include "cli/terminal.h"

#include "base/format.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static unsigned clamp(unsigned long columns)
{
	return columns < 70 ? 70 : columns > 250 ? 250 : (unsigned)columns;
}

unsigned hs_terminal_columns(int fd)
{
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return clamp(size.ws_col);
	const char *columns = getenv("COLUMNS");
	if (columns && *columns >= '1' && *columns <= '9')
		return clamp(strtoul(columns, NULL, 10));
	return 80;
}

bool hs_terminal_colour(int fd, enum hs_colour when)
{
	if (when != HS_COLOUR_AUTO)
		return when == HS_COLOUR_ALWAYS;
	const char *off = getenv("NO_COLOR"), *kind = getenv("TERM");
	return isatty(fd) && !(off && *off) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool hs_terminal_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool progress_shown;
static struct timespec progress_time;

void hs_notice(const char *text)
{
	hs_progress_end();
	struct hs_text out = {0};
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);
		if (line == NULL)
			return;
		hs_text_add(&out, "heapscope: ");
		hs_text_clean(&out, line);
		hs_text_add(&out, "\n");
		free(line);
		text += length + (text[length] == '\n');
	}
	if (out.count)
		fwrite(out.bytes, 1, out.count, stderr);
	fflush(stderr);
	hs_text_free(&out);
}

void hs_message(const char *format, ...)
{
	struct hs_text text = {0};
	va_list arguments;
	va_start(arguments, format);
	hs_text_add(&text, "");
	hs_text_vaddf(&text, format, arguments);
	va_end(arguments);
	hs_notice(text.bytes);
	hs_text_free(&text);
}

static void show_progress(struct timespec now, const char *phase, unsigned long long done,
			  unsigned long long total)
{
	progress_time = now;
	progress_shown = true;
	fprintf(stderr, "\r\033[Kheapscope: %s", phase);
	if (total)
		fprintf(stderr, " %s of %s (%s)", hs_count(done).text, hs_count(total).text,
			hs_share(done, total).text);
	else if (done)
		fprintf(stderr, " %s", hs_count(done).text);
	fflush(stderr);
}

void hs_progress(const char *phase, unsigned long long done, unsigned long long total)
{
	struct timespec now;
	if (!isatty(STDERR_FILENO))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double since = (double)(now.tv_sec - progress_time.tv_sec) +
		       (double)(now.tv_nsec - progress_time.tv_nsec) / 1e9;
	/* nothing for what is over at once; then often enough for an eye */
	double wait = progress_shown ? 0.1 : 0.5;
	if (progress_time.tv_sec == 0)
		progress_time = now;
	else if (since >= wait)
		show_progress(now, phase, done, total);
}

void hs_progress_end(void)
{
	if (!progress_shown)
		return;
	progress_shown = false;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

int hs_write_out(const struct hs_text *text, FILE *output)
{
	if ((text->count && fwrite(text->bytes, 1, text->count, output) != text->count) ||
	    fflush(output) != 0) {
		hs_message("cannot write the output: %s", strerror(errno));
		return -1;
	}
	return 0;
}
