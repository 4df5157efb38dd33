/* pprof's profile.proto, gzipped. A sample is a site: its locations innermost first, one value a sample type.
 * The sample types follow the heap profiles of Go and of pprof's own converters, so that `-sample_index=
 * inuse_space` and its like do what people expect; what only heapscope knows stands before the last two,
 * since older readers take the last as the default. */
#include "formats.h"

#include "base/memory.h"
#include "profile/pairs.h"
#include "protobuf.h"
#include "stacks.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of github.com/google/pprof/proto/profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILENAME = 4,
};

static const struct sample_type {
	const char *type, *unit;
	enum hs_told told;
} sample_types[] = {
	{"alloc_objects", "count", HS_TOLD_ALLOCATIONS},
	{"alloc_space", "bytes", HS_TOLD_ALLOCATED_BYTES},
	{"peak_objects", "count", HS_TOLD_PEAK_BLOCKS},
	{"peak_space", "bytes", HS_TOLD_PEAK_BYTES},
	{"temporary_objects", "count", HS_TOLD_TEMPORARY},
	{"temporary_space", "bytes", HS_TOLD_TEMPORARY_BYTES},
	{"moved_objects", "count", HS_TOLD_MOVED},
	{"moved_space", "bytes", HS_TOLD_MOVED_BYTES},
	{"inuse_objects", "count", HS_TOLD_LIVE_BLOCKS},
	{"inuse_space", "bytes", HS_TOLD_LIVE_BYTES},
};
enum { SAMPLE_TYPES = sizeof sample_types / sizeof *sample_types };

struct writing {
	struct hs_export export;
	struct hs_protobuf out, part, inner; /* the document; scratch for a message and one inside of it */
	struct hs_strings strings;
	/* Locations as chains of places, innermost first: index of the chain without the last place + 1,
	 * place. Those that end a location have an id. */
	struct hs_pairs chains;
	uint32_t *location_of_chain; /* id; 0 none */
	size_t chain_capacity;
	uint32_t location_count;
	struct hs_pairs functions; /* name, file; index + 1 is the id */
	uint32_t *mapping_of_module;
	uint32_t mapping_count;
};

static uint32_t add_string(struct writing *writing, const char *text)
{
	char *line = hs_line_text(text, NULL);
	uint32_t index = hs_strings_add_text(&writing->strings, line);
	free(line);
	return index;
}

static void write_value_type(struct writing *writing, unsigned field, const char *type, const char *unit)
{
	hs_protobuf_number(&writing->part, VALUE_TYPE, add_string(writing, type));
	hs_protobuf_number(&writing->part, VALUE_UNIT, add_string(writing, unit));
	hs_protobuf_message(&writing->out, field, &writing->part);
}

/* ---- mappings -------------------------------------------------------------------------------------------
 */

static void write_mapping(struct writing *writing, uint32_t index)
{
	const struct hs_module *module = &writing->export.profile->modules[index];
	char build_id[2 * sizeof module->build_id + 1] = "";
	for (uint32_t i = 0; i < module->build_id_bytes && i < sizeof module->build_id; i++)
		sprintf(build_id + (size_t)2 * i, "%02x", module->build_id[i]);
	struct hs_protobuf *part = &writing->part;
	hs_protobuf_number(part, MAPPING_ID, ++writing->mapping_count);
	hs_protobuf_number(part, MAPPING_START, module->start);
	hs_protobuf_number(part, MAPPING_LIMIT, module->start + module->size);
	hs_protobuf_number(part, MAPPING_FILENAME,
			   add_string(writing, writing->export.profile->strings.items[module->path]));
	hs_protobuf_number(part, MAPPING_BUILD_ID, add_string(writing, build_id));
	/* or a reader would look for names itself */
	hs_protobuf_number(part, MAPPING_HAS_FUNCTIONS, 1);
	hs_protobuf_number(part, MAPPING_HAS_FILENAMES, 1);
	hs_protobuf_number(part, MAPPING_HAS_LINE_NUMBERS, 1);
	hs_protobuf_number(part, MAPPING_HAS_INLINE_FRAMES, 1);
	hs_protobuf_message(&writing->out, PROFILE_MAPPING, part);
	writing->mapping_of_module[index] = writing->mapping_count;
}

