/* Chunks and thread states, with threads that come and go and a collector that reads meanwhile: every record
 * comes exactly once, whole, and in its thread's order; no two threads have one state. With the argument
 * "signals", handlers that interrupt anything write records as well (not under the thread sanitizer, which
 * delays signals). */
#include "world.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

enum { AT_ONCE = 4, GENERATIONS = 600, FEW_GENERATIONS = 50, ROUNDS = 1500, BACKLOG = 8 };
enum { THREADS = AT_ONCE * GENERATIONS, ITEMS_A_ROUND = 4, HANDLED_MOST = 1 << 20 };

/* A round of thread t, number r: allocate at A, move it to B, resize it there, free it. All of it can be
 * foreseen, so that each item proves itself. Some need the wide forms. */
static uint64_t address_of(uint64_t t, uint64_t r, bool moved)
{
	uint64_t address = (t * ROUNDS + r + 1) << 5 | (moved ? 16 : 0);
	return r % 61 == 7 ? address | 1 : r % 67 == 3 ? address | 1ull << 47 : address;
}

static uint64_t size_of(uint64_t r)
{
	return r % 53 == 11 ? r << 32 : r;
}

/* Addresses of handlers' records: thread, number. */
#define HANDLER_BIT (1ull << 46)

/* ---- the collector's side ------------------------------------------------------------------------------ */

static struct expected {
	uint32_t next;         /* item */
	uint32_t next_handled; /* of its signal handlers */
} expected[THREADS];

static uint64_t items_seen, handled_seen;

static void check_item(const struct hs_item *item, uint64_t t, uint64_t r, unsigned step)
{
	bool has_size = step == 0 || step == 2 || step == 3;
	static const enum hs_item_kind kinds[] = {HS_ITEM_ALLOC, HS_ITEM_DETACH, HS_ITEM_ATTACH,
						  HS_ITEM_RESIZE, HS_ITEM_FREE};
	CHECK(item->kind == kinds[step]);
	CHECK(item->address == address_of(t, r, step >= 2));
	if (has_size)
		CHECK(item->size == size_of(r) + step && item->node == (uint32_t)(t + 1));
}

static void take_items(void *context, const struct hs_item *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (items[i].address & HANDLER_BIT) {
			uint64_t number = items[i].address >> 4 & (HANDLED_MOST - 1);
			uint64_t t = (items[i].address & ~HANDLER_BIT) >> 24;
			CHECK(items[i].kind == HS_ITEM_ALLOC && items[i].size == number && t < THREADS);
			CHECK(expected[t].next_handled++ == number);
			handled_seen++;
			continue;
		}
		uint64_t t = ((items[i].address & ~(1ull << 47)) >> 5) - 1;
		uint64_t r = t % ROUNDS;
		t /= ROUNDS;
		CHECK(t < THREADS);
		uint32_t item = expected[t].next++;
		CHECK(item / 5 == r);
		check_item(&items[i], t, r, item % 5);
		items_seen++;
	}
}

/* ---- the target's side --------------------------------------------------------------------------------- */

/* Who has a state now. States are few: a list will do. */
static struct {
	struct thread *state;
	uint64_t owner; /* t + 1 */
} owners[1024];

static uint64_t *owner_of(struct thread *state)
{
	for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
		struct thread *none = NULL;
		if (__atomic_load_n(&owners[i].state, __ATOMIC_RELAXED) == state ||
		    __atomic_compare_exchange_n(&owners[i].state, &none, state, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    none == state)
			return &owners[i].owner;
	}
	CHECK(!"a place for the state");
	return NULL;
}

static uint32_t rounds_done[AT_ONCE];
static __thread uint64_t own_number = UINT64_MAX;
static __thread volatile uint32_t handled;
static uint64_t handled_in_all;

static void allocate_in_handler(int number)
{
	if (own_number == UINT64_MAX)
		return;
	struct thread *thread = event_begin();
	CHECK(thread != NULL);
	uint64_t count = handled++;
	uint64_t address = HANDLER_BIT | own_number << 24 | count << 4;
	event_alloc(thread, address, event_stamp(thread, address), count, 1);
	event_end(thread);
	__atomic_add_fetch(&handled_in_all, 1, __ATOMIC_RELAXED);
}

