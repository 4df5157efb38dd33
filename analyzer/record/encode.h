/* Turns what happened into the payloads of a recording (FORMAT.md): modules, nodes, events in columns,
 * samples, threads. Knows nothing of regions and addresses of blocks. */
#ifndef HS_RECORD_ENCODE_H
#define HS_RECORD_ENCODE_H

#include "record/event_columns.h"
#include "record/writer.h"

/* What the file holds so far: the footer's counts. A reader that replays the file counts the same. */
struct hs_written {
	uint64_t events, allocations, frees, allocated_bytes, live_bytes, live_blocks, peak_bytes, peak_us,
		temporary;
};

/* Of a node of the file: its place, and the state of the node and size columns in the lane that had the first
 * event. Other lanes have the latter in tables of their own, without the place. */
struct hs_encoder_node {
	uint64_t address; /* link-time, or run-time without a module */
	uint64_t last_size;
	uint32_t module; /* file id + 1; 0 none */
	uint32_t successor;
};

/* The threads with the same id modulo HS_LANES. */
struct hs_encoder_lane {
	struct hs_event_lane events;
	struct hs_encoder_node *nodes; /* hs_encoder.node_capacity of them */
	uint64_t allocations, written; /* the latter: without those of the payload in the making */
	/* by how many lanes on the ended block's is: the number of the one that an event of this lane ended
	 * last */
	uint64_t last_ended[HS_LANES];
};

struct hs_encoder_thread {
	uint64_t last_allocation; /* its number in the lane, or UINT64_MAX */
	uint32_t previous_node;
	uint32_t serial, tid; /* in the target */
	char name[16];
	char *own_name; /* NULL, or what the program calls it */
};

/* Of a call (hs_call_key): the call of the node that was told last of those called from such nodes. */
struct hs_encoder_successor {
	uint64_t address;
	uint32_t module; /* as the node's, + 1; 0: there is none */
};

struct hs_encoder {
	struct hs_writer writer;
	struct hs_written now;     /* with the events that are not in the file yet */
	struct hs_written written; /* as of the last events member */
	uint64_t time_us;          /* of the last event */

	struct hs_event_columns columns; /* events that are not in the file yet */
	uint32_t run_thread, last_thread,
		earlier_thread;              /* of the run; of those before it: the last, the one before */
	uint64_t run_start;                  /* number of its first event */
	struct hs_encoder_lane *lane;        /* of the run; NULL: there is none yet in the payload */
	struct hs_coded_event *next, *limit; /* of the lane, while it is the run's */
	struct hs_encoder_node *lane_nodes;  /* likewise */
	struct hs_encoder_lane *lanes[HS_LANES]; /* NULL: it has had no events yet */
	struct hs_encoder_lane *first_lane;      /* its table of nodes is the one below */

	struct hs_encoder_node *nodes; /* by file id; 0 is the root */
	uint32_t node_count;
	size_t node_capacity;
	struct hs_bytes node_bytes; /* of the nodes that are not in the file yet */
	uint32_t first_new_node;
	uint64_t node_address;                   /* the last one told in node_bytes */
	struct hs_encoder_successor *successors; /* HS_CALL_KEYS of them */

	struct hs_encoder_thread *threads; /* by file id; [0] unused */
	uint32_t thread_count;
	size_t thread_capacity;
	uint32_t threads_written;

	struct hs_bytes module_bytes, sample_bytes, mark_bytes, scratch;
	uint32_t new_modules, new_samples, new_marks;
	uint64_t sample_us;
	uint64_t mark_us, mark_events; /* of the last mark */
};

void hs_encoder_init(struct hs_encoder *encoder, struct hs_packer *packer, int fd);
void hs_encoder_free(struct hs_encoder *encoder);

/* Text of a header or footer. */
int hs_encoder_json(struct hs_encoder *encoder, enum hs_member_kind kind, const char *text);

struct hs_encoded_module {
	uint32_t id;
	uint64_t start, size, bias, load_us;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_bytes, flags;
};
void hs_encoder_module(struct hs_encoder *encoder, const struct hs_encoded_module *module);
void hs_encoder_unload(struct hs_encoder *encoder, uint32_t id, uint64_t unload_us);

/* Returns the node's file id. module: file id + 1, or 0. */
uint32_t hs_encoder_node(struct hs_encoder *encoder, uint32_t parent, uint32_t module, uint64_t address);
/* Returns the thread's file id. */
uint32_t hs_encoder_thread(struct hs_encoder *encoder, uint32_t serial, uint32_t tid);
/* Samples that are worth a member. */
enum { HS_SAMPLES_A_MEMBER = 64 };
void hs_encoder_sample(struct hs_encoder *encoder, uint64_t time_us, uint64_t rss_bytes);

/* A mark, after all events so far. Phases and moments have a thread (its file id) and a name, ends of
 * phases the number of the phase. */
