/* What all JSON documents of the program share: raw integers, strings of unknown origin, counts and frames
 * under the names of docs/json.md. */
#ifndef HS_EXPORT_JSON_H
#define HS_EXPORT_JSON_H

#include "base/text.h"
#include "profile/diff.h"
#include "profile/profile.h"

#include <jansson.h>

/* Takes over `value`. */
void hs_json_put(json_t *object, const char *name, json_t *value);
json_t *hs_json_integer(uint64_t value);
/* NULL becomes null. JSON is UTF-8: other bytes become U+FFFD. */
json_t *hs_json_string(const char *bytes);
/* A string of the profile; null where the index says "unknown". */
json_t *hs_json_known(const struct hs_profile *profile, uint32_t index);
json_t *hs_json_words(char *const *words); /* NULL-terminated, or NULL */

/* All counts, null for those that are in `unknown` (HS_TOLD_...); without the maxima for sums, since
 * maxima do not add up. */
void hs_json_put_counts(json_t *object, const struct hs_counts *counts, bool maxima, uint32_t unknown);
/* The same as text, for documents of very many: `"name":value,` for each count, maxima included. */
void hs_json_add_counts(struct hs_text *text, const struct hs_counts *counts, uint32_t unknown);
void hs_json_add_integer(struct hs_text *text, uint64_t value);
json_t *hs_json_frame(const struct hs_profile *profile, const struct hs_frame *frame);

/* The frames that a document refers to by index, each once. */
struct hs_json_frames {
	const struct hs_profile *profile;
	json_t *array;
	uint32_t *index_of_frame; /* + 1 */
};
void hs_json_frames_start(struct hs_json_frames *frames, const struct hs_profile *profile);
/* The index of a frame of the profile in the array; or null for UINT32_MAX. */
uint32_t hs_json_frames_number(struct hs_json_frames *frames, uint32_t frame);
json_t *hs_json_frames_index(struct hs_json_frames *frames, uint32_t frame);
/* Puts the array under "frames": no more may come after that. */
void hs_json_frames_put(struct hs_json_frames *frames, json_t *document);
void hs_json_frames_free(struct hs_json_frames *frames);

/* What a merged recording says of its parts; the end of the last of them has another name in files. */
json_t *hs_json_merged(const struct hs_merged *merged);
json_t *hs_json_pools(const struct hs_pool_facts *pools); /* null if there are none */
json_t *hs_json_facts(const struct hs_facts *facts);
json_t *hs_json_totals(const struct hs_totals *totals, uint32_t unknown);
/* The program's own phases, moments and pauses, by time. */
json_t *hs_json_marks(const struct hs_profile *profile);
/* null if they are not known */
json_t *hs_json_threads(const struct hs_profile *profile);
json_t *hs_json_modules(const struct hs_profile *profile);
/* `work`: by function. null if calls are not known of both runs: `unknown` of either. */
json_t *hs_json_work(const struct hs_diff *work, uint32_t unknown);

#endif
