/* The payloads of a recording. */
#include "record/encode.h"

/* Nodes are written at the latest when there are so many bytes of them: deep stacks make many between two
 * events members. */
enum { NODE_BYTES_MOST = 1 << 20, MARK_BYTES_MOST = 1 << 20 };

/* At the beginning of a payload the last block that ended is the last one before it, in each lane. */
static void start_ended(struct hs_encoder *encoder, unsigned place)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		const struct hs_encoder_lane *home = encoder->lanes[(place + i) % HS_LANES];
		encoder->lanes[place]->last_ended[i] = home ? home->written : 0;
	}
}

static void start_member(struct hs_encoder *encoder)
{
	hs_event_columns_start(&encoder->columns, encoder->time_us, encoder->now.events,
			       encoder->now.allocations);
	encoder->run_thread = encoder->last_thread = encoder->earlier_thread = 0;
	encoder->run_start = encoder->now.events;
	encoder->lane = NULL;
	for (unsigned i = 0; i < HS_LANES; i++)
		if (encoder->lanes[i])
			encoder->lanes[i]->written = encoder->lanes[i]->allocations;
	for (unsigned i = 0; i < HS_LANES; i++)
		if (encoder->lanes[i])
			start_ended(encoder, i);
}

void hs_encoder_init(struct hs_encoder *encoder, struct hs_packer *packer, int fd)
{
	*encoder = (struct hs_encoder){0};
	hs_writer_init(&encoder->writer, packer, fd);
	hs_event_columns_init(&encoder->columns);
	encoder->nodes = hs_grow(NULL, 0, &encoder->node_capacity, sizeof *encoder->nodes);
	encoder->nodes[0] = (struct hs_encoder_node){0};
	encoder->node_count = 1;
	encoder->first_new_node = 1;
	encoder->successors = hs_allocate_zero(HS_CALL_KEYS, sizeof *encoder->successors);
	encoder->threads = hs_grow(NULL, 0, &encoder->thread_capacity, sizeof *encoder->threads);
	encoder->threads[0] = (struct hs_encoder_thread){0};
	encoder->thread_count = 1;
	encoder->threads_written = 1;
	start_member(encoder);
}

void hs_encoder_free(struct hs_encoder *encoder)
{
	for (unsigned i = 0; i < HS_LANES; i++) {
		if (!encoder->lanes[i])
			continue;
		hs_event_lane_free(&encoder->lanes[i]->events);
		if (encoder->lanes[i] != encoder->first_lane)
			free(encoder->lanes[i]->nodes);
		free(encoder->lanes[i]);
	}
	hs_event_columns_free(&encoder->columns);
	free(encoder->nodes);
	free(encoder->successors);
	for (uint32_t i = 0; i < encoder->thread_count; i++)
		free(encoder->threads[i].own_name);
	free(encoder->threads);
	hs_bytes_free(&encoder->mark_bytes);
	hs_bytes_free(&encoder->node_bytes);
	hs_bytes_free(&encoder->module_bytes);
	hs_bytes_free(&encoder->sample_bytes);
	hs_bytes_free(&encoder->scratch);
	*encoder = (struct hs_encoder){0};
}

int hs_encoder_json(struct hs_encoder *encoder, enum hs_member_kind kind, const char *text)
{
	encoder->scratch.count = 0;
	hs_bytes_add(&encoder->scratch, text, strlen(text));
	return hs_writer_member(&encoder->writer, kind, &encoder->scratch, 1);
}

/* ---- modules, nodes, threads, samples ---------------------------------------------------------------- */

void hs_encoder_module(struct hs_encoder *encoder, const struct hs_encoded_module *module)
{
	struct hs_bytes *bytes = &encoder->module_bytes;
	hs_bytes_varint(bytes, 1);
	hs_bytes_varint(bytes, module->id);
	hs_bytes_varint(bytes, module->start);
	hs_bytes_varint(bytes, module->size);
	hs_bytes_varint(bytes, module->bias);
	hs_bytes_varint(bytes, module->load_us);
	hs_bytes_string(bytes, module->path, strlen(module->path));
	hs_bytes_string(bytes, module->build_id, module->build_id_bytes);
	hs_bytes_varint(bytes, module->flags);
	encoder->new_modules++;
}

