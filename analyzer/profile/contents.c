/* What a recording file consists of: counts over its members and frames. */
#include "profile/contents.h"

#include "base/memory.h"
#include "profile/own.h"
#include "recording.h"

#include <stdlib.h>

void hs_contents_make(struct hs_contents *contents, const struct hs_profile *profile)
{
	const struct hs_recording *recording = profile->recording;
	*contents = (struct hs_contents){
		.members = recording->member_count,
		.file_bytes = recording->file_bytes,
		.whole_bytes = recording->whole_bytes,
	};
	for (uint32_t i = 0; i < recording->member_count; i++) {
		const struct hs_member *member = &recording->members[i];
		unsigned kind = member->kind && member->kind <= HS_MEMBER_COUNTS ? member->kind
										 : HS_CONTENTS_KINDS - 1;
		contents->kinds[kind].members++;
		contents->kinds[kind].items += member->items;
		contents->kinds[kind].packed_bytes += member->member_bytes;
		contents->kinds[kind].raw_bytes += member->raw_bytes;
	}
	contents->footer = contents->kinds[HS_MEMBER_FOOTER].members > 0;
	contents->modules = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*contents->modules));
	bool *rust = hs_rust_modules(profile);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct hs_frame *frame = &profile->frames[i];
		if (frame->module >= profile->module_count)
			continue;
		struct hs_contents_module *module = &contents->modules[frame->module];
		module->frames++;
		module->unnamed += frame->function == 0;
		module->without_line += frame->line == 0;
		if (frame->internal || hs_is_start_code(profile, rust, i))
			continue;
		module->own++;
		module->own_without_line += frame->line == 0;
	}
	free(rust);
}

void hs_contents_free(struct hs_contents *contents)
{
	free(contents->modules);
	contents->modules = NULL;
}
