/* heapscope doctor: what the report of a program would show, and what it would lack. */
#include "base/format.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "cli/report.h"
#include "record/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's version from which on the library can be loaded: _dl_find_object. */
enum { GLIBC_MINOR_LEAST = 35, NAMES_MOST = 12, SCRIPTS_MOST = 4 };

/* Allocators in a shared library of their own are recorded like libc's. */
static const char *const allocator_libraries[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "libsnmalloc",
						  "librpmalloc", "libhoard",    "libscudo"};

static bool is_allocator_library(const char *name)
{
	for (unsigned i = 0; i < sizeof(allocator_libraries) / sizeof(allocator_libraries[0]); i++) {
		if (strncmp(name, allocator_libraries[i], strlen(allocator_libraries[i])) == 0)
			return true;
	}
	return false;
}

/* Adds a word to a list, and "..." in place of those that are too many. */
static void list(struct hs_text *words, unsigned *count, const char *word)
{
	if (*count < NAMES_MOST)
		hs_text_addf(words, "%s%s", *count ? ", " : "", word);
	else if (*count == NAMES_MOST)
		hs_text_add(words, ", ...");
	++*count;
}

/* ---- the program --------------------------------------------------------------------------------------- */

static void tell_kind(struct hs_findings *findings, const struct hs_module_facts *facts,
		      const struct hs_target *target)
{
	if (hs_target_refused(target, "found"))
		; /* it was said what keeps it from running */
	else if (strcmp(target->path, target->program) != 0)
		hs_finding_add(findings, "found", HS_STATE_OK, NULL,
			       "%s, a script: recorded is its interpreter, %s", target->path,
			       target->program);
	else
		hs_finding_add(findings, "found", HS_STATE_OK, NULL, "%s", target->path);
	hs_finding_add(findings, "kind", HS_STATE_OK, NULL, "a 64-bit program of this machine%s%s",
		       hs_target_refused(target, "linking") ? "" : ", dynamically linked",
		       facts->position_independent ? ", position independent" : ", at a fixed address");
	if (!hs_target_refused(target, "rights"))
		hs_finding_add(
			findings, "rights", HS_STATE_OK, NULL,
			"no setuid or setgid bit and no file capabilities that would keep the library out");
}

static void tell_loader(struct hs_findings *findings, const struct hs_module_facts *facts)
{
	if (facts->loader && access(facts->loader, X_OK) != 0)
		hs_finding_add(findings, "loader", HS_STATE_PROBLEM,
			       "install the system that it was built for, or build it here",
			       "the program's loader, %s, is not there: it cannot be started", facts->loader);
}

static void tell_runtime(struct hs_findings *findings, const struct hs_module_facts *facts,
			 const struct hs_doctor *doctor)
{
	const char *name = hs_last_component(doctor->path);
	bool python = strncmp(name, "python3", 7) == 0, java = false;
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		python |= strncmp(doctor->libraries.items[i].name, "libpython3", 10) == 0;
		java |= strncmp(doctor->libraries.items[i].name, "libjvm.so", 9) == 0 ||
			strncmp(doctor->libraries.items[i].name, "libjli.so", 9) == 0;
	}
	const char *python_malloc = getenv("PYTHONMALLOC");
	if (facts->go)
		hs_finding_add(findings, "runtime", HS_STATE_WARNING,
			       "use Go's own profiler for it: runtime/pprof",
			       "a Go program: Go's heap does not come from malloc and is not recorded; C "
			       "code in it is");
	if (java)
		hs_finding_add(findings, "runtime", HS_STATE_WARNING, "use a Java profiler for them",
			       "a Java virtual machine: Java's objects do not come from malloc; native "
			       "memory is recorded");
	if (python && (python_malloc == NULL || strncmp(python_malloc, "malloc", 6) != 0))
		hs_finding_add(
			findings, "runtime", HS_STATE_WARNING, "set PYTHONMALLOC=malloc for the recording",
			"Python takes small objects from arenas of its own: only the arenas would be seen");
}

