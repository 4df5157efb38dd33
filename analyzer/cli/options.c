/* Options of one command, parsed (getopt_long) by their table. */
#include "cli/options.h"

#include "base/memory.h"
#include "base/text.h"
#include "cli/nearest.h"
#include "cli/parse.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who wants to see the next usage instead of having it parsed. */
static struct {
	void (*see)(const struct hs_usage *usage, void *context);
	void *context;
} viewer;

enum { HELP = 1000, FIRST = 1001 }; /* values of struct option, beyond all letters */

static size_t option_count(const struct hs_usage *usage)
{
	size_t count = 0;
	while (usage->options[count].name)
		count++;
	return count;
}

static int wrong(const struct hs_usage *usage)
{
	hs_message("see \"heapscope %s --help\"", usage->command);
	return HS_OPTIONS_WRONG;
}

static int unknown_option(const struct hs_usage *usage, const char *typed)
{
	struct hs_nearest nearest = {0};
	char word[64];
	if (strncmp(typed, "--", 2) == 0) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
		for (const struct hs_option *option = usage->options; option->name; option++)
			if (option->kind != HS_OPTION_TITLE)
				hs_nearest_offer(&nearest, word, option->name);
		hs_nearest_offer(&nearest, word, "help");
	}
	if (nearest.name)
		hs_message("%s: unknown option \"%s\"; did you mean --%s?", usage->command, typed,
			   nearest.name);
	else
		hs_message("%s: unknown option \"%s\"", usage->command, typed);
	return wrong(usage);
}

/* getopt found something wrong with argv[optind - 1], or with the letter optopt. */
static int refused_option(const struct hs_usage *usage, char **argv)
{
	const char *typed = argv[optind - 1];
	char letter[3] = {'-', (char)optopt, 0};
	const char *equals = strncmp(typed, "--", 2) == 0 ? strchr(typed, '=') : NULL;
	if (optopt && optopt < HELP)
		return unknown_option(usage, letter);
	if (optopt && equals) {
		hs_message("%s: option %.*s takes no argument", usage->command, (int)(equals - typed), typed);
		return wrong(usage);
	}
	size_t length = equals ? (size_t)(equals - typed) - 2 : strlen(typed + 2);
	struct hs_text names = {0};
	unsigned matches = 0;
	for (const struct hs_option *option = usage->options; option->name; option++) {
		if (length && strncmp(option->name, typed + 2, length) == 0)
			hs_text_addf(&names, "%s--%s", matches++ ? ", " : "", option->name);
	}
	if (matches > 1)
		hs_message("%s: option \"%s\" could be any of %s", usage->command, typed, names.bytes);
	hs_text_free(&names);
	return matches > 1 ? wrong(usage) : unknown_option(usage, typed);
}

static int missing_argument(const struct hs_usage *usage, const struct hs_option *option)
{
	hs_message("%s: option --%s needs an argument: %s", usage->command, option->name, option->argument);
	return wrong(usage);
}

static int store_number(const struct hs_usage *usage, const struct hs_option *option)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(optarg, &end, 10);
	if (!isdigit((unsigned char)optarg[0]) || *end || errno) {
		hs_message("%s: --%s wants a number, not \"%s\"", usage->command, option->name, optarg);
		return wrong(usage);
	}
	*(uint64_t *)option->value = number;
	return 0;
}

static int store_choice(const struct hs_usage *usage, const struct hs_option *option)
{
	struct hs_text names = {0};
	struct hs_nearest nearest = {0};
	for (int i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], optarg) == 0) {
			*(int *)option->value = i;
			hs_text_free(&names);
			return 0;
		}
		hs_nearest_offer(&nearest, optarg, option->choices[i]);
		hs_text_addf(&names, "%s%s", i ? ", " : "", option->choices[i]);
	}
	hs_message("%s: --%s wants one of %s, not \"%s\"%s%s%s", usage->command, option->name, names.bytes,
		   optarg, nearest.name ? "; did you mean " : "", nearest.name ? nearest.name : "",
		   nearest.name ? "?" : "");
	hs_text_free(&names);
	return wrong(usage);
}

static int store_amount(const struct hs_usage *usage, const struct hs_option *option)
{
	bool size = option->kind == HS_OPTION_SIZE;
	uint64_t amount;
	if (size ? hs_parse_size(optarg, &amount) : hs_parse_time(optarg, &amount)) {
		*(uint64_t *)option->value = amount;
		return 0;
	}
	hs_message(size ? "%s: --%s wants a size, not \"%s\": bytes, or with a unit, like 64KiB or 1.5M"
			: "%s: --%s wants a time, not \"%s\": seconds, or with a unit, like 200ms or 2min",
		   usage->command, option->name, optarg);
	return wrong(usage);
}

