/* The recording file as a list of checked members. Private to profile/. */
#ifndef HS_RECORDING_H
#define HS_RECORDING_H

#include "base/error.h"
#include "heapscope/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_member {
	uint64_t offset; /* in the file */
	uint32_t member_bytes, raw_bytes, items;
	uint8_t kind;
};

/* Why the list of members ends where it does. */
enum hs_tail {
	HS_TAIL_FOOTER,  /* complete */
	HS_TAIL_MISSING, /* the file ends at a member's end, without a footer */
	HS_TAIL_TORN,    /* the file ends inside a member */
	HS_TAIL_DAMAGED, /* the bytes that follow are no member */
	HS_TAIL_FOREIGN, /* something follows the footer */
	HS_TAIL_SECOND,  /* another recording follows */
};

/* The recorder's own counts, from the footer. */
struct hs_expected {
	bool known;
	uint64_t events, allocations, frees, allocated_bytes, peak_bytes, peak_us, live_bytes, live_blocks,
		temporary;
};

struct hs_recording {
	int fd;
	char *path;
	struct hs_member *members;
	uint32_t member_count;
	size_t member_capacity;
	uint64_t file_bytes;  /* when it was opened */
	uint64_t whole_bytes; /* that the members cover */
	enum hs_tail tail;
	uint64_t events;      /* in all whole events members */
	uint64_t torn_events; /* in the torn member, as far as known */
	struct hs_expected expected;
};

/* Opens a recording and lists its members. A file that is not a recording, or whose first member is not
 * whole, is an error; anything wrong further on ends the list (see tail). Returns NULL and an error on
 * failure. */
struct hs_recording *hs_recording_open(const char *path, struct hs_error *error);
void hs_recording_close(struct hs_recording *recording);

/* One thread's buffers for inflating; all zero at first. */
struct hs_inflater {
	struct libdeflate_decompressor *decompressor;
	uint8_t *packed;
	size_t packed_capacity;
	uint8_t *raw; /* the payload of the member read last: member.raw_bytes */
	size_t raw_capacity;
};

/* Reads and inflates a member into inflater->raw; checks CRC and sizes. Returns 0, or -1 and an error. */
int hs_recording_inflate(const struct hs_recording *recording, const struct hs_member *member,
			 struct hs_inflater *inflater, struct hs_error *error);
void hs_inflater_free(struct hs_inflater *inflater);

#endif
