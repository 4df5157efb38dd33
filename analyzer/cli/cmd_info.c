/* heapscope info: what is in a recording file, how complete it is, and which modules lack names or lines. */
#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/info.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Shows what a recording file consists of, how complete the recording is, and which modules\n"
	"have no debug information (function names, lines), with the Debian package to install or the\n"
	"build-id to ask a debuginfod server for. It does not read the events, so it is fast on large\n"
	"files.\n"
	"\n"
	"Packages are those of this machine, and only of modules that are here as they were recorded.\n"
	"\n"
	"Exit codes: 0; 1 if the file cannot be read or is no recording; 2 for usage.";

const char *const hs_member_names[HS_CONTENTS_KINDS] = {
	[HS_MEMBER_HEADER] = "header",   [HS_MEMBER_MODULES] = "modules",       [HS_MEMBER_NODES] = "nodes",
	[HS_MEMBER_EVENTS] = "events",   [HS_MEMBER_SAMPLES] = "samples",       [HS_MEMBER_MARKS] = "marks",
	[HS_MEMBER_SYMBOLS] = "symbols", [HS_MEMBER_THREADS] = "threads",       [HS_MEMBER_FOOTER] = "footer",
	[HS_MEMBER_COUNTS] = "counts",   [HS_CONTENTS_KINDS - 1] = "(unknown)",
};

static void add_line(struct hs_text *text, const struct hs_info *info, const char *head, const char *words)
{
	struct hs_text label = {0};
	hs_text_add(&label, "  ");
	hs_text_left(&label, head, 11);
	hs_report_paragraph(text, &info->report, label.bytes, words);
	hs_text_free(&label);
}

static void add_file(struct hs_text *text, const struct hs_info *info)
{
	const struct hs_facts *facts = &info->report.profile->facts;
	const struct hs_contents *contents = &info->contents;
	struct hs_text words = {0};
	hs_text_clean(&words, info->report.path);
	hs_text_add(text, HS_BOLD);
	hs_middle_short(text, words.bytes, info->report.columns, info->report.utf8);
	hs_text_add(text, HS_PLAIN "\n");
	hs_text_free(&words);

	if (facts->merged.recordings)
		hs_report_command(&words, facts);
	else
		hs_text_clean(&words, facts->program && *facts->program ? facts->program : "(unknown)");
	if (facts->imported)
		hs_text_addf(&words, ", imported from %s", facts->imported);
	if (!(facts->unknown & HS_TOLD_PROCESS) || facts->pid)
		hs_text_addf(&words, ", pid %" PRIu32, facts->pid);
	if (!(facts->unknown & HS_TOLD_DURATION_US))
		hs_text_addf(&words, ", %s", hs_time(facts->duration_us).text);
	add_line(text, info, "program", words.bytes);
	hs_text_free(&words);

	hs_text_addf(&words, "%s in %s", hs_size(contents->file_bytes).text,
		     hs_counted(contents->members, "member").text);
	if (contents->whole_bytes < contents->file_bytes)
		hs_text_addf(&words, "; the last %s are not whole",
			     hs_size(contents->file_bytes - contents->whole_bytes).text);
	add_line(text, info, "file", words.bytes);
	hs_text_free(&words);
}

static void add_members(struct hs_text *text, const struct hs_info *info)
{
	hs_report_title(text, &info->report, "MEMBERS", "");
	hs_text_addf(text, HS_DIM "  %-11s%9s%16s%14s%14s" HS_PLAIN "\n", "kind", "members", "items",
		     "in the file", "unpacked");
	for (unsigned kind = 1; kind < HS_CONTENTS_KINDS; kind++) {
		if (info->contents.kinds[kind].members == 0)
			continue;
		hs_text_addf(text, "  %-11s%9s%16s%14s%14s\n", hs_member_names[kind],
			     hs_count(info->contents.kinds[kind].members).text,
			     hs_count(info->contents.kinds[kind].items).text,
			     hs_size(info->contents.kinds[kind].packed_bytes).text,
			     hs_size(info->contents.kinds[kind].raw_bytes).text);
	}
}