void hs_list_free(struct hs_list *list)
{
	free(list->items);
	*list = (struct hs_list){0};
}

static int store_item(const struct hs_option *option)
{
	struct hs_list *list = option->value;
	list->items = hs_grow(list->items, list->count, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = optarg;
	return 0;
}

static int store(const struct hs_usage *usage, const struct hs_option *option)
{
	switch (option->kind) {
	case HS_OPTION_SET:
		*(int *)option->value = option->constant;
		return 0;
	case HS_OPTION_TEXT:
		*(const char **)option->value = optarg;
		return 0;
	case HS_OPTION_NUMBER:
		return store_number(usage, option);
	case HS_OPTION_CHOICE:
		return store_choice(usage, option);
	case HS_OPTION_LIST:
		return store_item(option);
	case HS_OPTION_SIZE:
	case HS_OPTION_TIME:
		return store_amount(usage, option);
	case HS_OPTION_TITLE:
		break;
	}
	return 0;
}

static int check_operands(const struct hs_usage *usage, int argc, char **argv)
{
	int count = argc - optind;
	if (count < usage->fewest) {
		hs_message("%s: %s", usage->command, usage->missing);
		return wrong(usage);
	}
	if (usage->most >= 0 && count > usage->most) {
		hs_message("%s: \"%s\" is one operand too many", usage->command, argv[optind + usage->most]);
		return wrong(usage);
	}
	return optind;
}

/* Hands the usage over without the titles, which only --help has. */
static void show_usage(const struct hs_usage *usage)
{
	struct hs_usage shown = *usage;
	struct hs_option *options = hs_allocate_zero(option_count(usage) + 1, sizeof(*options));
	size_t count = 0;
	for (const struct hs_option *option = usage->options; option->name; option++) {
		if (option->kind != HS_OPTION_TITLE)
			options[count++] = *option;
	}
	shown.options = options;
	viewer.see(&shown, viewer.context);
	free(options);
}

int hs_options_parse(const struct hs_usage *usage, int argc, char **argv)
{
	if (viewer.see) {
		show_usage(usage);
		return HS_OPTIONS_HELPED;
	}
	size_t count = option_count(usage);
	struct option *long_options = hs_allocate_zero(count + 2, sizeof(*long_options));
	struct hs_text letters = {0};
	hs_text_add(&letters, usage->stop_at_operand ? "+:h" : ":h");
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		const struct hs_option *option = &usage->options[i];
		int has_argument = option->kind == HS_OPTION_SET ? no_argument : required_argument;
		if (option->kind == HS_OPTION_TITLE)
			continue;
		long_options[known++] = (struct option){option->name, has_argument, NULL, FIRST + (int)i};
		if (option->letter)
			hs_text_addf(&letters, "%c%s", option->letter, has_argument ? ":" : "");
	}
	long_options[known] = (struct option){"help", no_argument, NULL, HELP};

	int found, result = 0;
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while (result == 0 && (found = getopt_long(argc, argv, letters.bytes, long_options, NULL)) != -1) {
		bool missing = found == ':';
		if (missing)
			found = optopt;
		const struct hs_option *option = NULL;
		for (size_t i = 0; i < count; i++) {
			if (found == FIRST + (int)i ||
			    (usage->options[i].letter && found == usage->options[i].letter))
				option = &usage->options[i];
		}
		if (found == HELP || found == 'h') {
			hs_options_help(usage);
			result = HS_OPTIONS_HELPED;
		} else if (option == NULL) {
			result = refused_option(usage, argv);
		} else {
			result = missing ? missing_argument(usage, option) : store(usage, option);
		}
	}
	free(long_options);
	hs_text_free(&letters);
	return result ? result : check_operands(usage, argc, argv);
}

int hs_options_exit_code(int result)
{
	return result == HS_OPTIONS_HELPED ? 0 : 2;
}

void hs_options_describe(int (*command)(int argc, char **argv), const char *name,
			 void (*see)(const struct hs_usage *usage, void *context), void *context)
{
	char *copy = hs_copy_string(name);
	char *words[] = {copy, NULL};
	viewer.see = see;
	viewer.context = context;
	command(1, words);
	viewer.see = NULL;
	free(copy);
}
