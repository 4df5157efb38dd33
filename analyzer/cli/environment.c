/* The variables of the environment that heapscope reads or sets. */
#include "cli/environment.h"

#include <string.h>

const struct hs_variable hs_variables[] = {
	{"HEAPSCOPE_LIBRARY", "run doctor", NULL,
	 "path of the library that is put into the program, libheapscope.so; by default the one that was "
	 "installed with "
	 "heapscope"},
	{"HEAPSCOPE_VIEWER", "view export", NULL,
	 "path of the page without data, viewer.html; by default the one that was installed with heapscope"},
	{"HEAPSCOPE_UNWINDER", "run", NULL,
	 "how stacks are walked: fast (the default: heapscope's own unwinder, libunwind for what it cannot "
	 "walk), "
	 "libunwind (all by libunwind, slow), or fp (frame pointers only)"},
	{"HEAPSCOPE_CONFIG", NULL, "config",
	 "a file of frames to hide, as by --config, which takes its place; empty: none"},
	{"PAGER", NULL, "no-pager",
	 "what shows the report on a terminal, less by default; empty or cat: nothing does"},
	{"HEAPSCOPE_SUPPRESSIONS", NULL, "suppressions",
	 "a file of rules for leaks, as by --suppressions, which takes its place"},
	{"HEAPSCOPE_SOCKET", "run", NULL,
	 "set for the program: where its library finds heapscope. Whoever starts a program with an "
	 "environment of his own "
	 "passes it on, with the two below and LD_PRELOAD, if the program is to be recorded"},
	{"HEAPSCOPE_TOKEN", "run", NULL, "set for the program: says to which recording it belongs"},
	{"HEAPSCOPE_FOLLOW", "run", NULL,
	 "set for the program: which of its children are recorded, as by --follow"},
	{"LD_PRELOAD", "run doctor", NULL,
	 "heapscope's library is put in front of what stands here (an allocator, for instance)"},
	{"PATH", "run doctor", NULL, "where a program without a slash in its name is looked for"},
	{"LD_LIBRARY_PATH", "doctor", NULL,
	 "where the program's libraries are looked for, as the loader does"},
	{"PYTHONMALLOC", "doctor", NULL,
	 "malloc makes Python take all its objects from malloc, so that they are recorded"},
	{"TMPDIR", "run doctor", NULL,
	 "where the socket stands while a program is recorded; /tmp by default"},
	{"NO_COLOR", NULL, "color", "no colours, unless --color always is given, if it is not empty"},
	{"TERM", NULL, "color", "no colours if it is missing, empty or dumb"},
	{"COLUMNS", NULL, "color", "how wide to write when standard output is not a terminal; 80 by default"},
	{0},
};

bool hs_variable_concerns(const struct hs_variable *variable, const struct hs_usage *usage)
{
	for (const struct hs_option *option = usage->options; variable->option && option->name; option++) {
		if (strcmp(option->name, variable->option) == 0)
			return true;
	}
	size_t length = strlen(usage->command);
	for (const char *name = variable->commands; name && *name; name += strspn(name, " ")) {
		size_t name_length = strcspn(name, " ");
		if (name_length == length && strncmp(name, usage->command, length) == 0)
			return true;
		name += name_length;
	}
	return false;
}
