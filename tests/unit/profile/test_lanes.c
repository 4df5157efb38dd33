/* What the recorder's encoder writes of threads that run at the same time and end one another's blocks, the
 * reader reads: against plain sums that are added up on the way. */
#include "check.h"
#include "profile/filter.h"
#include "record/encode.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 20, NODES = 200, LIVE = 300, EVENTS = 300000, MOMENT_US = 1500 };

struct block {
	uint64_t number, size; /* in its thread's lane */
	uint32_t thread, node;
};

/* Of a node, or of all. */
struct sums {
	uint64_t allocations, allocated_bytes, live_bytes, live_blocks, temporary, moved;
};

static struct sums sums[NODES + 1], by_thread[THREADS + 1];
static struct sums then[NODES + 1]; /* after all events of MOMENT_US */
static struct block live[LIVE];
static uint32_t live_count,
	latest[THREADS + 1]; /* index + 1 into live of each thread's latest; 0: it ended */
static uint64_t heap, peak, peak_us, frees;

static uint64_t random_state = 88172645463325252ULL;

static uint32_t random_below(uint32_t end) /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % end;
}

static void begin_block(struct hs_encoder *encoder, uint32_t at, uint32_t thread, uint64_t now_us)
{
	struct block block = {0, random_below(3) ? 8 + random_below(4) * 16 : random_below(5000), thread,
			      1 + random_below(encoder->node_count - 1)};
	block.number = hs_encoder_begin_block(encoder, thread, block.size, block.node);
	live[at] = block;
	sums[block.node].allocations++;
	sums[block.node].allocated_bytes += block.size;
	sums[block.node].live_bytes += block.size;
	sums[block.node].live_blocks++;
	by_thread[thread].allocations++;
	by_thread[thread].allocated_bytes += block.size;
	latest[thread] = at + 1;
	heap += block.size;
	if (heap >= peak) {
		peak = heap;
		peak_us = now_us;
	}
}

/* Returns whether its thread has allocated nothing since. */
static bool end_block(struct hs_encoder *encoder, uint32_t at)
{
	const struct block *block = &live[at];
	hs_encoder_end_block(encoder, block->thread, block->number, block->size);
	sums[block->node].live_bytes -= block->size;
	sums[block->node].live_blocks--;
	heap -= block->size;
	bool is_latest = latest[block->thread] == at + 1;
	if (is_latest)
		latest[block->thread] = 0;
	return is_latest;
}

static void one_event(struct hs_encoder *encoder, uint32_t thread, uint64_t now_us)
{
	uint32_t what = random_below(100), at = live_count ? random_below(live_count) : 0;
	if (live_count > 10 && what % 2)
		at = live_count - 1 - random_below(10);
	if (live_count == 0 || (what < 48 && live_count < LIVE)) {
		hs_encoder_start_event(encoder, HS_EVENT_ALLOC, thread, now_us);
		begin_block(encoder, live_count++, thread, now_us);
	} else if (what < 90) {
		hs_encoder_start_event(encoder, HS_EVENT_FREE, thread, now_us);
		uint32_t node = live[at].node;
		sums[node].temporary += end_block(encoder, at);
		encoder->now.frees++;
		frees++;
		live[at] = live[--live_count];
		if (latest[live[at].thread] == live_count + 1)
			latest[live[at].thread] = at + 1;
	} else {
		bool moved = what < 95;
		hs_encoder_start_event(encoder, moved ? HS_EVENT_MOVE : HS_EVENT_RESIZE, thread, now_us);
		end_block(encoder, at);
		begin_block(encoder, at, thread, now_us);
		sums[live[at].node].moved += moved;
	}
}

/* Of the events: sizes stand apart in the second one. */
static void begin_third(struct hs_encoder *encoder, uint32_t third)
{
	CHECK(hs_encoder_flush(encoder) == 0);
	encoder->columns.sizes = third == 1 ? HS_SIZES_APART : HS_SIZES_IN_COPIES;
	hs_event_columns_start(&encoder->columns, encoder->time_us, encoder->now.events,
			       encoder->now.allocations);
}

/* Threads take turns after one event or a few; some are far busier than others. */
static void write_events(struct hs_encoder *encoder)
{
	uint64_t now_us = 0;
	uint32_t thread = 1;
	for (uint32_t i = 0; i < EVENTS; i++) {
		if (i % (EVENTS / 3) == 0)
			begin_third(encoder, i / (EVENTS / 3));
		if (i % 1000 == 0 && encoder->node_count <= NODES) /* the tables grow */
			hs_encoder_node(encoder, 0, 0, 0x1000 + i * 16);
		if (random_below(3))
			thread = random_below(2) ? 1 + random_below(2) : 1 + random_below(THREADS);
		/* so seldom that times stay exact */
		uint64_t later_us = now_us + (random_below(100) == 0);
		if (now_us == MOMENT_US && later_us > MOMENT_US)
			memcpy(then, sums, sizeof then);
		now_us = later_us;
		one_event(encoder, thread, now_us);
	}
}

