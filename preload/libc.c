/* Functions of libc that do not allocate, and concern us all the same. They are passed on so that nobody can
 * tell: the way of a return twice, and the caller's address, by which dlopen finds RUNPATH and namespace
 * (arch/x86_64.S jumps to it). */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- forks --------------------------------------------------------------------------------------------- */

/* fork itself calls hs_process_forked as a pthread_atfork handler. _Fork knows none, and is what a signal
 * handler should call. */
__attribute__((visibility("default"))) pid_t _Fork(void)
{
	static pid_t (*next)(void);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "_Fork");
	pid_t pid = next();
	if (pid == 0)
		hs_process_forked();
	return pid;
}

/* What arch/x86_64.S has of C. */
long hs_syscall_fails(long error);
long hs_syscall_fails(long error)
{
	errno = (int)-error;
	return -1;
}

/* ---- libraries that do not see us ---------------------------------------------------------------------- */

static void note_unseen(const char *name)
{
	struct hs_region_header *header = load_relaxed(&hs_process.header);
	if (!name || __atomic_fetch_add(&header->unseen_libraries, 1, __ATOMIC_RELAXED))
		return;
	size_t bytes = strnlen(name, sizeof header->unseen_library - 1);
	memcpy(header->unseen_library, name, bytes);
}

typedef void *function;
function hs_before_dlopen(const char *name, int mode);
function hs_before_dlopen(const char *name, int mode)
{
	static _Atomic(function) next;
	if (mode & RTLD_DEEPBIND && !(mode & RTLD_NOLOAD))
		note_unseen(name);
	if (!next)
		next = dlsym(RTLD_NEXT, "dlopen");
	return next;
}

function hs_before_dlmopen(Lmid_t namespace, const char *name, int mode);
function hs_before_dlmopen(Lmid_t namespace, const char *name, int mode)
{
	static _Atomic(function) next;
	if ((namespace != LM_ID_BASE || mode & RTLD_DEEPBIND) && !(mode & RTLD_NOLOAD))
		note_unseen(name);
	if (!next)
		next = dlsym(RTLD_NEXT, "dlmopen");
	return next;
}
