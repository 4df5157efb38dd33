/* Modules, nodes, samples, threads and symbols; makes the frames of them. */
#include "load.h"

#include "base/memory.h"
#include "heapscope/region.h"
#include "heapscope/varint.h"
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static inline int take(struct hs_payload *payload, uint64_t *value)
{
	if (payload->at < payload->end && *payload->at < 0x80) { /* most of them */
		*value = *payload->at++;
		return 0;
	}
	const uint8_t *next = hs_varint_get(payload->at, payload->end, value);
	if (!next)
		return -1;
	payload->at = next;
	return 0;
}

static int take_bytes(struct hs_payload *payload, const uint8_t **bytes, uint64_t *count)
{
	if (take(payload, count) != 0 || *count > HS_STRING_MOST ||
	    *count > (uint64_t)(payload->end - payload->at))
		return -1;
	*bytes = payload->at;
	payload->at += *count;
	return 0;
}

static int take_string(struct hs_payload *payload, struct hs_strings *strings, uint32_t *index)
{
	const uint8_t *bytes;
	uint64_t count;
	if (take_bytes(payload, &bytes, &count) != 0)
		return -1;
	*index = hs_strings_add(strings, (const char *)bytes, count);
	return 0;
}

/* All items are read: nothing may follow. */
static int finished(const struct hs_payload *payload, struct hs_error *error)
{
	if (payload->at != payload->end)
		return hs_fail(error, "%zu bytes follow its last item", (size_t)(payload->end - payload->at));
	return 0;
}

static int too_short(struct hs_error *error)
{
	return hs_fail(error, "it ends too early, or a number or string in it is too long");
}

/* ---- modules, threads, samples --------------------------------------------------------------------------
 */

static uint32_t first_of_file(const struct hs_profile *profile, const struct hs_module *module)
{
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct hs_module *other = &profile->modules[i];
		if (other->path == module->path && other->build_id_bytes == module->build_id_bytes &&
		    memcmp(other->build_id, module->build_id, module->build_id_bytes) == 0)
			return i;
	}
	return profile->module_count;
}

static int take_module(struct hs_loader *loader, struct hs_payload *payload, struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	struct hs_module module = {.unload_us = UINT64_MAX};
	uint64_t id, flags, build_id_bytes;
	const uint8_t *build_id;
	if (take(payload, &id) != 0 || take(payload, &module.start) != 0 ||
	    take(payload, &module.size) != 0 || take(payload, &module.bias) != 0 ||
	    take(payload, &module.load_us) != 0 ||
	    take_string(payload, &profile->strings, &module.path) != 0 ||
	    take_bytes(payload, &build_id, &build_id_bytes) != 0 || take(payload, &flags) != 0)
		return too_short(error);
	if (id != profile->module_count)
		return hs_fail(error, "module %" PRIu64 " stands where %u is due", id, profile->module_count);
	if (build_id_bytes > sizeof module.build_id)
		return hs_fail(error, "a build-id has %" PRIu64 " bytes", build_id_bytes);
	memcpy(module.build_id, build_id, build_id_bytes);
	module.build_id_bytes = (uint32_t)build_id_bytes;
	module.flags = (uint32_t)flags;
	module.same_as = first_of_file(profile, &module);
	profile->modules = hs_grow(profile->modules, profile->module_count, &loader->module_capacity,
				   sizeof *profile->modules);
	profile->modules[profile->module_count++] = module;
	return 0;
}

int hs_load_modules(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	for (uint32_t i = 0; i < items; i++) {
		uint64_t what, id, time_us;
		if (take(&payload, &what) != 0)
			return too_short(error);
		if (what == 1) {
			if (take_module(loader, &payload, error) != 0)
				return -1;
		} else if (what == 2) {
			if (take(&payload, &id) != 0 || take(&payload, &time_us) != 0)
				return too_short(error);
			if (id >= profile->module_count)
				return hs_fail(error, "module %" PRIu64 " is unloaded but not loaded", id);
			profile->modules[id].unload_us = time_us;
		} else {
			return hs_fail(error, "a record has the unknown type %" PRIu64, what);
		}
	}
	return finished(&payload, error);
}