void hs_encoder_mark(struct hs_encoder *encoder, enum hs_mark_kind kind, uint64_t time_us, uint32_t thread,
		     const char *name, uint64_t phase);
void hs_encoder_name_thread(struct hs_encoder *encoder, uint32_t id, const char *name);

/* Writes what is pending: modules, nodes, events, samples, marks. Returns 0, or -1: the writer has an error.
 */
int hs_encoder_flush(struct hs_encoder *encoder);
/* The threads with ids below `end` that are not in the file yet. */
int hs_encoder_flush_threads(struct hs_encoder *encoder, uint32_t end);

/* ---- events ------------------------------------------------------------------------------------------ */

/* At the limit of the run's lane. */
void hs_encoder_pause(struct hs_encoder *encoder);
void hs_encoder_begin_run(struct hs_encoder *encoder, uint32_t thread);

static inline void hs_encoder_start_event(struct hs_encoder *encoder, enum hs_event_kind kind,
					  uint32_t thread, uint64_t time_us)
{
	if (__builtin_expect(thread != encoder->run_thread, 0))
		hs_encoder_begin_run(encoder, thread);
	if (__builtin_expect(encoder->next == encoder->limit, 0))
		hs_encoder_pause(encoder);
	if (time_us > encoder->time_us) {
		struct hs_event_columns *columns = &encoder->columns;
		columns->steps[columns->step_count++] =
			(struct hs_time_step){time_us - encoder->time_us, (uint32_t)encoder->now.events};
		encoder->time_us = time_us;
	}
	*encoder->next++ = (struct hs_coded_event){.ended = kind};
	encoder->now.events++;
}

/* What the run's event that ends a block `further` lanes on, in `home`, adds to hs_coded_event.ended. */
static inline uint64_t hs_encoder_ended_code(const struct hs_encoder *encoder,
					     const struct hs_encoder_lane *home, uint32_t further,
					     uint64_t ended)
{
	struct hs_encoder_lane *lane = encoder->lane;
	uint64_t younger = (home->allocations - 1 - ended) << 1;
	uint64_t onwards = hs_zigzag((int64_t)(ended - lane->last_ended[further])) << 1 | 1;
	uint64_t code = younger < onwards ? younger : onwards;
	lane->last_ended[further] = ended;
	if (code - HS_ENDED_FAR >= encoder->columns.far_codes)
		return code << HS_CODED_KIND_BITS | further * HS_EVENT_KINDS;
	*lane->events.far_next++ = (uint32_t)code | further << HS_FAR_BITS;
	return (uint64_t)HS_ENDED_FAR << HS_CODED_KIND_BITS;
}
void hs_encoder_end_elsewhere(struct hs_encoder *encoder, uint32_t further, uint64_t ended);

/* Ends the block of allocation `ended` of a thread's lane: the part that a free, a move and a resize share.
 */
static inline void hs_encoder_end_block(struct hs_encoder *encoder, uint32_t thread, uint64_t ended,
					uint64_t size)
{
	uint32_t further = (thread - encoder->run_thread) % HS_LANES;
	if (__builtin_expect(further == 0, 1))
		encoder->next[-1].ended |= hs_encoder_ended_code(encoder, encoder->lane, 0, ended);
	else
		hs_encoder_end_elsewhere(encoder, further, ended);
	encoder->now.live_bytes -= size;
	encoder->now.live_blocks--;
}

/* Begins a block; returns the allocation's number in the thread's lane, which is that of the run. */
static inline uint64_t hs_encoder_begin_block(struct hs_encoder *encoder, uint32_t thread, uint64_t size,
					      uint32_t node)
{
	struct hs_encoder_thread *owner = &encoder->threads[thread];
	struct hs_encoder_node *previous = &encoder->lane_nodes[owner->previous_node];
	struct hs_encoder_node *own = &encoder->lane_nodes[node];
	struct hs_coded_event *event = encoder->next - 1;
	event->node = previous->successor == node
			      ? 0
			      : 1 + (uint32_t)hs_zigzag((int64_t)node - (int64_t)owner->previous_node);
	previous->successor = node;
	owner->previous_node = node;
	uint64_t size_code = own->last_size == size ? 0 : 1 + size;
	event->size = (uint32_t)size_code;
	if (__builtin_expect(size_code >= encoder->columns.size_end, 0))
		hs_event_lane_keep_size(&encoder->lane->events, event, node, size, size_code);
	own->last_size = size;

	struct hs_written *now = &encoder->now;
	now->allocated_bytes += size;
	now->live_bytes += size;
	now->live_blocks++;
	if (now->live_bytes >= now->peak_bytes) {
		now->peak_bytes = now->live_bytes;
		now->peak_us = encoder->time_us;
	}
	now->allocations++;
	return owner->last_allocation = encoder->lane->allocations++;
}

#endif
