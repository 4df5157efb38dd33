/* The variables of the environment that heapscope reads or sets: what --help and the manual pages say of
 * them. */
#ifndef HS_ENVIRONMENT_H
#define HS_ENVIRONMENT_H

#include "cli/options.h"

struct hs_variable {
	const char *name;
	const char *commands; /* names with a space between; or NULL */
	const char *option;   /* or every command that has this option */
	const char *help;
};

extern const struct hs_variable hs_variables[]; /* ends with name == NULL */

/* Whether the command of this usage reads or sets it. */
bool hs_variable_concerns(const struct hs_variable *variable, const struct hs_usage *usage);

#endif