static void tell_allocator(struct hs_findings *findings, const struct hs_module_facts *facts,
			   const struct hs_target *target, const struct hs_doctor *doctor)
{
	static const char remedy[] =
		"build it without that allocator for the recording (Rust: without #[global_allocator]), or "
		"link the allocator's shared library";
	if (facts->allocator) {
		hs_finding_add(findings, "allocator",
			       facts->allocator_by_text ? HS_STATE_WARNING : HS_STATE_PROBLEM, remedy,
			       facts->allocator_by_text
				       ? "%s seems to be linked into the program (it has that allocator's "
					 "messages): what comes from "
					 "it is not recorded"
				       : "%s is linked into the program: what comes from it is not recorded",
			       facts->allocator);
		return;
	}
	if (target->notice.text[0]) {
		hs_finding_add(findings, "allocator", HS_STATE_PROBLEM, target->notice_remedy.text, "%s",
			       target->notice.text);
		return;
	}
	const char *shared = NULL;
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		const char *name = doctor->libraries.items[i].name;
		const struct hs_module_facts *library = &doctor->looks[i].facts;
		if (is_allocator_library(name))
			shared = name;
		else if (library->allocator && !library->allocator_by_text)
			hs_finding_add(findings, "allocator", HS_STATE_WARNING, remedy,
				       "%s is linked into %s: what comes from it is not recorded",
				       library->allocator, name);
	}
	hs_finding_add(findings, "allocator", HS_STATE_OK, NULL,
		       shared ? "%s, a shared library: recorded" : "%s's malloc", shared ? shared : "libc");
}

static void tell_libc(struct hs_findings *findings, const struct hs_doctor *doctor)
{
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		uint32_t minor = doctor->looks[i].facts.glibc_minor;
		if (strcmp(doctor->libraries.items[i].name, "libc.so.6") != 0 || minor == 0)
			continue;
		if (minor < GLIBC_MINOR_LEAST)
			hs_finding_add(findings, "libc", HS_STATE_PROBLEM,
				       "record it on a newer system (Debian 12 has 2.36)",
				       "it would run with glibc 2.%u: heapscope's library needs 2.%d", minor,
				       GLIBC_MINOR_LEAST);
		else
			hs_finding_add(findings, "libc", HS_STATE_OK, NULL, "glibc 2.%u (2.%d is needed)",
				       minor, GLIBC_MINOR_LEAST);
		return;
	}
	hs_finding_add(findings, "libc", HS_STATE_WARNING, NULL,
		       "its libc was not found, or is not glibc: heapscope's library needs glibc 2.%d",
		       GLIBC_MINOR_LEAST);
}

/* ---- names and stacks ---------------------------------------------------------------------------------- */

static void tell_names(struct hs_findings *findings, const struct hs_module_facts *facts,
		       const struct hs_package *package)
{
	struct hs_text remedy = {0};
	if (package->debug)
		hs_text_addf(&remedy, "install %s, or build it with -g", package->debug);
	else
		hs_text_add(&remedy, "build it with -g");
	if (facts->debug_link && package->debug == NULL)
		hs_text_addf(&remedy, "; its debug information was moved to %s, which is not here",
			     facts->debug_link);
	if (facts->found == HS_SYMBOLS_DWARF && facts->units.split_missing)
		hs_finding_add(findings, "names", HS_STATE_WARNING,
			       "keep the build folder with its .dwo files, or build without -gsplit-dwarf",
			       "%u of %s with debug information in .dwo files lack theirs: no lines and "
			       "inlined functions there",
			       facts->units.split_missing, hs_counted(facts->units.split, "unit").text);
	else if (facts->units.all && facts->units.all == facts->units.runtime)
		hs_finding_add(findings, "names", HS_STATE_WARNING, "build it with " HS_RUST_DEBUG,
			       "only Rust's own libraries in it have debug information: reports show its "
			       "functions, but no lines");
	else if (facts->found == HS_SYMBOLS_DWARF)
		hs_finding_add(findings, "names", HS_STATE_OK, NULL,
			       "it has debug information%s: functions and lines",
			       facts->units.split ? " (in .dwo files)" : "");
	else if (facts->found == HS_SYMBOLS_SYMTAB)
		hs_finding_add(findings, "names", HS_STATE_WARNING, remedy.bytes,
			       "it has no debug information: reports show its functions, but no lines and no "
			       "inlined functions");
	else
		hs_finding_add(findings, "names", HS_STATE_WARNING, remedy.bytes,
			       "it is stripped: reports show addresses instead of its functions and lines");
	hs_text_free(&remedy);
}

