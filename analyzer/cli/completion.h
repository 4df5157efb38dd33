/* The shells' completion, generated from the tables of commands and options. */
#ifndef HS_COMPLETION_H
#define HS_COMPLETION_H

#include "base/text.h"
#include "cli/options.h"

/* What the shell completes with after an option or as an operand. */
enum hs_completed { HS_COMPLETED_NOTHING, HS_COMPLETED_FILE, HS_COMPLETED_FOLDER, HS_COMPLETED_CHOICE };

enum hs_completed hs_option_completed(const struct hs_option *option);

/* Adds the beginning of a help text that fits beside an option: up to the first of "; ", ": " and " (". */
void hs_add_brief(struct hs_text *text, const char *help);

void hs_completion_bash(struct hs_text *text);
void hs_completion_zsh(struct hs_text *text);
void hs_completion_fish(struct hs_text *text);

#endif
