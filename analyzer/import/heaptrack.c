/* heaptrack's data files, as heaptrack_interpret leaves them: lines of a letter and hexadecimal numbers. They
 * hold events, so the result is a recording with everything over time; but no threads, the time only every 10
 * ms, and instead of addresses the stack and size of a block: which of several such blocks a free means is
 * not said. Taken is the youngest, so that a block that is freed at once counts as temporary. A realloc is a
 * free and an allocation. */
#include "import/formats.h"

#include "base/memory.h"
#include "heapscope/region.h"
#include "import/documents.h"
#include "import/places.h"
#include "record/encode.h"
#include "record/symbol_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_FORMAT = 1, NEWEST_FORMAT = 3, FRAMES_MOST = 256 };

/* No block is larger than the address space, and sums have to stay within 63 bits: the reader's limits. */
#define SIZE_MOST (1ULL << 57)
#define TIME_MOST_MS (1ULL << 46)

/* An instruction: where its frames begin in `frames`, and where it stands in the recording. */
struct instruction {
	uint64_t address; /* of the node */
	uint32_t module;  /* id + 1 */
	uint32_t first_frame, frame_count;
};

struct frame {
	uint32_t function, file, line; /* numbers of strings, 0 none */
};

/* Blocks of one size from one stack. */
struct kind {
	uint64_t size;
	uint32_t node;
	uint32_t youngest; /* of those alive, in blocks, + 1 */
};

struct block {
	uint64_t allocation;
	uint32_t older; /* of the same kind, + 1; of a free place: the next one */
};

struct importing {
	struct hs_source *source;
	struct hs_encoder encoder;
	bool begun; /* the header is written */
	struct hs_facts facts;
	uint64_t format, page_bytes, time_us;
	struct hs_strings strings;
	uint32_t *string_of_number; /* by heaptrack's number - 1 */
	uint32_t *module_of_string; /* id + 1, by the same */
	uint32_t string_count, module_count;
	struct hs_places places;
	struct instruction *instructions;
	uint32_t instruction_count;
	struct frame *frames;
	uint32_t frame_count;
	struct kind *kinds;
	uint32_t kind_count;
	struct block *blocks;
	uint32_t block_count, free_block; /* + 1 */
	size_t string_capacity, module_capacity, instruction_capacity, frame_capacity, kind_capacity,
		block_capacity;
	bool ended; /* the comment of the end was there */
	struct hs_error *error;
};

bool hs_heaptrack_recognizes(const char *head, size_t count)
{
	return count >= 6 && head[0] == 'v' && head[1] == ' ' && head[2] >= '0' && head[2] <= '9' &&
	       strcspn(head + 2, "\n") < 24;
}

/* ---- lines ----------------------------------------------------------------------------------------------
 */

static int refuse(struct importing *import, const char *what)
{
	return hs_fail(import->error, "line %" PRIu64 ": %s", hs_source_line_number(import->source), what);
}

static int refuse_numbers(struct importing *import)
{
	return refuse(import, "its numbers are missing or impossible: the file is damaged");
}

/* Reads the next hexadecimal number, behind one blank at most. Returns whether there is one. */
static bool take(const char **at, uint64_t *value)
{
	const char *digit = *at + (**at == ' ');
	uint64_t sum = 0;
	unsigned digits = 0;
	for (;; digit++, digits++) {
		unsigned char c = (unsigned char)*digit;
		unsigned nibble = 16;
		if (c >= '0' && c <= '9')
			nibble = c - '0';
		else if (c >= 'a' && c <= 'f')
			nibble = c - 'a' + 10U;
		if (nibble == 16)
			break;
		sum = sum << 4 | nibble;
	}
	if (digits == 0 || digits > 16)
		return false;
	*value = sum;
	*at = digit;
	return true;
}

/* ---- the header -----------------------------------------------------------------------------------------
 */

/* As late as can be, since the command comes after the version. */
static void begin(struct importing *import)
{
	if (import->begun)
		return;
	char *header = hs_import_header(&import->facts);
	hs_encoder_json(&import->encoder, HS_MEMBER_HEADER, header);
	free(header);
	hs_encoder_thread(&import->encoder, 1, 0);
	import->begun = true;
}

static int take_version(struct importing *import, const char *at)
{
	uint64_t version;
	if (!take(&at, &version))
		return refuse_numbers(import);
	if (!take(&at, &import->format))
		import->format = version >= 0x10200;
	if (import->format < OLDEST_FORMAT || import->format > NEWEST_FORMAT)
		return hs_fail(import->error,
			       "it has heaptrack's file format %" PRIu64
			       "; known here are %d to %d: open it in "
			       "heaptrack, or record again with \"heapscope run\"",
			       import->format, OLDEST_FORMAT, NEWEST_FORMAT);
	return 0;
}

