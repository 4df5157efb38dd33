/* Who may still come: nothing of ours is open in a process that has not allocated yet, so we look for what it
 * inherited. */
#include "record/offspring.h"

#include "base/memory.h"
#include "heapscope/region.h"
#include "record/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel refuses to seal a memfd against writing while somebody maps it writable. */
static bool is_mapped(int region)
{
	return fcntl(region, F_ADD_SEALS, F_SEAL_WRITE) != 0 && errno == EBUSY;
}

void hs_offspring_keep(struct hs_offspring *offspring, int region)
{
	if (region < 0)
		return;
	if (!is_mapped(region)) {
		close(region);
		return;
	}
	offspring->regions = hs_grow(offspring->regions, offspring->count, &offspring->capacity,
				     sizeof *offspring->regions);
	offspring->regions[offspring->count++] = region;
}

bool hs_offspring_waits(struct hs_offspring *offspring)
{
	while (offspring->count && !is_mapped(offspring->regions[offspring->count - 1]))
		close(offspring->regions[--offspring->count]);
	return offspring->count > 0;
}

pid_t hs_offspring_starts(const char *token, pid_t after)
{
	DIR *processes = opendir("/proc");
	pid_t found = 0;
	if (!processes)
		return 0;
	for (struct dirent *entry; !found && (entry = readdir(processes));) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (pid > after && !*end && hs_proc_has_variable((pid_t)pid, HS_ENV_TOKEN, token))
			found = (pid_t)pid;
	}
	closedir(processes);
	return found;
}

void hs_offspring_free(struct hs_offspring *offspring)
{
	while (offspring->count)
		close(offspring->regions[--offspring->count]);
	free(offspring->regions);
}
