/* heapscope doctor: whether a program, and this machine, will record well. */
#include "base/format.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Says whether PROGRAM will record well: whether heapscope's library gets into it, whose malloc\n"
	"it uses, and whether stacks and names will be complete; for each point what to do if not.\n"
	"The program and its libraries are only read, not run. Without PROGRAM: only whether this\n"
	"machine is ready; /bin/true is recorded for that, as a trial.\n"
	"\n"
	"Exit codes: 0 if nothing is in the way (there may be warnings); 1 if there is a problem; 2 for "
	"usage.";

static const char *const state_names[] = {"ok", "warning", "problem"};

void hs_finding_add(struct hs_findings *findings, const char *check, enum hs_state state, const char *remedy,
		    const char *format, ...)
{
	struct hs_text message = {0};
	va_list arguments;
	va_start(arguments, format);
	hs_text_vaddf(&message, format, arguments);
	va_end(arguments);
	findings->items =
		hs_grow(findings->items, findings->count, &findings->capacity, sizeof(*findings->items));
	findings->items[findings->count++] = (struct hs_finding){
		.check = check,
		.state = state,
		.message = message.bytes ? message.bytes : hs_copy_string(""),
		.remedy = remedy ? hs_copy_string(remedy) : NULL,
	};
	findings->warnings += state == HS_STATE_WARNING;
	findings->problems += state == HS_STATE_PROBLEM;
}

static void free_findings(struct hs_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->items[i].message);
		free(findings->items[i].remedy);
	}
	free(findings->items);
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void add_findings(struct hs_text *text, const struct hs_report *report, const char *title,
			 const struct hs_findings *findings)
{
	static const char *const colours[] = {HS_DIM, HS_YELLOW, HS_BOLD HS_YELLOW};
	hs_report_title(text, report, title, "");
	for (size_t i = 0; i < findings->count; i++) {
		const struct hs_finding *finding = &findings->items[i];
		struct hs_text head = {0}, words = {0};
		hs_text_addf(&head, "  %s%-8s" HS_PLAIN " %-14s", colours[finding->state],
			     state_names[finding->state], finding->check);
		hs_text_clean(&words, finding->message);
		hs_report_paragraph(text, report, head.bytes, words.bytes);
		hs_text_free(&words);
		if (finding->remedy) {
			hs_text_clean(&words, finding->remedy);
			hs_report_paragraph(text, report, "                         -> ", words.bytes);
		}
		hs_text_free(&words);
		hs_text_free(&head);
	}
}

static void add_verdict(struct hs_text *text, const struct hs_doctor *doctor, const char *program)
{
	unsigned warnings = doctor->machine.warnings + doctor->program.warnings;
	unsigned problems = doctor->machine.problems + doctor->program.problems;
	struct hs_text subject = {0};
	hs_text_clean(&subject, program ? program : "this machine");
	hs_text_addf(text, HS_BOLD "%s ", subject.bytes);
	if (problems)
		hs_text_addf(text, "will not record well: %s, %s" HS_PLAIN "\n",
			     hs_counted(problems, "problem").text, hs_counted(warnings, "warning").text);
	else if (warnings)
		hs_text_addf(text, "can be recorded; %s" HS_PLAIN "\n", hs_counted(warnings, "warning").text);
	else
		hs_text_addf(text, "%s" HS_PLAIN "\n", program ? "will record well" : "is ready to record");
	hs_text_free(&subject);
}

static void add_next(struct hs_text *text, char *const *words)
{
	struct hs_text line = {0}, clean = {0};
	for (; *words; words++) {
		hs_text_add(&line, " ");
		hs_text_shell_word(&line, *words);
	}
	hs_text_clean(&clean, line.bytes);
	hs_text_addf(text, "\nnext: heapscope run%s\n", clean.bytes);
	hs_text_free(&clean);
	hs_text_free(&line);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void put_findings(json_t *array, const char *part, const struct hs_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		json_t *object = json_object();
		hs_json_put(object, "part", json_string(part));
		hs_json_put(object, "check", hs_json_string(findings->items[i].check));
		hs_json_put(object, "state", json_string(state_names[findings->items[i].state]));
		hs_json_put(object, "message", hs_json_string(findings->items[i].message));
		hs_json_put(object, "remedy", hs_json_string(findings->items[i].remedy));
		json_array_append_new(array, object);
	}
}