int hs_load_threads(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	for (uint32_t i = 0; i < items; i++) {
		uint64_t id, tid;
		uint32_t name;
		if (take(&payload, &id) != 0 || take(&payload, &tid) != 0 ||
		    take_string(&payload, &profile->strings, &name) != 0)
			return too_short(error);
		/* Ids count up: one far above the number of records is damage, not worth its memory. */
		if (id == 0 || id > loader->thread_records * 2 + 4096 || tid > UINT32_MAX)
			return hs_fail(error, "a thread has the number %" PRIu64, id);
		if (id >= profile->thread_count) {
			profile->threads =
				hs_reallocate(profile->threads, id + 1 + id / 2, sizeof *profile->threads);
			memset(&profile->threads[profile->thread_count], 0,
			       (id + 1 - profile->thread_count) * sizeof *profile->threads);
			profile->thread_count = (uint32_t)id + 1;
		}
		profile->threads[id] = (struct hs_thread){(uint32_t)tid, name};
	}
	return finished(&payload, error);
}

int hs_load_samples(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	uint64_t now;
	if (take(&payload, &now) != 0)
		return too_short(error);
	for (uint32_t i = 0; i < items; i++) {
		uint64_t delta, bytes;
		if (take(&payload, &delta) != 0 || take(&payload, &bytes) != 0)
			return too_short(error);
		if (delta > UINT64_MAX - now)
			return hs_fail(error, "a sample has an impossible time");
		now += delta;
		profile->samples = hs_grow(profile->samples, profile->sample_count, &loader->sample_capacity,
					   sizeof *profile->samples);
		profile->samples[profile->sample_count++] = (struct hs_sample){now, bytes};
	}
	return finished(&payload, error);
}

static struct hs_mark *add_mark(struct hs_loader *loader, enum hs_mark_what what, uint64_t time_us,
				uint64_t event)
{
	struct hs_profile *profile = loader->profile;
	profile->marks =
		hs_grow(profile->marks, profile->mark_count, &loader->mark_capacity, sizeof *profile->marks);
	struct hs_mark *mark = &profile->marks[profile->mark_count++];
	*mark = (struct hs_mark){.what = what,
				 .time_us = time_us,
				 .end_us = HS_TIME_NONE,
				 .first_event = event,
				 .end_event = UINT64_MAX};
	return mark;
}

/* A phase or a moment. */
static int take_named_mark(struct hs_loader *loader, struct hs_payload *payload, struct hs_mark *mark)
{
	uint64_t thread;
	uint32_t name;
	if (take(payload, &thread) != 0 || thread > UINT32_MAX ||
	    take_string(payload, &loader->profile->strings, &name) != 0)
		return -1;
	mark->thread = (uint32_t)thread;
	mark->name = name;
	if (mark->what == HS_MARKED_MOMENT) {
		mark->end_event = mark->first_event;
		return 0;
	}
	loader->phases =
		hs_grow(loader->phases, loader->phase_count, &loader->phase_capacity, sizeof *loader->phases);
	loader->phases[loader->phase_count++] = loader->profile->mark_count - 1;
	return 0;
}

/* Ends the mark at *index - 1, or none. */
static int end_mark(struct hs_loader *loader, uint32_t index, uint64_t time_us, uint64_t event,
		    struct hs_error *error)
{
	struct hs_mark *mark = index ? &loader->profile->marks[index - 1] : NULL;
	if (!mark || mark->end_us != HS_TIME_NONE)
		return hs_fail(error, "a mark ends what has not begun");
	mark->end_us = time_us;
	mark->end_event = event;
	return 0;
}

