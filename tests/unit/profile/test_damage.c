/* Files that are no recording, cut ones, damaged ones, and ones made to deceive: each gets a message or a
 * warning that says what is the matter; none crashes, hangs, takes memory that its size does not justify, or
 * gives wrong numbers in silence. Meant to run under ASan and UBSan as well. */
#include "check.h"
#include "export/export.h"
#include "profile/profile.h"
#include "writer.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

static const char path[] = "test-damage.hs.gz";

/* Loads and replays; `warning` is a copy. Returns the totals, or zeros with error->text. */
static struct hs_totals read_all(struct hs_error *error, char *warning, size_t warning_bytes)
{
	struct hs_totals totals = {0};
	struct hs_sites sites;
	error->text[0] = warning[0] = 0;
	struct hs_profile *profile = hs_profile_load(path, error);
	if (!profile)
		return totals;
	if (hs_sites_make(profile, false, &sites, error) == 0) {
		totals = sites.replay.totals;
		hs_sites_free(&sites);
	}
	if (profile->facts.warning)
		snprintf(warning, warning_bytes, "%s", profile->facts.warning);
	hs_profile_free(profile);
	return totals;
}

static void refused(const void *data, size_t count, const char *because)
{
	struct hs_error error;
	char warning[2048];
	save_bytes(path, data, count);
	read_all(&error, warning, sizeof warning);
	CHECK_SAYS(error.text, because);
	CHECK_SAYS(error.text, path);
}

static void test_strangers(void)
{
	static const char gzip[] =
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00";
	struct hs_error error;
	refused("", 0, "is empty");
	refused("Hello, world\n", 13, "is a text file");
	refused("{\"dhatFileVersion\":2}", 21, "is a text file");
	refused("\0\1\2\3garbage\xff\xfe", 13, "is not a heapscope recording");
	refused(gzip, 20, "is a gzip file, but not a heapscope recording");
	refused(gzip, 2, "cut inside its first member");
	refused("\x28\xb5\x2f\xfd\x04\x58", 6, "zstd");
	CHECK(hs_profile_load("no/such/file.hs.gz", &error) == NULL);
	CHECK_SAYS(error.text, "cannot open 'no/such/file.hs.gz': No such file or directory");
	CHECK(hs_profile_load(".", &error) == NULL);
	CHECK_SAYS(error.text, "is a directory");
	CHECK(hs_profile_load("/dev/null", &error) == NULL);
	CHECK_SAYS(error.text, "not a regular file");
	unlink(path);
	CHECK(mkfifo(path, 0600) == 0);
	CHECK(hs_profile_load(path, &error) == NULL); /* and does not wait for a writer */
	CHECK_SAYS(error.text, "not a regular file");
	unlink(path);
}

static void refused_header(const char *json, const char *because)
{
	struct writer w;
	writer_start(&w);
	write_json(&w, HEADER, json);
	refused(w.file.data, w.file.count, because);
	writer_free(&w);
}

static void test_headers(void)
{
	refused_header("{\"version\":99,\"heapscope\":\"9.1\"}",
		       "was made by another version of heapscope (9.1), in format 99; this one (");
	refused_header("{\"version\":0}",
		       "of heapscope (unknown), in format 0; this one (" HEAPSCOPE_VERSION
		       ") reads format " FORMAT ": record again, or use the version that made it");
	refused_header("{\"version\":\"" FORMAT "\"}", "names no version");
	refused_header("{}", "names no version");
	refused_header("[1]", "no JSON object");
	refused_header("{\"version\":1", "is damaged");
	struct writer w;
	writer_start(&w);
	write_json(&w, FOOTER, "{}");
	refused(w.file.data, w.file.count, "does not begin with a header");
	writer_free(&w);
}

/* ---- cut and flipped ------------------------------------------------------------------------------------
 */

