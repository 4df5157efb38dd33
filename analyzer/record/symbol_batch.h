/* Writes symbols members (FORMAT.md): collects names until a member is full. */
#ifndef HS_RECORD_SYMBOL_BATCH_H
#define HS_RECORD_SYMBOL_BATCH_H

#include "base/strings.h"
#include "record/writer.h"
#include "symbols/symbols.h"

struct hs_symbol_batch {
	struct hs_writer *writer;
	struct hs_strings strings; /* of the member that is being filled: what its frames refer to */
	uint32_t strings_counted;
	size_t string_bytes;
	struct hs_bytes records;
	uint32_t items;
	uint64_t address; /* of the last record */
};

void hs_symbol_batch_begin(struct hs_symbol_batch *batch, struct hs_writer *writer);
/* The frames, innermost first, of a place: a module's file id + 1 (0: none) and a node's address. May write a
 * member; then batch->strings begins anew. */
void hs_symbol_batch_add(struct hs_symbol_batch *batch, uint64_t module, uint64_t address,
			 const struct hs_symbol_frame *frames, uint32_t count);
/* Writes the rest. */
void hs_symbol_batch_end(struct hs_symbol_batch *batch);

#endif