int hs_load_marks(struct hs_loader *loader, struct hs_payload payload, uint32_t items, struct hs_error *error)
{
	uint64_t now, event, kind, delta, events, number;
	if (take(&payload, &now) != 0 || take(&payload, &event) != 0)
		return too_short(error);
	if (now < loader->mark_us || event < loader->mark_event)
		return hs_fail(error, "marks go back in time");
	for (uint32_t i = 0; i < items; i++) {
		if (take(&payload, &kind) != 0 || take(&payload, &delta) != 0 || take(&payload, &events) != 0)
			return too_short(error);
		if (delta > UINT64_MAX - 1 - now || events > UINT64_MAX - 1 - event)
			return hs_fail(error, "a mark has an impossible time");
		loader->mark_us = now += delta;
		loader->mark_event = event += events;
		int result = 0;
		switch (kind) {
		case HS_MARK_PHASE_BEGIN:
		case HS_MARK_MOMENT:
			if (take_named_mark(
				    loader, &payload,
				    add_mark(loader,
					     kind == HS_MARK_MOMENT ? HS_MARKED_MOMENT : HS_MARKED_PHASE, now,
					     event)) != 0)
				return too_short(error);
			break;
		case HS_MARK_PHASE_END:
			if (take(&payload, &number) != 0)
				return too_short(error);
			result = end_mark(loader,
					  number < loader->phase_count ? loader->phases[number] + 1 : 0, now,
					  event, error);
			break;
		case HS_MARK_PAUSE:
			add_mark(loader, HS_MARKED_PAUSE, now, event);
			loader->pause = loader->profile->mark_count;
			break;
		case HS_MARK_RESUME:
			result = end_mark(loader, loader->pause, now, event, error);
			break;
		default:
			return hs_fail(error, "a mark is of the unknown kind %" PRIu64, kind);
		}
		if (result != 0)
			return -1;
	}
	return finished(&payload, error);
}

/* ---- nodes ----------------------------------------------------------------------------------------------
 */

/* Room for the nodes that the file says it has, unless that is a lie; the root stands already. */
static void make_room(struct hs_loader *loader)
{
	enum { NODES_AT_ONCE = 4 << 20 };
	struct hs_profile *profile = loader->profile;
	uint32_t expected = hs_load_expected_nodes(profile->recording);
	loader->node_capacity = expected < NODES_AT_ONCE ? expected : NODES_AT_ONCE;
	struct hs_node *nodes = hs_allocate_filled(loader->node_capacity * sizeof *nodes);
	nodes[0] = profile->nodes[0];
	free(profile->nodes);
	profile->nodes = nodes;
	loader->call_keys = hs_grow(NULL, 0, &loader->call_key_capacity, sizeof *loader->call_keys);
	loader->call_keys[0] = 0;
}

static uint32_t add_call(struct hs_loader *loader, uint32_t module, uint64_t address)
{
	bool added;
	uint32_t call = hs_pairs_add(&loader->calls, module, address, &added) + 1;
	if (added) {
		loader->call_keys = hs_grow(loader->call_keys, call, &loader->call_key_capacity,
					    sizeof *loader->call_keys);
		loader->call_keys[call] = (uint16_t)hs_call_key(module, address);
	}
	return call;
}

/* Nearly all nodes have a call that others had before. */
static inline uint32_t find_call(struct hs_loader *loader, uint32_t module, uint64_t address)
{
	uint32_t key = hs_call_key(module, address);
	struct hs_recent_call *recent = &loader->recent_calls[key / (HS_CALL_KEYS / HS_RECENT_CALLS)];
	if (recent->address == address && recent->module == module + 1)
		return recent->call;
	uint32_t found = add_call(loader, module, address);
	*recent = (struct hs_recent_call){address, module + 1, found};
	return found;
}

uint32_t hs_load_expected_nodes(const struct hs_recording *recording)
{
	uint64_t nodes = 1;
	for (uint32_t i = 0; i < recording->member_count; i++)
		if (recording->members[i].kind == HS_MEMBER_NODES)
			nodes += recording->members[i].items;
	return (uint32_t)(nodes < HS_MAX_NODES ? nodes : HS_MAX_NODES);
}

/* A node as the file has it. */
struct coded_node {
	uint64_t up; /* its id - its parent's - 1 */
	bool told;   /* its call is: what follows */
	uint64_t module, step;
};

