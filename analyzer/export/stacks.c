#include "stacks.h"

#include "base/memory.h"
#include "profile/stacks.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Frames written for all stacks together, unless that leaves less than DEPTH_LEAST for each. Ordinary
 * recordings are far from it; recursion of a depth of 100,000 with thousands of stacks is not. */
enum { FRAMES_MOST = 16 << 20, DEPTH_LEAST = 64 };

char *hs_line_text(const char *text, const char *replace)
{
	char *line = hs_repair_utf8(text);
	for (char *at = line; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
		for (const char *pair = replace; pair && *pair; pair += 2)
			if (*at == pair[0])
				*at = pair[1];
	}
	return line;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* The function's name; where there is none, what else tells the frame from others. */
static uint32_t add_name(struct hs_export *export, const struct hs_frame *frame, const char *replace)
{
	const struct hs_profile *profile = export->profile;
	char *const *strings = profile->strings.items;
	char *made = NULL;
	const char *name = strings[frame->function];
	if (*name == 0) {
		const char *module = frame->module == UINT32_MAX
					     ? ""
					     : base_name(strings[profile->modules[frame->module].path]);
		if (asprintf(&made, "%s+0x%" PRIx64, *module ? module : "???", frame->address) < 0)
			made = NULL;
		name = made ? made : "???";
	}
	char *line = hs_line_text(name, replace);
	uint32_t index = hs_strings_add_text(&export->names, line);
	free(line);
	free(made);
	return index;
}

static uint32_t add_own_place(struct hs_export *export, const char *name)
{
	export->places[export->place_count] =
		(struct hs_place){.name = hs_strings_add_text(&export->names, name), .module = UINT32_MAX};
	return export->place_count++;
}

static void make_places(struct hs_export *export, const char *replace)
{
	const struct hs_profile *profile = export->profile;
	uint32_t *texts = hs_frame_texts(profile);
	struct hs_pairs known = {0};
	export->places = hs_allocate_zero((size_t)profile->frame_count + 2, sizeof *export->places);
	export->place_of_frame = hs_allocate_zero(profile->frame_count, sizeof *export->place_of_frame);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		bool added;
		/* a frame that has a file but no function is named by its address, which its text lacks */
		uint64_t nameless = frame->function ? 0 : frame->address + 1;
		uint32_t place = hs_pairs_add(&known, texts[i], nameless, &added);
		export->place_of_frame[i] = place;
		if (added)
			export->places[place] = (struct hs_place){.name = add_name(export, frame, replace),
								  .file = frame->file,
								  .line = frame->line,
								  .module = frame->module,
								  .address = frame->address};
	}
	export->place_count = known.count;
	export->lost_place = add_own_place(export, "[stack not recorded]");
	export->cut_place = add_own_place(export, "[outer callers left out]");
	hs_pairs_free(&known);
	free(texts);
}

static uint64_t frames_up_to(const struct hs_sites *sites, uint32_t depth)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < sites->count; i++)
		sum += sites->items[i].frame_count < depth ? sites->items[i].frame_count : depth;
	return sum;
}

static void limit_depth(struct hs_export *export)
{
	uint32_t deepest = 0;
	for (uint32_t i = 0; i < export->sites.count; i++)
		if (export->sites.items[i].frame_count > deepest)
			deepest = export->sites.items[i].frame_count;
	export->depth_most = deepest;
	while (export->depth_most > DEPTH_LEAST &&
	       frames_up_to(&export->sites, export->depth_most) > FRAMES_MOST)
		export->depth_most -= (export->depth_most - DEPTH_LEAST + 1) / 2;
	export->stack_most = export->depth_most + 1;
}

int hs_export_make(struct hs_profile *profile, bool raw, const char *replace, struct hs_export *export,
		   struct hs_error *error)
{
	*export = (struct hs_export){.profile = profile};
	if (hs_sites_make(profile, raw, &export->sites, error) != 0)
		return -1;
	hs_strings_init(&export->names);
	make_places(export, replace);
	limit_depth(export);
	return 0;
}

void hs_export_free(struct hs_export *export)
{
	hs_sites_free(&export->sites);
	hs_strings_free(&export->names);
	free(export->places);
	free(export->place_of_frame);
	*export = (struct hs_export){0};
}

uint32_t hs_export_stack(const struct hs_export *export, const struct hs_site *site, uint32_t *places)
{
	uint32_t count = site->frame_count < export->depth_most ? site->frame_count : export->depth_most;
	for (uint32_t i = 0; i < count; i++)
		places[i] = export->place_of_frame[site->frames[i]];
	if (count < site->frame_count)
		places[count++] = export->cut_place;
	if (count == 0)
		places[count++] = export->lost_place;
	return count;
}

int hs_export_finish(FILE *output, const char *what, struct hs_error *error)
{
	if (fflush(output) != 0 || ferror(output))
		return hs_fail(error, "cannot write the %s file: %s", what, strerror(errno));
	return 0;
}