static void take_command(struct importing *import, const char *at)
{
	struct hs_facts *facts = &import->facts;
	size_t count = 0, capacity = 0;
	if (facts->command)
		return;
	while (*(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");
		facts->command = hs_grow(facts->command, count + 1, &capacity, sizeof *facts->command);
		facts->command[count] = hs_allocate_zero(length + 1, 1);
		memcpy(facts->command[count++], at, length);
		facts->command[count] = NULL;
		at += length;
	}
	if (count)
		facts->program = hs_copy_string(facts->command[0]);
}

/* ---- names ----------------------------------------------------------------------------------------------
 */

static int take_string(struct importing *import, const char *at, const char *end)
{
	uint64_t length = (uint64_t)(end - at);
	if (import->format >= 3) {
		if (!take(&at, &length) || *at != ' ')
			return refuse_numbers(import);
		at++;
		if (length > (uint64_t)(end - at))
			return refuse(import, "its text is shorter than it should be: the file is damaged");
	}
	import->string_of_number = hs_grow(import->string_of_number, import->string_count,
					   &import->string_capacity, sizeof *import->string_of_number);
	import->module_of_string = hs_grow(import->module_of_string, import->string_count,
					   &import->module_capacity, sizeof *import->module_of_string);
	import->module_of_string[import->string_count] = 0;
	import->string_of_number[import->string_count++] = hs_strings_add(&import->strings, at, length);
	return 0;
}

static const char *text_of(const struct importing *import, uint32_t number)
{
	return number ? import->strings.items[import->string_of_number[number - 1]] : "";
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The module's id + 1. */
static uint32_t find_module(struct importing *import, uint32_t number)
{
	enum { MAIN_PROGRAM = 1 }; /* module flag of FORMAT.md */
	if (number == 0)
		return 0;
	uint32_t *module = &import->module_of_string[number - 1];
	if (*module)
		return *module;
	const char *path = text_of(import, number), *program = import->facts.program;
	bool main = program && strcmp(last_component(path), last_component(program)) == 0;
	hs_encoder_module(&import->encoder, &(struct hs_encoded_module){.id = import->module_count,
									.path = path,
									.build_id = (const uint8_t *)"",
									.flags = main ? MAIN_PROGRAM : 0});
	return *module = ++import->module_count;
}

/* A place of code: its module, then functions with file and line, from the innermost inlined one outwards.
 * The last one may be a function alone. */
static int take_instruction(struct importing *import, const char *at)
{
	uint64_t address, module = 0, numbers[3];
	struct instruction instruction = {.first_frame = import->frame_count};
	if (!take(&at, &address) || !take(&at, &module) || module > import->string_count)
		return refuse_numbers(import);
	while (take(&at, &numbers[0])) {
		if (!take(&at, &numbers[1]) || !take(&at, &numbers[2]))
			numbers[1] = numbers[2] = 0;
		if (numbers[0] > import->string_count || numbers[1] > import->string_count ||
		    instruction.frame_count == FRAMES_MOST)
			return refuse_numbers(import);
		import->frames = hs_grow(import->frames, import->frame_count, &import->frame_capacity,
					 sizeof *import->frames);
		import->frames[import->frame_count++] =
			(struct frame){(uint32_t)numbers[0], (uint32_t)numbers[1],
				       numbers[2] <= UINT32_MAX ? (uint32_t)numbers[2] : 0};
		instruction.frame_count++;
	}
	begin(import);
	instruction.module = find_module(import, (uint32_t)module);
	instruction.address = hs_places_take(&import->places, instruction.module, address);
	import->instructions = hs_grow(import->instructions, import->instruction_count,
				       &import->instruction_capacity, sizeof *import->instructions);
	import->instructions[import->instruction_count++] = instruction;
	return 0;
}

static void write_symbols(struct importing *import)
{
	struct hs_symbol_frame frames[FRAMES_MOST];
	struct hs_symbol_batch batch;
	hs_symbol_batch_begin(&batch, &import->encoder.writer);
	for (uint32_t i = 0; i < import->instruction_count; i++) {
		const struct instruction *instruction = &import->instructions[i];
		for (uint32_t f = 0; f < instruction->frame_count; f++) {
			const struct frame *frame = &import->frames[instruction->first_frame + f];
			frames[f] = (struct hs_symbol_frame){
				.function =
					hs_strings_add_text(&batch.strings, text_of(import, frame->function)),
				.file = hs_strings_add_text(&batch.strings, text_of(import, frame->file)),
				.line = frame->line,
				.inlined = f + 1 < instruction->frame_count,
			};
		}
		if (instruction->frame_count)
			hs_symbol_batch_add(&batch, instruction->module, instruction->address, frames,
					    instruction->frame_count);
	}
	hs_symbol_batch_end(&batch);
}

/* ---- stacks and events ----------------------------------------------------------------------------------
 */

/* heaptrack numbers its stacks as a recording does its nodes: 1, 2, 3. */
static int take_stack(struct importing *import, const char *at)
{
	uint64_t instruction, parent;
	if (!take(&at, &instruction) || !take(&at, &parent) || instruction == 0 ||
	    instruction > import->instruction_count || parent >= import->encoder.node_count ||
	    import->encoder.node_count >= HS_MAX_NODES)
		return refuse_numbers(import);
	const struct instruction *place = &import->instructions[instruction - 1];
	hs_encoder_node(&import->encoder, (uint32_t)parent, place->module, place->address);
	return 0;
}

static int take_kind(struct importing *import, const char *at)
{
	uint64_t size, stack;
	if (!take(&at, &size) || !take(&at, &stack) || size > SIZE_MOST ||
	    stack >= import->encoder.node_count)
		return refuse_numbers(import);
	import->kinds =
		hs_grow(import->kinds, import->kind_count, &import->kind_capacity, sizeof *import->kinds);
	import->kinds[import->kind_count++] = (struct kind){.size = size, .node = (uint32_t)stack};
	return 0;
}

static int begin_block(struct importing *import, struct kind *kind)
{
	struct hs_encoder *encoder = &import->encoder;
	uint32_t place = import->free_block;
	begin(import);
	if (encoder->now.allocated_bytes > INT64_MAX - SIZE_MOST)
		return refuse(import, "the blocks sum up to more than a recording can hold");
	if (place) {
		import->free_block = import->blocks[place - 1].older;
	} else {
		if (import->block_count == UINT32_MAX)
			return refuse(import, "more blocks are alive than a recording can hold");
		import->blocks = hs_grow(import->blocks, import->block_count, &import->block_capacity,
					 sizeof *import->blocks);
		place = ++import->block_count;
	}
	hs_encoder_start_event(encoder, HS_EVENT_ALLOC, 1, import->time_us);
	import->blocks[place - 1] =
		(struct block){hs_encoder_begin_block(encoder, 1, kind->size, kind->node), kind->youngest};
	kind->youngest = place;
	return 0;
}

static void end_block(struct importing *import, struct kind *kind)
{
	struct hs_encoder *encoder = &import->encoder;
	uint32_t place = kind->youngest;
	if (!place) {
		import->facts.unknown_frees++; /* from before heaptrack was attached */
		return;
	}
	struct block *block = &import->blocks[place - 1];
	hs_encoder_start_event(encoder, HS_EVENT_FREE, 1, import->time_us);
	hs_encoder_end_block(encoder, 1, block->allocation, kind->size);
	encoder->now.frees++;
	encoder->now.temporary += encoder->threads[1].last_allocation == block->allocation;
	kind->youngest = block->older;
	block->older = import->free_block;
	import->free_block = place;
}

static int take_event(struct importing *import, char what, const char *at)
{
	uint64_t kind, more;
	if (!take(&at, &kind))
		return refuse_numbers(import);
	if (what == '+' && take(&at, &more))
		return refuse(import,
			      "an allocation with its address: the file was not interpreted by heaptrack");
	if (kind >= import->kind_count)
		return refuse_numbers(import);
	if (what == '+')
		return begin_block(import, &import->kinds[kind]);
	end_block(import, &import->kinds[kind]);
	return 0;
}

static void take_time(struct importing *import, const char *at)
{
	uint64_t ms;
	/* heaptrack itself writes a wrong one now and then */
	if (take(&at, &ms) && ms < TIME_MOST_MS && ms * 1000 > import->time_us)
		import->time_us = ms * 1000;
}

static void take_resident_size(struct importing *import, const char *at)
{
	uint64_t pages, bytes;
	if (!take(&at, &pages) || __builtin_mul_overflow(pages, import->page_bytes, &bytes) ||
	    bytes > SIZE_MOST)
		return;
	begin(import);
	hs_encoder_sample(&import->encoder, import->time_us, bytes);
	if (bytes > import->facts.peak_rss_bytes)
		import->facts.peak_rss_bytes = bytes;
}

/* A line of the program's __lsan_default_suppressions, behind its length or not. */
static void take_suppression(struct importing *import, const char *at)
{
	const char *rule = strstr(at, "leak:");
	if (rule)
		hs_facts_add_suppressions(&import->facts, rule);
}

static int take_line(struct importing *import, const char *line, size_t length)
{
	const char *at = line + 1;
	uint64_t page_bytes;
	switch (line[0]) {
	case '+':
	case '-':
		return take_event(import, line[0], at);
	case 'a':
		return take_kind(import, at);
	case 't':
		return take_stack(import, at);
	case 'i':
		return take_instruction(import, at);
	case 's':
		return take_string(import, at + (*at == ' '), line + length);
	case 'c':
		take_time(import, at);
		return 0;
	case 'R':
		take_resident_size(import, at);
		return 0;
	case 'v':
		return take_version(import, at);
	case 'X':
		take_command(import, at);
		return 0;
	case 'S':
		take_suppression(import, at);
		return 0;
	case 'I':
		if (take(&at, &page_bytes) && page_bytes)
			import->page_bytes = page_bytes;
		return 0;
	case '#':
		import->ended |= strncmp(line, "# ips:", 6) == 0;
		return 0;
	case 'x':
	case 'm':
		return hs_fail(
			import->error,
			"it is a raw recording of heaptrack, without names yet: make an ordinary one with "
			"\"heaptrack --interpret FILE\", or with \"zstd -dc FILE | heaptrack_interpret | "
			"zstd > NEW.zst\" where that is not known, and import it");
	default: /* marks of attaching, what newer versions add */
		return 0;
	}
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

static void finish(struct importing *import)
{
	struct hs_encoder *encoder = &import->encoder;
	import->facts.duration_us = import->time_us;
	begin(import);
	hs_encoder_flush(encoder);
	write_symbols(import);
	const struct hs_written *written = &encoder->written;
	struct hs_totals totals = {
		.counts = {.allocated_bytes = written->allocated_bytes,
			   .allocations = written->allocations,
			   .peak_bytes = written->peak_bytes,
			   .live_bytes = written->live_bytes,
			   .live_blocks = written->live_blocks,
			   .temporary = written->temporary},
		.events = written->events,
		.frees = written->frees,
		.peak_us = written->peak_us,
	};
	char *footer = hs_import_footer(&import->facts, &totals);
	hs_encoder_json(encoder, HS_MEMBER_FOOTER, footer);
	free(footer);
}

static void free_all(struct importing *import)
{
	hs_encoder_free(&import->encoder);
	hs_facts_free(&import->facts);
	hs_strings_free(&import->strings);
	hs_places_free(&import->places);
	free(import->string_of_number);
	free(import->module_of_string);
	free(import->instructions);
	free(import->frames);
	free(import->kinds);
	free(import->blocks);
}

int hs_heaptrack_convert(struct hs_source *source, const struct hs_import_options *options, int fd,
			 struct hs_error *warning, struct hs_error *error)
{
	struct importing import = {.source = source, .error = error, .page_bytes = 4096};
	struct hs_packer *packer = hs_packer_new();
	const char *line;
	size_t length;
	int result = 0;
	(void)options;
	hs_encoder_init(&import.encoder, packer, fd);
	hs_strings_init(&import.strings);
	import.facts.imported = hs_copy_string("heaptrack");
	import.facts.time_resolution_us = 10000; /* it looks at the clock every 10 ms */
	import.facts.unknown = HS_TOLD_MOVED_BYTES | HS_TOLD_MOVED | HS_TOLD_REALLOCATIONS | HS_TOLD_THREADS |
			       HS_TOLD_PROCESS;
	while (result == 0 && !import.encoder.writer.error && (line = hs_source_line(source, &length)))
		if (length)
			result = take_line(&import, line, length);
	const char *wrong = hs_source_wrong(source);
	if (result == 0 && !wrong && !import.ended)
		wrong = "it has no end, so heaptrack was killed or the file is cut";
	if (result == 0 && wrong) {
		hs_fail(warning, "%s; %" PRIu64 " events before that count", wrong,
			import.encoder.now.events);
		import.facts.stopped = hs_copy_string(warning->text);
	}
	if (result == 0)
		finish(&import);
	if (result == 0 && import.encoder.writer.error)
		result = hs_fail(error, "%s", strerror(import.encoder.writer.error));
	free_all(&import);
	hs_packer_free(packer);
	return result;
}
