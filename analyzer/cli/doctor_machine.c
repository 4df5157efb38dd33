/* heapscope doctor: what recording needs of the machine. What can be tried is tried. */
#include "base/format.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "cli/library.h"
#include "heapscope/region.h"
#include "record/record.h"
#include "record/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The first line of a small file; "" if it cannot be read. */
static void read_line(const char *path, char line[128])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, line, 127) : 0;
	line[bytes > 0 ? bytes : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

static char *check_library(struct hs_findings *findings)
{
	struct hs_error error = {{0}};
	char *library = hs_library_find(&error);
	if (library && hs_target_check_library(library, &error) != 0) {
		free(library);
		library = NULL;
	}
	if (library)
		hs_finding_add(findings, "library", HS_STATE_OK, NULL, "%s", library);
	else
		hs_finding_add(findings, "library", HS_STATE_PROBLEM, NULL, "%s", error.text);
	return library;
}

static void check_memory(struct hs_findings *findings)
{
	const char *failed = NULL;
	int fd = memfd_create("heapscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page = MAP_FAILED;
	if (fd < 0)
		failed = "memfd_create";
	else if (ftruncate(fd, HS_REGION_FILE_BYTES) != 0)
		failed = "ftruncate";
	else if ((page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		failed = "mmap";
	int reason = errno;
	if (page != MAP_FAILED)
		munmap(page, 4096);
	if (fd >= 0)
		close(fd);
	if (failed)
		hs_finding_add(
			findings, "memory", HS_STATE_PROBLEM,
			"allow it in the sandbox or container, or lift the limit (ulimit -v, ulimit -f)",
			"no memory can be shared with the program: %s: %s", failed, strerror(reason));
	else
		hs_finding_add(findings, "memory", HS_STATE_OK, NULL,
			       "memory can be shared with the program (memfd; /dev/shm is not needed)");
}

static void check_limits(struct hs_findings *findings)
{
	struct hs_error error = {{0}};
	struct rlimit space, files;
	unsigned before = findings->problems + findings->warnings;
	/* the recorder raises it too */
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_FSIZE, &files);
	}
	if (hs_record_check_limits(&error) != 0)
		hs_finding_add(findings, "limits", HS_STATE_PROBLEM, "ulimit -f unlimited", "%s", error.text);
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		hs_finding_add(findings, "limits", HS_STATE_WARNING, "ulimit -v unlimited",
			       "address space is limited to %s: the recorder's tables take some of it from "
			       "the program",
			       hs_size(space.rlim_cur).text);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < 64)
		hs_finding_add(
			findings, "limits", HS_STATE_WARNING, "ulimit -n 256",
			"only %s may be open at once: heapscope needs some for each process that it records",
			hs_counted(files.rlim_max, "file").text);
	if (before == findings->problems + findings->warnings)
		hs_finding_add(findings, "limits", HS_STATE_OK, NULL,
			       "no limit on file sizes and address space is in the way");
}

static bool tsc_is_invariant(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
	return false;
#endif
}

static void check_clock(struct hs_findings *findings)
{
	char source[128];
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source);
	bool invariant = tsc_is_invariant(), trusted = strcmp(source, "tsc") == 0;
	if (invariant && trusted)
		hs_finding_add(
			findings, "clock", HS_STATE_OK, NULL,
			"time comes from the processor's counter (invariant TSC, the kernel uses it too)");
	else
		hs_finding_add(findings, "clock", HS_STATE_WARNING, NULL,
			       "time comes from clock_gettime, which makes each event slower: %s%s",
			       !invariant ? "the processor's counter is not invariant" : "the kernel uses ",
			       !invariant ? ""
			       : *source  ? source
					  : "an unknown clock");
}

/* Other people's preloads: allocators are welcome, other recorders see the same calls. */
static void check_preload(struct hs_findings *findings)
{
	static const char *const recorders[] = {
		"heaptrack",  "libmemray", "bytehound",   "libtcmalloc_and_profiler",
		"libasan.so", "vgpreload", "libheapscope"};
	const char *preload = getenv("LD_PRELOAD");
	if (preload == NULL || *preload == 0) {
		hs_finding_add(findings, "preload", HS_STATE_OK, NULL, "LD_PRELOAD is not set");
		return;
	}
	for (unsigned i = 0; i < sizeof(recorders) / sizeof(recorders[0]); i++) {
		if (strstr(preload, recorders[i]) == NULL)
			continue;
		hs_finding_add(
			findings, "preload", HS_STATE_WARNING, "unset LD_PRELOAD",
			"LD_PRELOAD has another recorder (%s): its own allocations would be recorded too",
			preload);
		return;
	}
	hs_finding_add(findings, "preload", HS_STATE_OK, NULL,
		       "LD_PRELOAD is \"%s\": heapscope's library comes in front of it", preload);
}