/* The main program first, as readers expect. */
static void write_mappings(struct writing *writing)
{
	enum { MAIN = 1 }; /* module flag of FORMAT.md */
	const struct hs_profile *profile = writing->export.profile;
	writing->mapping_of_module =
		hs_allocate_zero(profile->module_count, sizeof *writing->mapping_of_module);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < profile->module_count; i++) {
			bool is_main = profile->modules[i].flags & MAIN;
			if (profile->modules[i].same_as == i && is_main == (round == 0))
				write_mapping(writing, i);
		}
	}
}

/* ---- locations ------------------------------------------------------------------------------------------
 */

static uint32_t function_of(struct writing *writing, const struct hs_place *place)
{
	bool added;
	uint32_t id = hs_pairs_add(&writing->functions, place->name, place->file, &added) + 1;
	if (added) {
		struct hs_protobuf *part = &writing->part;
		/* No system name: one that is the same makes pprof take what stands in <> out of the name,
		 * and Rust's <T as Trait>::function then has not much left. */
		hs_protobuf_number(part, FUNCTION_ID, id);
		hs_protobuf_number(part, FUNCTION_NAME,
				   add_string(writing, writing->export.names.items[place->name]));
		hs_protobuf_number(part, FUNCTION_FILENAME,
				   add_string(writing, writing->export.profile->strings.items[place->file]));
		hs_protobuf_message(&writing->out, PROFILE_FUNCTION, part);
	}
	return id;
}

/* A call and the functions inlined around it. */
static void write_location(struct writing *writing, uint32_t id, const uint32_t *places, uint32_t count)
{
	const struct hs_profile *profile = writing->export.profile;
	const struct hs_place *innermost = &writing->export.places[places[0]];
	uint64_t address = innermost->address, mapping = 0;
	if (innermost->module != UINT32_MAX && address) {
		address += profile->modules[innermost->module].bias;
		mapping = writing->mapping_of_module[innermost->module];
	}
	for (uint32_t i = 0; i < count; i++) /* messages of their own, so before this one */
		function_of(writing, &writing->export.places[places[i]]);
	hs_protobuf_number(&writing->part, LOCATION_ID, id);
	hs_protobuf_number(&writing->part, LOCATION_MAPPING, mapping);
	hs_protobuf_number(&writing->part, LOCATION_ADDRESS, address);
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_place *place = &writing->export.places[places[i]];
		hs_protobuf_number(&writing->inner, LINE_FUNCTION,
				   hs_pairs_find(&writing->functions, place->name, place->file) + 1);
		hs_protobuf_number(&writing->inner, LINE_NUMBER, place->line);
		hs_protobuf_message(&writing->part, LOCATION_LINE, &writing->inner);
	}
	hs_protobuf_message(&writing->out, PROFILE_LOCATION, &writing->part);
}

static uint32_t location_of(struct writing *writing, const uint32_t *places, uint32_t count)
{
	uint64_t chain = 0;
	for (uint32_t i = 0; i < count; i++) {
		bool added;
		uint32_t index = hs_pairs_add(&writing->chains, chain, places[i], &added);
		if (added) {
			writing->location_of_chain =
				hs_grow(writing->location_of_chain, index, &writing->chain_capacity,
					sizeof *writing->location_of_chain);
			writing->location_of_chain[index] = 0;
		}
		chain = (uint64_t)index + 1;
	}
	uint32_t *location = &writing->location_of_chain[chain - 1];
	if (*location == 0) {
		*location = ++writing->location_count;
		write_location(writing, *location, places, count);
	}
	return *location;
}

/* ---- samples --------------------------------------------------------------------------------------------
 */

static bool is_known(const struct writing *writing, unsigned type)
{
	return !(writing->export.sites.replay.unknown & sample_types[type].told);
}

static void write_site(struct writing *writing, const struct hs_site *site, uint32_t *places,
		       uint64_t *locations)
{
	const struct hs_frame *frames = writing->export.profile->frames;
	const struct hs_counts *counts = site->counts;
	uint32_t count = hs_export_stack(&writing->export, site, places), location_count = 0;
	for (uint32_t first = 0, next; first < count; first = next) {
		next = first + 1;
		while (next < count && next < site->frame_count && frames[site->frames[next - 1]].inlined &&
		       places[next] != writing->export.cut_place)
			next++;
		locations[location_count++] = location_of(writing, places + first, next - first);
	}
	const uint64_t values[SAMPLE_TYPES] = {
		counts->allocations, counts->allocated_bytes, counts->peak_blocks, counts->peak_bytes,
		counts->temporary,   counts->temporary_bytes, counts->moved,       counts->moved_bytes,
		counts->live_blocks, counts->live_bytes,
	};
	hs_protobuf_numbers(&writing->part, SAMPLE_LOCATIONS, locations, location_count);
	uint64_t known[SAMPLE_TYPES];
	unsigned known_count = 0;
	for (unsigned i = 0; i < SAMPLE_TYPES; i++)
		if (is_known(writing, i))
			known[known_count++] = values[i];
	hs_protobuf_numbers(&writing->part, SAMPLE_VALUES, known, known_count);
	hs_protobuf_message(&writing->out, PROFILE_SAMPLE, &writing->part);
}

