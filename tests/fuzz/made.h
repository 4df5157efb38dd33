/* Recordings as fuzz input: a list of members whose payloads can be mutated, which are then packed with right
 * checksums. Without that hardly a mutation would get past the gzip layer (fuzz_file.c tries just that).
 *
 * A member of the input: kind, 1 byte; items, 4; length of the payload, 4 (cut to what is there); payload. */
#ifndef FUZZ_MADE_H
#define FUZZ_MADE_H

#include "fuzz.h"
#include "profile/profile.h"

/* Packs the members of an input into a recording; malloc'ed. */
uint8_t *fuzz_pack(const uint8_t *data, size_t size, size_t *file_size);

/* Seeds: as files, or as inputs for fuzz_pack. */
void fuzz_seed_files(fuzz_add *add, void *context);
void fuzz_seed_members(fuzz_add *add, void *context);

/* Packs and loads; NULL: refused. */
struct hs_profile *fuzz_load(const uint8_t *data, size_t size);

#endif
