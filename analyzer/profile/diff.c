/* Two recordings against each other. The names of both are put into one table; a site's key is the sequence
 * of its frames' numbers there, so that keys stay small however long the names are. */
#include "profile/diff.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN_PROGRAM = 1 }; /* module flag of FORMAT.md */

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- keys -----------------------------------------------------------------------------------------------
 */

struct key {
	char *bytes;
	size_t count, capacity;
};

static void key_add(struct key *key, const char *bytes, size_t count)
{
	if (key->count + count > key->capacity) {
		key->capacity = 2 * (key->count + count);
		key->bytes = hs_reallocate(key->bytes, key->capacity, 1);
	}
	memcpy(key->bytes + key->count, bytes, count);
	key->count += count;
}

/* A string of a key holds no NUL: a number is five bytes of seven bits each, with the high bit set. */
static void key_add_number(struct key *key, uint32_t number)
{
	char bytes[5];
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(0x80 | (number >> 7 * i & 0x7f));
	key_add(key, bytes, sizeof(bytes));
}

/* The number of a module's build-id in `builds`; 0: it has none. */
static uint32_t add_build(struct hs_strings *builds, const struct hs_module *module)
{
	char hex[2 * sizeof(module->build_id) + 1] = "";
	for (uint32_t i = 0; i < module->build_id_bytes && i < sizeof(module->build_id); i++)
		snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
	return hs_strings_add_text(builds, hex);
}

/* By module: whether the other side has the very same file, so that addresses mean the same in both. */
static bool *find_same_builds(const struct hs_profile *profile, const struct hs_profile *other)
{
	bool *same = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*same));
	struct hs_strings builds;
	hs_strings_init(&builds);
	for (uint32_t i = 0; i < other->module_count; i++)
		add_build(&builds, &other->modules[i]);
	uint32_t known = builds.count;
	for (uint32_t i = 0; i < profile->module_count; i++) {
		uint32_t build = add_build(&builds, &profile->modules[i]);
		same[i] = build && build < known;
	}
	hs_strings_free(&builds);
	return same;
}

/* A program keeps its name in a key whatever its file is called, a library whatever its version is. */
static void key_add_module(struct key *key, const struct hs_profile *profile, uint32_t index)
{
	if (index >= profile->module_count) {
		key_add(key, "\2", 1);
		return;
	}
	const struct hs_module *module = &profile->modules[index];
	if (module->flags & MAIN_PROGRAM) {
		key_add(key, "\3", 1);
		return;
	}
	const char *name = last_component(profile->strings.items[module->path]);
	const char *version = strstr(name, ".so.");
	key_add(key, name, version ? (size_t)(version - name) + 3 : strlen(name));
}

/* A compiler's copies of a function (without debug information they have names of their own) come and go with
 * every build: the length of the name without what marks a copy. */
static size_t name_length(const char *function)
{
	static const char *const marks[] = {" [clone ",   ".isra.", ".constprop.", ".part.",
					    ".lto_priv.", ".llvm.", ".cold"};
	size_t length = strlen(function);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *mark = strstr(function, marks[i]);
		if (mark && mark > function && (size_t)(mark - function) < length)
			length = (size_t)(mark - function);
	}
	return length;
}

/* What tells frames apart in both of two profiles: some that were imported have functions only. */
struct detail {
	bool modules, files;
};

static struct detail common_detail(const struct hs_profile *profile, const struct hs_profile *other)
{
	struct detail detail = {true, true};
	const char *const imported[] = {profile->facts.imported, other->facts.imported};
	for (unsigned i = 0; i < 2; i++) {
		bool folded = imported[i] && strcmp(imported[i], "folded") == 0;
		detail.files &= !folded;
		detail.modules &= !folded && !(imported[i] && strcmp(imported[i], "dhat") == 0);
	}
	return detail;
}

/* The number in `names` of what a frame is called. A frame without a function is known by its address where
 * both sides have the same file; else all such frames of a module are one. */
