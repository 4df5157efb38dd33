#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "writer: %s\n", what);
	abort();
}

/* ---- bytes ----------------------------------------------------------------------------------------------
 */

static void put_bytes(struct bytes *bytes, const void *data, size_t count)
{
	if (bytes->count + count > bytes->capacity) {
		bytes->capacity = (bytes->count + count) * 2;
		bytes->data = realloc(bytes->data, bytes->capacity);
		need(bytes->data != NULL, "no memory");
	}
	if (count)
		memcpy(bytes->data + bytes->count, data, count);
	bytes->count += count;
}

void put_byte(struct bytes *bytes, uint8_t value)
{
	put_bytes(bytes, &value, 1);
}

void put_number(struct bytes *bytes, uint64_t value)
{
	for (; value > 127; value /= 128)
		put_byte(bytes, (uint8_t)(value % 128 + 128));
	put_byte(bytes, (uint8_t)value);
}

void put_signed(struct bytes *bytes, int64_t value)
{
	put_number(bytes, value < 0 ? (uint64_t)(-(value + 1)) * 2 + 1 : (uint64_t)value * 2);
}

void put_text(struct bytes *bytes, const char *text)
{
	put_number(bytes, strlen(text));
	put_bytes(bytes, text, strlen(text));
}

static void put_fixed(struct bytes *bytes, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		put_byte(bytes, (uint8_t)(value >> 8 * i));
}

/* ---- members --------------------------------------------------------------------------------------------
 */

