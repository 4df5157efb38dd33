/* Prints the frames that the symbolizer finds: for tests and for people.
 *
 *     name_addresses [-b BUILD-ID] [-d DEBUG-DIRECTORY] [-r ROOT] [-u] FILE ADDRESS...
 *
 * ADDRESS is a link-time address of code, in hexadecimal; it is not a return address: the look-up is made at
 * it. "-" reads addresses from standard input. -u hands FILE over as a descriptor, with a path that does not
 * exist.
 *
 * The first line is found=N. Then a line for each frame, innermost first: ADDRESS, FUNCTION, FILE, LINE,
 * "inlined" or "function", with tabs between them; unknown parts are empty.
 */
#include "symbols/symbols.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t parse_build_id(const char *digits, uint8_t *id, uint32_t most)
{
	uint32_t count = 0;
	unsigned byte;
	for (; count < most && sscanf(digits + 2 * count, "%2x", &byte) == 1; count++)
		id[count] = (uint8_t)byte;
	return count;
}

static void print_frames(struct hs_symbolizer *symbolizer, struct hs_strings *strings, uint64_t address)
{
	const struct hs_symbol_frame *frames;
	uint32_t count = hs_symbolizer_frames(symbolizer, address + 1, strings, &frames);
	for (uint32_t i = 0; i < count; i++)
		printf("%" PRIx64 "\t%s\t%s\t%" PRIu32 "\t%s\n", address, strings->items[frames[i].function],
		       strings->items[frames[i].file], frames[i].line,
		       frames[i].inlined ? "inlined" : "function");
}

int main(int argc, char **argv)
{
	uint8_t build_id[64];
	struct hs_symbolizer_options options = {.fd = -1};
	bool as_descriptor = false;
	int option;
	while ((option = getopt(argc, argv, "b:d:r:u")) != -1) {
		if (option == 'b') {
			options.build_id_bytes = parse_build_id(optarg, build_id, sizeof build_id);
			options.build_id = build_id;
		} else if (option == 'd') {
			options.debug_directory = optarg;
		} else if (option == 'r') {
			options.root = optarg;
		} else if (option == 'u') {
			as_descriptor = true;
		} else {
			return 2;
		}
	}
	if (optind >= argc)
		return 2;
	options.path = argv[optind++];
	if (as_descriptor) {
		options.fd = open(options.path, O_RDONLY | O_CLOEXEC);
		options.path = "/nowhere/library.so (deleted)";
	}

	struct hs_strings strings;
	hs_strings_init(&strings);
	struct hs_symbolizer *symbolizer = hs_symbolizer_open(&options);
	printf("found=%d\n", (int)hs_symbolizer_found(symbolizer));
	for (; optind < argc; optind++) {
		char line[64];
		if (strcmp(argv[optind], "-") != 0)
			print_frames(symbolizer, &strings, strtoull(argv[optind], NULL, 16));
		else
			while (fgets(line, sizeof line, stdin))
				print_frames(symbolizer, &strings, strtoull(line, NULL, 16));
	}
	hs_symbolizer_close(symbolizer);
	hs_strings_free(&strings);
	if (options.fd >= 0)
		close(options.fd);
	return 0;
}
