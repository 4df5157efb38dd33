/* Calibrates the TSC against CLOCK_MONOTONIC. */
#include "record/clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { CALIBRATION_NS = 10 * 1000 * 1000, TRIES = 8 };

struct moment {
	uint64_t tsc, ns;
};

static struct moment first;
static uint64_t tsc_multiplier, tsc_a_ms;

uint64_t hs_monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return hs_monotonic_ns();
#endif
}

/* Both clocks at once: of some tries the one that took the least time, so that an interrupt in between does
 * not count. */
static struct moment look(void)
{
	struct moment best = {0, 0};
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = read_tsc();
		uint64_t ns = hs_monotonic_ns();
		uint64_t after = read_tsc();
		if (after - before < least) {
			least = after - before;
			best = (struct moment){before + (after - before) / 2, ns};
		}
	}
	return best;
}

void hs_clock_start(void)
{
	if (!first.ns)
		first = look();
}

static void calibrate(void)
{
	hs_clock_start();
	struct moment second = look();
	while (second.ns - first.ns < CALIBRATION_NS) {
		struct timespec rest = {.tv_nsec = (long)(CALIBRATION_NS - (second.ns - first.ns))};
		clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
		second = look();
	}
	uint64_t ticks = second.tsc - first.tsc, ns = second.ns - first.ns;
	if (ticks < ns / 1000 + 1)
		ticks = ns / 1000 + 1; /* a broken counter: keep the quotient in range */
	tsc_multiplier = (uint64_t)(((unsigned __int128)ns << 64) / ((unsigned __int128)ticks * 1000));
	tsc_a_ms = (uint64_t)((unsigned __int128)ticks * 1000000 / ns);
}

struct hs_stamp_clock hs_clock_make(enum hs_clock unit)
{
	if (unit == HS_CLOCK_MONOTONIC)
		return (struct hs_stamp_clock){unit, UINT64_MAX / 1000 + 1, 1000000};
	if (!tsc_multiplier)
		calibrate();
	return (struct hs_stamp_clock){unit, tsc_multiplier, tsc_a_ms};
}

uint64_t hs_clock_stamp(enum hs_clock unit)
{
	return unit == HS_CLOCK_MONOTONIC ? hs_monotonic_ns() : read_tsc();
}

uint64_t hs_clock_tick_us(void)
{
	struct timespec period = {.tv_nsec = 10000000};
	clock_getres(CLOCK_MONOTONIC_COARSE, &period);
	return 2 * ((uint64_t)period.tv_sec * 1000000 + (uint64_t)period.tv_nsec / 1000);
}
