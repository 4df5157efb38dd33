/* Budgets: their values, and the file that they stand in. */
#include "profile/budgets.h"

#include "base/format.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_WHOLE HS_QUANTITIES

const struct hs_quantity_name hs_quantities[HS_QUANTITIES] = {
	[HS_QUANTITY_PEAK] = {"peak", true, NO_WHOLE, true, HS_TOLD_PEAK_BYTES, "bytes live at the peak"},
	[HS_QUANTITY_OWN_PEAK] = {"own-peak", true, NO_WHOLE, false, HS_TOLD_MAX_BYTES | HS_TOLD_EVENTS,
				  "the most bytes that the sites ever held together"},
	[HS_QUANTITY_BLOCKS] = {"blocks", false, NO_WHOLE, false, HS_TOLD_PEAK_BLOCKS,
				"blocks live at the peak"},
	[HS_QUANTITY_LEAKED] = {"leaked", true, HS_QUANTITY_ALLOCATED, true, HS_TOLD_LIVE_BYTES,
				"bytes never freed and not suppressed"},
	[HS_QUANTITY_LEAKED_BLOCKS] = {"leaked-blocks", false, HS_QUANTITY_CALLS, false, HS_TOLD_LIVE_BLOCKS,
				       "blocks never freed and not suppressed"},
	[HS_QUANTITY_ALLOCATED] = {"allocated", true, NO_WHOLE, true, HS_TOLD_ALLOCATED_BYTES,
				   "bytes allocated in all"},
	[HS_QUANTITY_CALLS] = {"calls", false, NO_WHOLE, true, HS_TOLD_ALLOCATIONS, "allocations"},
	[HS_QUANTITY_TEMPORARY] = {"temporary", false, HS_QUANTITY_CALLS, true, HS_TOLD_TEMPORARY,
				   "temporary allocations"},
	[HS_QUANTITY_MOVED] = {"moved", true, HS_QUANTITY_ALLOCATED, false, HS_TOLD_MOVED_BYTES,
			       "bytes that realloc copied"},
	[HS_QUANTITY_PEAK_RSS] = {"peak-rss", true, NO_WHOLE, false, HS_TOLD_PROCESS,
				  "the largest resident size of the process"},
};

/* ---- amounts --------------------------------------------------------------------------------------------
 */

/* Digits and at most nine decimals, as billionths. Returns where they end; NULL: there is no number, or one
 * too large. */
static const char *parse_number(const char *text, unsigned __int128 *billionths)
{
	unsigned __int128 value = 0;
	unsigned decimals = 0;
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text); text++) {
		value = value * 10 + (unsigned)(*text - '0');
		if (value > INT64_MAX)
			return NULL;
	}
	if (*text == '.' && isdigit((unsigned char)text[1])) {
		for (text++; isdigit((unsigned char)*text) && decimals < 9; text++, decimals++)
			value = value * 10 + (unsigned)(*text - '0');
		text += strspn(text, "0123456789");
	}
	for (; decimals < 9; decimals++)
		value *= 10;
	*billionths = value;
	return text;
}

static int parse_amount(const char *text, bool bytes, bool percent, struct hs_amount *amount)
{
	unsigned __int128 value, billion = 1000000000;
	const char *rest = parse_number(text, &value);
	if (!rest)
		return -1;
	rest += strspn(rest, " ");
	if (strcmp(rest, "%") == 0) {
		value = value * HS_PERCENT / billion;
		*amount = (struct hs_amount){HS_AMOUNT_PERCENT, (uint64_t)value};
		return percent && value <= INT64_MAX ? 0 : -1;
	}
	uint64_t unit = bytes || !*rest ? hs_byte_unit(rest) : 0;
	/* the number is below 2^63 * 10^9, a unit at most 2^40: below 2^133 unless that is refused first */
	if (unit == 0 || value / billion > (uint64_t)INT64_MAX / unit)
		return -1;
	value *= unit;
	if (!bytes && value % billion)
		return -1;
	*amount = (struct hs_amount){HS_AMOUNT_VALUE, (uint64_t)(value / billion)};
	return 0;
}

