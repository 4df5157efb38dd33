/* The files of modules, opened when the target is seen to use them and kept open, so that a library that is
 * deleted, replaced or out of reach later can still be read for its symbols. Shared by all images of the
 * session. */
#ifndef HS_RECORD_FILES_H
#define HS_RECORD_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_files;
struct hs_symbolizer;

struct hs_module_file {
	dev_t device;
	ino_t inode;
	int fd; /* -1: could not be opened */
	char *real_path;
	uint32_t references;
	struct hs_symbolizer *symbolizer; /* the naming thread's; opened when first needed */
	struct hs_module_file *next;
};

struct hs_files *hs_files_new(void);
void hs_files_free(struct hs_files *files);

/* Opens a file that a process has mapped. path: as the process names it; NULL: its executable. cwd: what a
 * relative path refers to once the process is gone; may be NULL. Returns NULL if it cannot be had. Never
 * blocks on what is not a regular file. */
struct hs_module_file *hs_files_open(struct hs_files *files, pid_t pid, const char *path, const char *cwd);
/* One more user of the file (or NULL), who will release it too. */
struct hs_module_file *hs_files_share(struct hs_files *files, struct hs_module_file *file);
/* From the naming thread only (it closes symbolizers). */
void hs_files_release(struct hs_files *files, struct hs_module_file *file);

#endif
