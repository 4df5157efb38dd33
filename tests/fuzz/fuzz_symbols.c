/* The symbolizer on damaged ELF files: at least a frame for each address, whose strings are there. */
#include "base/strings.h"
#include "fuzz.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES = 24, STEP = 13 };

/* FUZZ_SEED_FILES: the built libraries, each followed by a colon. */
void fuzz_seeds(fuzz_add *add, void *context)
{
	static uint8_t bytes[1 << 19];
	for (const char *path = FUZZ_SEED_FILES; *path; path += strcspn(path, ":") + 1) {
		char one[4096];
		snprintf(one, sizeof one, "%.*s", (int)strcspn(path, ":"), path);
		FILE *file = fopen(one, "rb");
		FUZZ_CHECK(file != NULL);
		size_t size = fread(bytes, 1, sizeof bytes, file);
		fclose(file);
		add(context, bytes, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = fuzz_file_make(data, size);
	struct hs_symbolizer_options options = {
		.path = "/nowhere/fuzz", .fd = file.fd, .debug_directory = "/nowhere"};
	struct hs_strings strings;
	hs_strings_init(&strings);
	struct hs_symbolizer *symbolizer = hs_symbolizer_open(&options);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		const struct hs_symbol_frame *frames;
		/* the libraries' code begins there */
		uint64_t address = i ? 0x1000 + i * STEP : UINT64_MAX;
		uint32_t count = hs_symbolizer_frames(symbolizer, address, &strings, &frames);
		FUZZ_CHECK(count > 0);
		for (uint32_t k = 0; k < count; k++)
			FUZZ_CHECK(frames[k].function < strings.count && frames[k].file < strings.count);
	}
	char *text = NULL;
	if (hs_symbolizer_returned_string(symbolizer, "__lsan_default_suppressions", &text) ==
	    HS_RETURNED_STRING)
		FUZZ_CHECK(strlen(text) < 1 << 16);
	free(text);
	hs_symbolizer_close(symbolizer);
	hs_strings_free(&strings);
	fuzz_file_close(&file);
	return 0;
}
