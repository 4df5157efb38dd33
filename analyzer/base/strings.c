#include "strings.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Both halves of the product of each eight bytes and what came before (as in wyhash). */
static uint64_t mix(uint64_t sum, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(sum ^ word) * 0x9e3779b97f4a7c15ULL;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(const char *text, size_t bytes)
{
	uint64_t sum = bytes ^ 0xc4ceb9fe1a85ec53ULL, word = 0;
	for (; bytes > sizeof word; bytes -= sizeof word, text += sizeof word) {
		memcpy(&word, text, sizeof word);
		sum = mix(sum, word);
	}
	word = 0;
	memcpy(&word, text, bytes);
	return mix(sum, word);
}

static void place(struct hs_strings *strings, uint32_t index)
{
	const char *text = strings->items[index];
	uint32_t slot = (uint32_t)hash(text, strlen(text)) & (strings->slot_count - 1);
	while (strings->slots[slot])
		slot = (slot + 1) & (strings->slot_count - 1);
	strings->slots[slot] = index + 1;
}

void hs_strings_init(struct hs_strings *strings)
{
	*strings = (struct hs_strings){.slot_count = 1024};
	strings->slots = hs_allocate_zero(strings->slot_count, sizeof *strings->slots);
	hs_strings_add(strings, "", 0);
}

void hs_strings_free(struct hs_strings *strings)
{
	for (uint32_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	free(strings->slots);
	*strings = (struct hs_strings){0};
}

uint32_t hs_strings_add(struct hs_strings *strings, const char *text, size_t bytes)
{
	bytes = strnlen(text, bytes);
	uint32_t slot = (uint32_t)hash(text, bytes) & (strings->slot_count - 1);
	for (; strings->slots[slot]; slot = (slot + 1) & (strings->slot_count - 1)) {
		const char *known = strings->items[strings->slots[slot] - 1];
		if (strlen(known) == bytes && memcmp(known, text, bytes) == 0)
			return strings->slots[slot] - 1;
	}
	uint32_t index = strings->count;
	strings->items = hs_grow(strings->items, index, &strings->capacity, sizeof *strings->items);
	char *copy = hs_allocate(bytes + 1);
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	strings->items[index] = copy;
	strings->count++;
	strings->slots[slot] = index + 1;
	if (strings->count * 2 > strings->slot_count) {
		free(strings->slots);
		strings->slot_count *= 2;
		strings->slots = hs_allocate_zero(strings->slot_count, sizeof *strings->slots);
		for (uint32_t i = 0; i < strings->count; i++)
			place(strings, i);
	}
	return index;
}

uint32_t hs_strings_add_text(struct hs_strings *strings, const char *text)
{
	return hs_strings_add(strings, text, strlen(text));
}