void hs_encoder_unload(struct hs_encoder *encoder, uint32_t id, uint64_t unload_us)
{
	struct hs_bytes *bytes = &encoder->module_bytes;
	hs_bytes_varint(bytes, 2);
	hs_bytes_varint(bytes, id);
	hs_bytes_varint(bytes, unload_us);
	encoder->new_modules++;
}

/* Modules, then nodes: always before the events that use them. */
static int flush_nodes(struct hs_encoder *encoder)
{
	if (encoder->new_modules) {
		hs_writer_member(&encoder->writer, HS_MEMBER_MODULES, &encoder->module_bytes,
				 encoder->new_modules);
		encoder->new_modules = 0;
		encoder->module_bytes.count = 0;
	}
	uint32_t new_nodes = encoder->node_count - encoder->first_new_node;
	if (new_nodes) {
		encoder->scratch.count = 0;
		hs_bytes_varint(&encoder->scratch, encoder->first_new_node);
		hs_bytes_add(&encoder->scratch, encoder->node_bytes.data, encoder->node_bytes.count);
		hs_writer_member(&encoder->writer, HS_MEMBER_NODES, &encoder->scratch, new_nodes);
		encoder->first_new_node = encoder->node_count;
		encoder->node_address = 0;
		encoder->node_bytes.count = 0;
	}
	return encoder->writer.error ? -1 : 0;
}

/* Room for one more node, in the tables of the lanes as well. */
static void grow_nodes(struct hs_encoder *encoder)
{
	size_t old = encoder->node_capacity;
	encoder->nodes =
		hs_grow(encoder->nodes, encoder->node_count, &encoder->node_capacity, sizeof *encoder->nodes);
	for (unsigned i = 0; i < HS_LANES; i++) {
		struct hs_encoder_lane *lane = encoder->lanes[i];
		if (!lane)
			continue;
		if (lane == encoder->first_lane) {
			lane->nodes = encoder->nodes;
			continue;
		}
		struct hs_encoder_node *nodes = hs_allocate_zero(encoder->node_capacity, sizeof *nodes);
		memcpy(nodes, lane->nodes, old * sizeof *nodes);
		free(lane->nodes);
		lane->nodes = nodes;
	}
	if (encoder->lane)
		encoder->lane_nodes = encoder->lane->nodes;
}

uint32_t hs_encoder_node(struct hs_encoder *encoder, uint32_t parent, uint32_t module, uint64_t address)
{
	if (encoder->node_bytes.count > NODE_BYTES_MOST)
		flush_nodes(encoder);
	if (encoder->node_count == encoder->node_capacity)
		grow_nodes(encoder);
	uint32_t id = encoder->node_count++;
	const struct hs_encoder_node *caller = &encoder->nodes[parent];
	struct hs_encoder_successor *successor =
		&encoder->successors[hs_call_key(caller->module, caller->address)];
	bool told = successor->address != address || successor->module != module + 1;
	encoder->nodes[id] = (struct hs_encoder_node){.address = address, .module = module};
	hs_bytes_varint(&encoder->node_bytes, (uint64_t)(id - parent - 1) << 1 | told);
	if (!told)
		return id;
	hs_bytes_varint(&encoder->node_bytes, module);
	hs_bytes_varint(&encoder->node_bytes, hs_zigzag((int64_t)(address - encoder->node_address)));
	encoder->node_address = address;
	*successor = (struct hs_encoder_successor){address, module + 1};
	return id;
}

uint32_t hs_encoder_thread(struct hs_encoder *encoder, uint32_t serial, uint32_t tid)
{
	encoder->threads = hs_grow(encoder->threads, encoder->thread_count, &encoder->thread_capacity,
				   sizeof *encoder->threads);
	encoder->threads[encoder->thread_count] =
		(struct hs_encoder_thread){.last_allocation = UINT64_MAX, .serial = serial, .tid = tid};
	return encoder->thread_count++;
}

