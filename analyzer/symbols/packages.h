/* Which Debian package a file came with, and which one has its debug information. Reads the databases of dpkg
 * and apt as files; runs nothing. */
#ifndef HS_PACKAGES_H
#define HS_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_package {
	/* in */
	const char *path; /* as the package may have it, or as the file is found; NULL: only by build-id */
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: not known */
	/* out, owned: hs_packages_free */
	char *name;     /* NULL: no package has the file */
	char *debug;    /* the package with its debug information; NULL: not known */
	bool exact;     /* a package list names the build-id or the package; else it is the name that Debian's
			   rules give */
	bool installed; /* it is installed */
};

/* root: "" or a prefix for all paths. All packages at once: the database is read once. */
void hs_packages_find(const char *root, struct hs_package *packages, size_t count);
void hs_packages_free(struct hs_package *packages, size_t count);

#endif