void write_member(struct writer *writer, uint8_t kind, const struct bytes *payload, uint32_t items)
{
	static const uint8_t start[] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 20, 0, 'H', 'S', 16, 0};
	uLong bound = compressBound(payload->count);
	uint8_t *packed = malloc(bound);
	z_stream stream = {0};
	need(packed && deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
	stream.next_in = payload->data;
	stream.avail_in = (uInt)payload->count;
	stream.next_out = packed;
	stream.avail_out = (uInt)bound;
	need(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
	struct bytes *file = &writer->file;
	put_bytes(file, start, sizeof start);
	put_byte(file, kind);
	put_bytes(file, "\0\0\0", 3);
	put_fixed(file, (uint32_t)(32 + stream.total_out + 8));
	put_fixed(file, (uint32_t)payload->count);
	put_fixed(file, items);
	put_bytes(file, packed, stream.total_out);
	put_fixed(file, (uint32_t)crc32(0, payload->data, (uInt)payload->count));
	put_fixed(file, (uint32_t)payload->count);
	deflateEnd(&stream);
	free(packed);
}

static void write_gathered(struct writer *writer, uint8_t kind, struct bytes *payload, uint32_t *items)
{
	if (*items)
		write_member(writer, kind, payload, *items);
	payload->count = 0;
	*items = 0;
}

void write_json(struct writer *writer, uint8_t kind, const char *json)
{
	struct bytes payload = {0};
	put_bytes(&payload, json, strlen(json));
	write_member(writer, kind, &payload, 1);
	free(payload.data);
}

void write_header(struct writer *writer)
{
	write_json(writer, HEADER,
		   "{\"version\":" FORMAT ",\"program\":\"/home/me/prog\",\"command\":[\"./"
		   "prog\",\"--once\"],\"cwd\":\"/home/me\","
		   "\"pid\":4711,\"parent_pid\":1,\"origin\":\"start\",\"start_us\":1700000000000000,"
		   "\"machine\":\"x86_64\",\"page_bytes\":4096,\"clock\":\"tsc\",\"unwinder\":\"fast\","
		   "\"heapscope\":\"0.1.0\"}");
}

void writer_start(struct writer *writer)
{
	*writer = (struct writer){.node_count = 1, .node_capacity = 64};
	for (int i = 0; i < LANES; i++) {
		struct lane *lane = &writer->lanes[i];
		lane->successor = calloc(writer->node_capacity, sizeof *lane->successor);
		lane->last_size = calloc(writer->node_capacity, sizeof *lane->last_size);
		need(lane->successor && lane->last_size, "no memory");
	}
	writer->calls = calloc(writer->node_capacity, sizeof *writer->calls);
	writer->call_successors = calloc(CALL_KEYS, sizeof *writer->call_successors);
	need(writer->calls && writer->call_successors, "no memory");
}

void writer_free(struct writer *writer)
{
	free(writer->file.data);
	free(writer->modules.data);
	free(writer->nodes.data);
	free(writer->names.data);
	free(writer->symbols.data);
	for (int i = 0; i < COLUMNS; i++)
		free(writer->columns[i].data);
	for (int i = 0; i < LANES; i++) {
		for (int k = 0; k < COLUMNS; k++)
			free(writer->lanes[i].columns[k].data);
		free(writer->lanes[i].successor);
		free(writer->lanes[i].last_size);
	}
	free(writer->places);
	free(writer->calls);
	free(writer->call_successors);
}

/* ---- modules, nodes, symbols ----------------------------------------------------------------------------
 */

uint32_t add_module(struct writer *writer, const char *path, uint64_t flags)
{
	uint32_t id = writer->module_count++;
	struct bytes *payload = &writer->modules;
	put_number(payload, 1);
	put_number(payload, id);
	put_number(payload, 0x500000000000 + id * 0x10000000ULL); /* start */
	put_number(payload, 0x100000);                            /* size */
	put_number(payload, 0x500000000000 + id * 0x10000000ULL); /* bias */
	put_number(payload, 0);
	put_text(payload, path);
	put_text(payload, "\x01\x02\x03");
	put_number(payload, flags);
	writer->module_items++;
	return id;
}

void write_modules(struct writer *writer)
{
	write_gathered(writer, MODULES, &writer->modules, &writer->module_items);
}

static struct call *successor_of(struct writer *writer, struct call call)
{
	uint64_t key = (call.address ^ (uint64_t)call.module * 128) * 0x9e3779b97f4a7c15;
	return &writer->call_successors[key >> 48];
}

uint32_t add_node(struct writer *writer, uint32_t parent, int module, uint64_t address)
{
	uint32_t id = writer->node_count++;
	if (id >= writer->node_capacity) {
		uint32_t old = writer->node_capacity;
		writer->node_capacity *= 2;
		for (int i = 0; i < LANES; i++) {
			struct lane *lane = &writer->lanes[i];
			lane->successor =
				realloc(lane->successor, writer->node_capacity * sizeof *lane->successor);
			lane->last_size =
				realloc(lane->last_size, writer->node_capacity * sizeof *lane->last_size);
			need(lane->successor && lane->last_size, "no memory");
			memset(lane->successor + old, 0, old * sizeof *lane->successor);
			memset(lane->last_size + old, 0, old * sizeof *lane->last_size);
		}
		writer->calls = realloc(writer->calls, writer->node_capacity * sizeof *writer->calls);
		need(writer->calls != NULL, "no memory");
	}
	if (writer->node_items++ == 0) {
		put_number(&writer->nodes, id);
		writer->node_address = 0;
	}
	struct call call = {(uint32_t)(module + 1), address, true};
	struct call *successor = successor_of(writer, writer->calls[parent]);
	bool told = !successor->known || successor->module != call.module || successor->address != address;
	writer->calls[id] = *successor = call;
	put_number(&writer->nodes, (uint64_t)(id - parent - 1) * 2 + told);
	if (!told)
		return id;
	put_number(&writer->nodes, call.module);
	put_signed(&writer->nodes, (int64_t)(address - writer->node_address));
	writer->node_address = address;
	return id;
}

void write_nodes(struct writer *writer)
{
	write_gathered(writer, NODES, &writer->nodes, &writer->node_items);
}

uint32_t add_name(struct writer *writer, const char *text)
{
	if (writer->name_items == 0) {
		put_text(&writer->names, "");
		writer->name_items = 1;
	}
	put_text(&writer->names, text);
	return writer->name_items++;
}

void add_symbol(struct writer *writer, int module, uint64_t address, uint32_t frames,
		const uint32_t (*frame)[4])
{
	struct bytes *payload = &writer->symbols;
	put_number(payload, (uint64_t)(module + 1));
	put_signed(payload, (int64_t)(address - writer->symbol_address));
	writer->symbol_address = address;
	put_number(payload, frames);
	for (uint32_t i = 0; i < frames; i++)
		for (int k = 0; k < 4; k++)
			put_number(payload, frame[i][k]);
	writer->symbol_items++;
}

void write_symbols(struct writer *writer)
{
	struct bytes payload = {0};
	put_number(&payload, writer->name_items);
	put_bytes(&payload, writer->names.data, writer->names.count);
	put_bytes(&payload, writer->symbols.data, writer->symbols.count);
	write_member(writer, SYMBOLS, &payload, writer->symbol_items);
	free(payload.data);
	writer->names.count = writer->symbols.count = 0;
	writer->name_items = writer->symbol_items = 0;
	writer->symbol_address = 0;
}

/* ---- events ---------------------------------------------------------------------------------------------
 */

static void end_run(struct writer *writer)
{
	if (writer->run_length) {
		/* a writer need not say that it goes back; here: if the run has an odd length */
		int back = writer->run_thread == writer->earlier_thread && writer->run_length % 2;
		put_number(&writer->columns[THREAD], (writer->run_length - 1) * 2 + !back);
		if (!back)
			put_number(&writer->columns[THREAD], writer->run_thread);
		writer->earlier_thread = writer->last_thread;
		writer->last_thread = writer->run_thread;
	}
	writer->run_length = 0;
}

/* Of what is no allocation's number: that number in the thread's own lane. */
static struct place place_of(const struct writer *writer, uint32_t thread, uint64_t block)
{
	return block < writer->allocations ? writer->places[block] : (struct place){thread % LANES, block};
}

/* ended: the block that the event ends. */
static void begin_event(struct writer *writer, uint8_t kind, uint32_t thread, uint64_t time_us,
			const uint64_t *ended)
{
	need(time_us >= writer->time_us && thread < 256, "an event out of order");
	if (writer->event_items == 65536)
		write_events(writer);
	if (writer->event_items++ == 0) {
		writer->payload_time_us = writer->time_us;
		writer->payload_allocations = writer->allocations;
		for (int i = 0; i < LANES; i++)
			for (int k = 0; k < LANES; k++)
				writer->lanes[i].last_ended[k] = writer->lanes[k].allocations;
		writer->unit_events = 0;
		writer->last_thread = writer->earlier_thread = 0;
	}
	if (thread != writer->run_thread)
		end_run(writer);
	writer->run_thread = thread;
	writer->run_length++;
	uint32_t lane = ended ? place_of(writer, thread, *ended).lane : thread % LANES;
	uint32_t further = (lane + LANES - thread % LANES) % LANES;
	put_byte(&writer->lanes[thread % LANES].columns[KIND], (uint8_t)(kind + 4 * further));
	uint64_t later = time_us - writer->time_us;
	if (later == 1) {
		put_number(&writer->columns[TIME], writer->unit_events * 2);
	} else if (later) {
		put_number(&writer->columns[TIME], writer->unit_events * 2 + 1);
		put_number(&writer->columns[TIME], later - 1);
	}
	writer->unit_events = later ? 1 : writer->unit_events + 1;
	writer->time_us = time_us;
}

static void put_end(struct writer *writer, uint32_t thread, uint64_t block)
{
	struct lane *lane = &writer->lanes[thread % LANES];
	struct place place = place_of(writer, thread, block);
	/* a writer may choose: by whether the block's number is odd */
	int64_t step = (int64_t)(place.number - lane->last_ended[place.lane]);
	uint64_t code = place.number % 2 ? (writer->lanes[place.lane].allocations - 1 - place.number) * 2
			: step < 0       ? (uint64_t)(-step) * 4 - 1
					 : (uint64_t)step * 4 + 1;
	lane->last_ended[place.lane] = place.number;
	if (code < 127 || code >= 1 << 24) {
		put_number(&lane->columns[ENDED], code);
		return;
	}
	uint8_t *kind = &lane->columns[KIND].data[lane->columns[KIND].count - 1];
	put_byte(&lane->columns[ENDED], 127);
	put_byte(&lane->columns[FAR_LOW], (uint8_t)(code % 256));
	put_byte(&lane->columns[FAR_MIDDLE], (uint8_t)(code / 256 % 256));
	put_byte(&lane->columns[FAR_HIGH], (uint8_t)(code / 65536));
	put_byte(&lane->columns[FAR_LANE], *kind / 4);
	*kind %= 4;
}

uint64_t count_allocation(struct writer *writer, uint32_t thread)
{
	if (writer->allocations == writer->place_capacity) {
		writer->place_capacity = writer->place_capacity * 2 + 64;
		writer->places = realloc(writer->places, writer->place_capacity * sizeof *writer->places);
		need(writer->places != NULL, "no memory");
	}
	writer->places[writer->allocations] =
		(struct place){thread % LANES, writer->lanes[thread % LANES].allocations++};
	return writer->allocations++;
}

static uint64_t put_begin(struct writer *writer, uint32_t thread, uint32_t node, uint64_t size)
{
	struct lane *lane = &writer->lanes[thread % LANES];
	uint32_t *previous = &writer->previous_node[thread];
	if (lane->successor[*previous] == node)
		put_number(&lane->columns[NODE], 0);
	else {
		int64_t step = (int64_t)node - *previous;
		put_number(&lane->columns[NODE], step < 0 ? (uint64_t)(-step) * 2 : (uint64_t)step * 2 + 1);
	}
	lane->successor[*previous] = node;
	*previous = node;
	if (lane->last_size[node] == size)
		put_number(&lane->columns[SIZE], 0);
	else
		put_number(&lane->columns[SIZE], size + 1);
	lane->last_size[node] = size;
	return count_allocation(writer, thread);
}

uint64_t event_alloc(struct writer *writer, uint32_t thread, uint64_t time_us, uint32_t node, uint64_t size)
{
	begin_event(writer, 0, thread, time_us, NULL);
	return put_begin(writer, thread, node, size);
}

void event_free(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block)
{
	begin_event(writer, 1, thread, time_us, &block);
	put_end(writer, thread, block);
}

uint64_t event_move(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block, uint32_t node,
		    uint64_t size)
{
	begin_event(writer, 2, thread, time_us, &block);
	put_end(writer, thread, block);
	return put_begin(writer, thread, node, size);
}

uint64_t event_resize(struct writer *writer, uint32_t thread, uint64_t time_us, uint64_t block, uint32_t node,
		      uint64_t size)
{
	begin_event(writer, 3, thread, time_us, &block);
	put_end(writer, thread, block);
	return put_begin(writer, thread, node, size);
}

/* Of a column of kinds, each with 4 times its lanes. */
static void split_kinds(struct bytes *kinds, struct bytes *lanes)
{
	size_t count = kinds->count;
	int any = 0;
	for (size_t i = 0; i < count; i++)
		any |= kinds->data[i] / 4;
	for (size_t i = 0; any && i < count; i++)
		put_byte(lanes, kinds->data[i] / 4);
	kinds->count = 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t kind = (uint8_t)(kinds->data[i] % 4 << i % 4 * 2);
		if (i % 4 == 0)
			kinds->data[kinds->count++] = kind;
		else
			kinds->data[kinds->count - 1] |= kind;
	}
}