static void add_gap(struct hs_text *text, const struct hs_info *info, uint64_t count, const char *noun,
		    const char *words, unsigned *gaps)
{
	struct hs_text line = {0};
	if (count == 0)
		return;
	hs_text_addf(&line, "%s %s", hs_counted(count, noun).text, words);
	hs_report_paragraph(text, &info->report, "  ", line.bytes);
	hs_text_free(&line);
	++*gaps;
}

static void add_reason(struct hs_text *text, const struct hs_info *info, const char *head, const char *reason,
		       unsigned *gaps)
{
	struct hs_text line = {0};
	if (reason == NULL)
		return;
	hs_text_add(&line, head);
	hs_text_clean(&line, reason);
	hs_report_paragraph(text, &info->report, "  ", line.bytes);
	hs_text_free(&line);
	++*gaps;
}

static void add_note(struct hs_text *text, const struct hs_info *info, const char *words)
{
	hs_report_paragraph(text, &info->report, "note: ", words);
}

/* Says what is missing and sets info->complete. */
/* What a file that heapscope did not record does not tell, by the names of docs/json.md. */
static void add_unknown(struct hs_text *text, const struct hs_info *info)
{
	const struct hs_facts *facts = &info->report.profile->facts;
	struct hs_text line = {0};
	for (unsigned i = 0; i < HS_TOLD_ITEMS; i++)
		if (facts->unknown & 1u << i)
			hs_text_addf(&line, "%s%s",
				     line.count ? ", " : "not told by such a file: ", hs_told_names[i]);
	if (line.count)
		hs_report_paragraph(text, &info->report, "  ", line.bytes);
	hs_text_free(&line);
}

static void add_completeness(struct hs_text *text, struct hs_info *info)
{
	const struct hs_facts *facts = &info->report.profile->facts;
	unsigned gaps = 0;
	hs_report_title(text, &info->report, "COMPLETENESS", "");
	if (!info->contents.footer && facts->warning == NULL)
		add_reason(text, info, "", "no footer: still being written, or cut off", &gaps);
	add_reason(text, info, "", facts->warning, &gaps);
	add_reason(text, info, "recording ended before the program did: ", facts->stopped, &gaps);
	add_gap(text, info, facts->lost_events, "event", "lost: all numbers are too low by them", &gaps);
	add_gap(text, info, facts->truncated_stacks, "stack", "without outer callers: too deep", &gaps);
	add_gap(text, info, facts->broken_stacks, "stack",
		"without outer callers: code without unwind tables", &gaps);
	struct hs_text pauses = {0};
	bool paused = hs_pauses_words(&pauses, info->report.profile);
	if (!paused)
		add_gap(text, info, facts->unknown_frees, "free", "of blocks from before the recording",
			&gaps);
	add_gap(text, info, facts->repaired_frees, "free", "implied by the next allocation at the address",
		&gaps);
	add_gap(text, info, facts->late_events, "event", "out of order", &gaps);
	if (facts->unseen_libraries)
		add_reason(
			text, info,
			"opened past the recorder (RTLD_DEEPBIND, dlmopen), what it allocates is missing: ",
			facts->unseen_library, &gaps);
	info->complete = gaps == 0;
	if (gaps == 0)
		hs_text_add(text, "  complete: no event lost, every stack whole\n");
	add_unknown(text, info);
	/* no gap, but worth to know */
	if (paused) {
		add_reason(text, info, "", pauses.bytes, &gaps);
		add_gap(text, info, facts->unknown_frees, "free",
			"of blocks from then, or from before the recording", &gaps);
	}
	hs_text_free(&pauses);
	add_gap(text, info, facts->fallback_stacks, "stack", "finished by libunwind: whole, only slower",
		&gaps);
}

