/* For LD_AUDIT: the loader loads it first, into a namespace of its own. */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>

unsigned la_version(unsigned version);
unsigned la_version(unsigned version)
{
	void *volatile block = malloc(64);
	free(block);
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie);
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
	(void)id, (void)cookie;
	char *volatile copy = strdup(map->l_name);
	free(copy);
	return LA_FLG_BINDFROM | LA_FLG_BINDTO;
}