uint64_t hs_amount_of(const struct hs_amount *amount, uint64_t whole)
{
	if (amount->kind == HS_AMOUNT_VALUE)
		return amount->value;
	unsigned __int128 part = (unsigned __int128)amount->value * whole / (100 * HS_PERCENT);
	return part > UINT64_MAX ? UINT64_MAX : (uint64_t)part;
}

static int wrong_amount(const struct hs_quantity_name *quantity, const char *amount, bool percent,
			struct hs_error *error)
{
	return hs_fail(error, "%s wants %s%s, not \"%.60s\"", quantity->name,
		       quantity->bytes ? "bytes like 10MiB" : "a number like 1000",
		       !percent          ? ""
		       : quantity->bytes ? " or a percentage like 5%"
					 : ", or a percentage like 5%",
		       amount);
}

/* ---- sections -------------------------------------------------------------------------------------------
 */

static void add_section(struct hs_budgets *budgets)
{
	budgets->sections =
		hs_grow(budgets->sections, budgets->count, &budgets->capacity, sizeof(*budgets->sections));
	budgets->sections[budgets->count++] = (struct hs_budget_section){0};
}

int hs_budgets_section(struct hs_budgets *budgets, const char *site, struct hs_error *error)
{
	if (budgets->count == 0)
		add_section(budgets);
	if (!site)
		return 0;
	for (uint32_t i = 1; i < budgets->count; i++) {
		if (strcmp(budgets->sections[i].site.items[0].text, site) == 0)
			return (int)i;
	}
	struct hs_patterns pattern = {0};
	if (hs_patterns_add(&pattern, site, error) != 0) {
		hs_patterns_free(&pattern);
		return -1;
	}
	add_section(budgets);
	budgets->sections[budgets->count - 1].site = pattern;
	return (int)budgets->count - 1;
}

void hs_budgets_free(struct hs_budgets *budgets)
{
	for (uint32_t i = 0; i < budgets->count; i++)
		hs_patterns_free(&budgets->sections[i].site);
	free(budgets->sections);
	*budgets = (struct hs_budgets){0};
}

int hs_budgets_limit(struct hs_budgets *budgets, uint32_t section, enum hs_quantity quantity,
		     const char *amount, struct hs_error *error)
{
	const struct hs_quantity_name *name = &hs_quantities[quantity];
	bool percent = name->whole != NO_WHOLE;
	if (quantity == HS_QUANTITY_PEAK_RSS && section)
		return hs_fail(error, "peak-rss is of the whole process: it cannot be limited for a site");
	if (parse_amount(amount, name->bytes, percent, &budgets->sections[section].limits[quantity]) != 0)
		return wrong_amount(name, amount, percent, error);
	return 0;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		length--;
	text[length] = 0;
	return text;
}

static int find_quantity(const char *name)
{
	int i = 0;
	while (i < HS_QUANTITIES && strcmp(hs_quantities[i].name, name) != 0)
		i++;
	return i;
}

/* One of the list: "2%" or "leaked=0". */
static int tolerate_one(struct hs_budget_section *section, bool whole, char *item, struct hs_error *error)
{
	char *equals = strchr(item, '=');
	struct hs_amount *place = &section->tolerance;
	const struct hs_quantity_name all = {.name = "tolerance", .bytes = false}, *name = &all;
	if (equals) {
		*equals = 0;
		item = trim(item);
		int quantity = find_quantity(item);
		if (quantity == HS_QUANTITIES)
			return hs_fail(error, "there is no \"%.40s\" that could grow", item);
		if (quantity == HS_QUANTITY_PEAK_RSS && !whole)
			return hs_fail(error, "peak-rss is of the whole process, not of a site");
		place = &section->tolerances[quantity];
		name = &hs_quantities[quantity];
		item = equals + 1;
	}
	item = trim(item);
	if (strcmp(item, "off") == 0 && equals) {
		place->kind = HS_AMOUNT_OFF;
		return 0;
	}
	if (parse_amount(item, name->bytes, true, place) == 0 &&
	    (equals || place->kind == HS_AMOUNT_PERCENT || place->value == 0))
		return 0;
	if (!equals)
		return hs_fail(error,
			       "tolerance wants a percentage like 2%%, and others for single quantities like "
			       "2%%,leaked=0,calls=off, not \"%.60s\"",
			       item);
	return wrong_amount(name, item, true, error);
}

