/* Stamps of the shim (TSC ticks or nanoseconds) in microseconds. */
#ifndef HS_RECORD_CLOCK_H
#define HS_RECORD_CLOCK_H

#include "heapscope/region.h"

#include <stdint.h>

/* What turns the stamps of one clock into time. */
struct hs_stamp_clock {
	enum hs_clock unit;
	uint64_t multiplier; /* microseconds of a stamp, times 2^64 */
	uint64_t stamps_a_ms;
};

/* Notes the first half of the TSC's calibration; the earlier, the more exact. */
void hs_clock_start(void);
/* The clock of a region. Waits until the calibration has run for 10 ms at least, and keeps its result. */
struct hs_stamp_clock hs_clock_make(enum hs_clock unit);

uint64_t hs_clock_stamp(enum hs_clock unit); /* now; needs no calibration */
uint64_t hs_monotonic_ns(void);
/* From one tick of the kernel's timer to the next at most: it may be as late as that. */
uint64_t hs_clock_tick_us(void);

static inline uint64_t hs_clock_now(const struct hs_stamp_clock *clock)
{
	return hs_clock_stamp(clock->unit);
}

static inline uint64_t hs_clock_us(const struct hs_stamp_clock *clock, uint64_t stamps)
{
	return (uint64_t)((unsigned __int128)stamps * clock->multiplier >> 64);
}

#endif