static json_t *libraries(const struct hs_doctor *doctor)
{
	static const char *const names[] = {[HS_SYMBOLS_NO_FILE] = "none",
					    [HS_SYMBOLS_DYNSYM_ONLY] = "public functions",
					    [HS_SYMBOLS_SYMTAB] = "functions",
					    [HS_SYMBOLS_DWARF] = "lines"};
	json_t *array = json_array();
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		const struct hs_doctor_library *library = &doctor->looks[i];
		json_t *object = json_object();
		hs_json_put(object, "name", hs_json_string(doctor->libraries.items[i].name));
		hs_json_put(object, "path", hs_json_string(doctor->libraries.items[i].path));
		hs_json_put(object, "names", json_string(names[library->facts.found]));
		hs_json_put(object, "code_bytes", hs_json_integer(library->facts.code_bytes));
		hs_json_put(object, "unwind_bytes", hs_json_integer(library->facts.unwind_bytes));
		hs_json_put(object, "package", hs_json_string(library->package.name));
		hs_json_put(object, "debug_package", hs_json_string(library->package.debug));
		json_array_append_new(array, object);
	}
	return array;
}

static void add_json(struct hs_text *text, const struct hs_doctor *doctor, bool program)
{
	json_t *document = json_object(), *checks = json_array();
	put_findings(checks, "program", &doctor->program);
	put_findings(checks, "machine", &doctor->machine);
	hs_json_put(document, "schema", json_string("heapscope-doctor-1"));
	hs_json_put(document, "heapscope", json_string(HEAPSCOPE_VERSION));
	hs_json_put(document, "program", hs_json_string(doctor->path));
	hs_json_put(document, "problems",
		    hs_json_integer(doctor->machine.problems + doctor->program.problems));
	hs_json_put(document, "warnings",
		    hs_json_integer(doctor->machine.warnings + doctor->program.warnings));
	hs_json_put(document, "checks", checks);
	hs_json_put(document, "libraries", program ? libraries(doctor) : json_null());
	hs_json_dump(text, document);
}

/* ---- command ------------------------------------------------------------------------------------------- */

static void free_doctor(struct hs_doctor *doctor)
{
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		hs_module_facts_free(&doctor->looks[i].facts);
		hs_packages_free(&doctor->looks[i].package, 1);
	}
	free(doctor->looks);
	hs_libraries_free(&doctor->libraries);
	free_findings(&doctor->machine);
	free_findings(&doctor->program);
	free(doctor->path);
}

int hs_command_doctor(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	static const struct hs_example examples[] = {
		{"heapscope doctor ./server --once", "before the first recording: as you would run it"},
		{"heapscope doctor", "whether recording works on this machine, or in this container"},
		{NULL, NULL},
	};
	int colour = HS_COLOUR_AUTO, json = 0;
	const struct hs_option options[] = {
		{0, "json", HS_OPTION_SET, &json, 1, NULL, NULL, "write JSON (docs/json.md)"},
		{0, "color", HS_OPTION_CHOICE, &colour, 0, "WHEN", colours,
		 "auto (on a terminal, the default), always or never"},
		{0},
	};
	const struct hs_usage usage = {
		.command = "doctor",
		.operands = "[PROGRAM [ARGUMENTS...]]",
		.help = help,
		.options = options,
		.stop_at_operand = true,
		.most = -1,
		.operand = HS_OPERAND_PROGRAM,
		.examples = examples,
	};
	int first = hs_options_parse(&usage, argc, argv);
	if (first < 0)
		return hs_options_exit_code(first);
	const char *program = first < argc ? argv[first] : NULL;
	struct hs_doctor doctor = {0};
	if (program)
		hs_doctor_program(&doctor, program);
	hs_doctor_machine(&doctor.machine);

	const struct hs_report report = {.columns = hs_terminal_columns(STDOUT_FILENO),
					 .utf8 = hs_terminal_utf8()};
	struct hs_text text = {0};
	if (json) {
		add_json(&text, &doctor, program != NULL);
	} else {
		add_verdict(&text, &doctor, program);
		if (program)
			add_findings(&text, &report, "PROGRAM", &doctor.program);
		add_findings(&text, &report, "MACHINE", &doctor.machine);
		if (program && doctor.machine.problems + doctor.program.problems == 0)
			add_next(&text, argv + first);
		if (!hs_terminal_colour(STDOUT_FILENO, (enum hs_colour)colour))
			hs_text_strip_colour(&text);
	}
	int result = hs_write_out(&text, stdout);
	bool good = doctor.machine.problems + doctor.program.problems == 0;
	hs_text_free(&text);
	free_doctor(&doctor);
	return result == 0 && good ? HS_EXIT_OK : HS_EXIT_DATA;
}