static struct thread *begin(void)
{
	struct thread *thread = event_begin();
	CHECK(thread != NULL);
	return thread;
}

static void write_round(uint64_t t, uint64_t r)
{
	uint64_t first = address_of(t, r, false), second = address_of(t, r, true), size = size_of(r);
	uint32_t node = (uint32_t)(t + 1);
	struct thread *thread = begin();
	event_alloc(thread, first, event_stamp(thread, first), size, node);
	event_end(thread);
	thread = begin();
	uint64_t before = event_stamp(thread, first);
	event_realloc(thread, first, before, second, event_stamp(thread, second), size + 2, node);
	event_end(thread);
	thread = begin();
	before = event_stamp(thread, second);
	event_realloc(thread, second, before, second, event_stamp(thread, second), size + 3, node);
	event_end(thread);
	thread = begin();
	event_free(thread, second, event_stamp(thread, second));
	event_end(thread);
}

static void *live(void *argument)
{
	uint64_t t = (uint64_t)(uintptr_t)argument;
	event_end(begin()); /* claims a state */
	uint64_t *owner = owner_of(hs_thread), nobody = 0;
	CHECK(__atomic_compare_exchange_n(owner, &nobody, t + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&own_number, t, __ATOMIC_RELAXED);
	for (uint64_t r = 0; r < ROUNDS; r++) {
		write_round(t, r);
		__atomic_store_n(&rounds_done[t % AT_ONCE], (uint32_t)r + 1, __ATOMIC_RELEASE);
		CHECK(hs_thread->serial != 0 && __atomic_load_n(owner, __ATOMIC_RELAXED) == t + 1);
	}
	__atomic_store_n(owner, 0, __ATOMIC_RELAXED);
	return NULL; /* the state goes back to the free list after this */
}

static pthread_t threads[AT_ONCE];
/* Sends signals until all have written all, and while they end. */
static void *pester(void *argument)
{
	for (bool busy = true; busy;) {
		busy = false;
		for (unsigned i = 0; i < AT_ONCE; i++) {
			pthread_kill(threads[i], SIGUSR1);
			busy |= __atomic_load_n(&rounds_done[i], __ATOMIC_RELAXED) < ROUNDS;
		}
	}
	return NULL;
}

static void run_generation(uint64_t generation, bool signals)
{
	pthread_t pest;
	for (uint64_t i = 0; i < AT_ONCE; i++) {
		rounds_done[i] = 0;
		CHECK(pthread_create(&threads[i], NULL, live, (void *)(generation * AT_ONCE + i)) == 0);
	}
	if (signals) {
		CHECK(pthread_create(&pest, NULL, pester, NULL) == 0);
		pthread_join(pest, NULL);
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	struct hs_view view;
	struct collector collector;
	bool signals = argc > 1 && strcmp(argv[1], "signals") == 0;
	uint64_t generations = signals ? GENERATIONS : FEW_GENERATIONS;
	world_begin(&view, BACKLOG);
	signal(SIGUSR1, allocate_in_handler);
	world_collector_begin(&collector, &view, take_items, NULL, true);
	for (uint64_t generation = 0; generation < generations; generation++)
		run_generation(generation, signals);
	world_collector_end(&collector);
	for (unsigned t = 0; t < generations * AT_ONCE; t++)
		CHECK(expected[t].next == 5 * ROUNDS);
	CHECK(items_seen == 5 * generations * AT_ONCE * ROUNDS);
	CHECK(handled_seen == handled_in_all && (handled_in_all > 0) == signals);
	CHECK(hs_process.header->waits > 0);
	CHECK(hs_process.header->thread_count == generations * AT_ONCE);
	printf("%llu records, %llu of signal handlers, %llu waits for a chunk\n",
	       (unsigned long long)items_seen, (unsigned long long)handled_seen,
	       (unsigned long long)hs_process.header->waits);
	return 0;
}
