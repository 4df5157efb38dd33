/* Checks of a program before it is started: what cannot be recorded is refused with the reason and a remedy.
 */
#ifndef HS_RECORD_TARGET_H
#define HS_RECORD_TARGET_H

#include "base/error.h"

/* Finds the program as execvp would. Returns 0 and its path (malloc'ed); or 125, 126 or 127 and the error.
 * notice: something that the user should know although the program can run, or "". */
int hs_target_check(const char *command, char **path, struct hs_error *notice, struct hs_error *error);
/* The library that is to be preloaded. */
int hs_target_check_library(const char *library, struct hs_error *error);

#endif
