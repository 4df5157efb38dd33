/* The commands of the program: each takes its own argv and returns the exit code. */
#ifndef HS_CLI_H
#define HS_CLI_H

enum { HS_EXIT_OK = 0, HS_EXIT_DATA = 1, HS_EXIT_USAGE = 2, HS_EXIT_OWN_FAILURE = 125 };

struct hs_command {
	const char *name;
	int (*function)(int argc, char **argv); /* begins with hs_options_parse (options.h) */
	const char *help;
};

extern const struct hs_command hs_commands[]; /* main.c; ends with name == NULL */

int hs_command_run(int argc, char **argv);
int hs_command_print(int argc, char **argv);
int hs_command_diff(int argc, char **argv);
int hs_command_view(int argc, char **argv);
int hs_command_check(int argc, char **argv);
int hs_command_suppressions(int argc, char **argv);
int hs_command_export(int argc, char **argv);
int hs_command_import(int argc, char **argv);
int hs_command_info(int argc, char **argv);
int hs_command_merge(int argc, char **argv);
int hs_command_doctor(int argc, char **argv);
int hs_command_completion(int argc, char **argv);

#endif