/* Two events members, 3 + 2 events: 100 + 20, free 100, 7, free 20. Ends of members go to `ends`. */
static uint32_t make_small(struct writer *w, size_t *ends)
{
	uint32_t count = 0;
	writer_start(w);
	write_header(w);
	ends[count++] = w->file.count;
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
	ends[count++] = w->file.count;
	uint32_t node = add_node(w, 0, 0, 0x1001);
	add_node(w, node, 0, 0x2001);
	write_nodes(w);
	ends[count++] = w->file.count;
	uint64_t first = event_alloc(w, 1, 1, 1, 100), second = event_alloc(w, 2, 2, 2, 20);
	event_free(w, 1, 3, first);
	write_events(w);
	ends[count++] = w->file.count;
	event_alloc(w, 1, 4, 2, 7);
	event_free(w, 1, 5, second);
	write_events(w);
	ends[count++] = w->file.count;
	uint32_t name = add_name(w, "main"), file = add_name(w, "main.c");
	add_symbol(w, 0, 0x1001, 1, (const uint32_t[][4]){{name, file, 3, 0}});
	write_symbols(w);
	ends[count++] = w->file.count;
	write_json(
		w, FOOTER,
		"{\"events\":5,\"allocations\":3,\"frees\":2,\"allocated_bytes\":127,\"peak_bytes\":120,"
		"\"live_bytes\":7,\"live_blocks\":1,\"temporary\":2,\"duration_us\":9,\"end\":{\"exit\":0}}");
	ends[count++] = w->file.count;
	return count;
}

static void test_cut_at_every_byte(void)
{
	struct writer w;
	size_t ends[16];
	struct hs_error error;
	char warning[2048];
	uint32_t members = make_small(&w, ends);
	for (size_t count = 0; count <= w.file.count; count++) {
		save_bytes(path, w.file.data, count);
		struct hs_totals totals = read_all(&error, warning, sizeof warning);
		bool at_end = false;
		for (uint32_t m = 0; m < members; m++)
			at_end |= ends[m] == count;
		uint64_t events = count < ends[3] ? 0 : count < ends[4] ? 3 : 5;
		CHECK((error.text[0] != 0) == (count < ends[0]));
		CHECK_NUMBER(totals.events, events);
		CHECK_NUMBER(totals.counts.peak_bytes, events ? 120 : 0);
		CHECK_NUMBER(totals.counts.live_bytes, events == 0 ? 0 : events == 3 ? 20 : 7);
		if (count == w.file.count)
			CHECK_TEXT(warning, "");
		else if (count >= ends[0])
			CHECK_SAYS(warning, at_end ? "without its closing record" : "cut after");
		if (count > ends[3] + 40 && count < ends[4])
			CHECK_SAYS(warning, "cut after 3 events, inside a member with 2 more events");
	}
	writer_free(&w);
}