void hs_build_id_add(struct hs_text *text, const struct hs_module *module)
{
	for (uint32_t i = 0; i < module->build_id_bytes && i < sizeof(module->build_id); i++)
		hs_text_addf(text, "%02x", module->build_id[i]);
}

/* Where its debug information is to be had. */
static void add_remedy(struct hs_text *text, const struct hs_info *info, uint32_t index)
{
	const struct hs_info_module *module = &info->modules[index];
	const struct hs_package *package = &module->package;
	struct hs_text words = {0};
	if (module->debug_here)
		hs_text_add(&words, "its debug information is on this machine by now: record again");
	else if (package->debug && package->exact)
		hs_text_addf(&words, "install %s", package->debug);
	else if (package->debug)
		hs_text_addf(&words, "of package %s: install %s, by Debian's rules for names", package->name,
			     package->debug);
	else if (package->name == NULL && module->here)
		hs_text_add(&words, "of no package: build it with -g");
	else
		hs_text_add(&words, "not on this machine as it was recorded: its package is not known");
	hs_report_paragraph(text, &info->report, "    ", words.bytes);
	hs_text_free(&words);
}

static void add_module(struct hs_text *text, const struct hs_info *info, uint32_t index)
{
	const struct hs_profile *profile = info->report.profile;
	const struct hs_module *module = &profile->modules[index];
	const struct hs_contents_module *counts = &info->contents.modules[index];
	struct hs_text path = {0};
	hs_text_clean(&path, profile->strings.items[module->path]);
	hs_text_add(text, "  ");
	hs_middle_short(text, path.bytes && path.count ? path.bytes : "(no file: generated code)",
			info->report.columns - 2, info->report.utf8);
	hs_text_addf(text, "\n    %s: %s without line, %s without name\n",
		     hs_counted(counts->frames, "frame").text, hs_count(counts->without_line).text,
		     hs_count(counts->unnamed).text);
	if (path.count)
		add_remedy(text, info, index);
	hs_text_free(&path);
	hs_text_add(text, "    build-id ");
	hs_build_id_add(text, module);
	hs_text_add(text, module->build_id_bytes ? "\n" : "none\n");
}

/* A few frames without a line are usual (start-up code in assembly): debug information is missing where most
 * are. */
static bool lacks(const struct hs_contents_module *module)
{
	return module->unnamed * 2 > module->frames || module->without_line * 2 > module->frames ||
	       module->own_without_line * 2 > module->own;
}

/* Whether the file has debug information that the recording has not. Where some of its code has lines in the
 * recording, what there is has been used. */
static bool has_more(const struct hs_contents_module *module, struct hs_symbolizer *symbolizer)
{
	struct hs_symbol_units units = hs_symbolizer_units(symbolizer);
	return units.all > units.runtime && module->own_without_line == module->own;
}

/* Looks for the files of the modules that lack debug information, and for their packages. */
static void find_packages(struct hs_info *info)
{
	const struct hs_profile *profile = info->report.profile;
	struct hs_package *packages = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*packages));
	size_t count = 0;
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct hs_module *module = &profile->modules[i];
		const char *path = profile->strings.items[module->path];
		info->modules[i].lacks = lacks(&info->contents.modules[i]);
		if (!info->modules[i].lacks || path[0] != '/')
			continue;
		struct hs_symbolizer_options options = {
			.path = path,
			.fd = -1,
			.build_id = module->build_id,
			.build_id_bytes = module->build_id_bytes,
		};
		struct hs_symbolizer *symbolizer = hs_symbolizer_open(&options);
		info->modules[i].here = hs_symbolizer_found(symbolizer) != HS_SYMBOLS_NO_FILE;
		info->modules[i].debug_here = has_more(&info->contents.modules[i], symbolizer);
		hs_symbolizer_close(symbolizer);
		packages[count++] = (struct hs_package){
			.path = info->modules[i].here ? path : NULL,
			.build_id = module->build_id,
			.build_id_bytes = module->build_id_bytes,
		};
	}
	hs_packages_find("", packages, count);
	for (uint32_t i = 0, next = 0; i < profile->module_count; i++) {
		if (info->modules[i].lacks && profile->strings.items[profile->modules[i].path][0] == '/')
			info->modules[i].package = packages[next++];
	}
	free(packages);
}

