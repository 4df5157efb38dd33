/* Symbols members: every used node's module and address, looked up once. */
#include "record/place_names.h"

#include "base/memory.h"
#include "record/symbol_batch.h"
#include "symbols/symbols.h"

#include <stdlib.h>

struct hs_place_names {
	struct hs_place_module *modules;
	uint32_t module_count;
	size_t module_capacity;

	/* Those that were seen: a hash table, at most half full. */
	struct hs_place *slots;
	uint32_t slot_count, place_count;

	struct hs_symbol_batch batch;
	struct hs_writer held; /* into `members` */
	struct hs_bytes members;
};

enum { FIRST_SLOTS = 256 };

struct hs_place_names *hs_place_names_new(void)
{
	struct hs_place_names *names = hs_allocate_zero(1, sizeof *names);
	names->slot_count = FIRST_SLOTS;
	names->slots = hs_allocate_zero(names->slot_count, sizeof *names->slots);
	hs_writer_init(&names->held, NULL, -1);
	names->held.memory = &names->members;
	hs_symbol_batch_begin(&names->batch, &names->held);
	return names;
}

void hs_place_names_module(struct hs_place_names *names, const struct hs_place_module *module)
{
	names->modules =
		hs_grow(names->modules, names->module_count, &names->module_capacity, sizeof *names->modules);
	names->modules[names->module_count++] = *module;
}

/* ---- the places ---------------------------------------------------------------------------------------- */

static struct hs_place *slot_of(const struct hs_place_names *names, const struct hs_place *place)
{
	uint64_t hash = (place->address ^ (uint64_t)place->module << 48) * 0x9e3779b97f4a7c15u;
	uint32_t mask = names->slot_count - 1, at = (uint32_t)(hash >> 32) & mask;
	while (names->slots[at].module &&
	       (names->slots[at].module != place->module || names->slots[at].address != place->address))
		at = (at + 1) & mask;
	return &names->slots[at];
}

static void make_room(struct hs_place_names *names)
{
	struct hs_place *old = names->slots;
	uint32_t old_count = names->slot_count;
	names->slot_count *= 2;
	names->slots = hs_allocate_zero(names->slot_count, sizeof *names->slots);
	for (uint32_t i = 0; i < old_count; i++)
		if (old[i].module)
			*slot_of(names, &old[i]) = old[i];
	free(old);
}

static bool is_new(struct hs_place_names *names, const struct hs_place *place)
{
	struct hs_place *slot = slot_of(names, place);
	if (!place->module || slot->module)
		return false;
	*slot = *place;
	if (++names->place_count * 2 > names->slot_count)
		make_room(names);
	return true;
}

/* By module and address: what lies together is looked up together. */
static int compare_places(const void *left, const void *right)
{
	const struct hs_place *a = left, *b = right;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* ---- the names ----------------------------------------------------------------------------------------- */

static bool is_known(const struct hs_symbol_frame *frames, uint32_t count)
{
	return count > 1 || (count == 1 && (frames[0].function || frames[0].file));
}

/* NULL if there is nothing to read: the vdso, or a file that was gone. */
static struct hs_symbolizer *symbolizer_of(struct hs_place_module *module)
{
	if (!module->file)
		return NULL;
	if (!module->file->symbolizer) {
		struct hs_symbolizer_options options = {
			.path = module->file->real_path,
			.fd = module->file->fd,
			.build_id = module->build_id,
			.build_id_bytes = module->build_id_bytes,
		};
		module->file->symbolizer = hs_symbolizer_open(&options);
	}
	return module->file->symbolizer;
}

static void name_place(struct hs_place_names *names, const struct hs_place *place)
{
	struct hs_symbolizer *symbolizer = symbolizer_of(&names->modules[place->module - 1]);
	const struct hs_symbol_frame *frames;
	if (!symbolizer)
		return;
	uint32_t count = hs_symbolizer_frames(symbolizer, place->address, &names->batch.strings, &frames);
	if (is_known(frames, count))
		hs_symbol_batch_add(&names->batch, place->module, place->address, frames, count);
}

void hs_place_names_add(struct hs_place_names *names, struct hs_place *places, uint32_t count,
			struct hs_packer *packer, struct hs_naming_state *state)
{
	uint32_t fresh = 0;
	for (uint32_t i = 0; i < count; i++)
		if (is_new(names, &places[i]))
			places[fresh++] = places[i];
	qsort(places, fresh, sizeof *places, compare_places);
	names->held.packer = packer;
	__atomic_add_fetch(&state->total, fresh, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < fresh && !__atomic_load_n(&state->hurry, __ATOMIC_RELAXED); i++) {
		name_place(names, &places[i]);
		__atomic_add_fetch(&state->done, 1, __ATOMIC_RELAXED);
	}
}

void hs_place_names_finish(struct hs_place_names *names, struct hs_writer *writer)
{
	hs_symbol_batch_end(&names->batch);
	hs_writer_copy(writer, &names->members);
	if (names->held.error && !writer->error)
		writer->error = names->held.error;
	hs_bytes_free(&names->members);
	free(names->slots);
	free(names->modules);
	free(names);
}
