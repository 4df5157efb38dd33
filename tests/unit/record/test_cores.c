/* Whether cores are short, by numbers and on one core that two threads want. */
#include "check.h"
#include "record/clock.h"
#include "record/cores.h"

#include <pthread.h>
#include <sched.h>

static void test_share(void)
{
	struct hs_cores cores = {.schedstat = -1};
	CHECK(!hs_cores_are_short(&cores, 1000));
	hs_cores_note(&cores, 1000, 700, 900); /* since when is not known */
	CHECK(!hs_cores_are_short(&cores, 1000));
	hs_cores_note(&cores, 2000, 951, 1101); /* runs for 251 of 1,000 ns, waits for 201 */
	CHECK(hs_cores_are_short(&cores, 2000));
	hs_cores_note(&cores, 3000, 1202, 1301); /* waits for 200 */
	CHECK(!hs_cores_are_short(&cores, 3000));
	hs_cores_note(&cores, 4000, 1452, 1601); /* runs for 250 */
	CHECK(!hs_cores_are_short(&cores, 4000));
	hs_cores_note(&cores, 5000, 1703, 1802);
	CHECK(hs_cores_are_short(&cores, 5000));
}

static bool done;

static void *spin(void *nothing)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
	}
	return nothing;
}

/* Each of the two gets half of it. */
static void test_one_core(void)
{
	cpu_set_t own, one;
	pthread_t other;
	struct hs_cores cores;
	CHECK_NUMBER(sched_getaffinity(0, sizeof own, &own), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &own))
			CPU_SET(i, &one);
	CHECK_NUMBER(sched_setaffinity(0, sizeof one, &one), 0);
	hs_cores_open(&cores);
	CHECK(cores.schedstat >= 0);
	CHECK_NUMBER(pthread_create(&other, NULL, spin, NULL), 0);
	uint64_t end_ns = hs_monotonic_ns() + 30000000000u;
	bool are_short = false;
	while (!are_short && hs_monotonic_ns() < end_ns)
		are_short = hs_cores_are_short(&cores, hs_monotonic_ns());
	CHECK(are_short);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	hs_cores_close(&cores);
	sched_setaffinity(0, sizeof own, &own);
}

int main(void)
{
	test_share();
	test_one_core();
	return check_failures != 0;
}
