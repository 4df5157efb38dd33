/* heaptrack's data files, plain or packed. */
#include "imported.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char file[] = "v 10400 3\nX ./t1 --once\nI 1000 5e298d\ns 7 /tmp/t1\ns 4 main\ns 6 /t1.cc\n"
			   "s 4 keep\ni 555ac3b8e1ac 1 2 3 5\nt 1 0\ni 555ac3b8e171 1 4 3 3 2 3 9\nt 2 1\n"
			   "a 3e8 2\n+ 0\na 32 1\n+ 1\n- 1\nc a\nR 3e9\n+ 0\n+ 0\n- 0\n- 0\nc 14\n"
			   "# strings: 4\n# ips: 2\n";

void fuzz_seeds(fuzz_add *add, void *context)
{
	static const char old[] = "v 10100 2\ns /tmp/t1\ns main\ni 12 1 2\nt 1 0\na 10 1\n+ 0\nA\n- 0\n- 0\n";
	static const char raw[] = "v 10400 3\nx 7 /tmp/t1\nm 1 -\nt 12 0\n+ 10 1 7f00\n";
	uint8_t packed[1024];
	z_stream gzip = {.next_in = (uint8_t *)(uintptr_t)file,
			 .avail_in = sizeof file - 1,
			 .next_out = packed,
			 .avail_out = sizeof packed};
	add(context, file, sizeof file - 1);
	add(context, old, sizeof old - 1);
	add(context, raw, sizeof raw - 1);
	add(context, packed, ZSTD_compress(packed, sizeof packed, file, sizeof file - 1, 3));
	FUZZ_CHECK(deflateInit2(&gzip, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	FUZZ_CHECK(deflate(&gzip, Z_FINISH) == Z_STREAM_END);
	add(context, packed, gzip.total_out);
	deflateEnd(&gzip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_import("heaptrack", data, size);
	return 0;
}
