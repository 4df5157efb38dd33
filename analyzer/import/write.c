#include "import/write.h"

#include "base/memory.h"
#include "import/documents.h"
#include "import/places.h"
#include "record/encode.h"
#include "record/symbol_batch.h"

#include <stdlib.h>
#include <string.h>

/* A counts member ends at so many bytes. */
enum { COUNT_BYTES_MOST = 1 << 20 };

struct writing {
	const struct hs_tally *tally;
	struct hs_encoder encoder;
	uint64_t *address_of_frame; /* where its nodes stand */
};

static void write_modules(struct writing *writing)
{
	const struct hs_tally *tally = writing->tally;
	for (uint32_t i = 0; i < tally->module_count; i++) {
		const struct hs_tally_module *module = &tally->modules[i];
		hs_encoder_module(&writing->encoder, &(struct hs_encoded_module){
							     .id = i,
							     .path = tally->strings.items[module->path],
							     .build_id = module->build_id,
							     .build_id_bytes = module->build_id_bytes,
							     .flags = module->flags,
						     });
	}
}

static void place_frames(struct writing *writing)
{
	const struct hs_tally *tally = writing->tally;
	struct hs_places places = {0};
	writing->address_of_frame = hs_allocate_zero(tally->frame_count, sizeof *writing->address_of_frame);
	for (uint32_t i = 0; i < tally->frame_count; i++)
		writing->address_of_frame[i] =
			hs_places_take(&places, tally->frames[i].module, tally->frames[i].address);
	hs_places_free(&places);
}

static void write_nodes(struct writing *writing)
{
	const struct hs_tally *tally = writing->tally;
	for (uint32_t i = 0; i < tally->nodes.count; i++) {
		uint32_t parent = (uint32_t)tally->nodes.items[i].first;
		uint32_t frame = (uint32_t)tally->nodes.items[i].second;
		hs_encoder_node(&writing->encoder, parent, tally->frames[frame].module,
				writing->address_of_frame[frame]);
	}
	hs_encoder_flush(&writing->encoder);
}

static void write_symbols(struct writing *writing)
{
	const struct hs_tally *tally = writing->tally;
	struct hs_symbol_batch batch;
	hs_symbol_batch_begin(&batch, &writing->encoder.writer);
	for (uint32_t i = 0; i < tally->frame_count; i++) {
		const struct hs_tally_frame *frame = &tally->frames[i];
		if (!frame->function && !frame->file)
			continue;
		struct hs_symbol_frame symbol = {
			.function =
				hs_strings_add_text(&batch.strings, tally->strings.items[frame->function]),
			.file = hs_strings_add_text(&batch.strings, tally->strings.items[frame->file]),
			.line = frame->line,
			.inlined = frame->inlined,
		};
		hs_symbol_batch_add(&batch, frame->module, writing->address_of_frame[i], &symbol, 1);
	}
	hs_symbol_batch_end(&batch);
}

/* Counts of items that are not known are 0, as the reader will have them. */
static struct hs_counts known_counts(const struct hs_tally *tally, const struct hs_counts *counts)
{
	uint64_t values[HS_COUNT_FIELDS];
	struct hs_counts known = {0};
	memcpy(values, counts, sizeof values);
	for (unsigned i = 0; i < HS_COUNT_FIELDS; i++)
		if (tally->facts.unknown & 1u << i)
			values[i] = 0;
	memcpy(&known, values, sizeof values);
	return known;
}

static void put_counts(struct hs_bytes *payload, uint32_t fields, const struct hs_counts *counts)
{
	uint64_t values[HS_COUNT_FIELDS];
	memcpy(values, counts, sizeof values);
	for (unsigned i = 0; i < HS_COUNT_FIELDS; i++)
		if (fields & 1u << i)
			hs_bytes_varint(payload, values[i]);
}

static void write_counts(struct writing *writing)
{
	const struct hs_tally *tally = writing->tally;
	uint32_t fields = HS_TOLD_FIELDS & ~tally->facts.unknown, items = 0, next = 0;
	struct hs_bytes payload = {0};
	hs_bytes_varint(&payload, fields);
	for (uint32_t node = 0; node <= tally->nodes.count; node++) {
		if (!tally->counts_of_node[node])
			continue;
		struct hs_counts counts =
			known_counts(tally, &tally->counts[tally->counts_of_node[node] - 1]);
		if (!hs_counts_any(&counts))
			continue;
		if (payload.count > COUNT_BYTES_MOST) {
			hs_writer_member(&writing->encoder.writer, HS_MEMBER_COUNTS, &payload, items);
			payload.count = items = 0;
			hs_bytes_varint(&payload, fields);
		}
		hs_bytes_varint(&payload, node - next);
		put_counts(&payload, fields, &counts);
		next = node + 1;
		items++;
	}
	hs_writer_member(&writing->encoder.writer, HS_MEMBER_COUNTS, &payload, items);
	hs_bytes_free(&payload);
}

int hs_tally_write(const struct hs_tally *tally, int fd, struct hs_error *error)
{
	struct writing writing = {.tally = tally};
	struct hs_totals totals = {.events = tally->events, .frees = tally->frees, .peak_us = tally->peak_us};
	if (hs_tally_totals(tally, &totals.counts, error) != 0)
		return -1;
	totals.counts = known_counts(tally, &totals.counts);
	struct hs_packer *packer = hs_packer_new();
	hs_encoder_init(&writing.encoder, packer, fd);
	char *header = hs_import_header(&tally->facts), *footer = hs_import_footer(&tally->facts, &totals);
	hs_encoder_json(&writing.encoder, HS_MEMBER_HEADER, header);
	place_frames(&writing);
	write_modules(&writing);
	write_nodes(&writing);
	write_counts(&writing);
	write_symbols(&writing);
	hs_encoder_json(&writing.encoder, HS_MEMBER_FOOTER, footer);
	int reason = writing.encoder.writer.error;
	hs_encoder_free(&writing.encoder);
	hs_packer_free(packer);
	free(writing.address_of_frame);
	free(header);
	free(footer);
	return reason ? hs_fail(error, "%s", strerror(reason)) : 0;
}
