/* Whether a thread should do with less: it works much, and has to wait for a core. */
#ifndef HS_RECORD_CORES_H
#define HS_RECORD_CORES_H

#include <stdbool.h>
#include <stdint.h>

struct hs_cores {
	int schedstat; /* of the thread that opened it; -1: the kernel does not tell */
	uint64_t looked_ns, ran_ns, waited_ns;
	bool are_short;
};

void hs_cores_open(struct hs_cores *cores);
void hs_cores_close(struct hs_cores *cores);
/* To be asked often, by the thread that opened it. false if the kernel does not tell. */
bool hs_cores_are_short(struct hs_cores *cores, uint64_t now_ns);

/* For hs_cores_are_short: so long in all the thread has run until now, and waited. */
void hs_cores_note(struct hs_cores *cores, uint64_t now_ns, uint64_t ran_ns, uint64_t waited_ns);

#endif
