/* Option parsing: the input is the words, each ended by a zero byte. */
#include "base/memory.h"
#include "cli/options.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 64 };

void fuzz_seeds(fuzz_add *add, void *context)
{
#define SEED(words) add(context, words, sizeof words)
	SEED("-n\0"
	     "10\0--depth=3\0--color\0never\0server.hs.gz");
	SEED("-o\0x.hs.gz\0--follow=exec\0-q\0--\0./server\0--once");
	SEED("--fol\0none\0--no-f\0--no-symbols\0-qo\0out\0sh\0-c\0-n\0true");
	SEED("--nubmer\0--number=\0-n-1\0--number=99999999999999999999999\0-\0\0--=\0--=x");
	SEED("--help");
	SEED("-nh");
#undef SEED
}

static int parse(int count, char **words, bool stop)
{
	static const char *const whens[] = {"auto", "always", "never", NULL}, *const follows[] = {
										      "all", "exec", "none",
										      NULL};
	int when = 0, follow = 0, raw = 0, quiet = 0;
	const char *output = NULL;
	uint64_t rows = 0, depth = 0;
	const struct hs_option options[] = {
		{'n', "number", HS_OPTION_NUMBER, &rows, 0, "N", NULL, "rows"},
		{0, "depth", HS_OPTION_NUMBER, &depth, 0, "N", NULL, "frames"},
		{0, "raw", HS_OPTION_SET, &raw, 1, NULL, NULL, "all frames"},
		{0, "color", HS_OPTION_CHOICE, &when, 0, "WHEN", whens, "when"},
		{'o', "output", HS_OPTION_TEXT, &output, 0, "FILE", NULL, "file"},
		{0, "follow", HS_OPTION_CHOICE, &follow, 0, "all|exec|none", follows, "children"},
		{0, "no-follow", HS_OPTION_SET, &follow, 2, NULL, NULL, "none"},
		{0, "no-symbols", HS_OPTION_SET, &raw, 2, NULL, NULL, "no names"},
		{'q', "quiet", HS_OPTION_SET, &quiet, 1, NULL, NULL, "less"},
		{0},
	};
	const struct hs_usage usage = {.command = "print",
				       .operands = "FILE",
				       .help = "Help.\n\nMore help.",
				       .options = options,
				       .stop_at_operand = stop,
				       .fewest = 1,
				       .most = stop ? -1 : 1,
				       .missing = "which?"};
	int first = hs_options_parse(&usage, count, words);
	FUZZ_CHECK(when >= 0 && when < 3 && follow >= 0 && follow < 3 && raw >= 0 && raw <= 2);
	if (first < 0)
		FUZZ_CHECK(hs_options_exit_code(first) == (first == HS_OPTIONS_HELPED ? 0 : 2));
	else
		FUZZ_CHECK(first >= 1 && first < count && (stop || first == count - 1));
	return first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = hs_allocate(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	fuzz_silence();
	for (int stop = 0; stop < 2; stop++) {
		char *words[WORDS_MOST + 2] = {"print"};
		int count = 1;
		for (char *at = text; at < text + size && count <= WORDS_MOST; at += strlen(at) + 1)
			words[count++] = at;
		char *given[WORDS_MOST + 2];
		memcpy(given, words, sizeof words);
		parse(count, words, stop);
		/* Words change places, and none gets lost. */
		for (int i = 0; i < count; i++) {
			int found = 0;
			for (int k = 0; k < count; k++)
				found += words[k] == given[i];
			FUZZ_CHECK(found == 1);
		}
	}
	free(text);
	return 0;
}