static void put_thread(struct hs_encoder *encoder, uint32_t id)
{
	const struct hs_encoder_thread *thread = &encoder->threads[id];
	const char *name = thread->own_name ? thread->own_name : thread->name;
	size_t most = thread->own_name ? SIZE_MAX : sizeof thread->name;
	hs_bytes_varint(&encoder->scratch, id);
	hs_bytes_varint(&encoder->scratch, thread->tid);
	hs_bytes_string(&encoder->scratch, name, strnlen(name, most));
}

void hs_encoder_name_thread(struct hs_encoder *encoder, uint32_t id, const char *name)
{
	struct hs_encoder_thread *thread = &encoder->threads[id];
	if (thread->own_name && strcmp(thread->own_name, name) == 0)
		return;
	free(thread->own_name);
	thread->own_name = hs_copy_string(name);
	if (id >= encoder->threads_written)
		return;
	encoder->scratch.count = 0; /* again: a later record counts */
	put_thread(encoder, id);
	hs_writer_member(&encoder->writer, HS_MEMBER_THREADS, &encoder->scratch, 1);
}

int hs_encoder_flush_threads(struct hs_encoder *encoder, uint32_t end)
{
	if (end <= encoder->threads_written)
		return 0;
	uint32_t items = end - encoder->threads_written;
	encoder->scratch.count = 0;
	for (; encoder->threads_written < end; encoder->threads_written++)
		put_thread(encoder, encoder->threads_written);
	return hs_writer_member(&encoder->writer, HS_MEMBER_THREADS, &encoder->scratch, items);
}

void hs_encoder_sample(struct hs_encoder *encoder, uint64_t time_us, uint64_t rss_bytes)
{
	uint64_t delta = time_us > encoder->sample_us ? time_us - encoder->sample_us : 0;
	if (!encoder->new_samples)
		hs_bytes_varint(&encoder->sample_bytes, encoder->sample_us);
	hs_bytes_varint(&encoder->sample_bytes, delta);
	hs_bytes_varint(&encoder->sample_bytes, rss_bytes);
	encoder->sample_us += delta;
	encoder->new_samples++;
}

static void flush_marks(struct hs_encoder *encoder)
{
	if (encoder->new_marks)
		hs_writer_member(&encoder->writer, HS_MEMBER_MARKS, &encoder->mark_bytes, encoder->new_marks);
	encoder->new_marks = 0;
	encoder->mark_bytes.count = 0;
}

void hs_encoder_mark(struct hs_encoder *encoder, enum hs_mark_kind kind, uint64_t time_us, uint32_t thread,
		     const char *name, uint64_t phase)
{
	struct hs_bytes *bytes = &encoder->mark_bytes;
	uint64_t delta = time_us > encoder->mark_us ? time_us - encoder->mark_us : 0;
	if (!encoder->new_marks) {
		hs_bytes_varint(bytes, encoder->mark_us);
		hs_bytes_varint(bytes, encoder->mark_events);
	}
	hs_bytes_varint(bytes, kind);
	hs_bytes_varint(bytes, delta);
	hs_bytes_varint(bytes, encoder->now.events - encoder->mark_events);
	if (kind == HS_MARK_PHASE_BEGIN || kind == HS_MARK_MOMENT) {
		hs_bytes_varint(bytes, thread);
		hs_bytes_string(bytes, name, strlen(name));
	} else if (kind == HS_MARK_PHASE_END) {
		hs_bytes_varint(bytes, phase);
	}
	encoder->mark_us += delta;
	encoder->mark_events = encoder->now.events;
	encoder->new_marks++;
	if (bytes->count > MARK_BYTES_MOST)
		flush_marks(encoder);
}

/* ---- events ------------------------------------------------------------------------------------------ */

static void end_run(struct hs_encoder *encoder)
{
	struct hs_bytes *out = &encoder->columns.threads;
	if (encoder->now.events == encoder->run_start) /* none yet, or cut off by the end of the member */
		return;
	bool back = encoder->run_thread == encoder->earlier_thread;
	hs_bytes_varint(out, (encoder->now.events - encoder->run_start - 1) << 1 | !back);
	if (!back)
		hs_bytes_varint(out, encoder->run_thread);
}