static uint32_t name_frame(struct hs_strings *names, struct key *key, const struct hs_profile *profile,
			   const bool *same_builds, struct detail detail, const struct hs_frame *frame)
{
	const char *function = profile->strings.items[frame->function];
	const char *file = last_component(profile->strings.items[frame->file]);
	key->count = 0;
	key_add(key, "f", 1); /* never empty: 0 stands for "not yet" */
	if (detail.modules || !frame->function)
		key_add_module(key, profile, frame->module);
	key_add(key, "\1", 1);
	key_add(key, function, name_length(function));
	key_add(key, "\1", 1);
	if (detail.files || !frame->function)
		key_add(key, file, strlen(file));
	if (frame->function == 0 && frame->module < profile->module_count && same_builds[frame->module]) {
		char address[24];
		int length = snprintf(address, sizeof(address), "\1%" PRIx64, frame->address);
		key_add(key, address, (size_t)length);
	}
	return hs_strings_add(names, key->bytes, key->count);
}

uint32_t *hs_diff_names(struct hs_strings *names, const struct hs_profile *profile,
			const struct hs_profile *other)
{
	bool *same_builds = find_same_builds(profile, other);
	uint32_t *numbers = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*numbers));
	struct detail detail = common_detail(profile, other);
	struct key key = {0};
	for (uint32_t i = 0; i < profile->frame_count; i++)
		numbers[i] = name_frame(names, &key, profile, same_builds, detail, &profile->frames[i]);
	free(key.bytes);
	free(same_builds);
	return numbers;
}

/* ---- matching -------------------------------------------------------------------------------------------
 */

struct matching {
	struct hs_diff *diff;
	struct hs_strings names;
	struct hs_strings keys;
	uint32_t *item_of_key; /* + 1 */
	size_t capacity, item_capacity;
	struct key key;
	enum hs_diff_by by;
};

static struct hs_diff_item *find_item(struct matching *matching)
{
	struct hs_diff *diff = matching->diff;
	uint32_t key = hs_strings_add(&matching->keys, matching->key.bytes, matching->key.count);
	while (key >= matching->capacity) {
		size_t before = matching->capacity;
		matching->item_of_key = hs_grow(matching->item_of_key, before, &matching->capacity,
						sizeof(*matching->item_of_key));
		memset(matching->item_of_key + before, 0,
		       (matching->capacity - before) * sizeof(*matching->item_of_key));
	}
	if (matching->item_of_key[key] == 0) {
		diff->items =
			hs_grow(diff->items, diff->count, &matching->item_capacity, sizeof(*diff->items));
		diff->items[diff->count] =
			(struct hs_diff_item){.old_site = HS_NO_SITE, .new_site = HS_NO_SITE};
		matching->item_of_key[key] = ++diff->count;
	}
	return &diff->items[matching->item_of_key[key] - 1];
}

static void add_side(struct matching *matching, const struct hs_diff_side *side,
		     const struct hs_profile *other, bool new)
{
	const struct hs_profile *profile = side->profile;
	bool *same_builds = find_same_builds(profile, other);
	struct detail detail = common_detail(profile, other);
	uint32_t *names = hs_allocate_zero((size_t)profile->frame_count + 1, sizeof(*names)); /* 0: not yet */
	for (uint32_t i = 0; i < side->sites->count; i++) {
		const struct hs_site *site = &side->sites->items[i];
		uint32_t first = 0, end = site->frame_count;
		if (matching->by == HS_DIFF_BY_FUNCTION && site->own_frame < end) {
			first = site->own_frame;
			end = first + 1;
		}
		for (uint32_t position = first; position < end; position++) {
			uint32_t frame = site->frames[position];
			if (names[frame] == 0)
				names[frame] = name_frame(&matching->names, &matching->key, profile,
							  same_builds, detail, &profile->frames[frame]);
		}
		matching->key.count = 0;
		key_add(&matching->key, "s", 1);
		for (uint32_t position = first; position < end; position++)
			key_add_number(&matching->key, names[site->frames[position]]);
		struct hs_diff_item *item = find_item(matching);
		uint32_t *representative = new ? &item->new_site : &item->old_site;
		if (*representative == HS_NO_SITE)
			*representative = i;
		hs_counts_add(new ? &item->new : &item->old, site->counts);
		*(new ? &item->new_count : &item->old_count) += 1;
	}
	free(names);
	free(same_builds);
}

