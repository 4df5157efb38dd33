#include "numbers.h"

#include "base/memory.h"

char *hs_put_digits(char *at, uint64_t value)
{
	char digits[HS_DIGITS_MOST], *first = digits + sizeof digits;
	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	return mempcpy(at, first, (size_t)(digits + sizeof digits - first));
}

struct hs_number_text *hs_number_texts(uint32_t count)
{
	struct hs_number_text *numbers = hs_allocate_zero(count, sizeof *numbers);
	for (uint32_t i = 0; i < count; i++) {
		char *end = hs_put_digits(numbers[i].bytes, i);
		*end++ = ',';
		numbers[i].count = (uint8_t)(end - numbers[i].bytes);
	}
	return numbers;
}

void hs_text_drain(struct hs_text *text, size_t least, FILE *output)
{
	if (text->count == 0 || text->count < least)
		return;
	fwrite(text->bytes, 1, text->count, output);
	text->count = 0;
}
