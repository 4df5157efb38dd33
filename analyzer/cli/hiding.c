/* Which frames a report leaves out. */
#include "cli/hiding.h"

#include "base/memory.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "profile/fold.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A configuration is a few lines; more than this is some other file. */
enum { CONFIG_BYTES_MOST = 64 << 10, CONFIG_LINES_MOST = 1000 };

/* ---- groups ---------------------------------------------------------------------------------------------
 */

/* "c,c++ rust"; false if a name is not known, which is then in *wrong (malloc'ed). */
static bool parse_groups(const char *list, unsigned *groups, char **wrong)
{
	*groups = 0;
	for (const char *at = list; *(at += strspn(at, ", \t"));) {
		size_t length = strcspn(at, ", \t");
		unsigned found = 0;
		bool none = length == 4 && strncmp(at, "none", 4) == 0;
		if (length == 3 && strncmp(at, "all", 3) == 0)
			found = HS_FOLD_ALL;
		for (const struct hs_fold_group *group = hs_fold_groups; group->group; group++)
			if (strlen(group->name) == length && strncmp(at, group->name, length) == 0)
				found = group->group;
		if (!found && !none) {
			*wrong = strndup(at, length);
			return false;
		}
		*groups |= found;
		at += length;
	}
	return true;
}

static void refuse_groups(const char *where, char *wrong)
{
	struct hs_text names = {0};
	for (const struct hs_fold_group *group = hs_fold_groups; group->group; group++)
		hs_text_addf(&names, ", %s", group->name);
	hs_message("%s: there is no group \"%s\" of built-in rules; there are all, none%s", where,
		   wrong ? wrong : "", names.bytes);
	hs_text_free(&names);
	free(wrong);
}

/* ---- the configuration file -----------------------------------------------------------------------------
 */

/* The nearest .heapscope from the working directory upwards; malloc'ed, or NULL. */
static char *find_config(void)
{
	static const char name[] = "/.heapscope";
	char *folder = getcwd(NULL, 0);
	while (folder) {
		size_t length = strlen(folder);
		char *path = hs_allocate(length + sizeof(name));
		memcpy(path, folder, length);
		memcpy(path + (length == 1 ? 0 : length), name, sizeof(name));
		if (access(path, F_OK) == 0) {
			free(folder);
			return path;
		}
		free(path);
		char *slash = strrchr(folder, '/');
		if (length <= 1 || slash == NULL)
			break;
		slash[slash == folder ? 1 : 0] = 0;
	}
	free(folder);
	return NULL;
}

static int read_line(struct hs_hiding *hiding, char *line, const char *where)
{
	struct hs_error error;
	char *end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = 0;
	line += strspn(line, " \t");
	if (*line == 0 || *line == '#')
		return 0;
	size_t length = strcspn(line, " \t");
	char *rest = line + length + strspn(line + length, " \t");
	line[length] = 0;
	if (strcmp(line, "hide-groups") == 0) {
		char *wrong = NULL;
		if (parse_groups(rest, &hiding->groups, &wrong))
			return 0;
		refuse_groups(where, wrong);
		return -1;
	}
	if (strcmp(line, "hide") != 0) {
		hs_message("%s: \"%s\" is no setting; there are \"hide RE\" and \"hide-groups LIST\", and # "
			   "begins a comment",
			   where, line);
		return -1;
	}
	if (hs_patterns_add(&hiding->patterns, rest, &error) == 0)
		return 0;
	hs_message("%s: \"%s\" is no regular expression that can be used: %s", where, rest, error.text);
	return -1;
}

