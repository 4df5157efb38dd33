/* Writes recordings as FORMAT.md describes them (exact times, no copies), independently of the program's own
 * writer and reader: constants are the document's numbers, and zlib compresses. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT "7" /* FORMAT.md's version */

enum {
	HEADER = 1,
	MODULES = 2,
	NODES = 3,
	EVENTS = 4,
	SAMPLES = 5,
	SYMBOLS = 7,
	THREADS = 8,
	FOOTER = 9,
};

enum { MAIN_PROGRAM = 1, OWN_LIBRARY = 8 }; /* module flags */

struct bytes {
	uint8_t *data;
	size_t count, capacity;
};

void put_byte(struct bytes *bytes, uint8_t value);
void put_number(struct bytes *bytes, uint64_t value); /* varint */
void put_signed(struct bytes *bytes, int64_t value);  /* zigzag */
void put_text(struct bytes *bytes, const char *text);

enum { LANES = 8 };

/* Of an events member, in their order. */
enum {
	PLAIN, /* of each copy: events before it that are none, */
	COPIED,
	BACK_LOW,
	BACK_HIGH,
	KIND,
	THREAD,
	TIME,
	NODE,
	SIZE,
	ENDED,
	FAR_LOW,
	FAR_MIDDLE,
	FAR_HIGH,
	FAR_LANE,
	LANE,
	COLUMNS,
};

/* Threads with the same id modulo LANES. */
struct lane {
	struct bytes columns[COLUMNS]; /* of the payload in the making; not thread and time */
	uint32_t *successor;           /* of each node */
	uint64_t *last_size;
	uint64_t allocations;
	uint64_t last_ended[LANES]; /* by the block's lane */
};

/* Of a node. */
struct call {
	uint32_t module; /* id + 1 */
	uint64_t address;
	bool known; /* as a successor */
};
enum { CALL_KEYS = 65536 };

/* Where an allocation's number leads. */
struct place {
	uint32_t lane;
	uint64_t number; /* in the lane */
};

struct writer {
	struct bytes file;
	struct bytes modules, nodes, names, symbols,
		columns[COLUMNS]; /* payloads in the making; thread and time */
	struct lane lanes[LANES];
	uint32_t module_items, node_items, name_items, symbol_items, event_items;
	uint32_t module_count, node_count, node_capacity;
	struct call *calls;                    /* of each node */
	struct call *call_successors;          /* CALL_KEYS of them */
	uint64_t node_address, symbol_address; /* previous ones of the payload */
	uint32_t run_thread, run_length, last_thread, earlier_thread;
	uint64_t time_us, allocations;
	struct place *places; /* of each allocation */
	uint64_t place_capacity;
	uint64_t payload_time_us, payload_allocations; /* before its first event */
	uint64_t unit_events;                          /* in the microsecond */
	uint32_t previous_node[256];                   /* of each thread */
};

void writer_start(struct writer *writer);
void writer_free(struct writer *writer);
/* Appends a member whose header says what the arguments say. */
void write_member(struct writer *writer, uint8_t kind, const struct bytes *payload, uint32_t items);
void write_json(struct writer *writer, uint8_t kind, const char *json);
void write_header(struct writer *writer); /* of a plausible recording of ./prog --once */

/* Each returns the new thing's number; the write_... below appends what has gathered as one member. */
uint32_t add_module(struct writer *writer, const char *path, uint64_t flags);
uint32_t add_node(struct writer *writer, uint32_t parent, int module, uint64_t address); /* module -1: none */
uint32_t add_name(struct writer *writer, const char *text); /* for symbols; 1 is the first */
/* A symbol record with `frames` frames, each: function, file, line, inlined. */
void add_symbol(struct writer *writer, int module, uint64_t address, uint32_t frames,
		const uint32_t (*frame)[4]);
void write_modules(struct writer *writer);
void write_nodes(struct writer *writer);
void write_symbols(struct writer *writer);

/* Events; blocks are named by the number of their allocation: 0, 1, 2... */
uint64_t event_alloc(struct writer *writer, uint32_t thread, uint64_t time_us, uint32_t node, uint64_t size);
void event_free(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block);
uint64_t event_move(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block, uint32_t node,
		    uint64_t size);
uint64_t event_resize(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block, uint32_t node,
		      uint64_t size);
void write_events(struct writer *writer);
/* For events that are written otherwise: an allocation of that thread has its number now, which is returned.
 */
uint64_t count_allocation(struct writer *writer, uint32_t thread);

void save_bytes(const char *path, const void *data, size_t count);
/* Saves the file under a name of the test's own in the current directory; returns the name. */
const char *save(struct writer *writer);

#endif