static void add_modules(struct hs_text *text, const struct hs_info *info)
{
	const struct hs_profile *profile = info->report.profile;
	uint32_t used = 0, lacking = 0, few = 0;
	struct hs_text right = {0};
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct hs_contents_module *module = &info->contents.modules[i];
		used += module->frames > 0;
		lacking += info->modules[i].lacks;
		few += info->modules[i].lacks ? 0 : module->without_line;
	}
	hs_text_addf(&right, "%s of %s, %s in stacks", hs_count(lacking).text,
		     hs_counted(profile->module_count, "module").text, hs_count(used).text);
	hs_report_title(text, &info->report, "MODULES WITHOUT DEBUG INFORMATION", right.bytes);
	hs_text_free(&right);
	if (lacking == 0)
		hs_text_add(text, "  none\n");
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (info->modules[i].lacks)
			add_module(text, info, i);
	}
	if (few || lacking)
		hs_text_add(text, "\n");
	if (few) {
		struct hs_text words = {0};
		hs_text_addf(&words, "%s without line in the other modules", hs_counted(few, "frame").text);
		add_note(text, info, words.bytes);
		hs_text_free(&words);
	}
	if (lacking && info->contents.kinds[HS_MEMBER_SYMBOLS].members == 0)
		add_note(text, info, "names are written when the program ends: this file has none at all");
	else if (lacking)
		add_note(text, info,
			 "names are looked up when the program ends: install, then record again. Packages "
			 "that "
			 "end in -dbgsym are in Debian's debug archive, which has to be added to apt's "
			 "sources; "
			 "a debuginfod server has a module's debug information at "
			 "SERVER/buildid/BUILD-ID/debuginfo");
}

static void add_info(struct hs_text *text, struct hs_info *info)
{
	add_file(text, info);
	add_members(text, info);
	add_completeness(text, info);
	add_modules(text, info);
}

int hs_command_info(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	int colour = HS_COLOUR_AUTO, json = 0;
	const struct hs_option options[] = {
		{0, "json", HS_OPTION_SET, &json, 1, NULL, NULL, "write JSON (docs/json.md)"},
		{0, "color", HS_OPTION_CHOICE, &colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0},
	};
	static const struct hs_example examples[] = {
		{"heapscope info server.hs.gz", "what is missing, and what to install for it"},
		{"heapscope info --json server.hs.gz", "the same for programs"},
		{NULL, NULL},
	};
	const struct hs_usage usage = {
		.examples = examples,
		.command = "info",
		.operands = "FILE",
		.help = help,
		.options = options,
		.fewest = 1,
		.most = 1,
		.missing = "which recording? e.g. heapscope info server.hs.gz",
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	struct hs_profile *profile = hs_open_profile(argv[first], NULL);
	if (profile == NULL)
		return HS_EXIT_DATA;
	struct hs_info info = {.report = {.profile = profile,
					  .path = argv[first],
					  .columns = hs_terminal_columns(STDOUT_FILENO),
					  .utf8 = hs_terminal_utf8()}};
	struct hs_text text = {0};
	hs_contents_make(&info.contents, profile);
	info.modules = hs_allocate_zero((size_t)profile->module_count + 1, sizeof(*info.modules));
	find_packages(&info);
	add_info(&text, &info);
	if (json) {
		hs_text_free(&text);
		hs_info_json(&text, &info);
	} else if (!hs_terminal_colour(STDOUT_FILENO, (enum hs_colour)colour)) {
		hs_text_strip_colour(&text);
	}
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	for (uint32_t i = 0; i < profile->module_count; i++)
		hs_packages_free(&info.modules[i].package, 1);
	free(info.modules);
	hs_contents_free(&info.contents);
	hs_profile_free(profile);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}
