/* What /proc says about a process. Every answer may be missing: the process may be gone, or not ours to see.
 */
#ifndef HS_RECORD_PROCFS_H
#define HS_RECORD_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The target of /proc/PID/NAME (exe, cwd), malloc'ed, without the kernel's " (deleted)"; or NULL. */
char *hs_proc_link(pid_t pid, const char *name);
/* The arguments, NULL-terminated, one block for free() ; or NULL. */
char **hs_proc_arguments(pid_t pid);
/* The name of a thread, as a string in name; or "". */
void hs_proc_thread_name(pid_t pid, uint32_t tid, char name[16]);
bool hs_proc_thread_lives(pid_t pid, uint32_t tid);
/* The executable, as a file; false: unknown. */
bool hs_proc_executable(pid_t pid, dev_t *device, ino_t *inode);
/* The environment that the process began with has NAME=VALUE. */
bool hs_proc_has_variable(pid_t pid, const char *name, const char *value);
/* The process's root directory is ours. */
bool hs_proc_shares_root(pid_t pid);

/* Resident bytes now; 0 unknown. statm: a descriptor of /proc/PID/statm. */
int hs_proc_open_statm(pid_t pid);
uint64_t hs_proc_resident(int statm);
/* How long a thread has run, and how long it could have, but had to wait for a core. schedstat: a descriptor
 * that the thread has opened. false: unknown. */
int hs_proc_open_schedstat(void);
bool hs_proc_scheduled(int schedstat, uint64_t *ran_ns, uint64_t *waited_ns);
/* VmHWM: the most resident bytes that this image ever had; 0 unknown. */
uint64_t hs_proc_most_resident(pid_t pid);

struct hs_proc_end {
	bool known;
	int status;        /* as of wait() */
	bool had_children; /* that it waited for */
};
/* How a process ended. Before its parent has asked /proc tells, later only the kernels that keep it with the
 * pidfd (from Linux 6.15 on). */
struct hs_proc_end hs_proc_end(pid_t pid, int pidfd);

#endif