static void write_file(const char *path)
{
	struct hs_encoder encoder;
	struct hs_packer *packer = hs_packer_new();
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	hs_encoder_init(&encoder, packer, fd);
	CHECK(hs_encoder_json(&encoder, HS_MEMBER_HEADER, "{\"version\":7,\"program\":\"/p\"}") == 0);
	for (uint32_t i = 1; i <= THREADS; i++)
		CHECK_NUMBER(hs_encoder_thread(&encoder, i, i), i);
	write_events(&encoder);
	CHECK(hs_encoder_flush(&encoder) == 0);
	CHECK_NUMBER(encoder.written.events, EVENTS);
	CHECK_NUMBER(encoder.written.live_bytes, heap);
	CHECK_NUMBER(encoder.columns.members, 6);
	close(fd);
	hs_encoder_free(&encoder);
	hs_packer_free(packer);
}

static void check_nodes(struct hs_profile *profile)
{
	uint32_t group[NODES + 1];
	struct hs_replay replay;
	struct hs_error error = {""};
	struct sums all = {0};
	for (uint32_t i = 0; i <= NODES; i++)
		group[i] = i;
	CHECK(hs_replay_run(profile, group, NODES + 1, &replay, &error) == 0);
	CHECK(!strstr(profile->facts.warning, "damaged"));
	for (uint32_t i = 0; i <= NODES; i++) {
		const struct hs_counts *counts = &replay.groups[i];
		CHECK_NUMBER(counts->allocations, sums[i].allocations);
		CHECK_NUMBER(counts->allocated_bytes, sums[i].allocated_bytes);
		CHECK_NUMBER(counts->live_bytes, sums[i].live_bytes);
		CHECK_NUMBER(counts->live_blocks, sums[i].live_blocks);
		CHECK_NUMBER(counts->temporary, sums[i].temporary);
		CHECK_NUMBER(counts->moved, sums[i].moved);
		all.allocations += sums[i].allocations;
	}
	CHECK_NUMBER(replay.totals.events, EVENTS);
	CHECK_NUMBER(replay.totals.frees, frees);
	CHECK_NUMBER(replay.totals.counts.allocations, all.allocations);
	CHECK_NUMBER(replay.totals.counts.peak_bytes, peak);
	CHECK_NUMBER(replay.totals.counts.live_bytes, heap);
	CHECK_NUMBER(replay.totals.counts.live_blocks, live_count);
	CHECK_NUMBER(replay.totals.peak_us, peak_us);
	hs_replay_free(&replay);
}

static void check_threads(struct hs_profile *profile)
{
	uint32_t group[NODES + 1] = {0};
	struct sums found[THREADS + 1] = {0};
	struct hs_replay replay;
	struct hs_error error = {""};
	CHECK(hs_replay_run_as(profile, group, 1, &(struct hs_replay_how){.by_thread = true}, &replay,
			       &error) == 0);
	CHECK_NUMBER(replay.thread_count, THREADS);
	for (uint32_t i = 0; i < replay.group_count; i++) {
		uint32_t thread = replay.threads[replay.parts[i].thread];
		found[thread].allocations += replay.groups[i].allocations;
		found[thread].allocated_bytes += replay.groups[i].allocated_bytes;
	}
	for (uint32_t i = 1; i <= THREADS; i++) {
		CHECK_NUMBER(found[i].allocations, by_thread[i].allocations);
		CHECK_NUMBER(found[i].allocated_bytes, by_thread[i].allocated_bytes);
	}
	hs_replay_free(&replay);
}

/* What is live at a moment, of each lane. */
static void check_moment(struct hs_profile *profile)
{
	uint32_t group[NODES + 1];
	struct hs_filter filter = HS_FILTER_ALL;
	struct hs_replay replay;
	struct hs_error error = {""};
	filter.at_us = MOMENT_US;
	profile->filter = &filter;
	for (uint32_t i = 0; i <= NODES; i++)
		group[i] = i;
	CHECK(hs_replay_run(profile, group, NODES + 1, &replay, &error) == 0);
	for (uint32_t i = 0; i <= NODES; i++) {
		CHECK_NUMBER(replay.groups[i].allocations, then[i].live_blocks);
		CHECK_NUMBER(replay.groups[i].allocated_bytes, then[i].live_bytes);
	}
	CHECK(replay.totals.counts.allocations > LIVE / 2);
	hs_replay_free(&replay);
	profile->filter = NULL;
}

int main(void)
{
	char path[64];
	struct hs_error error = {""};
	snprintf(path, sizeof path, "lanes-%d.hs.gz", (int)getpid());
	write_file(path);
	struct hs_profile *profile = hs_profile_load(path, &error);
	CHECK_TEXT(error.text, "");
	unlink(path);
	if (!profile)
		return 1;
	check_nodes(profile);
	check_threads(profile);
	check_moment(profile);
	hs_profile_free(profile);
	return check_failures();
}
