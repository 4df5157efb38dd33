/* Symbols members, each with its own table of strings. */
#include "record/symbol_batch.h"

/* A member ends at whichever comes first. */
enum { RECORDS_MOST = 65536, STRING_BYTES_MOST = 8 << 20 };

void hs_symbol_batch_begin(struct hs_symbol_batch *batch, struct hs_writer *writer)
{
	*batch = (struct hs_symbol_batch){.writer = writer};
	hs_strings_init(&batch->strings);
}

static void write_member(struct hs_symbol_batch *batch)
{
	struct hs_bytes payload = {0};
	hs_bytes_varint(&payload, batch->strings.count);
	for (uint32_t i = 0; i < batch->strings.count; i++) {
		size_t bytes = strlen(batch->strings.items[i]);
		hs_bytes_string(&payload, batch->strings.items[i],
				bytes < HS_STRING_MOST ? bytes : HS_STRING_MOST);
	}
	hs_bytes_add(&payload, batch->records.data, batch->records.count);
	hs_writer_member(batch->writer, HS_MEMBER_SYMBOLS, &payload, batch->items);
	hs_bytes_free(&payload);
	batch->records.count = 0;
	batch->string_bytes = 0;
	batch->strings_counted = 0;
	batch->items = 0;
	batch->address = 0;
}

void hs_symbol_batch_add(struct hs_symbol_batch *batch, uint64_t module, uint64_t address,
			 const struct hs_symbol_frame *frames, uint32_t count)
{
	hs_bytes_varint(&batch->records, module);
	hs_bytes_varint(&batch->records, hs_zigzag((int64_t)(address - batch->address)));
	hs_bytes_varint(&batch->records, count);
	for (uint32_t i = 0; i < count; i++) {
		hs_bytes_varint(&batch->records, frames[i].function);
		hs_bytes_varint(&batch->records, frames[i].file);
		hs_bytes_varint(&batch->records, frames[i].line);
		hs_bytes_varint(&batch->records, frames[i].inlined ? HS_FRAME_INLINED : 0);
	}
	batch->address = address;
	batch->items++;
	for (; batch->strings_counted < batch->strings.count; batch->strings_counted++)
		batch->string_bytes += strlen(batch->strings.items[batch->strings_counted]);
	if (batch->items < RECORDS_MOST && batch->string_bytes <= STRING_BYTES_MOST)
		return;
	write_member(batch);
	hs_strings_free(&batch->strings);
	hs_strings_init(&batch->strings);
}

void hs_symbol_batch_end(struct hs_symbol_batch *batch)
{
	if (batch->items)
		write_member(batch);
	hs_strings_free(&batch->strings);
	hs_bytes_free(&batch->records);
}