static void write_sites(struct writing *writing)
{
	const struct hs_sites *sites = &writing->export.sites;
	uint32_t *places = hs_allocate_zero(writing->export.stack_most, sizeof *places);
	uint64_t *locations = hs_allocate_zero(writing->export.stack_most, sizeof *locations);
	for (uint32_t i = 0; i < sites->count; i++)
		write_site(writing, &sites->items[i], places, locations);
	free(places);
	free(locations);
}

static void write_facts(struct writing *writing)
{
	const struct hs_facts *facts = &writing->export.profile->facts;
	struct hs_protobuf *out = &writing->out;
	char *command = hs_command_line(facts);
	hs_protobuf_number(out, PROFILE_TIME_NANOS,
			   facts->start_unix_us <= INT64_MAX / 1000 ? facts->start_unix_us * 1000 : 0);
	hs_protobuf_number(out, PROFILE_DURATION_NANOS,
			   facts->duration_us <= INT64_MAX / 1000 ? facts->duration_us * 1000 : 0);
	write_value_type(writing, PROFILE_PERIOD_TYPE, "space", "bytes");
	hs_protobuf_number(out, PROFILE_PERIOD, 1); /* nothing was sampled */
	hs_protobuf_number(out, PROFILE_COMMENT, add_string(writing, "heapscope " HEAPSCOPE_VERSION));
	hs_protobuf_number(out, PROFILE_COMMENT, add_string(writing, command));
	if (facts->warning)
		hs_protobuf_number(out, PROFILE_COMMENT, add_string(writing, facts->warning));
	unsigned type = SAMPLE_TYPES - 1;
	while (type > 0 && !is_known(writing, type))
		type--;
	hs_protobuf_number(out, PROFILE_DEFAULT_SAMPLE_TYPE, add_string(writing, sample_types[type].type));
	free(command);
}

static int write_gzip(const struct hs_protobuf *document, FILE *output, struct hs_error *error)
{
	enum { LEVEL = 6 };
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
	if (compressor == NULL)
		return hs_fail(error, "no memory to compress the pprof file");
	size_t most = libdeflate_gzip_compress_bound(compressor, document->count);
	uint8_t *packed = hs_allocate(most);
	size_t bytes = libdeflate_gzip_compress(compressor, document->bytes, document->count, packed, most);
	fwrite(packed, 1, bytes, output);
	free(packed);
	libdeflate_free_compressor(compressor);
	return hs_export_finish(output, "pprof", error);
}

int hs_pprof_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		   struct hs_error *error)
{
	struct writing writing = {0};
	if (hs_export_make(profile, options->raw, NULL, &writing.export, error) != 0)
		return -1;
	hs_strings_init(&writing.strings);
	for (unsigned i = 0; i < SAMPLE_TYPES; i++)
		if (is_known(&writing, i))
			write_value_type(&writing, PROFILE_SAMPLE_TYPE, sample_types[i].type,
					 sample_types[i].unit);
	write_mappings(&writing);
	write_sites(&writing);
	write_facts(&writing);
	for (uint32_t i = 0; i < writing.strings.count; i++)
		hs_protobuf_bytes(&writing.out, PROFILE_STRING, writing.strings.items[i],
				  strlen(writing.strings.items[i]));
	int result = write_gzip(&writing.out, output, error);
	hs_strings_free(&writing.strings);
	hs_pairs_free(&writing.chains);
	hs_pairs_free(&writing.functions);
	free(writing.location_of_chain);
	free(writing.mapping_of_module);
	free(writing.out.bytes);
	free(writing.part.bytes);
	free(writing.inner.bytes);
	hs_export_free(&writing.export);
	return result;
}