void write_events(struct writer *writer)
{
	if (!writer->event_items)
		return;
	struct bytes payload = {0};
	end_run(writer);
	put_number(&payload, writer->payload_time_us);
	put_number(&payload, writer->time_us - writer->payload_time_us);
	put_number(&payload, writer->payload_allocations);
	put_number(&payload, 1); /* unit */
	put_number(&payload, 1); /* grain */
	put_number(&payload, 0); /* sizes in copies */
	for (int i = 0; i < COLUMNS; i++) {
		struct bytes *column = &writer->columns[i];
		for (int k = 0; k < LANES; k++) {
			struct bytes *part = &writer->lanes[k].columns[i];
			put_bytes(column, part->data, part->count);
			part->count = 0;
		}
		if (i == KIND)
			split_kinds(column, &writer->columns[LANE]);
		put_number(&payload, column->count);
		put_bytes(&payload, column->data, column->count);
		column->count = 0;
	}
	write_member(writer, EVENTS, &payload, writer->event_items);
	writer->event_items = 0;
	free(payload.data);
}

/* ---- files ----------------------------------------------------------------------------------------------
 */

void save_bytes(const char *path, const void *data, size_t count)
{
	unlink(path); /* a file that is truncated and rewritten goes to the disk at once on some file systems:
			 slow */
	FILE *file = fopen(path, "wb");
	need(file && fwrite(data, 1, count, file) == count && fclose(file) == 0, "cannot write");
}

const char *save(struct writer *writer)
{
	static char path[64];
	snprintf(path, sizeof path, "test-%d.hs.gz", (int)getpid());
	save_bytes(path, writer->file.data, writer->file.count);
	return path;
}