/* The start-up code of every program has a few hundred bytes without. */
static bool lacks_unwind_tables(const struct hs_module_facts *facts)
{
	enum { USUAL = 1024 };
	return facts->code_bytes > facts->unwind_bytes + USUAL && facts->unwind_bytes < facts->code_bytes / 2;
}

static void tell_unwinding(struct hs_findings *findings, const struct hs_module_facts *facts,
			   const struct hs_doctor *doctor)
{
	static const char remedy[] = "build with -fasynchronous-unwind-tables (the compilers' default)";
	struct hs_text names = {0};
	unsigned count = 0;
	if (lacks_unwind_tables(facts))
		list(&names, &count, "the program");
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		if (lacks_unwind_tables(&doctor->looks[i].facts))
			list(&names, &count, doctor->libraries.items[i].name);
	}
	if (count)
		hs_finding_add(
			findings, "unwinding", HS_STATE_WARNING, remedy,
			"no unwind tables (.eh_frame) for most of the code of %s: stacks may end there",
			names.bytes);
	else
		hs_finding_add(findings, "unwinding", HS_STATE_OK, NULL,
			       "unwind tables (.eh_frame) in the program and in all its libraries");
	hs_text_free(&names);
}

static void tell_libraries(struct hs_findings *findings, const struct hs_doctor *doctor)
{
	const struct hs_libraries *libraries = &doctor->libraries;
	struct hs_text names = {0};
	unsigned count = 0;
	for (uint32_t i = 0; i < libraries->count; i++) {
		if (libraries->items[i].path)
			continue;
		struct hs_text word = {0};
		uint32_t by = libraries->items[i].needed_by;
		hs_text_addf(&word, "%s (needed by %s)", libraries->items[i].name,
			     by < libraries->count ? libraries->items[by].name : "the program");
		list(&names, &count, word.bytes);
		hs_text_free(&word);
	}
	if (count)
		hs_finding_add(findings, "libraries", HS_STATE_PROBLEM,
			       "install them, or name their folder in LD_LIBRARY_PATH",
			       "not found, so that the program cannot start: %s", names.bytes);
	else
		hs_finding_add(findings, "libraries", HS_STATE_OK, NULL,
			       "%u needed, all found; those that it opens itself (plugins) are not known",
			       libraries->count);
	hs_text_free(&names);
}

/* What the package has that a library came with is a matter of taste; one's own libraries should have lines.
 */
static void tell_library_names(struct hs_findings *findings, const struct hs_doctor *doctor)
{
	struct hs_text own = {0}, packages = {0};
	unsigned own_count = 0, package_count = 0, without = 0;
	for (uint32_t i = 0; i < doctor->libraries.count; i++) {
		const struct hs_doctor_library *library = &doctor->looks[i];
		if (doctor->libraries.items[i].path == NULL || library->facts.found == HS_SYMBOLS_DWARF)
			continue;
		without++;
		if (library->package.name == NULL)
			list(&own, &own_count, doctor->libraries.items[i].name);
		else if (packages.count == 0 || strstr(packages.bytes, library->package.debug) == NULL)
			list(&packages, &package_count, library->package.debug);
	}
	if (own_count)
		hs_finding_add(findings, "library names", HS_STATE_WARNING, "build them with -g",
			       "libraries of no package without debug information: %s", own.bytes);
	struct hs_text remedy = {0};
	hs_text_addf(&remedy, "if lines in them matter: install %s", package_count ? packages.bytes : "");
	if (without > own_count)
		hs_finding_add(findings, "library names", HS_STATE_OK, remedy.bytes,
			       "%u of %u libraries are packages' without debug information: reports show "
			       "their public functions",
			       without - own_count, doctor->libraries.count);
	else if (without == 0)
		hs_finding_add(findings, "library names", HS_STATE_OK, NULL,
			       "all libraries have debug information");
	hs_text_free(&remedy);
	hs_text_free(&own);
	hs_text_free(&packages);
}

