/* What `heapscope doctor` found.
 *
 *   doctor_machine.c  this machine and its surroundings
 *   doctor_program.c  the program and its libraries
 *   cmd_doctor.c      the report, as text and as JSON
 */
#ifndef HS_DOCTOR_H
#define HS_DOCTOR_H

#include "symbols/libraries.h"
#include "symbols/module_facts.h"
#include "symbols/packages.h"

#include <stddef.h>

enum hs_state { HS_STATE_OK, HS_STATE_WARNING, HS_STATE_PROBLEM };

struct hs_finding {
	const char *check;
	enum hs_state state;
	char *message; /* what, and why it matters */
	char *remedy;  /* what to do; NULL: nothing */
};

struct hs_findings {
	struct hs_finding *items;
	size_t count, capacity;
	unsigned warnings, problems;
};

/* remedy may be NULL. */
void hs_finding_add(struct hs_findings *findings, const char *check, enum hs_state state, const char *remedy,
		    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A library of the program, looked at. */
struct hs_doctor_library {
	struct hs_module_facts facts;
	struct hs_package package;
};

struct hs_doctor {
	struct hs_findings machine, program;
	char *path; /* of the program that is recorded; NULL: none was found or asked for */
	struct hs_libraries libraries;
	struct hs_doctor_library *looks; /* by library */
};

void hs_doctor_machine(struct hs_findings *findings);
/* command: as it would be given to `heapscope run`. */
void hs_doctor_program(struct hs_doctor *doctor, const char *command);

#endif