/* last_word: where the last eight bytes of the payload begin, or NULL */
static inline int take_node(struct hs_payload *payload, const uint8_t *last_word, struct coded_node *node)
{
	uint64_t word = 0x80808080, code; /* nothing that is short */
	if (payload->at <= last_word)
		memcpy(&word, payload->at, sizeof word);
	if (!(word & 0x81)) { /* most of them: a byte, and not told */
		*node = (struct coded_node){.up = (word & 0xff) >> 1};
		payload->at++;
		return 0;
	}
	uint64_t step;
	unsigned bytes = hs_varint_get_short((uint32_t)(word >> 16), &step);
	if (!(word & 0x8080) && bytes) { /* most of those that are told */
		*node = (struct coded_node){(word & 0xff) >> 1, true, word >> 8 & 0xff, step};
		payload->at += 2 + bytes;
		return 0;
	}
	bytes = hs_varint_get_short((uint32_t)word, &code);
	payload->at += bytes;
	if (!bytes && take(payload, &code) != 0)
		return -1;
	*node = (struct coded_node){.up = code >> 1, .told = code & 1};
	if (!node->told)
		return 0;
	return take(payload, &node->module) == 0 ? take(payload, &node->step) : -1;
}

int hs_load_nodes(struct hs_loader *loader, struct hs_payload payload, uint32_t items, struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	uint64_t first, address = 0;
	if (take(&payload, &first) != 0)
		return too_short(error);
	if (first != profile->node_count)
		return hs_fail(error, "stack %" PRIu64 " stands where %u is due", first, profile->node_count);
	if (items > HS_MAX_NODES - profile->node_count)
		return hs_fail(error, "it has %u stacks, more than there can be", items);
	if (loader->node_capacity == 0)
		make_room(loader);
	while (items >
	       loader->node_capacity - profile->node_count) /* at most as many as the payload has bytes */
		profile->nodes = hs_grow(profile->nodes, loader->node_capacity, &loader->node_capacity,
					 sizeof *profile->nodes);
	const uint8_t *last_word = payload.end - payload.at < 8 ? NULL : payload.end - 8;
	for (uint32_t i = 0; i < items; i++) {
		struct coded_node node;
		uint32_t id = profile->node_count;
		if (take_node(&payload, last_word, &node) != 0)
			return too_short(error);
		uint64_t parent = (uint64_t)id - 1 - node.up;
		if (parent >= id)
			return hs_fail(error, "stack %u has no parent", id);
		uint32_t *successor = &loader->successors[loader->call_keys[profile->nodes[parent].call]];
		uint32_t call = *successor;
		if (node.told) {
			if (node.module > profile->module_count)
				return hs_fail(error, "stack %u lies in a module that is not in the file",
					       id);
			address += (uint64_t)hs_unzigzag(node.step);
			*successor = call = find_call(loader, (uint32_t)node.module, address);
		} else if (!call) {
			return hs_fail(error, "stack %u goes on like one that is not in the file", id);
		}
		profile->nodes[id] = (struct hs_node){(uint32_t)parent, call};
		profile->node_count = id + 1;
	}
	return finished(&payload, error);
}

/* ---- symbols --------------------------------------------------------------------------------------------
 */

static int take_frame(struct hs_loader *loader, struct hs_payload *payload, const uint32_t *strings,
		      uint64_t count)
{
	uint64_t function, file, line, flags;
	if (take(payload, &function) != 0 || take(payload, &file) != 0 || take(payload, &line) != 0 ||
	    take(payload, &flags) != 0 || function >= count || file >= count)
		return -1;
	loader->named =
		hs_grow(loader->named, loader->named_count, &loader->named_capacity, sizeof *loader->named);
	loader->named[loader->named_count++] = (struct hs_named_frame){
		.function = strings[function],
		.file = strings[file],
		.line = line > UINT32_MAX ? 0 : (uint32_t)line,
		.inlined = flags & HS_FRAME_INLINED,
	};
	return 0;
}

/* Inlining goes tens deep at most. The limit keeps a small file from claiming stacks of any size. */
enum { FRAMES_A_SYMBOL = 256 };

static int take_symbol(struct hs_loader *loader, struct hs_payload *payload, uint64_t *address,
		       const uint32_t *strings, uint64_t count)
{
	uint64_t module, step, frames;
	if (take(payload, &module) != 0 || take(payload, &step) != 0 || take(payload, &frames) != 0 ||
	    frames > FRAMES_A_SYMBOL)
		return -1;
	*address += (uint64_t)hs_unzigzag(step);
	struct hs_frame_range range = {loader->named_count, 0};
	for (; frames > 0; frames--, range.count++)
		if (take_frame(loader, payload, strings, count) != 0)
			return -1;
	bool added;
	uint32_t index = hs_pairs_add(&loader->symbols, module, *address, &added);
	loader->symbol_ranges = hs_grow(loader->symbol_ranges, index, &loader->symbol_capacity,
					sizeof *loader->symbol_ranges);
	loader->symbol_ranges[index] = range; /* the last one counts */
	return 0;
}