static void sum_up(struct hs_diff *diff)
{
	for (uint32_t i = 0; i < diff->count; i++) {
		const struct hs_diff_item *item = &diff->items[i];
		if (item->old_count == 0) {
			diff->appeared++;
			diff->appeared_calls += item->new.allocations;
		} else if (item->new_count == 0) {
			diff->vanished++;
			diff->vanished_calls += item->old.allocations;
		} else {
			diff->common_old_calls += item->old.allocations;
			diff->common_new_calls += item->new.allocations;
			diff->common_old_bytes += item->old.allocated_bytes;
			diff->common_new_bytes += item->new.allocated_bytes;
		}
	}
}

void hs_diff_make(struct hs_diff *diff, const struct hs_diff_side *old, const struct hs_diff_side *new,
		  enum hs_diff_by by)
{
	struct matching matching = {.diff = diff, .by = by};
	*diff = (struct hs_diff){0};
	hs_strings_init(&matching.names);
	hs_strings_init(&matching.keys);
	add_side(&matching, new, old->profile, true);
	add_side(&matching, old, new->profile, false);
	sum_up(diff);
	hs_strings_free(&matching.names);
	hs_strings_free(&matching.keys);
	free(matching.item_of_key);
	free(matching.key.bytes);
}

void hs_diff_free(struct hs_diff *diff)
{
	free(diff->items);
	*diff = (struct hs_diff){0};
}

/* ---- what changed ---------------------------------------------------------------------------------------
 */

enum hs_diff_kind hs_diff_kind(const struct hs_diff_item *item, enum hs_metric metric)
{
	uint64_t old = hs_metric_value(&item->old, metric), new = hs_metric_value(&item->new, metric);
	if (old == new)
		return HS_DIFF_SAME;
	if (item->old_count == 0)
		return HS_DIFF_APPEARED;
	if (item->new_count == 0)
		return HS_DIFF_VANISHED;
	return new > old ? HS_DIFF_GREW : HS_DIFF_SHRANK;
}

struct context {
	const struct hs_diff *diff;
	enum hs_metric metric;
};

static int compare(const void *a, const void *b, void *argument)
{
	const struct context *context = argument;
	uint32_t place[2] = {*(const uint32_t *)a, *(const uint32_t *)b};
	uint64_t change[2];
	for (unsigned i = 0; i < 2; i++) {
		const struct hs_diff_item *item = &context->diff->items[place[i]];
		uint64_t old = hs_metric_value(&item->old, context->metric);
		uint64_t new = hs_metric_value(&item->new, context->metric);
		change[i] = new > old ? new - old : old - new;
	}
	return hs_larger_first(change[0], place[0], change[1], place[1]);
}

uint32_t *hs_diff_sort(const struct hs_diff *diff, enum hs_metric metric)
{
	struct context context = {.diff = diff, .metric = metric};
	uint32_t *order = hs_allocate_zero((size_t)diff->count + 1, sizeof(*order));
	for (uint32_t i = 0; i < diff->count; i++)
		order[i] = i;
	qsort_r(order, diff->count, sizeof(*order), compare, &context);
	return order;
}

bool hs_diff_same_program(const struct hs_diff_side *old, const struct hs_diff_side *new)
{
	const char *a = old->profile->facts.program, *b = new->profile->facts.program;
	return strcmp(last_component(a ? a : ""), last_component(b ? b : "")) == 0;
}

enum hs_diff_work hs_diff_work(const struct hs_diff *diff)
{
	uint64_t old = diff->common_old_calls, new = diff->common_new_calls;
	uint64_t difference = new > old ? new - old : old - new;
	uint64_t old_calls = old + diff->vanished_calls, new_calls = new + diff->appeared_calls;
	/* runs are hardly ever the same to the last call */
	if (difference <= (old_calls > new_calls ? old_calls : new_calls) / 100)
		return HS_WORK_SAME;
	return new > old ? HS_WORK_MORE : HS_WORK_LESS;
}