static int read_config(struct hs_hiding *hiding, const char *path)
{
	char *bytes = hs_allocate(CONFIG_BYTES_MOST + 1);
	errno = 0;
	FILE *file = fopen(path, "r");
	size_t count = file ? fread(bytes, 1, CONFIG_BYTES_MOST + 1, file) : 0;
	int result = 0;
	if (file == NULL || ferror(file)) {
		hs_message("cannot read the configuration \"%s\": %s\nname another with --config, or none "
			   "with --config \"\"",
			   path, strerror(errno));
		result = -1;
	} else if (count > CONFIG_BYTES_MOST || memchr(bytes, 0, count)) {
		hs_message("\"%s\" is no configuration of heapscope: %s", path,
			   count > CONFIG_BYTES_MOST ? "it is too large" : "it is no text");
		result = -1;
	}
	if (file)
		fclose(file);
	bytes[result == 0 ? count : 0] = 0;
	char *line = bytes;
	for (unsigned number = 1; line && result == 0; number++) {
		char *next = strchr(line, '\n');
		struct hs_text where = {0};
		if (next)
			*next++ = 0;
		hs_text_addf(&where, "%s:%u", path, number);
		if (number > CONFIG_LINES_MOST) {
			hs_message("%s: more than %d lines", where.bytes, CONFIG_LINES_MOST);
			result = -1;
		} else {
			result = read_line(hiding, line, where.bytes);
		}
		hs_text_free(&where);
		line = next;
	}
	free(bytes);
	return result;
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

static int add_arguments(struct hs_hiding *hiding, const struct hs_hiding_arguments *arguments,
			 const char *command)
{
	struct hs_error error;
	struct hs_text where = {0};
	char *wrong = NULL;
	int result = 0;
	if (arguments->groups && !parse_groups(arguments->groups, &hiding->groups, &wrong)) {
		hs_text_addf(&where, "%s: --hide-groups", command);
		refuse_groups(where.bytes, wrong);
		hs_text_free(&where);
		result = -1;
	}
	for (uint32_t i = 0; i < arguments->patterns.count && result == 0; i++) {
		const char *text = arguments->patterns.items[i];
		if (hs_patterns_add(&hiding->patterns, text, &error) == 0)
			continue;
		hs_message("%s: --hide \"%s\" is no regular expression that can be used: %s", command, text,
			   error.text);
		result = -1;
	}
	return result;
}

int hs_hiding_make(struct hs_hiding *hiding, const struct hs_hiding_arguments *arguments, const char *command)
{
	const char *given = arguments->config ? arguments->config : getenv("HEAPSCOPE_CONFIG");
	*hiding = (struct hs_hiding){.groups = HS_FOLD_ALL};
	if (given == NULL)
		hiding->config = find_config();
	else if (*given)
		hiding->config = hs_copy_string(given);
	if ((hiding->config == NULL || read_config(hiding, hiding->config) == 0) &&
	    add_arguments(hiding, arguments, command) == 0)
		return 0;
	hs_hiding_free(hiding);
	return -1;
}

void hs_hiding_free(struct hs_hiding *hiding)
{
	hs_patterns_free(&hiding->patterns);
	free(hiding->config);
	hiding->config = NULL;
}

void hs_hiding_arguments_free(struct hs_hiding_arguments *arguments)
{
	hs_list_free(&arguments->patterns);
}

void hs_hiding_apply(const struct hs_hiding *hiding, struct hs_profile *profile)
{
	if (hiding->groups != HS_FOLD_ALL) /* which loading has marked */
		hs_fold_mark(profile, hiding->groups);
	hs_patterns_hide(&hiding->patterns, profile);
}

int hs_hiding_list(const struct hs_hiding *hiding)
{
	static const char *const hows[] = {
		[HS_FOLD_NAME] = "function",
		[HS_FOLD_START] = "functions that begin with",
		[HS_FOLD_NAMESPACE] = "C++ namespace",
		[HS_FOLD_CRATE] = "Rust crate",
	};
	struct hs_text text = {0};
	for (const struct hs_fold_group *group = hs_fold_groups; group->group; group++) {
		bool on = hiding->groups & group->group;
		hs_text_addf(&text, "%s%s: %s%s\n", text.count ? "\n" : "", group->name, group->help,
			     on ? "" : " (switched off)");
		for (const struct hs_fold_rule *rule = hs_fold_rules; on && rule->group; rule++)
			if (rule->group == group->group)
				hs_text_addf(&text, "  %s %s\n", hows[rule->how], rule->text);
	}
	if (hiding->patterns.count || hiding->config) {
		hs_text_add(&text, "\nyour own (--hide");
		if (hiding->config) {
			hs_text_add(&text, "; ");
			hs_text_clean(&text, hiding->config);
		}
		hs_text_add(&text, "): functions, files or modules that match\n");
	}
	for (uint32_t i = 0; i < hiding->patterns.count; i++) {
		hs_text_add(&text, "  ");
		hs_text_clean(&text, hiding->patterns.items[i].text);
		hs_text_add(&text, "\n");
	}
	int result = hs_write_out(&text, stdout);
	hs_text_free(&text);
	return result == 0 ? HS_EXIT_OK : HS_EXIT_DATA;
}