int hs_budgets_tolerate(struct hs_budgets *budgets, uint32_t section, const char *amounts,
			struct hs_error *error)
{
	char *copy = hs_copy_string(amounts), *rest = copy, *item;
	int result = 0;
	while (result == 0 && (item = strsep(&rest, ",")))
		result = tolerate_one(&budgets->sections[section], section == 0, item, error);
	free(copy);
	return result;
}

/* ---- the file -------------------------------------------------------------------------------------------
 */

/* "[site RE]", "[all]" */
static int read_heading(struct hs_budgets *budgets, char *line, struct hs_error *error)
{
	size_t length = strlen(line);
	if (line[length - 1] != ']')
		return hs_fail(error, "a section ends with ]");
	line[length - 1] = 0;
	line = trim(line + 1);
	if (strcmp(line, "all") == 0)
		return 0;
	if (strncmp(line, "site", 4) != 0 || !strchr(" \t", line[4]) || !*trim(line + 4))
		return hs_fail(error, "a section is [site EXPRESSION] or [all], not [%.60s]", line);
	return hs_budgets_section(budgets, trim(line + 4), error);
}

static int read_line(struct hs_budgets *budgets, char *line, int *section, struct hs_error *error)
{
	line = trim(line);
	if (*line == 0 || *line == '#')
		return 0;
	if (*line == '[') {
		*section = read_heading(budgets, line, error);
		return *section < 0 ? -1 : 0;
	}
	char *equals = strchr(line, '=');
	if (!equals)
		return hs_fail(error, "\"%.60s\" is no budget: write max-peak = 10MiB", line);
	*equals = 0;
	line = trim(line);
	char *value = trim(equals + 1);
	if (strcmp(line, "tolerance") == 0)
		return hs_budgets_tolerate(budgets, (uint32_t)*section, value, error);
	int quantity = strncmp(line, "max-", 4) == 0 ? find_quantity(line + 4) : HS_QUANTITIES;
	if (quantity == HS_QUANTITIES)
		return hs_fail(error, "there is no budget \"%.60s\"", line);
	return hs_budgets_limit(budgets, (uint32_t)*section, (enum hs_quantity)quantity, value, error);
}

int hs_budgets_read(struct hs_budgets *budgets, const char *name, const char *text, size_t count,
		    struct hs_error *error)
{
	if (memchr(text, 0, count))
		return hs_fail(error, "\"%s\" is no text", name);
	char *copy = hs_allocate(count + 1), *rest = copy, *line;
	memcpy(copy, text, count);
	copy[count] = 0;
	struct hs_error cause;
	unsigned number = 0;
	int result = 0, section = hs_budgets_section(budgets, NULL, error);
	while (result == 0 && (line = strsep(&rest, "\n"))) {
		number++;
		result = read_line(budgets, line, &section, &cause);
	}
	free(copy);
	return result ? hs_fail(error, "%s, line %u: %s", name, number, cause.text) : 0;
}

bool hs_budgets_any(const struct hs_budgets *budgets)
{
	for (uint32_t i = 0; i < budgets->count; i++) {
		for (unsigned quantity = 0; quantity < HS_QUANTITIES; quantity++) {
			if (budgets->sections[i].limits[quantity].kind)
				return true;
		}
	}
	return false;
}
