/* The kernel counts for each thread how long it ran, and how long it was ready to, but did not. */
#include "record/cores.h"

#include "record/procfs.h"

#include <unistd.h>

#define PERIOD_NS 20000000ull
/* A thread that runs for more than a quarter of the time and waits for more than a fifth of it. */
enum { RUN_SHARE = 4, WAIT_SHARE = 5 };

void hs_cores_open(struct hs_cores *cores)
{
	*cores = (struct hs_cores){.schedstat = hs_proc_open_schedstat()};
}

void hs_cores_close(struct hs_cores *cores)
{
	if (cores->schedstat >= 0)
		close(cores->schedstat);
	cores->schedstat = -1;
}

void hs_cores_note(struct hs_cores *cores, uint64_t now_ns, uint64_t ran_ns, uint64_t waited_ns)
{
	uint64_t time_ns = now_ns - cores->looked_ns;
	if (cores->looked_ns)
		cores->are_short = (ran_ns - cores->ran_ns) * RUN_SHARE > time_ns &&
				   (waited_ns - cores->waited_ns) * WAIT_SHARE > time_ns;
	cores->looked_ns = now_ns;
	cores->ran_ns = ran_ns;
	cores->waited_ns = waited_ns;
}

bool hs_cores_are_short(struct hs_cores *cores, uint64_t now_ns)
{
	if (cores->schedstat < 0 || now_ns - cores->looked_ns < PERIOD_NS)
		return cores->are_short;
	uint64_t ran_ns, waited_ns;
	if (hs_proc_scheduled(cores->schedstat, &ran_ns, &waited_ns))
		hs_cores_note(cores, now_ns, ran_ns, waited_ns);
	else
		hs_cores_close(cores);
	return cores->are_short;
}
