/* heapscope suppressions: the rules for leaks, and what each left out. */
#include "base/format.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/suppress.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"Lists the rules that say which blocks are no leaks although they are never freed. Without\n"
	"FILE: the built-in ones, for what libc, the loader and the runtimes of C++ and Rust keep on\n"
	"purpose. With the recording FILE: all that apply to it, and how much each suppresses.\n"
	"\n"
	"A rule is leak:PATTERN, as LeakSanitizer has it: it applies to blocks that were allocated\n"
	"below a function, file or library with PATTERN in its name; * stands for anything, ^ and $\n"
	"for the ends. Built-in rules look only at the frames of the library that they name, up to\n"
	"its caller, so that they hide no leak of the program.\n"
	"\n"
	"Exit codes: 0; 1 if a file cannot be read or is no recording; 2 for usage.";

static void add_rule(struct hs_text *text, const struct hs_suppression *rule,
		     const struct hs_suppressed *done)
{
	struct hs_text pattern = {0};
	hs_text_addf(&pattern, "leak:");
	hs_text_clean(&pattern, rule->kept && !rule->kept->function ? "*" : rule->pattern);
	if (done) {
		hs_text_right(text, hs_size(done->bytes).text, 10);
		hs_text_right(text, hs_count(done->blocks).text, 9);
		hs_text_add(text, "  ");
	}
	hs_text_left(text, pattern.bytes, 36);
	hs_text_add(text, " # ");
	if (rule->kept) {
		hs_text_addf(text, "%s: %s", hs_kept_by_names[rule->kept->library], rule->kept->what);
	} else if (rule->source == HS_SUPPRESSION_PROGRAM) {
		hs_text_add(text, "the program's own");
	} else {
		hs_text_clean(text, rule->file);
		hs_text_addf(text, ":%u", rule->line);
	}
	hs_text_add(text, "\n");
	hs_text_free(&pattern);
}

/* All rules, those that suppressed something first. */
static void add_rules(struct hs_text *text, const struct hs_suppressions *rules,
		      const struct hs_suppressed *list, uint32_t count, bool counted)
{
	bool *shown = hs_allocate_zero((size_t)rules->count + 1, sizeof(*shown));
	if (counted)
		hs_text_addf(text, HS_DIM "%10s%9s  rule" HS_PLAIN "\n", "bytes", "blocks");
	for (uint32_t i = 0; i < count; i++) {
		add_rule(text, &rules->items[list[i].rule], &list[i]);
		shown[list[i].rule] = true;
	}
	for (uint32_t i = 0; i < rules->count; i++) {
		const struct hs_suppressed nothing = {0};
		if (!shown[i])
			add_rule(text, &rules->items[i], counted ? &nothing : NULL);
	}
	free(shown);
}

static json_t *rules_json(const struct hs_suppressions *rules, const struct hs_suppressed *list,
			  uint32_t count, bool counted)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < rules->count; i++) {
		json_t *object = hs_suppression_json(&rules->items[i]);
		struct hs_suppressed found = {0};
		for (uint32_t k = 0; k < count; k++) {
			if (list[k].rule == i)
				found = list[k];
		}
		hs_json_put(object, "bytes", counted ? hs_json_integer(found.bytes) : json_null());
		hs_json_put(object, "blocks", counted ? hs_json_integer(found.blocks) : json_null());
		json_array_append_new(array, object);
	}
	return array;
}

static int show(const struct hs_suppressions *rules, const struct hs_suppressed *list, uint32_t count,
		bool counted, bool json, enum hs_colour colour)
{
	struct hs_text text = {0};
	if (json) {
		json_t *document = json_object();
		hs_json_put(document, "schema", json_string("heapscope-suppressions-1"));
		hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
		hs_json_put(document, "rules", rules_json(rules, list, count, counted));
		hs_json_dump(&text, document);
	} else {
		add_rules(&text, rules, list, count, counted);
		if (!hs_terminal_colour(STDOUT_FILENO, colour))
			hs_text_strip_colour(&text);
	}
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}

static int show_recording(const char *path, const struct hs_suppress *suppress, bool json,
			  enum hs_colour colour)
{
	struct hs_error error = {{0}};
	struct hs_suppressions rules = {0};
	struct hs_sites sites = {0};
	uint32_t count = 0;
	int code = HS_EXIT_DATA;
	struct hs_profile *profile = hs_profile_load(path, &error);
	if (profile && hs_suppress(suppress, profile, &rules, &error) == 0 &&
	    hs_sites_make(profile, false, &sites, &error) == 0) {
		struct hs_suppressed *list = hs_suppressed_list(profile, &sites, &count);
		if (profile->facts.lsan_unread)
			hs_message("note: the program's __lsan_default_suppressions does more than return a "
				   "constant string, so its rules are not known");
		code = show(&rules, list, count, true, json, colour);
		free(list);
	} else {
		hs_notice(error.text);
	}
	hs_sites_free(&sites);
	hs_profile_free(profile);
	hs_suppressions_free(&rules);
	return code;
}

int hs_command_suppressions(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	struct hs_suppress suppress = {0};
	int json = 0, colour = HS_COLOUR_AUTO;
	const struct hs_option options[] = {
		{0, "suppressions", HS_OPTION_TEXT, &suppress.file, 0, "FILE", NULL,
		 "with a recording: also the rules of FILE"},
		{0, "json", HS_OPTION_SET, &json, 1, NULL, NULL, "write JSON (docs/json.md)"},
		{0, "color", HS_OPTION_CHOICE, &colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "suppressions",
		.operands = "[FILE]",
		.help = help,
		.options = options,
		.fewest = 0,
		.most = 1,
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	if (first < argc)
		return show_recording(argv[first], &suppress, json, (enum hs_colour)colour);
	struct hs_suppressions rules = {0};
	hs_suppressions_add_built_in(&rules);
	int code = show(&rules, NULL, 0, false, json, (enum hs_colour)colour);
	hs_suppressions_free(&rules);
	return code;
}
