/* The filters of the command line. */
#include "cli/filters.h"

#include "base/format.h"
#include "base/memory.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compile(struct hs_patterns *patterns, const struct hs_list *list, const char *command,
		   const char *option)
{
	struct hs_error error;
	for (uint32_t i = 0; i < list->count; i++) {
		if (hs_patterns_add(patterns, list->items[i], &error) == 0)
			continue;
		hs_message("%s: --%s \"%s\" is no regular expression that can be used: %s", command, option,
			   list->items[i], error.text);
		hs_message("write a \\ before a character like ( [ * + ? . that stands for itself; see "
			   "\"heapscope %s --help\"",
			   command);
		return -1;
	}
	return 0;
}

int hs_filter_make(struct hs_filter *filter, const struct hs_filter_arguments *arguments, const char *command)
{
	*filter = (struct hs_filter){
		.least_bytes = arguments->least_bytes,
		.most_bytes = arguments->most_bytes,
		.from_us = arguments->from_us,
		.to_us = arguments->to_us,
		.at_us = arguments->at_us,
	};
	if (compile(&filter->focus, &arguments->focus, command, "focus") != 0 ||
	    compile(&filter->ignore, &arguments->ignore, command, "ignore") != 0 ||
	    compile(&filter->modules, &arguments->modules, command, "module") != 0 ||
	    compile(&filter->threads, &arguments->threads, command, "thread") != 0) {
		hs_filter_free(filter);
		return -1;
	}
	filter->phases = hs_allocate_zero((size_t)arguments->phases.count + 1, sizeof(*filter->phases));
	for (; filter->phase_count < arguments->phases.count; filter->phase_count++)
		filter->phases[filter->phase_count] =
			hs_copy_string(arguments->phases.items[filter->phase_count]);
	const char *wrong = NULL;
	if (filter->least_bytes > filter->most_bytes)
		wrong = "no block is at least --min-size and at most --max-size: --min-size is larger";
	else if (filter->from_us >= filter->to_us)
		wrong = "no time is from --from on and before --to: --to has to be later";
	else if (filter->at_us != HS_TIME_NONE && filter->from_us > filter->at_us)
		wrong = "what is allocated after --at is not live then: --from has to be earlier";
	if (wrong) {
		hs_message("%s: %s", command, wrong);
		hs_filter_free(filter);
		return -1;
	}
	return 0;
}

void hs_filter_arguments_free(struct hs_filter_arguments *arguments)
{
	hs_list_free(&arguments->focus);
	hs_list_free(&arguments->ignore);
	hs_list_free(&arguments->modules);
	hs_list_free(&arguments->threads);
	hs_list_free(&arguments->phases);
}

/* ---- words ----------------------------------------------------------------------------------------------
 */

static void describe_text(struct hs_text *text, const char *option, const char *argument)
{
	struct hs_text word = {0};
	hs_text_shell_word(&word, argument);
	hs_text_addf(text, "%s--%s ", text->count ? " " : "", option);
	hs_text_clean(text, word.bytes);
	hs_text_free(&word);
}

static void describe_patterns(struct hs_text *text, const char *option, const struct hs_patterns *patterns)
{
	for (uint32_t i = 0; i < patterns->count; i++)
		describe_text(text, option, patterns->items[i].text);
}

static void describe_size(struct hs_text *text, const char *option, uint64_t bytes)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB"};
	unsigned unit = 0;
	for (; unit < 3 && bytes && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	hs_text_addf(text, "%s--%s %" PRIu64 "%s", text->count ? " " : "", option, bytes, units[unit]);
}

static void describe_time(struct hs_text *text, const char *option, uint64_t time_us)
{
	const char *space = text->count ? " " : "";
	if (time_us % 1000)
		hs_text_addf(text, "%s--%s %" PRIu64 "us", space, option, time_us);
	else if (time_us % 1000000)
		hs_text_addf(text, "%s--%s %" PRIu64 "ms", space, option, time_us / 1000);
	else
		hs_text_addf(text, "%s--%s %" PRIu64 "s", space, option, time_us / 1000000);
}