/* Whatever bit is wrong: an error, a warning, or it did not matter. */
static void test_flip_every_bit(void)
{
	struct writer w;
	size_t ends[16];
	struct hs_error error;
	char warning[2048];
	make_small(&w, ends);
	unsigned silent = 0;
	for (size_t bit = 0; bit < w.file.count * 8; bit++) {
		w.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		save_bytes(path, w.file.data, w.file.count);
		struct hs_totals totals = read_all(&error, warning, sizeof warning);
		if (!error.text[0] && !warning[0]) {
			silent++;
			CHECK_NUMBER(totals.events, 5);
			CHECK_NUMBER(totals.counts.allocated_bytes, 127);
			CHECK_NUMBER(totals.counts.peak_bytes, 120);
			CHECK_NUMBER(totals.counts.live_bytes, 7);
		}
		w.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* No checksum covers a member's reserved bytes, its kind, and the count of a JSON member: 7 members
	 * of 24 + 8 bits, and 2 of 32. */
	CHECK(silent <= 7 * (24 + 8) + 2 * 32);
	writer_free(&w);
}

/* ---- well-formed, but wrong -----------------------------------------------------------------------------
 */

/* A header, a module, two nodes. */
static void start(struct writer *w)
{
	writer_start(w);
	write_header(w);
	add_module(w, "/home/me/prog", MAIN_PROGRAM);
	write_modules(w);
	add_node(w, 0, 0, 0x1001);
	add_node(w, 0, 0, 0x2001);
	write_nodes(w);
}

static void warned(struct writer *w, uint64_t events, const char *because)
{
	struct hs_error error;
	char warning[2048];
	write_events(w);
	save_bytes(path, w->file.data, w->file.count);
	struct hs_totals totals = read_all(&error, warning, sizeof warning);
	CHECK_TEXT(error.text, "");
	CHECK_SAYS(warning, because);
	CHECK_NUMBER(totals.events, events);
	writer_free(w);
}

struct column {
	const char *bytes;
	size_t count;
};

/* What stands before the columns. */
struct head {
	uint64_t previous_us, span_us, allocations, unit_us, grain, sizes;
};

/* Appends an events member with exactly these columns. */
static void write_columns(struct writer *w, const struct head *head, uint32_t items,
			  const struct column *columns)
{
	struct bytes payload = {0};
	put_number(&payload, head->previous_us);
	put_number(&payload, head->span_us);
	put_number(&payload, head->allocations);
	put_number(&payload, head->unit_us);
	put_number(&payload, head->grain);
	put_number(&payload, head->sizes);
	for (int i = 0; i < COLUMNS; i++) {
		put_number(&payload, columns[i].count);
		for (size_t k = 0; k < columns[i].count; k++)
			put_byte(&payload, (uint8_t)columns[i].bytes[k]);
	}
	write_member(w, EVENTS, &payload, items);
	free(payload.data);
}

/* One allocation of 9 bytes at node 1, thread 1, 1 us after the beginning. */
static const struct head good_head = {0, 1, 0, 1, 1, 0};
static const struct column good[COLUMNS] = {[KIND] = {"\0", 1},
					    [THREAD] = {"\1\1", 2},
					    [TIME] = {"\0", 1},
					    [NODE] = {"\3", 1},
					    [SIZE] = {"\x0a", 1}};

static void warned_head(struct head head, uint64_t events, const char *because)
{
	struct writer w;
	start(&w);
	write_columns(&w, &head, 1, good);
	warned(&w, events, because);
}

/* With one column replaced. */
static void warned_column(int column, const char *bytes, size_t count, uint32_t items, const char *because)
{
	struct writer w;
	struct column columns[COLUMNS];
	memcpy(columns, good, sizeof columns);
	columns[column] = (struct column){bytes, count};
	start(&w);
	write_columns(&w, &good_head, items, columns);
	warned(&w, 0, because);
}

static void test_wrong_heads(void)
{
	static const char missing[] = "events before it are missing",
			  misfit[] = "columns do not fit together";
	static const char unit[] = "its unit of time is impossible", impossible[] = "its time is impossible";
	warned_head(good_head, 1, "without its closing record");
	warned_head((struct head){0, 1, 5, 1, 1, 0}, 0, missing);
	warned_head((struct head){7, 1, 0, 1, 1, 0}, 0, missing);
	warned_head((struct head){0, 0, 0, 1, 1, 0}, 0, misfit); /* the event is later than the last one */
	warned_head((struct head){0, 2, 0, 1, 1, 0}, 0, misfit); /* 1 us is missing */
	warned_head((struct head){0, 2, 0, 2, 1, 0}, 1,
		    "without its closing record"); /* 2 is when the second unit begins */
	warned_head((struct head){0, 3, 0, 2, 1, 0}, 1, "without its closing record"); /* 3 lies in it */
	warned_head((struct head){0, 4, 0, 2, 1, 0}, 0, misfit);
	warned_head((struct head){0, 1, 0, 0, 1, 0}, 0, unit);
	warned_head((struct head){0, 1, 0, (1 << 20) + 1, 1, 0}, 0, unit);
	warned_head((struct head){0, 1, 0, 1, 0, 0}, 0, unit);
	warned_head((struct head){0, 1, 0, 1, 65537, 0}, 0, unit);
	warned_head((struct head){0, 1, 0, 1, 1, 2}, 0, "its sizes stand where this program does not know");
	warned_head((struct head){UINT64_MAX, 1, 0, 1, 1, 0}, 0, impossible);
	warned_head((struct head){0, UINT64_MAX, 0, 1, 1, 0}, 0, impossible);
}

static void test_wrong_columns(void)
{
	static const char misfit[] = "its columns do not fit together";
	warned_column(KIND, "\0\0", 2, 1, misfit); /* more kinds than items */
	warned_column(KIND, "\4", 1, 1, misfit);   /* another free */
	warned_column(KIND, "\0", 1, 5, misfit);   /* fewer */
	warned_column(KIND, "", 0, 1, misfit);
	warned_column(LANE, "\1", 1, 1, misfit);         /* an allocation that ends a block */
	warned_column(LANE, "\10", 1, 1, misfit);        /* no such lane */
	warned_column(LANE, "\0\0", 2, 1, misfit);       /* more than items */
	warned_column(KIND, "\1", 1, 1, misfit);         /* a free without distance */
	warned_column(THREAD, "\1\0", 2, 1, misfit);     /* thread 0 */
	warned_column(THREAD, "\3\1", 2, 1, misfit);     /* too long a run */
	warned_column(THREAD, "\1\1\1\1", 4, 1, misfit); /* a run too many */
	warned_column(THREAD, "\0", 1, 1, misfit);       /* back to no thread */
	warned_column(THREAD, "\1\1\0", 3, 2, misfit);
	warned_column(THREAD, "\1", 1, 1, misfit); /* half a run */
	warned_column(THREAD, "", 0, 1, misfit);
	warned_column(TIME, "\x81", 1, 1, misfit); /* half a number */
	warned_column(TIME, "\1", 1, 1, misfit);   /* no units */
	warned_column(TIME, "\4", 1, 1, misfit);   /* two events before the second unit: there is one */
	warned_column(TIME, "\5\0", 2, 1, misfit);
	warned_column(TIME, "\0\0", 2, 1, misfit); /* beyond the last event's time */
	warned_column(TIME, "\1\1", 2, 1, misfit);
	warned_column(TIME, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", 10, 1, misfit);   /* events */
	warned_column(TIME, "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 11, 1, misfit); /* units */
	warned_column(NODE, "\x09", 1, 1, "a stack that is not in the file");           /* node 4 */
	warned_column(NODE, "\2", 1, 1, "a stack that is not in the file");             /* node -1 */
	warned_column(NODE, "\xff\xff\xff\xff\x0f", 5, 1, "a stack that is not in the file");
	warned_column(NODE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10, 1,
		      "a stack that is not in the file");
	warned_column(SIZE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10, 1, "an impossible size");
	warned_column(SIZE, "", 0, 1, misfit);
	warned_column(ENDED, "\0", 1, 1, misfit);
	warned_column(FAR_LOW, "\0", 1, 1, misfit);
	warned_column(FAR_MIDDLE, "\0", 1, 1, misfit);
	warned_column(FAR_HIGH, "\0", 1, 1, misfit);
	warned_column(FAR_LANE, "\0", 1, 1, misfit);
}

/* `items` allocations, of which one is no copy. copies: these columns. */
static void warned_copies(const struct column copies[KIND], uint32_t items, uint64_t events,
			  const char *because)
{
	struct writer w;
	const char run[] = {(char)((items - 1) << 1 | 1), 1}; /* of thread 1 */
	struct column columns[COLUMNS];
	memcpy(columns, good, sizeof columns);
	memcpy(columns, copies, KIND * sizeof *copies);
	columns[THREAD] = (struct column){run, sizeof run};
	start(&w);
	write_columns(&w, &good_head, items, columns);
	warned(&w, events, because);
}

static void test_wrong_copies(void)
{
	static const char misfit[] = "its columns do not fit together";
	const struct column none = {"", 0}, zero = {"\0", 1}, one = {"\1", 1}, two = {"\2", 1},
			    half = {"\x81", 1}, twice = {"\1\0", 2};
	/* events before it, copied, how far back */
	warned_copies((struct column[]){one, one, one, zero}, 2, 2, "without its closing record");
	warned_copies((struct column[]){zero, one, one, zero}, 2, 0, misfit); /* before the payload */
	warned_copies((struct column[]){one, one, two, zero}, 2, 0, misfit);
	warned_copies((struct column[]){one, one, one, one}, 2, 0, misfit);
	warned_copies((struct column[]){one, one, zero, zero}, 2, 0, misfit); /* itself */
	warned_copies((struct column[]){one, two, one, zero}, 2, 0, misfit);  /* more than there are */
	warned_copies((struct column[]){two, zero, one, zero}, 1, 0, misfit);
	warned_copies((struct column[]){one, one, none, none}, 2, 0, misfit); /* columns of unequal length */
	warned_copies((struct column[]){one, one, one, none}, 2, 0, misfit);
	warned_copies((struct column[]){one, one, none, zero}, 2, 0, misfit);
	warned_copies((struct column[]){none, one, one, zero}, 2, 0, misfit);
	warned_copies((struct column[]){one, none, one, zero}, 2, 0, misfit);
	warned_copies((struct column[]){twice, one, one, zero}, 2, 0, misfit);
	warned_copies((struct column[]){one, twice, one, zero}, 2, 0, misfit);
	warned_copies((struct column[]){half, one, one, zero}, 2, 0, misfit);
	warned_copies((struct column[]){one, half, one, zero}, 2, 0, misfit);
}

/* A free with these columns, those of far blocks in their order. */
static void warned_far(struct column lanes, struct column ended, const char *const *far, const char *because)
{
	struct writer w;
	struct column columns[COLUMNS];
	memcpy(columns, good, sizeof columns);
	columns[KIND] = (struct column){"\1", 1};
	columns[LANE] = lanes;
	columns[NODE] = columns[SIZE] = (struct column){"", 0};
	columns[ENDED] = ended;
	for (int i = FAR_LOW; i <= FAR_LANE; i++) /* a byte, or none */
		columns[i] =
			(struct column){far[i - FAR_LOW] ? far[i - FAR_LOW] : "", far[i - FAR_LOW] != NULL};
	start(&w);
	write_columns(&w, &good_head, 1, columns);
	warned(&w, 0, because);
}

static void test_wrong_far(void)
{
	static const char misfit[] = "its columns do not fit together",
			  missing[] = "an event ends a block that is not live";
	const struct column no_lanes = {"", 0}, is_far = {"\177", 1}, near = {"\176", 1},
			    very = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10};
	const char *whole[] = {"\0", "\0", "\0", "\0"}, *most[] = {"\xff", "\xff", "\xff", "\7"},
		   *lane[] = {"\0", "\0", "\0", "\10"}, *none[4] = {NULL};
	warned_far(no_lanes, is_far, whole, missing);
	warned_far(no_lanes, is_far, most, missing);
	warned_far(no_lanes, very, none, missing);
	warned_far(no_lanes, is_far, lane, misfit);                  /* no such lane */
	warned_far((struct column){"\1", 1}, is_far, whole, misfit); /* lanes told twice */
	warned_far(no_lanes, near, whole, misfit);
	warned_far(no_lanes, is_far, none, misfit);
	for (int i = 0; i < 4; i++) { /* only the first may not be empty */
		const char *three[4];
		memcpy(three, whole, sizeof three);
		three[i] = NULL;
		warned_far(no_lanes, is_far, three, i ? missing : misfit);
	}
}

/* Two events of thread 1 with sizes apart: an allocation at node 1 and `kind`. `parts`: the sizes of nodes 0
 * to 2. */
static void warned_apart(uint8_t kind, const struct column *parts, uint64_t events, const char *because)
{
	struct writer w;
	struct bytes payload = {0};
	/* from 0 to 1 us; no copies; kinds; 2 * 1 + 1, thread 1; no event at 0 us; nodes, of two events that
	 * begin */
	const uint8_t first[] = {0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, (uint8_t)(kind << 2),
				 2, 3, 1, 1, 0, 2, 3, 1},
		      none[] = {1, 0};
	start(&w);
	for (size_t i = 0; i < sizeof first; i++)
		put_byte(&payload, first[i]);
	for (int p = 0; p < 8; p++) {
		const struct column *part = p < 3 ? &parts[p] : &(struct column){(const char *)none + 1, 1};
		put_number(&payload, part->count);
		for (size_t i = 0; i < part->count; i++)
			put_byte(&payload, (uint8_t)part->bytes[i]);
	}
	put_byte(&payload, kind ? 1 : 0); /* the latest block ends */
	for (int i = 0; i < (kind ? 6 : 5); i++)
		put_byte(&payload, 0);
	write_member(&w, EVENTS, &payload, 2);
	free(payload.data);
	warned(&w, events, because);
}

static void test_wrong_sizes_apart(void)
{
	static const char misfit[] = "its columns do not fit together",
			  has_none[] = "an allocation has no size", fine[] = "without its closing record",
			  huge[] = "an impossible size";
	const struct column none = {"\0", 1}, one = {"\1\5", 2}, two = {"\2\5\5", 3}, three = {"\3\5\5\5", 4},
			    half = {"\2\5\x80", 3}, less = {"\3\5\5", 3}, more = {"\2\5\5\0", 4},
			    empty = {"", 0}, large = {"\x0b\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 12};
	warned_apart(0, (struct column[]){none, two, none}, 2, fine);
	warned_apart(2, (struct column[]){none, two, none}, 2, fine);
	warned_apart(3, (struct column[]){none, two, none}, 0, misfit); /* reallocs are told apart by sizes */
	warned_apart(0, (struct column[]){none, one, none}, 0, misfit);
	warned_apart(0, (struct column[]){none, three, none}, 0, misfit);
	warned_apart(0, (struct column[]){one, one, none}, 1, has_none); /* of another node */
	warned_apart(0, (struct column[]){none, none, two}, 0, has_none);
	warned_apart(0, (struct column[]){none, half, none}, 0, misfit);
	warned_apart(0, (struct column[]){none, less, none}, 0, misfit);
	warned_apart(0, (struct column[]){none, more, none}, 0, misfit);
	warned_apart(0, (struct column[]){empty, two, none}, 0, misfit);
	warned_apart(0, (struct column[]){none, large, none}, 1, huge);
}

static void test_wrong_blocks(void)
{
	struct writer w;
	start(&w);
	uint64_t block = event_alloc(&w, 1, 1, 1, 10);
	event_free(&w, 1, 2, block);
	event_free(&w, 1, 3, block);
	warned(&w, 2, "damaged after 2 of 3 events (an event ends a block that is not live)");
	start(&w);
	event_alloc(&w, 1, 1, 1, 10);
	event_free(&w, 1, 2, (uint64_t)-1); /* the block before the first */
	event_alloc(&w, 1, 3, 1, 10);
	warned(&w, 1, "damaged after 1 of 3 events");
	start(&w);
	block = event_alloc(&w, 1, 1, 1, 10);
	event_move(&w, 1, 2, block, 2, 20);
	event_resize(&w, 1, 3, block, 2, 30);
	warned(&w, 2, "damaged after 2 of 3 events");
	start(&w); /* dead, in a page that is gone */
	block = event_alloc(&w, 1, 1, 1, 10);
	event_free(&w, 1, 1, block);
	for (int i = 0; i < 1000; i++)
		event_free(&w, 1, 1, event_alloc(&w, 1, 1, 1, 10));
	event_free(&w, 1, 2, block);
	warned(&w, 2002, "damaged after 2002 of 2003 events");
}

/* Thread 1 frees a block of the next lane, which has none: the latest one, and the first one. */
static void test_wrong_lane(void)
{
	for (int code = 0; code < 2; code++) {
		struct writer w;
		struct column columns[COLUMNS];
		memcpy(columns, good, sizeof columns);
		columns[KIND] = columns[LANE] = (struct column){"\1", 1};
		columns[NODE] = columns[SIZE] = (struct column){"", 0};
		columns[ENDED] = (struct column){code ? "\1" : "\0", 1};
		start(&w);
		write_columns(&w, &good_head, 1, columns);
		warned(&w, 0, "an event ends a block that is not live");
	}
}

static void test_order_of_members(void)
{
	struct writer w, parts;
	/* Nodes after the events: what is read at once can still be used. */
	writer_start(&w);
	write_header(&w);
	event_alloc(&w, 1, 1, 1, 10);
	write_events(&w);
	add_node(&w, 0, -1, 0x1001);
	write_nodes(&w);
	warned(&w, 1, "without its closing record");
	/* Nodes before their module. */
	writer_start(&w);
	write_header(&w);
	add_node(&w, 0, 0, 0x1001);
	write_nodes(&w);
	event_alloc(&w, 1, 1, 1, 10);
	warned(&w, 0, "lies in a module that is not in the file");
	/* Two events members, swapped. */
	start(&w);
	size_t first = w.file.count;
	event_alloc(&w, 1, 1, 1, 10);
	write_events(&w);
	size_t second = w.file.count;
	event_alloc(&w, 1, 2, 1, 10);
	write_events(&w);
	writer_start(&parts);
	for (size_t i = 0; i < first; i++)
		put_byte(&parts.file, w.file.data[i]);
	for (size_t i = second; i < w.file.count; i++)
		put_byte(&parts.file, w.file.data[i]);
	for (size_t i = first; i < second; i++)
		put_byte(&parts.file, w.file.data[i]);
	writer_free(&w);
	warned(&parts, 0, "damaged after 0 of 2 events");
	/* Nodes twice. */
	start(&w);
	w.node_count = 1;
	add_node(&w, 0, 0, 0x1001);
	write_nodes(&w);
	event_alloc(&w, 1, 1, 1, 10);
	warned(&w, 1, "stack 1 stands where 3 is due");
	/* Something after the footer; another recording. */
	start(&w);
	write_json(&w, FOOTER, "{}");
	put_byte(&w.file, 'x');
	warned(&w, 0, "1 bytes follow the end");
	start(&w);
	write_json(&w, FOOTER, "{}");
	write_header(&w);
	warned(&w, 0, "a second recording begins");
	start(&w);
	write_header(&w);
	warned(&w, 0, "a second recording begins");
	/* A kind of the future. */
	start(&w);
	write_json(&w, 77, "whatever");
	event_alloc(&w, 1, 1, 1, 10);
	warned(&w, 1, "without its closing record");
}

/* ---- lies about sizes -----------------------------------------------------------------------------------
 */

static void put_fixed_at(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* The header of the last member claims something else. */
static void warned_claim(uint8_t kind, size_t offset, uint32_t value, const char *because)
{
	struct writer w;
	start(&w);
	size_t member = w.file.count;
	write_json(&w, kind, "0123456789");
	put_fixed_at(w.file.data + member + offset, value);
	warned(&w, 0, because);
}

static void warned_payload(uint8_t kind, const char *bytes, size_t count, uint32_t items, const char *because)
{
	struct writer w;
	struct bytes payload = {0};
	for (size_t i = 0; i < count; i++)
		put_byte(&payload, (uint8_t)bytes[i]);
	start(&w);
	write_member(&w, kind, &payload, items);
	free(payload.data);
	warned(&w, 0, because);
}

#define HUGE_NUMBER "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"

static void test_absurd_sizes(void)
{
	/* Members: offset 20 is its own size, 24 the payload's, 28 the number of items. */
	warned_claim(NODES, 20, 0, "damaged after 0 events");
	warned_claim(NODES, 20, 41, "damaged");
	warned_claim(NODES, 20, UINT32_MAX, "damaged");
	warned_claim(NODES, 24, UINT32_MAX, "damaged");
	warned_claim(NODES, 24, 64 << 20, "damaged");
	warned_claim(NODES, 24, 1000, "checksum or size");
	warned_claim(NODES, 28, UINT32_MAX, "damaged");
	warned_claim(EVENTS, 28, 65537, "damaged");
	/* Payloads. */
	warned_payload(NODES, HUGE_NUMBER, 9, 1, "stands where 3 is due");
	/* Told with parents 3 - 1 - 3 and less; not told, whose parents 3 - 1 - 3 is none, nor 2 and 1 have
	 * successors. */
	warned_payload(NODES, "\3\7\0\2", 4, 1, "stack 3 has no parent");
	warned_payload(NODES, "\3" HUGE_NUMBER "\0\2", 12, 1, "stack 3 has no parent");
	warned_payload(NODES, "\3\6", 2, 1, "stack 3 has no parent");
	warned_payload(NODES, "\3\0", 2, 1, "stack 3 goes on like one that is not in the file");
	warned_payload(NODES, "\3\2", 2, 1, "stack 3 goes on like one that is not in the file");
	warned_payload(NODES, "\3\1\0\2\1\0\2", 7, 1, "3 bytes follow its last item");
	warned_payload(NODES, "\3\1\0", 3, 1, "ends too early");
	warned_payload(NODES, "\3", 1, 1, "ends too early");
	warned_payload(NODES, "\3\x84", 2, 1, "ends too early");
	warned_payload(NODES, "\3\4", 2, 1, "without its closing record"); /* of the root, as node 2 */
	warned_payload(NODES, "\3\4\0", 3, 1, "1 bytes follow its last item");
	warned_payload(NODES, "\3\1\2\2", 4, 1, "lies in a module that is not in the file");
	warned_payload(MODULES, "\1\1\0\0\0\0" HUGE_NUMBER, 15, 1, "too long");
	warned_payload(MODULES, "\3\1", 2, 1, "unknown type 3");
	warned_payload(MODULES, "\2\x09\0", 3, 1, "unloaded but not loaded");
	warned_payload(THREADS, HUGE_NUMBER "\1\0", 11, 1, "a thread has the number");
	warned_payload(THREADS, "\0\1\0", 3, 1, "a thread has the number 0");
	warned_payload(SAMPLES, "\1" HUGE_NUMBER, 10, 1, "ends too early");
	warned_payload(SAMPLES, "\1\1\1\1", 4, 2, "ends too early");
	warned_payload(SYMBOLS, HUGE_NUMBER, 9, 1, "ends too early");
	warned_payload(SYMBOLS, "\1\0\1\2" HUGE_NUMBER, 13, 1, "ends too early");
	warned_payload(SYMBOLS, "\1\0\1\2\1\5\0\0\0", 9, 1, "ends too early"); /* no string 5 */
	warned_payload(FOOTER, "{\"events\":9}", 12, 1,
		       "the events give 0 events where the recorder counted 9");
	warned_payload(FOOTER, "{\"end\":", 7, 1, "a closing record at byte");
}

/* Damage in one member must not cost the others: names are still there. */
static void test_damage_in_the_middle(void)
{
	struct writer w;
	size_t ends[16];
	struct hs_error error;
	struct hs_sites sites;
	make_small(&w, ends);
	w.file.data[ends[4] - 1] ^= 1; /* the second events member */
	save_bytes(path, w.file.data, w.file.count);
	struct hs_profile *p = hs_profile_load(path, &error);
	CHECK(p && hs_sites_make(p, false, &sites, &error) == 0);
	CHECK_SAYS(p->facts.warning, "damaged after 3 of 5 events (its checksum or size is wrong)");
	CHECK_NUMBER(sites.replay.totals.counts.live_bytes, 20);
	CHECK_NUMBER(p->facts.end, HS_END_EXIT);
	CHECK_TEXT(p->strings.items[p->frames[hs_call_of(p, 1).first_frame].function], "main");
	char *before = strdup(p->facts.warning);
	hs_sites_free(&sites);
	CHECK(hs_sites_make(p, false, &sites, &error) == 0); /* a second replay says the same once */
	CHECK_TEXT(p->facts.warning, before);
	free(before);
	hs_sites_free(&sites);
	hs_profile_free(p);
	writer_free(&w);
}

int main(void)
{
#ifndef __SANITIZE_ADDRESS__
	/* All files here are small: so must the memory be. Threads' stacks and arenas are the most of it. */
	setrlimit(RLIMIT_AS, &(struct rlimit){1024UL << 20, 1024UL << 20});
#endif
	test_strangers();
	test_headers();
	test_cut_at_every_byte();
	test_flip_every_bit();
	test_wrong_heads();
	test_wrong_columns();
	test_wrong_copies();
	test_wrong_far();
	test_wrong_sizes_apart();
	test_wrong_blocks();
	test_wrong_lane();
	test_order_of_members();
	test_absurd_sizes();
	test_damage_in_the_middle();
	unlink(path);
	return check_failures();
}