static void look_at_libraries(struct hs_doctor *doctor, struct hs_package *own)
{
	uint32_t count = doctor->libraries.count;
	struct hs_package *packages = hs_allocate_zero((size_t)count + 1, sizeof(*packages));
	doctor->looks = hs_allocate_zero((size_t)count + 1, sizeof(*doctor->looks));
	for (uint32_t i = 0; i < count; i++) {
		struct hs_doctor_library *library = &doctor->looks[i];
		if (doctor->libraries.items[i].path &&
		    !hs_module_facts_read(doctor->libraries.items[i].path, &library->facts))
			continue;
		packages[i] = (struct hs_package){.path = doctor->libraries.items[i].path,
						  .build_id = library->facts.build_id,
						  .build_id_bytes = library->facts.build_id_bytes};
	}
	packages[count] = *own;
	hs_packages_find("", packages, (size_t)count + 1);
	for (uint32_t i = 0; i < count; i++)
		doctor->looks[i].package = packages[i];
	*own = packages[count];
	free(packages);
}

/* What a program file of this machine's kind says; of one that is refused, what else is the matter with it.
 */
static void look_inside(struct hs_doctor *doctor, const struct hs_target *target,
			const struct hs_module_facts *facts)
{
	struct hs_findings *findings = &doctor->program;
	struct hs_package package = {.path = target->program,
				     .build_id = facts->build_id,
				     .build_id_bytes = facts->build_id_bytes};
	/* of other loaders and libcs the places are not known */
	bool linked = !hs_target_refused(target, "linking") && !hs_target_refused(target, "libc");
	if (linked)
		hs_libraries_find(target->program, getenv("LD_LIBRARY_PATH"), &doctor->libraries);
	look_at_libraries(doctor, &package);
	tell_kind(findings, facts, target);
	if (linked) {
		tell_loader(findings, facts);
		tell_libraries(findings, doctor);
		tell_libc(findings, doctor);
		if (!hs_target_refused(target, "sanitizer"))
			tell_allocator(findings, facts, target, doctor);
	}
	tell_runtime(findings, facts, doctor);
	tell_names(findings, facts, &package);
	if (linked) {
		tell_library_names(findings, doctor);
		tell_unwinding(findings, facts, doctor);
	}
	hs_packages_free(&package, 1);
}

static void inspect(struct hs_doctor *doctor, const char *command, unsigned depth)
{
	struct hs_findings *findings = &doctor->program;
	struct hs_module_facts facts = {0};
	struct hs_target target;
	hs_target_inspect(command, &target);
	for (unsigned i = 0; i < target.refusal_count; i++)
		hs_finding_add(findings, target.refusals[i].check, HS_STATE_PROBLEM,
			       target.refusals[i].remedy.text, "%s", target.refusals[i].why.text);
	if (target.by_env && !hs_target_refused(&target, "kind") && depth < SCRIPTS_MOST) {
		if (!hs_target_refused(&target, "found"))
			hs_finding_add(findings, "found", HS_STATE_OK, NULL, "%s, a script for %s, by env",
				       target.path, target.by_env);
		inspect(doctor, target.by_env, depth + 1);
		hs_target_free(&target);
		return;
	}
	bool known = target.program && hs_module_facts_read(target.program, &facts);
	doctor->path = target.program ? hs_copy_string(target.program) : NULL;
	if (known && !hs_target_refused(&target, "kind"))
		look_inside(doctor, &target, &facts);
	else if (target.refusal_count == 0)
		hs_finding_add(findings, "found", HS_STATE_WARNING, "run doctor as somebody who may read it",
			       "'%s' cannot be read: nothing is known of it but that it may be run", command);
	hs_module_facts_free(&facts);
	hs_target_free(&target);
}

void hs_doctor_program(struct hs_doctor *doctor, const char *command)
{
	inspect(doctor, command, 0);
}
