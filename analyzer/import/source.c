#include "import/source.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	INPUT_BYTES = 64 << 10,
	OUTPUT_BYTES = 256 << 10,
	LINE_MOST = 16 << 20,
	WINDOW_LOG_MOST = 23, /* all levels of zstd but --ultra: 8 MiB, whatever a file claims */
};

enum packing { PLAIN, GZIP, ZSTD };

struct hs_source {
	int fd;
	enum packing packing;
	bool input_ended, output_ended;
	bool inside; /* a gzip member or zstd frame has begun and not ended */
	z_stream gzip;
	ZSTD_DStream *zstd;
	uint8_t *input;
	size_t input_at, input_count;
	char *output; /* unpacked, from `at` to `count` not read yet */
	size_t at, count, capacity;
	uint64_t lines;
	char wrong[160];
};

/* ---- unpacking ------------------------------------------------------------------------------------------
 */

static void fail(struct hs_source *source, const char *what)
{
	if (!source->wrong[0])
		snprintf(source->wrong, sizeof source->wrong, "%s", what);
	source->output_ended = true;
}

/* Refills the input when it is used up. */
static void fill_input(struct hs_source *source)
{
	if (source->input_at < source->input_count || source->input_ended)
		return;
	ssize_t got;
	do
		got = read(source->fd, source->input, INPUT_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		fail(source, strerror(errno));
	source->input_ended = got <= 0;
	source->input_at = 0;
	source->input_count = got > 0 ? (size_t)got : 0;
}

static size_t unpack_plain(struct hs_source *source, char *out, size_t room)
{
	size_t bytes = source->input_count - source->input_at;
	bytes = bytes < room ? bytes : room;
	memcpy(out, source->input + source->input_at, bytes);
	source->input_at += bytes;
	source->output_ended |= source->input_ended;
	return bytes;
}

/* One member may follow another. */
static size_t unpack_gzip(struct hs_source *source, char *out, size_t room)
{
	z_stream *gzip = &source->gzip;
	size_t available = source->input_count - source->input_at;
	if (available == 0) {
		if (source->inside)
			fail(source, "the gzip file is cut off");
		source->output_ended = true;
		return 0;
	}
	gzip->next_in = source->input + source->input_at;
	gzip->avail_in = (unsigned)available;
	gzip->next_out = (unsigned char *)out;
	gzip->avail_out = (unsigned)room;
	source->inside = true;
	int result = inflate(gzip, Z_NO_FLUSH);
	source->input_at = source->input_count - gzip->avail_in;
	if (result == Z_STREAM_END) {
		source->inside = false;
		inflateReset(gzip);
	} else if (result != Z_OK && result != Z_BUF_ERROR) {
		fail(source, "the gzip file is damaged");
	}
	return room - gzip->avail_out;
}

static size_t unpack_zstd(struct hs_source *source, char *out, size_t room)
{
	ZSTD_inBuffer in = {source->input, source->input_count, source->input_at};
	ZSTD_outBuffer made = {out, room, 0};
	if (in.pos == in.size) {
		/* what it holds back goes out even without more input */
		size_t rest = source->inside ? ZSTD_decompressStream(source->zstd, &made, &in) : 0;
		if (made.pos == 0 || ZSTD_isError(rest)) {
			if (source->inside)
				fail(source, "the zstd file is cut off");
			source->output_ended = true;
		}
		source->inside &= rest != 0;
		return made.pos;
	}
	size_t rest = ZSTD_decompressStream(source->zstd, &made, &in);
	source->input_at = in.pos;
	source->inside = rest != 0;
	if (ZSTD_isError(rest))
		fail(source, ZSTD_getErrorCode(rest) == ZSTD_error_frameParameter_windowTooLarge
				     ? "the zstd file needs a lot of memory to unpack: unpack it with "
				       "\"zstd -d --long=31\" and import the result"
				     : "the zstd file is damaged");
	return made.pos;
}

/* Unpacks some more, behind what is not read yet. Returns false at the end. */
static bool unpack_more(struct hs_source *source)
{
	if (source->at > 0) {
		memmove(source->output, source->output + source->at, source->count - source->at);
		source->count -= source->at;
		source->at = 0;
	}
	size_t before = source->count;
	while (!source->output_ended && source->count == before) {
		if (source->capacity - source->count < OUTPUT_BYTES / 2) {
			source->capacity *= 2;
			source->output = hs_reallocate(source->output, source->capacity, 1);
		}
		fill_input(source);
		char *out = source->output + source->count;
		size_t room = source->capacity - source->count - 1; /* a NUL behind the last line */
		if (source->output_ended)
			break;
		source->count += source->packing == PLAIN  ? unpack_plain(source, out, room)
				 : source->packing == GZIP ? unpack_gzip(source, out, room)
							   : unpack_zstd(source, out, room);
	}
	return source->count > before;
}

/* ---- opening --------------------------------------------------------------------------------------------
 */

static int start_unpacking(struct hs_source *source, struct hs_error *error)
{
	fill_input(source);
	if (source->wrong[0])
		return hs_fail(error, "%s", source->wrong);
	const uint8_t *head = source->input;
	if (source->input_count >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
		source->packing = GZIP;
		if (inflateInit2(&source->gzip, 16 + 15) != Z_OK)
			return hs_fail(error, "out of memory");
	} else if (source->input_count >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0) {
		source->packing = ZSTD;
		source->zstd = ZSTD_createDStream();
		if (!source->zstd)
			return hs_fail(error, "out of memory");
		ZSTD_DCtx_setParameter(source->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MOST);
	}
	return 0;
}

struct hs_source *hs_source_open(const char *path, struct hs_error *error)
{
	struct hs_source *source = hs_allocate_zero(1, sizeof *source);
	struct hs_error cause = {{0}};
	struct stat status;
	source->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	source->input = hs_allocate(INPUT_BYTES);
	source->capacity = OUTPUT_BYTES;
	source->output = hs_allocate(source->capacity);
	if (source->fd < 0)
		hs_fail(error, "cannot open \"%s\": %s", path, strerror(errno));
	else if (fstat(source->fd, &status) == 0 && S_ISDIR(status.st_mode))
		hs_fail(error, "\"%s\" is a directory: name a file in it", path);
	else if (start_unpacking(source, &cause) != 0)
		hs_fail(error, "cannot read \"%s\": %s", path, cause.text);
	else
		return source;
	hs_source_close(source);
	return NULL;
}

void hs_source_close(struct hs_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	if (source->packing == GZIP)
		inflateEnd(&source->gzip);
	ZSTD_freeDStream(source->zstd);
	free(source->input);
	free(source->output);
	free(source);
}

/* ---- reading --------------------------------------------------------------------------------------------
 */

const char *hs_source_head(struct hs_source *source, size_t *count)
{
	while (source->count - source->at < 4096 && unpack_more(source))
		;
	*count = source->count - source->at;
	source->output[source->count] = 0;
	return source->output + source->at;
}

const char *hs_source_line(struct hs_source *source, size_t *length)
{
	size_t searched = 0;
	for (;;) {
		char *line = source->output + source->at;
		size_t available = source->count - source->at;
		char *end = memchr(line + searched, '\n', available - searched);
		if (!end) {
			searched = available;
			if (available > LINE_MOST) {
				fail(source, "a line has more than 16 MiB");
				return NULL;
			}
			if (unpack_more(source))
				continue;
			/* a line that a cut may have shortened does not count */
			if (source->wrong[0] || source->count == source->at)
				return NULL;
			line = source->output + source->at;
			end = source->output + source->count;
			source->at = source->count;
		} else {
			source->at += (size_t)(end - line) + 1;
		}
		*end = 0;
		*length = (size_t)(end - line);
		source->lines++;
		return line;
	}
}

uint64_t hs_source_line_number(const struct hs_source *source)
{
	return source->lines;
}

size_t hs_source_read(struct hs_source *source, void *buffer, size_t most)
{
	if (source->at == source->count && !unpack_more(source))
		return 0;
	size_t bytes = source->count - source->at < most ? source->count - source->at : most;
	memcpy(buffer, source->output + source->at, bytes);
	source->at += bytes;
	return bytes;
}

const char *hs_source_wrong(const struct hs_source *source)
{
	return source->wrong[0] ? source->wrong : NULL;
}