static struct hs_encoder_lane *add_lane(struct hs_encoder *encoder, unsigned place)
{
	struct hs_encoder_lane *lane = hs_allocate_zero(1, sizeof *lane);
	hs_event_columns_add(&encoder->columns, place, &lane->events);
	if (!encoder->first_lane)
		encoder->first_lane = lane;
	lane->nodes = lane == encoder->first_lane
			      ? encoder->nodes
			      : hs_allocate_zero(encoder->node_capacity, sizeof *lane->nodes);
	encoder->lanes[place] = lane;
	start_ended(encoder, place);
	return lane;
}

static void leave_lane(struct hs_encoder *encoder)
{
	if (encoder->lane)
		encoder->lane->events.next = encoder->next;
}

static void enter_lane(struct hs_encoder *encoder, struct hs_encoder_lane *lane)
{
	encoder->lane = lane;
	encoder->next = lane->events.next;
	encoder->limit = lane->events.limit;
	encoder->lane_nodes = lane->nodes;
}

void hs_encoder_begin_run(struct hs_encoder *encoder, uint32_t thread)
{
	struct hs_encoder_lane *lane = encoder->lanes[thread % HS_LANES];
	end_run(encoder);
	leave_lane(encoder);
	enter_lane(encoder, lane ? lane : add_lane(encoder, thread % HS_LANES));
	encoder->earlier_thread = encoder->last_thread;
	encoder->last_thread = encoder->run_thread;
	encoder->run_thread = thread;
	encoder->run_start = encoder->now.events;
}

static void flush_samples(struct hs_encoder *encoder)
{
	if (encoder->new_samples)
		hs_writer_member(&encoder->writer, HS_MEMBER_SAMPLES, &encoder->sample_bytes,
				 encoder->new_samples);
	encoder->new_samples = 0;
	encoder->sample_bytes.count = 0;
}

/* But samples wait until they are worth a member. */
static int flush_events(struct hs_encoder *encoder)
{
	flush_nodes(encoder);
	if ((uint32_t)encoder->now.events != encoder->columns.first) { /* there are events */
		end_run(encoder);
		leave_lane(encoder);
		encoder->scratch.count = 0;
		hs_event_columns_put(&encoder->columns, &encoder->scratch, encoder->time_us);
		uint64_t before = encoder->writer.offset;
		if (hs_writer_pieces(&encoder->writer, HS_MEMBER_EVENTS, &encoder->scratch,
				     &encoder->columns.cuts, encoder->columns.count) == 0)
			encoder->written = encoder->now;
		hs_event_columns_weigh(&encoder->columns, encoder->writer.offset - before,
				       hs_packer_is_hurried(encoder->writer.packer));
		start_member(encoder);
	}
	if (encoder->new_samples >= HS_SAMPLES_A_MEMBER)
		flush_samples(encoder);
	flush_marks(encoder);
	return encoder->writer.error ? -1 : 0;
}

void hs_encoder_end_elsewhere(struct hs_encoder *encoder, uint32_t further, uint64_t ended)
{
	const struct hs_encoder_lane *home = encoder->lanes[(encoder->run_thread + further) % HS_LANES];
	encoder->next[-1].ended |= hs_encoder_ended_code(encoder, home, further, ended);
}

void hs_encoder_pause(struct hs_encoder *encoder)
{
	uint32_t thread = encoder->run_thread;
	leave_lane(encoder);
	if (!hs_event_columns_extend(&encoder->columns, &encoder->lane->events)) {
		flush_events(encoder);
		hs_encoder_begin_run(encoder, thread);
		hs_event_columns_extend(&encoder->columns, &encoder->lane->events);
	}
	enter_lane(encoder, encoder->lane);
}

int hs_encoder_flush(struct hs_encoder *encoder)
{
	flush_events(encoder);
	flush_samples(encoder);
	return encoder->writer.error ? -1 : 0;
}
