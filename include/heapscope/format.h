/* Constants of the recording file, which FORMAT.md describes byte for byte. */
#ifndef HEAPSCOPE_FORMAT_H
#define HEAPSCOPE_FORMAT_H

#include <stdint.h>

#define HS_FORMAT_VERSION 7

/* Every member is a gzip member whose header is exactly HS_MEMBER_HEADER_BYTES long: 10 bytes of gzip header
 * with FEXTRA, XLEN = 20, one subfield "HS" of 16 bytes: struct hs_member_extra, little-endian. */
enum { HS_MEMBER_HEADER_BYTES = 10 + 2 + 4 + 16, HS_MEMBER_TRAILER_BYTES = 8 };

enum hs_member_kind {
	HS_MEMBER_HEADER = 1, /* JSON; the first member */
	HS_MEMBER_MODULES = 2,
	HS_MEMBER_NODES = 3, /* always before the events that use them */
	HS_MEMBER_EVENTS = 4,
	HS_MEMBER_SAMPLES = 5, /* RSS over time */
	HS_MEMBER_MARKS = 6,   /* phases and moments that the program named, pauses */
	HS_MEMBER_SYMBOLS = 7,
	HS_MEMBER_THREADS = 8,
	HS_MEMBER_FOOTER = 9,  /* JSON: totals, end, losses; the last member of a complete file */
	HS_MEMBER_COUNTS = 10, /* counts by node, of a file without events */
};

struct hs_member_extra {
	uint8_t kind; /* enum hs_member_kind; readers skip kinds they do not know */
	uint8_t reserved[3];
	uint32_t member_bytes; /* of the whole gzip member, header and trailer included */
	uint32_t raw_bytes;    /* of the payload, inflated */
	uint32_t items;        /* events, nodes, modules, ... in the payload; 1 for JSON */
};

/* Limits: a reader refuses more. */
enum {
	HS_MEMBER_RAW_MOST = 64 << 20,
	HS_EVENTS_A_MEMBER = 65536, /* a writer starts a new member at this many, or somewhat earlier */
	HS_STRING_MOST = 1 << 20,
	HS_TIME_UNIT_MOST = 1 << 20, /* of the events' times, us */
};

/* A node's call (module, address) is not told where it is the one that was told last of a node whose parent's
 * call has the same key, 0 to HS_CALL_KEYS - 1. */
enum { HS_CALL_KEYS = 65536 };
static inline uint32_t hs_call_key(uint32_t module, uint64_t address) /* module id + 1, 0: none */
{
	return (uint32_t)((address ^ (uint64_t)module << 7) * 0x9e3779b97f4a7c15ULL >> 48);
}

/* Microseconds; no clock runs for 2000 years. */
#define HS_TIME_MOST (1ULL << 56)

/* The events of a member stand in the columns lane by lane; a thread's lane is its id modulo this. */
enum { HS_LANES = 8 };

/* Events, one byte each in the kind column: the kind, and 4 times how many lanes further on the ended block's
 * lane is (modulo HS_LANES; 0 of ALLOC, and of blocks that are far). Where sizes stand apart, both kinds of
 * realloc have HS_EVENT_MOVE. */
enum hs_event_kind {
	HS_EVENT_ALLOC = 0,
	HS_EVENT_FREE = 1,
	HS_EVENT_MOVE = 2,   /* realloc that gave another address: ends the old block, begins a new one */
	HS_EVENT_RESIZE = 3, /* realloc in place: likewise, but nothing was copied */
	HS_EVENT_KINDS = 4,
};

/* Marks. Ends of phases tell the phase by its number, in the order of beginnings. */
enum hs_mark_kind {
	HS_MARK_PHASE_BEGIN = 1,
	HS_MARK_PHASE_END = 2,
	HS_MARK_MOMENT = 3,
	HS_MARK_PAUSE = 4,
	HS_MARK_RESUME = 5,
};

/* Columns of an events member, in this order, each preceded by its varint length in bytes; all but thread and
 * time lane by lane. Of kind, lane, node, size and ended only events that are no copies have a value; of the
 * far columns all events whose ended block is HS_ENDED_FAR; of sizes apart all that begin a block. */
enum hs_column {
	HS_COLUMN_PLAIN = 0,    /* of each copy: varint, events before it that are none, */
	HS_COLUMN_COPIED = 1,   /* varint, events that are copied, */
	HS_COLUMN_BACK_LOW = 2, /* one byte each: from how far back */
	HS_COLUMN_BACK_HIGH = 3,
	HS_COLUMN_KIND = 4,     /* two bits an event, HS_KINDS_A_BYTE of them */
	HS_COLUMN_THREAD = 5,   /* runs of events of one thread; the lengths sum to the events */
	HS_COLUMN_TIME = 6,     /* how many events happen in each unit of time */
	HS_COLUMN_NODE = 7,     /* ALLOC, MOVE, RESIZE */
	HS_COLUMN_SIZE = 8,     /* ALLOC, MOVE, RESIZE; or all sizes, apart */
	HS_COLUMN_ENDED = 9,    /* FREE, MOVE, RESIZE */
	HS_COLUMN_FAR_LOW = 10, /* one byte each: a far block's code, */
	HS_COLUMN_FAR_MIDDLE = 11,
	HS_COLUMN_FAR_HIGH = 12,
	HS_COLUMN_FAR_LANE = 13, /* lanes further on */
	HS_COLUMN_LANE = 14,     /* one byte an event, likewise; empty if all are 0 */
	HS_COLUMNS = 15,
};
enum { HS_KINDS_A_BYTE = 4 };

/* A block is far if its code is that or, as the writer likes, more, and less than HS_FAR_END: then this
 * stands in the ended column, and the code in the far columns, of which all but the first are empty if they
 * would be zero. */
enum { HS_ENDED_FAR = 127, HS_FAR_BITS = 24, HS_FAR_END = 1 << HS_FAR_BITS };

/* How sizes stand in a payload of events: those that are no copies, or all of them, by the node's id modulo
 * HS_SIZE_PARTS. */
enum hs_sizes { HS_SIZES_IN_COPIES = 0, HS_SIZES_APART = 1, HS_SIZE_PARTS = 8 };

/* Addresses of nodes from here on, 2^32 of them, are no addresses: each stands for a place whose address is
 * not known. */
#define HS_ADDRESS_UNKNOWN (UINT64_C(1) << 62)

/* Frames of a symbol record. */
enum { HS_FRAME_INLINED = 1 };

#endif
