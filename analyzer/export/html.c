/* The page: the built viewer with a recording's data in it, complete in itself. */
#include "formats.h"

#include "base/memory.h"
#include "page.h"
#include "stacks.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

/* What a browser opens in two seconds, and a ticket takes as an attachment. */
enum { PAGE_BYTES_MOST = 20 << 20 };

static const struct hs_page_limits limits_most = {
	.nodes_most = 400000,
	.parts_most = 400000,
	.changes_most = 1000000,
	.buckets_most = 800000,
	.source_bytes_most = 4 << 20,
};

static const char mark[] = "<!--heapscope-data-->";

static uint8_t *pack(const struct hs_page_bytes *data, size_t *count)
{
	enum { LEVEL = 4 }; /* 6: twice the time for 3 % less */
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
	size_t room = libdeflate_gzip_compress_bound(compressor, data->count);
	uint8_t *packed = hs_allocate(room);
	*count = libdeflate_gzip_compress(compressor, data->bytes, data->count, packed, room);
	libdeflate_free_compressor(compressor);
	return packed;
}

/* RFC 4648, in lines. */
static void write_base64(const uint8_t *bytes, size_t count, FILE *output)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { LINE_BYTES = 768 };
	char line[LINE_BYTES / 3 * 4 + 1];
	while (count) {
		size_t now = count < LINE_BYTES ? count : LINE_BYTES, length = 0;
		for (size_t i = 0; i < now; i += 3) {
			bool two = i + 1 < now, three = i + 2 < now;
			uint32_t group = (uint32_t)bytes[i] << 16 | (two ? (uint32_t)bytes[i + 1] << 8 : 0) |
					 (three ? bytes[i + 2] : 0);
			line[length++] = digits[group >> 18];
			line[length++] = digits[group >> 12 & 63];
			line[length++] = two ? digits[group >> 6 & 63] : '=';
			line[length++] = three ? digits[group & 63] : '=';
		}
		line[length++] = '\n';
		fwrite(line, 1, length, output);
		bytes += now;
		count -= now;
	}
}

/* Makes the packed data; again with narrower limits, if need be, until the page is small enough. */
static int make_data(struct hs_page_tree *tree, const struct hs_export_options *options, uint8_t **packed,
		     size_t *packed_bytes, struct hs_error *error)
{
	enum { NODES_LEAST = 1000 };
	struct hs_page_limits limits = limits_most;
	for (;;) {
		struct hs_page_bytes data;
		if (hs_page_data(tree, options, &limits, &data, error) != 0)
			return -1;
		*packed = pack(&data, packed_bytes);
		free(data.bytes);
		if (*packed_bytes / 3 * 4 + options->page_bytes <= PAGE_BYTES_MOST ||
		    limits.nodes_most <= NODES_LEAST)
			return 0;
		free(*packed);
		limits.nodes_most /= 2;
		limits.parts_most /= 2;
		limits.changes_most /= 2;
		limits.buckets_most /= 2;
		limits.source_bytes_most /= 2;
	}
}

int hs_html_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		  struct hs_error *error)
{
	const char *place = memmem(options->page, options->page_bytes, mark, sizeof mark - 1);
	if (!place)
		return hs_fail(error,
			       "the built page is not one of this version of heapscope: it has no place "
			       "for data\ninstall heapscope again");
	struct hs_page_tree tree;
	uint8_t *packed;
	size_t packed_bytes;
	int result = hs_page_tree_make(&tree, profile, options->baseline, options->raw, error);
	if (result == 0)
		result = make_data(&tree, options, &packed, &packed_bytes, error);
	hs_page_tree_free(&tree);
	if (result != 0)
		return -1;
	fwrite(options->page, 1, (size_t)(place - options->page), output);
	fputs("<!--heapscope-data:\n", output);
	write_base64(packed, packed_bytes, output);
	fputs("-->", output);
	place += sizeof mark - 1;
	fwrite(place, 1, (size_t)(options->page + options->page_bytes - place), output);
	free(packed);
	return hs_export_finish(output, "HTML", error);
}
