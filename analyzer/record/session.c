/* The loop of a recording: new processes, events, ends. */
#include "record/session.h"

#include "base/memory.h"
#include "record/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In epoll_data.u64; anything else is the pid of an image. */
enum { TAG_SERVER = 0, TAG_SIGNALS = UINT32_MAX, EVENTS_A_TURN = 64 };

enum {
	PENDING_ITEMS =
		16384, /* a round that found so many goes round again at once: there may be as many more */
	/* Waits that let the target run on a machine with few cores, until so many items are there if they
	 * come as fast as in the last one. There is room for many more. */
	WORTH_ITEMS = 8192,
	BUSY_WAIT_MS = 1,
	BUSY_WAIT_MOST_MS = 8,
	IDLE_WAIT_MS = 20,    /* as the shim's patience goes, and so that samples come in time */
	EMPTY_WAIT_MS = 1000, /* no process is being recorded */
	PROGRESS_WAIT_MS = 100,
};
#define SURVIVORS_NOTICE_NS 1000000000ull
#define EXEC_PATIENCE_NS 2000000000ull /* within which a new image says hello if it ever does */

void hs_session_notice(const struct hs_session *session, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (session->options->notice)
		session->options->notice(text);
}

static int watch(struct hs_session *session, int fd, uint64_t tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
	return epoll_ctl(session->epoll, EPOLL_CTL_ADD, fd, &event);
}

int hs_session_watch(struct hs_session *session)
{
	session->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll < 0 || watch(session, hs_server_descriptor(session->server), TAG_SERVER) != 0)
		return -1;
	return watch(session, session->signals.descriptor, TAG_SIGNALS);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

