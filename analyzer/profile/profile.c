/* Loads a recording but for its events: facts, modules, threads, samples, nodes and their frames. A member
 * that is damaged is left out with a warning; only the header has to be right. */
#include "profile.h"

#include "base/memory.h"
#include "fold.h"
#include "internal.h"
#include "load.h"
#include "recording.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hs_profile_warn(struct hs_profile *profile, const char *format, ...)
{
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	char *old = profile->facts.warning, *both;
	profile->damaged = true;
	if (old && strstr(old, text))
		return;
	size_t bytes = (old ? strlen(old) + 2 : 0) + strlen(text) + 1;
	both = hs_allocate(bytes);
	snprintf(both, bytes, "%s%s%s", old ? old : "", old ? "; " : "", text);
	profile->facts.warning = both;
	free(old);
}

/* ---- the end of the file --------------------------------------------------------------------------------
 */

static void warn_of_tail(struct hs_profile *profile)
{
	const struct hs_recording *recording = profile->recording;
	uint64_t rest = recording->file_bytes - recording->whole_bytes;
	char lost[64] = "";
	if (recording->torn_events)
		snprintf(lost, sizeof lost, " with %" PRIu64 " more events", recording->torn_events);
	switch (recording->tail) {
	case HS_TAIL_FOOTER:
		break;
	case HS_TAIL_MISSING:
		hs_profile_warn(profile,
				"the recording ends after %" PRIu64
				" events without its closing record: it is still "
				"running, or its collector was killed",
				recording->events);
		break;
	case HS_TAIL_TORN:
		hs_profile_warn(
			profile,
			"the recording is cut after %" PRIu64 " events, inside a member%s (%" PRIu64
			" bytes cannot be used): it is still running, its collector was killed, the disk was "
			"full, or the copy is incomplete",
			recording->events, lost, rest);
		break;
	case HS_TAIL_DAMAGED:
		hs_profile_warn(profile,
				"the recording is damaged after %" PRIu64 " events, at byte %" PRIu64
				": the last %" PRIu64 " bytes cannot be used",
				recording->events, recording->whole_bytes, rest);
		break;
	case HS_TAIL_FOREIGN:
		hs_profile_warn(profile,
				"%" PRIu64 " bytes follow the end of the recording; they are ignored", rest);
		break;
	case HS_TAIL_SECOND:
		hs_profile_warn(profile,
				"a second recording begins at byte %" PRIu64
				"; only the first one is read: files of "
				"recordings cannot be joined",
				recording->whole_bytes);
		break;
	}
}

/* ---- members --------------------------------------------------------------------------------------------
 */

static int load_member(struct hs_loader *loader, const struct hs_member *member, struct hs_error *error)
{
	struct hs_payload payload = {loader->inflater.raw, loader->inflater.raw + member->raw_bytes};
	switch (member->kind) {
	case HS_MEMBER_MODULES:
		return hs_load_modules(loader, payload, member->items, error);
	case HS_MEMBER_NODES:
		return hs_load_nodes(loader, payload, member->items, error);
	case HS_MEMBER_SAMPLES:
		return hs_load_samples(loader, payload, member->items, error);
	case HS_MEMBER_THREADS:
		return hs_load_threads(loader, payload, member->items, error);
	case HS_MEMBER_MARKS:
		return hs_load_marks(loader, payload, member->items, error);
	case HS_MEMBER_SYMBOLS:
		return hs_load_symbols(loader, payload, member->items, error);
	case HS_MEMBER_COUNTS:
		return hs_load_counts(loader, payload, member->items, error);
	case HS_MEMBER_FOOTER:
		return hs_load_footer(loader, payload, error);
	default:
		return 0;
	}
}

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[HS_MEMBER_MODULES] = "list of modules",        [HS_MEMBER_NODES] = "list of stacks",
		[HS_MEMBER_SAMPLES] = "list of memory samples", [HS_MEMBER_THREADS] = "list of threads",
		[HS_MEMBER_SYMBOLS] = "list of names",          [HS_MEMBER_FOOTER] = "closing record",
		[HS_MEMBER_COUNTS] = "list of counts",          [HS_MEMBER_MARKS] = "list of marks",
	};
	return names[kind];
}

/* What stacks are made of, and what is counted by stack. */
static bool is_of_stacks(uint8_t kind)
{
	return kind == HS_MEMBER_NODES || kind == HS_MEMBER_SYMBOLS || kind == HS_MEMBER_COUNTS;
}

static bool is_fact(uint8_t kind)
{
	return kind == HS_MEMBER_MODULES || kind == HS_MEMBER_SAMPLES || kind == HS_MEMBER_THREADS ||
	       kind == HS_MEMBER_FOOTER || kind == HS_MEMBER_MARKS;
}

