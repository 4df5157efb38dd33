/* Reads the payloads of all members but events into a profile. Private to profile/. */
#ifndef HS_LOAD_H
#define HS_LOAD_H

#include "pairs.h"
#include "profile.h"
#include "recording.h"

struct hs_payload {
	const uint8_t *at, *end;
};

/* One function or inlined call of a symbol record. */
struct hs_named_frame {
	uint32_t function, file, line; /* strings of the profile */
	bool inlined;
};

struct hs_frame_range {
	uint32_t first, count;
};

/* A call that has been found. */
struct hs_recent_call {
	uint64_t address;
	uint32_t module; /* + 2; 0: none */
	uint32_t call;
};
enum { HS_RECENT_CALLS = 8192 };

/* What is only needed while loading. */
struct hs_loader {
	struct hs_recent_call recent_calls[HS_RECENT_CALLS]; /* by the upper bits of hs_call_key */
	struct hs_profile *profile;
	struct hs_inflater inflater;
	size_t mark_capacity, phase_capacity;
	uint32_t *phases; /* index in marks of each phase, in the order of their beginnings */
	uint32_t phase_count;
	uint64_t mark_us, mark_event; /* of the last mark */
	uint32_t pause;               /* the open one's index in marks + 1; 0 none */
	size_t module_capacity, node_capacity, sample_capacity, frame_capacity;
	uint64_t thread_records; /* in the whole file */
	struct hs_pairs calls;   /* of nodes: module id + 1, address; the first one is call 1 */
	uint16_t *call_keys;     /* hs_call_key of each call; of call 0, the root's, 0 */
	size_t call_key_capacity;
	uint32_t successors[HS_CALL_KEYS]; /* by key: calls; 0: there is none */
	struct hs_pairs symbols;           /* module id + 1, address -> index in symbol_ranges */
	struct hs_frame_range *symbol_ranges;
	size_t symbol_capacity;
	struct hs_named_frame *named; /* frames of all symbol records */
	uint32_t named_count;
	size_t named_capacity;
	uint32_t counted_fields; /* of the counts members; 0: there is none */
	uint32_t counted_next;   /* the least node that may come next */
	size_t counted_capacity;
	uint64_t counted_sums[HS_COUNT_FIELDS];
};

/* Each returns 0, or -1 and an error; what stood before the error in the payload may be loaded then. */
int hs_load_header(struct hs_loader *loader, struct hs_payload payload, struct hs_error *error);
int hs_load_footer(struct hs_loader *loader, struct hs_payload payload, struct hs_error *error);
int hs_load_modules(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error);
int hs_load_nodes(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		  struct hs_error *error);
int hs_load_samples(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error);
int hs_load_threads(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error);
int hs_load_marks(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		  struct hs_error *error);
int hs_load_symbols(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		    struct hs_error *error);
/* counts.c */
int hs_load_counts(struct hs_loader *loader, struct hs_payload payload, uint32_t items,
		   struct hs_error *error);
void hs_load_counts_finish(struct hs_loader *loader);
/* Without a footer the last sample tells best how long the program has run. */
void hs_load_duration(struct hs_profile *profile);
/* Makes the frames, once all members are read. */
void hs_load_finish(struct hs_loader *loader);
void hs_loader_free(struct hs_loader *loader);

#endif