/* Takes note of the target's end, if it has ended. */
static void reap_target(struct hs_session *session)
{
	siginfo_t info = {0};
	struct rusage usage;
	if (session->target_ended ||
	    waitid(P_PID, (id_t)session->target, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
		return;
	struct hs_proc_end end = hs_proc_end(session->target, -1);
	session->target_had_children = !end.known || end.had_children;
	if (wait4(session->target, &session->target_status, 0, &usage) != session->target)
		return;
	session->target_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	session->target_ended = true;
	session->ended_ns = hs_monotonic_ns();
}

static void finish_image(struct hs_session *session, struct hs_image *image, enum hs_image_end end, int value)
{
	for (struct hs_image **link = &session->images; *link; link = &(*link)->next)
		if (*link == image) {
			*link = image->next;
			break;
		}
	epoll_ctl(session->epoll, EPOLL_CTL_DEL, image->pidfd, NULL);
	int region =
		session->options->follow == HS_FOLLOW_ALL ? fcntl(image->view.fd, F_DUPFD_CLOEXEC, 0) : -1;
	hs_image_finish(image, image->first, end, value);
	hs_offspring_keep(&session->offspring, region);
	if (image->begun)
		hs_naming_add(session->naming, image);
	else
		hs_image_free(image);
}

static void finish_with_status(struct hs_session *session, struct hs_image *image, int status)
{
	if (WIFSIGNALED(status))
		finish_image(session, image, HS_IMAGE_SIGNAL, WTERMSIG(status));
	else
		finish_image(session, image, HS_IMAGE_EXIT, WEXITSTATUS(status));
}

/* The image's process has ended. Nobody but its parent may ask how; but before the parent has, /proc tells.
 */
static void bury_image(struct hs_session *session, struct hs_image *image)
{
	if (image->pid == session->target) {
		reap_target(session);
		/* What the kernel counted is exact, but covers earlier images, ourselves before the exec, and
		 * children. */
		if (session->target_ended && session->target_images == 1 && !session->target_had_children &&
		    session->target_peak_bytes > session->own_peak_bytes &&
		    session->target_peak_bytes > image->peak_rss_bytes)
			image->peak_rss_bytes = session->target_peak_bytes;
		if (session->target_ended)
			finish_with_status(session, image, session->target_status);
		else
			finish_image(session, image, HS_IMAGE_UNKNOWN, 0);
		return;
	}
	struct hs_proc_end end = hs_proc_end(image->pid, image->pidfd);
	if (end.known)
		finish_with_status(session, image, end.status);
	else
		finish_image(session, image, HS_IMAGE_UNKNOWN, 0);
}

static bool has_ended(const struct hs_image *image)
{
	struct pollfd ended = {.fd = image->pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) == 1;
}

/* ---- beginnings ---------------------------------------------------------------------------------------- */

static bool is_wanted(const struct hs_session *session, pid_t pid, uint32_t origin)
{
	if (pid == session->target)
		return true;
	if (session->options->follow == HS_FOLLOW_NONE)
		return false;
	return session->options->follow == HS_FOLLOW_ALL || origin == HS_ORIGIN_START;
}

static struct hs_image *image_of(const struct hs_session *session, pid_t pid)
{
	struct hs_image *image = session->images;
	while (image && image->pid != pid)
		image = image->next;
	return image;
}

int hs_session_admit(void *context, pid_t pid, const struct hs_hello *hello)
{
	struct hs_session *session = context;
	struct hs_error error;
	if (session->stop || !is_wanted(session, pid, hello->origin)) {
		session->refused++;
		return -1;
	}
	struct hs_image *before = image_of(session, pid);
	if (before && has_ended(before))
		bury_image(session, before); /* the pid is in use again */
	else if (before)
		finish_image(session, before, HS_IMAGE_EXEC, 0);
	int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0 && errno == ESRCH)
		return -1; /* gone already */
	if (pidfd < 0)
		hs_fail(&error, "cannot watch it: %s", strerror(errno));
	struct hs_image *image =
		pidfd < 0 ? NULL : hs_image_new(&session->images_context, pid, pidfd, hello, &error);
	if (!image) {
		hs_session_notice(session, "process %d is not recorded: %s", (int)pid, error.text);
		return -1;
	}
	image->first = pid == session->target && session->target_images++ == 0;
	watch(session, pidfd, (uint64_t)pid);
	image->next = session->images;
	session->images = image;
	session->starting_ns = 0;
	return image->view.fd;
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static uint64_t read_images(struct hs_session *session)
{
	uint64_t items = 0, now_ns = hs_monotonic_ns();
	/* Who waits for the recorder, or could do without its load, is better served by a larger file. */
	hs_packer_hurry(session->packer, hs_cores_are_short(&session->cores, now_ns));
	for (struct hs_image *image = session->images, *next; image; image = next) {
		next = image->next;
		items += hs_image_round(image, now_ns);
		hs_naming_ahead(session->naming, image);
		if (!image->left_ns || now_ns - image->left_ns < EXEC_PATIENCE_NS)
			continue;
		hs_session_notice(
			session,
			"process %d went on as another program, which is not recorded: it is static, or its "
			"environment was cleared",
			(int)image->pid);
		finish_image(session, image, HS_IMAGE_EXEC, 0);
	}
	return items;
}

static void take_news(struct hs_session *session, const struct epoll_event *event)
{
	uint64_t tag = event->data.u64;
	if (tag == TAG_SERVER) {
		hs_server_serve(session->server, hs_monotonic_ns());
		return;
	}
	if (tag == TAG_SIGNALS) {
		/* What the target has been sent may come together with the news that it ended. */
		bool had_ended = session->target_ended;
		struct hs_signals_news news =
			hs_signals_read(&session->signals, had_ended ? 0 : session->target);
		if (news.child)
			reap_target(session);
		if (news.stop && had_ended)
			session->stop = true;
		return;
	}
	struct hs_image *image = image_of(session, (pid_t)tag);
	if (image && has_ended(image))
		bury_image(session, image);
}

static int wait_ms(const struct hs_session *session, uint64_t items, int last_ms)
{
	if (!session->images)
		return session->target_ended ? IDLE_WAIT_MS : EMPTY_WAIT_MS;
	if (items >= PENDING_ITEMS)
		return 0;
	if (items) {
		uint64_t ms = (uint64_t)(last_ms > 0 ? last_ms : 1) * WORTH_ITEMS / items;
		return ms < BUSY_WAIT_MS        ? BUSY_WAIT_MS
		       : ms > BUSY_WAIT_MOST_MS ? BUSY_WAIT_MOST_MS
						: (int)ms;
	}
	int longer = last_ms < BUSY_WAIT_MS ? BUSY_WAIT_MS : last_ms * 2;
	return longer < IDLE_WAIT_MS ? longer : IDLE_WAIT_MS;
}

static void tell_of_survivors(struct hs_session *session)
{
	if (session->told_of_survivors || hs_monotonic_ns() - session->ended_ns < SURVIVORS_NOTICE_NS)
		return;
	session->told_of_survivors = true;
	if (!session->images) {
		hs_session_notice(session, "the program has ended, but a child process of it has not, and "
					   "may still allocate; Ctrl-C ends the recording, not the program");
		return;
	}
	unsigned others = 0;
	for (struct hs_image *image = session->images->next; image; image = image->next)
		others++;
	const char *program = session->images->program ? session->images->program : "process";
	const char *slash = strrchr(program, '/');
	char more[64] = "";
	if (others)
		snprintf(more, sizeof more, " and %u more", others);
	hs_session_notice(
		session,
		"the program has ended; still recording %s (pid %d)%s; Ctrl-C ends the recording, not the "
		"program",
		slash ? slash + 1 : program, (int)session->images->pid, more);
}

/* All processes that we know have ended. */
static bool more_may_come(struct hs_session *session)
{
	enum hs_follow follow = session->options->follow;
	if (follow == HS_FOLLOW_NONE)
		return false;
	if (follow == HS_FOLLOW_ALL && hs_offspring_waits(&session->offspring)) {
		session->starting_ns = 0;
		return true;
	}
	pid_t pid = hs_offspring_starts(hs_server_token(session->server), session->target);
	if (!pid)
		return false;
	uint64_t now_ns = hs_monotonic_ns();
	if (!session->starting_ns)
		session->starting_ns = now_ns;
	if (now_ns - session->starting_ns < EXEC_PATIENCE_NS)
		return true;
	hs_session_notice(session,
			  "process %d, a child of the program, is not recorded: it has not allocated or is "
			  "static",
			  (int)pid);
	return false;
}

void hs_session_loop(struct hs_session *session)
{
	struct epoll_event events[EVENTS_A_TURN];
	int timeout = 0;
	while (!session->stop && (!session->target_ended || session->images || more_may_come(session))) {
		int count = epoll_wait(session->epoll, events, EVENTS_A_TURN, timeout);
		for (int i = 0; i < count; i++)
			take_news(session, &events[i]);
		uint64_t items = read_images(session);
		timeout = wait_ms(session, items, timeout);
		if (session->target_ended)
			tell_of_survivors(session);
	}
	while (session->images) {
		if (has_ended(session->images))
			bury_image(session, session->images);
		else
			finish_image(session, session->images, HS_IMAGE_UNKNOWN, 0);
	}
}

void hs_session_name(struct hs_session *session)
{
	struct epoll_event events[EVENTS_A_TURN];
	unsigned long long done, total;
	epoll_ctl(session->epoll, EPOLL_CTL_DEL, hs_server_descriptor(session->server), NULL);
	watch(session, hs_naming_descriptor(session->naming), TAG_SERVER);
	while (!hs_naming_idle(session->naming)) {
		epoll_wait(session->epoll, events, EVENTS_A_TURN, PROGRESS_WAIT_MS);
		if (hs_signals_read(&session->signals, 0).stop)
			hs_naming_hurry(session->naming);
		hs_naming_progress(session->naming, &done, &total);
		if (session->options->progress && total)
			session->options->progress("naming", done, total);
	}
}