static void load_members(struct hs_loader *loader, bool (*are_wanted)(uint8_t kind))
{
	struct hs_recording *recording = loader->profile->recording;
	for (uint32_t i = 1; i < recording->member_count; i++) {
		const struct hs_member *member = &recording->members[i];
		struct hs_error error;
		if (!are_wanted(member->kind))
			continue;
		if (hs_recording_inflate(recording, member, &loader->inflater, &error) != 0 ||
		    load_member(loader, member, &error) != 0)
			hs_profile_warn(loader->profile,
					"the recording is damaged: a %s at byte %" PRIu64 " is left out (%s)",
					kind_name(member->kind), member->offset, error.text);
	}
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

static int load_header(struct hs_loader *loader, const char *path, struct hs_error *error)
{
	struct hs_profile *profile = loader->profile;
	profile->recording = hs_recording_open(path, error);
	if (!profile->recording)
		return -1;
	struct hs_error cause;
	const struct hs_member *header = &profile->recording->members[0];
	if (hs_recording_inflate(profile->recording, header, &loader->inflater, &cause) != 0)
		return hs_fail(error, "the header of '%s' is damaged (%s): copy or record it again", path,
			       cause.text);
	for (uint32_t i = 0; i < profile->recording->member_count; i++)
		if (profile->recording->members[i].kind == HS_MEMBER_THREADS)
			loader->thread_records += profile->recording->members[i].items;
	return hs_load_header(
		loader, (struct hs_payload){loader->inflater.raw, loader->inflater.raw + header->raw_bytes},
		error);
}

struct hs_profile *hs_profile_begin(const char *path, struct hs_error *error)
{
	struct hs_profile *profile = hs_allocate_zero(1, sizeof *profile);
	hs_strings_init(&profile->strings);
	profile->facts.end = HS_END_RUNNING;
	profile->threads = hs_allocate_zero(1, sizeof *profile->threads);
	profile->thread_count = 1;
	profile->nodes = hs_allocate_zero(1, sizeof *profile->nodes);
	profile->node_count = 1;
	profile->calls = hs_allocate_zero(1, sizeof *profile->calls);
	profile->call_count = 1;
	profile->loader = hs_allocate_zero(1, sizeof *profile->loader);
	profile->loader->profile = profile;
	if (load_header(profile->loader, path, error) != 0) {
		hs_profile_free(profile);
		return NULL;
	}
	load_members(profile->loader, is_fact);
	hs_load_duration(profile);
	return profile;
}

static void free_loader(struct hs_profile *profile)
{
	if (profile->loader)
		hs_loader_free(profile->loader);
	free(profile->loader);
	profile->loader = NULL;
}

void hs_profile_finish(struct hs_profile *profile)
{
	load_members(profile->loader, is_of_stacks);
	warn_of_tail(profile);
	hs_load_finish(profile->loader);
	hs_load_counts_finish(profile->loader);
	/* time that a program spends in malloc is no caller's */
	hs_fold_mark(profile, profile->facts.subject == HS_SUBJECT_SAMPLES ? 0 : HS_FOLD_ALL);
	free_loader(profile);
}

struct hs_profile *hs_profile_load(const char *path, struct hs_error *error)
{
	struct hs_profile *profile = hs_profile_begin(path, error);
	if (profile)
		hs_profile_finish(profile);
	return profile;
}

static bool has_line(const char *text, const char *line, size_t length)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") == length && memcmp(text, line, length) == 0)
			return true;
	return false;
}

void hs_facts_add_suppressions(struct hs_facts *facts, const char *lines)
{
	size_t length;
	for (; *lines; lines += length, lines += *lines == '\n') {
		length = strcspn(lines, "\n");
		char *old = facts->lsan_suppressions;
		size_t before = old ? strlen(old) : 0;
		if (length == 0 || (old && has_line(old, lines, length)))
			continue;
		facts->lsan_suppressions = hs_reallocate(old, before + length + 2, 1);
		memcpy(facts->lsan_suppressions + before, lines, length);
		memcpy(facts->lsan_suppressions + before + length, "\n", 2);
	}
}

void hs_facts_free(struct hs_facts *facts)
{
	for (char **word = facts->command; word && *word; word++)
		free(*word);
	free(facts->command);
	free(facts->program);
	free(facts->cwd);
	free(facts->stopped);
	free(facts->unseen_library);
	free(facts->warning);
	free(facts->lsan_suppressions);
	free(facts->imported);
	for (uint32_t i = 0; i < facts->merged.command_count; i++)
		free(facts->merged.commands[i].line);
	free(facts->merged.commands);
	*facts = (struct hs_facts){0};
}

char *hs_command_line(const struct hs_facts *facts)
{
	size_t bytes = 1;
	for (char **word = facts->command; word && *word; word++)
		bytes += strlen(*word) + 1;
	char *line = hs_allocate_zero(bytes, 1), *at = line;
	for (char **word = facts->command; word && *word; word++)
		at = stpcpy(stpcpy(at, at > line ? " " : ""), *word);
	if (*line)
		return line;
	free(line);
	return hs_copy_string(facts->program ? facts->program : "");
}

void hs_profile_free(struct hs_profile *profile)
{
	if (!profile)
		return;
	hs_facts_free(&profile->facts);
	hs_strings_free(&profile->strings);
	free(profile->modules);
	free(profile->threads);
	free(profile->frames);
	free(profile->nodes);
	free(profile->calls);
	free(profile->samples);
	free(profile->marks);
	free(profile->counted);
	free_loader(profile);
	hs_recording_close(profile->recording);
	free(profile);
}
