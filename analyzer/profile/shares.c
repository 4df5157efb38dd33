/* What each function, file, module or crate allocated. */
#include "profile/shares.h"

#include "base/memory.h"
#include "own.h"
#include "profile/fold.h"
#include "profile/tree.h"

#include <stdlib.h>
#include <string.h>

struct making {
	const struct hs_profile *profile;
	struct hs_shares *shares;
	enum hs_share_by by;
	uint32_t *item_of_frame;
	size_t capacity;
	struct hs_strings keys; /* names, a mark before those of modules that stand for something else */
	uint32_t *item_of_key;  /* + 1 */
	size_t key_capacity;
};

static uint32_t add_item(struct making *making, const char *name, bool other, uint32_t frame)
{
	struct hs_shares *shares = making->shares;
	uint32_t text = hs_strings_add_text(&shares->names, name);
	shares->items = hs_grow(shares->items, shares->count, &making->capacity, sizeof(*shares->items));
	/* the text's address is known when all are there */
	shares->items[shares->count] = (struct hs_share_item){.other = other, .frame = frame};
	shares->items[shares->count].self.lifetime_us = text;
	return shares->count++;
}

/* The item of that name; made if there is none. */
static uint32_t find_item(struct making *making, const char *name, size_t bytes, bool other, uint32_t frame)
{
	char *key = hs_allocate(bytes + 2);
	key[0] = other ? '?' : '=';
	memcpy(key + 1, name, bytes);
	key[bytes + 1] = 0;
	uint32_t index = hs_strings_add_text(&making->keys, key);
	while (index >= making->key_capacity) {
		size_t before = making->key_capacity;
		making->item_of_key = hs_grow(making->item_of_key, before, &making->key_capacity,
					      sizeof(*making->item_of_key));
		memset(making->item_of_key + before, 0,
		       (making->key_capacity - before) * sizeof(*making->item_of_key));
	}
	if (making->item_of_key[index] == 0)
		making->item_of_key[index] = add_item(making, key + 1, other, frame) + 1;
	free(key);
	return making->item_of_key[index] - 1;
}

static void assign_by_name(struct making *making)
{
	const struct hs_profile *profile = making->profile;
	char *const *strings = profile->strings.items;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		const char *module = frame->module < profile->module_count
					     ? strings[profile->modules[frame->module].path]
					     : "";
		const char *name = making->by == HS_BY_FILE ? strings[frame->file] : "";
		size_t bytes = strlen(name);
		if (making->by == HS_BY_CRATE)
			name = hs_fold_crate(strings[frame->function], &bytes);
		bool other = making->by != HS_BY_MODULE && (name == NULL || bytes == 0);
		if (making->by == HS_BY_MODULE || other) {
			name = module;
			bytes = strlen(module);
		}
		making->item_of_frame[i] = find_item(making, name, bytes, other, i);
	}
}

static void assign_by_function(struct making *making)
{
	const struct hs_profile *profile = making->profile;
	uint32_t *keys = hs_function_keys(profile);
	uint32_t *item_of_key = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*item_of_key));
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		if (item_of_key[keys[i]] == 0)
			item_of_key[keys[i]] =
				1 + add_item(making, profile->strings.items[profile->frames[i].function],
					     false, i);
		making->item_of_frame[i] = item_of_key[keys[i]] - 1;
	}
	free(item_of_key);
	free(keys);
}

static void add_site(struct making *making, const struct hs_site *site, bool raw, uint32_t stamp,
		     uint32_t *stamps)
{
	const struct hs_frame *frames = making->profile->frames;
	struct hs_share_item *items = making->shares->items;
	bool any = false;
	uint32_t end =
		raw ? site->frame_count : hs_without_start(making->profile, site->frames, site->frame_count);
	for (uint32_t i = 0; i < end; i++) {
		/* a stack that is all internal counts for its innermost frame */
		if (!raw && frames[site->frames[i]].internal && (any || i + 1 < end))
			continue;
		bool last_resort = !raw && frames[site->frames[i]].internal;
		uint32_t item = making->item_of_frame[site->frames[last_resort ? 0 : i]];
		if (!any)
			hs_counts_add(&items[item].self, site->counts);
		if (stamps[item] != stamp)
			hs_counts_add(&items[item].total, site->counts);
		stamps[item] = stamp;
		any = true;
	}
}

static int compare(const void *left, const void *right, void *context)
{
	const struct hs_share_item *a = left, *b = right;
	enum hs_metric metric = *(const enum hs_metric *)context;
	uint64_t one = hs_metric_value(&a->self, metric), two = hs_metric_value(&b->self, metric);
	if (one != two)
		return one > two ? -1 : 1;
	one = hs_metric_value(&a->total, metric);
	two = hs_metric_value(&b->total, metric);
	if (one != two)
		return one > two ? -1 : 1;
	int order = strcmp(a->name, b->name);
	if (order == 0 && a->other != b->other)
		return a->other ? 1 : -1;
	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

void hs_shares_make(struct hs_shares *shares, const struct hs_profile *profile, const struct hs_sites *sites,
		    enum hs_share_by by, enum hs_metric metric, bool raw)
{
	struct making making = {.profile = profile, .shares = shares, .by = by};
	*shares = (struct hs_shares){0};
	hs_strings_init(&shares->names);
	hs_strings_init(&making.keys);
	making.item_of_frame = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(uint32_t));
	if (by == HS_BY_FUNCTION)
		assign_by_function(&making);
	else
		assign_by_name(&making);
	for (uint32_t i = 0; i < shares->count; i++) {
		struct hs_share_item *item = &shares->items[i];
		item->name = shares->names.items[item->self.lifetime_us];
		item->self.lifetime_us = 0;
	}
	uint32_t *stamps = hs_allocate_zero((size_t)shares->count + 1, sizeof(*stamps));
	struct hs_counts nowhere = {0};
	for (uint32_t i = 0; i < sites->count; i++) {
		if (sites->items[i].frame_count)
			add_site(&making, &sites->items[i], raw, i + 1, stamps);
		else
			hs_counts_add(&nowhere, sites->items[i].counts);
	}
	uint32_t used = 0;
	for (uint32_t i = 0; i < shares->count; i++)
		if (hs_counts_any(&shares->items[i].total))
			shares->items[used++] = shares->items[i];
	shares->count = used;
	if (hs_counts_any(&nowhere)) {
		uint32_t item = add_item(&making, "", true, UINT32_MAX);
		shares->items[item] = (struct hs_share_item){
			.name = "", .other = true, .frame = UINT32_MAX, .self = nowhere, .total = nowhere};
	}
	if (shares->count)
		qsort_r(shares->items, shares->count, sizeof(*shares->items), compare, &metric);
	free(stamps);
	free(making.item_of_frame);
	free(making.item_of_key);
	hs_strings_free(&making.keys);
}

void hs_shares_free(struct hs_shares *shares)
{
	free(shares->items);
	hs_strings_free(&shares->names);
	*shares = (struct hs_shares){0};
}