static void check_surroundings(struct hs_findings *findings)
{
	char line[128], status[8192] = "";
	read_line("/proc/sys/kernel/yama/ptrace_scope", line);
	if (*line)
		hs_finding_add(findings, "ptrace", HS_STATE_OK, NULL,
			       "ptrace_scope is %s: recording does not use ptrace", line);
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, status, sizeof(status) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (bytes <= 0) {
		hs_finding_add(findings, "proc", HS_STATE_WARNING, "mount /proc",
			       "/proc is not there: modules that are gone at the end have no names, and the "
			       "resident size is not known");
		return;
	}
	const char *seccomp = strstr(status, "\nSeccomp:\t");
	if (seccomp && seccomp[10] != '0')
		hs_finding_add(
			findings, "seccomp", HS_STATE_OK, NULL,
			"system calls are filtered here (a container?): what recording needs was tried, see "
			"\"recording\"");
}

static void check_libunwind(struct hs_findings *findings)
{
	void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
	if (library) {
		dlclose(library);
		hs_finding_add(
			findings, "libunwind", HS_STATE_OK, NULL,
			"libunwind.so.8 is there for stacks that heapscope's own unwinder cannot walk");
	} else {
		hs_finding_add(findings, "libunwind", HS_STATE_WARNING, "install libunwind8",
			       "libunwind.so.8 is not there: stacks that heapscope's own unwinder cannot "
			       "walk (rare) "
			       "would end there");
	}
}

static void check_folder(struct hs_findings *findings)
{
	enum { LITTLE = 256 << 20 };
	struct statvfs system;
	if (access(".", W_OK) != 0)
		hs_finding_add(findings, "folder", HS_STATE_WARNING,
			       "change to another folder, or name a file with -o",
			       "no recording can be written in the current folder: %s", strerror(errno));
	else if (statvfs(".", &system) == 0 && (uint64_t)system.f_bavail * system.f_frsize < LITTLE)
		hs_finding_add(findings, "folder", HS_STATE_WARNING,
			       "make room, or name a file elsewhere with -o",
			       "only %s are free in the current folder: a full disk ends the recording",
			       hs_size((uint64_t)system.f_bavail * system.f_frsize).text);
	else
		hs_finding_add(findings, "folder", HS_STATE_OK, NULL,
			       "recordings can be written in the current folder");
}

static struct hs_text notices;

static void keep_notice(const char *text)
{
	hs_text_addf(&notices, "%s%s", notices.count ? "; " : "", text);
}

static void no_progress(const char *phase, unsigned long long done, unsigned long long total)
{
}

/* Records a program that does nothing: the socket, the shared memory, the preloading, the end. */
static void check_recording(struct hs_findings *findings, const char *library)
{
	char program[] = "/bin/true";
	char *command[] = {program, NULL};
	struct hs_error error = {{0}};
	struct hs_record_result result = {0};
	const struct hs_record_options options = {
		.command = command,
		.output = "/dev/null",
		.library = library,
		.follow = HS_FOLLOW_NONE,
		.notice = keep_notice,
		.progress = no_progress,
	};
	if (hs_record(&options, &result, &error) != 0)
		hs_finding_add(findings, "recording", HS_STATE_PROBLEM, NULL,
			       "%s was recorded as a trial: %s", program, error.text);
	else if (notices.count || result.exit_status || result.exit_signal)
		hs_finding_add(findings, "recording", HS_STATE_PROBLEM, NULL,
			       "%s was recorded as a trial: %s", program,
			       notices.count ? notices.bytes : "it failed");
	else
		hs_finding_add(findings, "recording", HS_STATE_OK, NULL,
			       "%s was recorded as a trial: it works", program);
	hs_record_result_free(&result);
	hs_text_free(&notices);
}

void hs_doctor_machine(struct hs_findings *findings)
{
	char *library = check_library(findings);
	unsigned before = findings->problems;
	check_limits(findings);
	/* beyond the limit on file sizes comes a signal */
	if (before == findings->problems)
		check_memory(findings);
	check_clock(findings);
	check_preload(findings);
	check_surroundings(findings);
	check_libunwind(findings);
	check_folder(findings);
	if (findings->problems == 0)
		check_recording(findings, library);
	free(library);
}