void hs_filter_describe(struct hs_text *text, const struct hs_filter *filter)
{
	describe_patterns(text, "focus", &filter->focus);
	describe_patterns(text, "ignore", &filter->ignore);
	describe_patterns(text, "module", &filter->modules);
	describe_patterns(text, "thread", &filter->threads);
	for (uint32_t i = 0; i < filter->phase_count; i++)
		describe_text(text, "phase", filter->phases[i]);
	if (filter->least_bytes)
		describe_size(text, "min-size", filter->least_bytes);
	if (filter->most_bytes != UINT64_MAX)
		describe_size(text, "max-size", filter->most_bytes);
	if (filter->from_us)
		describe_time(text, "from", filter->from_us);
	if (filter->to_us != HS_TIME_NONE)
		describe_time(text, "to", filter->to_us);
	if (filter->at_us != HS_TIME_NONE)
		describe_time(text, "at", filter->at_us);
}

static void explain_pattern(struct hs_text *text, const char *option, const struct hs_pattern *pattern,
			    bool found, const char *what)
{
	if (found)
		return;
	hs_text_addf(text, "%sno %s \"", text->count ? "; " : "", what);
	hs_text_clean(text, pattern->text);
	hs_text_addf(text, "\" (--%s)", option);
}

static bool any_frame(const struct hs_pattern *pattern, const struct hs_profile *profile)
{
	bool *frames = hs_pattern_frames(pattern, profile), any = false;
	for (uint32_t i = 0; i < profile->frame_count && !any; i++)
		any = frames[i];
	free(frames);
	return any;
}

static bool any_module(const struct hs_pattern *pattern, const struct hs_profile *profile)
{
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (hs_pattern_matches(pattern, profile->strings.items[profile->modules[i].path]))
			return true;
	return false;
}

static bool any_thread(const struct hs_filter *filter, uint32_t index, const struct hs_profile *profile)
{
	struct hs_filter one = HS_FILTER_ALL;
	one.threads = (struct hs_patterns){.items = &filter->threads.items[index], .count = 1};
	for (uint32_t i = 1; i < profile->thread_count; i++)
		if (hs_filter_thread(&one, profile, i))
			return true;
	return false;
}

/* A phase that the program never was in; and those that it was in. */
static void explain_phase(struct hs_text *text, const char *name, const struct hs_profile *profile)
{
	enum { NAMES_MOST = 8 };
	uint32_t names[NAMES_MOST], count = 0;
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct hs_mark *mark = &profile->marks[i];
		uint32_t known = 0;
		if (mark->what != HS_MARKED_PHASE)
			continue;
		if (strcmp(profile->strings.items[mark->name], name) == 0)
			return;
		while (known < count && names[known] != mark->name)
			known++;
		if (known == count && count < NAMES_MOST)
			names[count++] = mark->name;
	}
	hs_text_addf(text, "%sno phase is called \"", text->count ? "; " : "");
	hs_text_clean(text, name);
	hs_text_addf(text, "\" (--phase)%s", count ? ", there are " : ": the program reported none");
	for (uint32_t i = 0; i < count; i++) {
		hs_text_add(text, i ? ", \"" : "\"");
		hs_text_clean(text, profile->strings.items[names[i]]);
		hs_text_add(text, "\"");
	}
}

void hs_filter_explain(struct hs_text *text, const struct hs_filter *filter, const struct hs_profile *profile)
{
	for (uint32_t i = 0; i < filter->focus.count; i++)
		explain_pattern(text, "focus", &filter->focus.items[i],
				any_frame(&filter->focus.items[i], profile),
				"function, file or module of any stack matches");
	for (uint32_t i = 0; i < filter->modules.count; i++)
		explain_pattern(text, "module", &filter->modules.items[i],
				any_module(&filter->modules.items[i], profile), "module matches");
	for (uint32_t i = 0; i < filter->threads.count; i++)
		explain_pattern(text, "thread", &filter->threads.items[i], any_thread(filter, i, profile),
				"thread has the name or number");
	for (uint32_t i = 0; i < filter->phase_count; i++)
		explain_phase(text, filter->phases[i], profile);
	uint64_t duration_us = profile->facts.duration_us;
	if (filter->from_us > duration_us)
		hs_text_addf(text, "%sthe program ended after %s, before --from", text->count ? "; " : "",
			     hs_time(duration_us).text);
}
