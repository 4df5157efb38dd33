/* The recording file: hops from member to member by their extra field, checks what can be checked without
 * inflating, inflates one member at a time. Reads with pread: the file may grow or be cut while it is read.
 */
#include "recording.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first 20 bytes of every member but for the kind: gzip header, XLEN, subfield id and length. */
static const uint8_t member_start[16] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 20, 0, 'H', 'S', 16, 0};

/* Deflate cannot inflate to more than this many times its size: a larger claim is a lie, and not worth the
 * memory. */
enum { DEFLATE_RATIO_MOST = 1032 };

static uint32_t little32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Reads up to `bytes`; returns how many there were, or -1 with errno. */
static ssize_t read_at(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t got = pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* ---- what is this file? ---------------------------------------------------------------------------------
 */

static bool looks_like_text(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] < 0x20 && !isspace(bytes[i]))
			return false;
	return true;
}

/* Says why a file whose first bytes are no member of ours cannot be read. */
static int refuse_stranger(const char *path, const uint8_t *bytes, size_t count, struct hs_error *error)
{
	static const char *const hint = "heapscope reads the NAME.hs.gz files that 'heapscope run' writes";
	if (count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
		return hs_fail(error,
			       "'%s' is a gzip file, but not a heapscope recording: its first member lacks "
			       "heapscope's mark. If a recording was unpacked and packed again, use the "
			       "original; %s",
			       path, hint);
	if (count >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0)
		return hs_fail(error, "'%s' is a zstd file, not a heapscope recording; %s", path, hint);
	if (looks_like_text(bytes, count))
		return hs_fail(error, "'%s' is a text file, not a heapscope recording; %s", path, hint);
	return hs_fail(error, "'%s' is not a heapscope recording: it does not begin with a gzip member; %s",
		       path, hint);
}

static int open_file(struct hs_recording *recording, struct hs_error *error)
{
	const char *path = recording->path;
	recording->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to hang on a FIFO */
	if (recording->fd < 0)
		return hs_fail(error, "cannot open '%s': %s", path, strerror(errno));
	struct stat status;
	if (fstat(recording->fd, &status) != 0)
		return hs_fail(error, "cannot examine '%s': %s", path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return hs_fail(error, "'%s' is a directory: name a recording in it, such as %s/NAME.hs.gz",
			       path, path);
	if (!S_ISREG(status.st_mode))
		return hs_fail(
			error,
			"'%s' is not a regular file: a recording is read out of order, so save it to a file "
			"first",
			path);
	if (status.st_size == 0)
		return hs_fail(
			error,
			"'%s' is empty: the recording has not begun yet, or the disk was full; record again "
			"with 'heapscope run'",
			path);
	recording->file_bytes = (uint64_t)status.st_size;
	return 0;
}

/* ---- hopping --------------------------------------------------------------------------------------------
 */

/* Whether the bytes, perhaps fewer than a header's, may be the beginning of a member. */
static bool starts_member(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, member_start, count < sizeof member_start ? count : sizeof member_start) == 0;
}

/* Whether the sizes in a member's header make sense. */
static bool sizes_possible(const struct hs_member *member)
{
	if (member->member_bytes <= HS_MEMBER_HEADER_BYTES + HS_MEMBER_TRAILER_BYTES)
		return false;
	uint64_t packed = member->member_bytes - HS_MEMBER_HEADER_BYTES - HS_MEMBER_TRAILER_BYTES;
	if (member->raw_bytes > HS_MEMBER_RAW_MOST || member->raw_bytes > packed * DEFLATE_RATIO_MOST)
		return false;
	/* Stored blocks cost 5 bytes each 64 KiB; no writer needs more than that. */
	if (packed > (uint64_t)member->raw_bytes + member->raw_bytes / 1024 + 1024)
		return false;
	if (member->kind == HS_MEMBER_EVENTS)
		return member->items <= HS_EVENTS_A_MEMBER;
	return member->items <= member->raw_bytes; /* no item takes less than a byte */
}

/* Appends the members that are whole; sets the tail. Returns -1 if the file cannot be read. */
static int list_members(struct hs_recording *recording, struct hs_error *error)
{
	uint64_t at = 0;
	bool footer = false;
	recording->tail = HS_TAIL_MISSING;
	while (at < recording->file_bytes) {
		uint8_t bytes[HS_MEMBER_HEADER_BYTES];
		ssize_t got = read_at(recording->fd, bytes, sizeof bytes, at);
		if (got < 0)
			return hs_fail(error, "cannot read '%s': %s", recording->path, strerror(errno));
		if (got == 0)
			break;
		if (at == 0 && !starts_member(bytes, (size_t)got))
			return refuse_stranger(recording->path, bytes, (size_t)got, error);
		recording->tail = footer ? HS_TAIL_FOREIGN : HS_TAIL_DAMAGED;
		if (!starts_member(bytes, (size_t)got))
			break;
		struct hs_member member = {.offset = at};
		if ((size_t)got == sizeof bytes) {
			member.kind = bytes[16];
			member.member_bytes = little32(bytes + 20);
			member.raw_bytes = little32(bytes + 24);
			member.items = little32(bytes + 28);
			if (!sizes_possible(&member))
				break;
		}
		if (footer || (member.kind == HS_MEMBER_HEADER && at > 0)) {
			recording->tail = member.kind == HS_MEMBER_HEADER ? HS_TAIL_SECOND : HS_TAIL_FOREIGN;
			break;
		}
		if ((size_t)got < sizeof bytes || member.member_bytes > recording->file_bytes - at) {
			recording->tail = HS_TAIL_TORN;
			recording->torn_events = member.kind == HS_MEMBER_EVENTS ? member.items : 0;
			break;
		}
		recording->members = hs_grow(recording->members, recording->member_count,
					     &recording->member_capacity, sizeof *recording->members);
		recording->members[recording->member_count++] = member;
		if (member.kind == HS_MEMBER_EVENTS)
			recording->events += member.items;
		footer = member.kind == HS_MEMBER_FOOTER;
		at += member.member_bytes;
		recording->whole_bytes = at;
		recording->tail = footer ? HS_TAIL_FOOTER : HS_TAIL_MISSING;
	}
	return 0;
}

struct hs_recording *hs_recording_open(const char *path, struct hs_error *error)
{
	struct hs_recording *recording = hs_allocate_zero(1, sizeof *recording);
	recording->fd = -1;
	recording->path = hs_copy_string(path);
	if (open_file(recording, error) != 0 || list_members(recording, error) != 0)
		goto fail;
	if (recording->member_count == 0 && recording->tail == HS_TAIL_DAMAGED) {
		hs_fail(error,
			"'%s' is damaged: the sizes in its first member are impossible; copy or record it "
			"again",
			path);
		goto fail;
	}
	if (recording->member_count == 0) {
		hs_fail(error,
			"'%s' is cut inside its first member, before anything was recorded: copy it again, "
			"or record "
			"again if the collector was killed or the disk was full",
			path);
		goto fail;
	}
	if (recording->members[0].kind != HS_MEMBER_HEADER) {
		hs_fail(error,
			"'%s' does not begin with a header, so the beginning of the recording is missing: "
			"copy or "
			"record it again",
			path);
		goto fail;
	}
	return recording;
fail:
	hs_recording_close(recording);
	return NULL;
}

void hs_recording_close(struct hs_recording *recording)
{
	if (!recording)
		return;
	if (recording->fd >= 0)
		close(recording->fd);
	free(recording->path);
	free(recording->members);
	free(recording);
}

/* ---- inflating ------------------------------------------------------------------------------------------
 */

static void reserve(uint8_t **buffer, size_t *capacity, size_t bytes)
{
	if (*buffer && bytes <= *capacity)
		return;
	free(*buffer);
	*capacity = bytes + bytes / 4 + 64;
	*buffer = hs_allocate(*capacity);
}

int hs_recording_inflate(const struct hs_recording *recording, const struct hs_member *member,
			 struct hs_inflater *inflater, struct hs_error *error)
{
	if (!inflater->decompressor)
		inflater->decompressor = libdeflate_alloc_decompressor();
	if (!inflater->decompressor)
		return hs_fail(error, "out of memory");
	reserve(&inflater->packed, &inflater->packed_capacity, member->member_bytes);
	reserve(&inflater->raw, &inflater->raw_capacity, member->raw_bytes);
	ssize_t got = read_at(recording->fd, inflater->packed, member->member_bytes, member->offset);
	if (got < 0)
		return hs_fail(error, "cannot be read: %s", strerror(errno));
	if ((size_t)got < member->member_bytes)
		return hs_fail(error, "was cut off while it was read");
	size_t used, made;
	enum libdeflate_result result =
		libdeflate_gzip_decompress_ex(inflater->decompressor, inflater->packed, member->member_bytes,
					      inflater->raw, member->raw_bytes, &used, &made);
	if (result != LIBDEFLATE_SUCCESS || used != member->member_bytes || made != member->raw_bytes)
		return hs_fail(error, "its checksum or size is wrong");
	return 0;
}

void hs_inflater_free(struct hs_inflater *inflater)
{
	if (inflater->decompressor)
		libdeflate_free_decompressor(inflater->decompressor);
	free(inflater->packed);
	free(inflater->raw);
	*inflater = (struct hs_inflater){0};
}
