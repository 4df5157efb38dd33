/* Numbers as people read them: sizes, counts, shares, times. Rounded half up, the same digits for the same
 * value. */
#ifndef HS_BASE_FORMAT_H
#define HS_BASE_FORMAT_H

#include <stdint.h>

/* One formatted number; returned by value so that several fit in one printf call: hs_size(n).text */
struct hs_number {
	char text[40];
};

struct hs_number hs_size(uint64_t bytes);   /* "0 B", "1023 B", "1.0 KiB", "182.4 MiB"; at most 10 columns */
struct hs_number hs_count(uint64_t count);  /* "4,212,004" */
struct hs_number hs_time(uint64_t time_us); /* "850 us", "12.3 ms", "8.21 s", "2 min 05 s", "1 h 02 min" */

/* "52.6%". "<0.1%" and ">99.9%" rather than a rounded 0 or 100 that is not true; "-" if `whole` is 0. */
struct hs_number hs_share(uint64_t part, uint64_t whole);

/* "1 block", "12 blocks": count with the noun in singular or plural (an "s"). */
struct hs_number hs_counted(uint64_t count, const char *noun);

/* What a unit of bytes stands for, in any case: K, KiB, M, ... powers of 1024, kB, MB, ... of 1000; "" and B
 * are
 * 1. 0: there is no such unit. */
uint64_t hs_byte_unit(const char *name);

#endif