int hs_load_symbols(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error)
{
	uint64_t count, address = 0;
	if (take(&payload, &count) != 0 || count > (uint64_t)(payload.end - payload.at))
		return too_short(error);
	uint32_t *strings = hs_allocate_zero(count, sizeof *strings);
	int result = 0;
	for (uint64_t i = 0; result == 0 && i < count; i++)
		result = take_string(&payload, &loader->profile->strings, &strings[i]);
	if (count > 0)
		strings[0] = 0; /* unknown, whatever the file says */
	for (uint32_t i = 0; result == 0 && i < items; i++)
		result = take_symbol(loader, &payload, &address, strings, count);
	free(strings);
	return result == 0 ? finished(&payload, error) : too_short(error);
}

/* ---- frames ---------------------------------------------------------------------------------------------
 */

static void add_frame(struct hs_loader *loader, struct hs_frame frame)
{
	struct hs_profile *profile = loader->profile;
	profile->frames = hs_grow(profile->frames, profile->frame_count, &loader->frame_capacity,
				  sizeof *profile->frames);
	profile->frames[profile->frame_count++] = frame;
}

/* Appends the frames of a call: a module id + 1 and a return address. */
static struct hs_call make_frames(struct hs_loader *loader, struct hs_pair call)
{
	struct hs_profile *profile = loader->profile;
	struct hs_call made = {profile->frame_count, 0};
	struct hs_frame frame = {.module =
					 call.first ? profile->modules[call.first - 1].same_as : UINT32_MAX};
	bool unknown = call.second >= HS_ADDRESS_UNKNOWN && call.second - HS_ADDRESS_UNKNOWN <= UINT32_MAX;
	frame.address = call.second && !unknown ? call.second - 1 : 0;
	if (call.first && profile->modules[frame.module].flags & HS_MODULE_FLAG_SHIM)
		return made; /* heapscope's own code is nobody's business */
	uint32_t symbol = hs_pairs_find(&loader->symbols, call.first, call.second);
	if (!call.first && (call.second == HS_ADDRESS_CUT || call.second == HS_ADDRESS_BROKEN)) {
		frame.address = 0;
		frame.function = hs_strings_add_text(&profile->strings,
						     call.second == HS_ADDRESS_CUT
							     ? "[callers beyond the depth limit]"
							     : "[callers that could not be unwound]");
		add_frame(loader, frame);
	} else if (symbol == HS_PAIR_NONE || loader->symbol_ranges[symbol].count == 0) {
		add_frame(loader, frame);
	} else {
		struct hs_frame_range named = loader->symbol_ranges[symbol];
		for (uint32_t i = 0; i < named.count; i++) {
			const struct hs_named_frame *name = &loader->named[named.first + i];
			frame.function = name->function;
			frame.file = name->file;
			frame.line = name->line;
			frame.inlined = name->inlined;
			add_frame(loader, frame);
		}
	}
	made.frame_count = profile->frame_count - made.first_frame;
	return made;
}

void hs_load_finish(struct hs_loader *loader)
{
	struct hs_profile *profile = loader->profile;
	profile->call_count = loader->calls.count + 1;
	profile->calls = hs_reallocate(profile->calls, profile->call_count, sizeof *profile->calls);
	for (uint32_t i = 0; i < loader->calls.count; i++)
		profile->calls[i + 1] = make_frames(loader, loader->calls.items[i]);
	hs_frames_rank(profile);
}

void hs_load_duration(struct hs_profile *profile)
{
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (profile->facts.end == HS_END_RUNNING &&
		    profile->samples[i].time_us > profile->facts.duration_us)
			profile->facts.duration_us = profile->samples[i].time_us;
}

void hs_loader_free(struct hs_loader *loader)
{
	hs_inflater_free(&loader->inflater);
	hs_pairs_free(&loader->symbols);
	hs_pairs_free(&loader->calls);
	free(loader->call_keys);
	free(loader->symbol_ranges);
	free(loader->named);
	free(loader->phases);
}
