/* One `heapscope run`: what record.c (start and end) and session.c (the loop) share. */
#ifndef HS_RECORD_SESSION_H
#define HS_RECORD_SESSION_H

#include "record/cores.h"
#include "record/image.h"
#include "record/naming.h"
#include "record/offspring.h"
#include "record/record.h"
#include "record/server.h"
#include "record/signals.h"

struct hs_session {
	const struct hs_record_options *options;
	struct hs_signals signals;
	struct hs_server *server;
	struct hs_outputs output;
	struct hs_files *files;
	struct hs_packer *packer;
	struct hs_cores cores;
	struct hs_naming *naming;
	struct hs_image_context images_context;
	int epoll;

	pid_t target;
	bool target_ended;
	int target_status; /* as of wait() */
	bool target_had_children;
	uint64_t target_peak_bytes, own_peak_bytes;
	uint64_t ended_ns; /* when the target ended */

	struct hs_image *images; /* alive */
	struct hs_offspring offspring;
	uint64_t starting_ns;   /* since when, after all that, a program is about to say hello */
	unsigned target_images; /* that the target's pid has had */
	unsigned refused;       /* said hello, but are not to be recorded */
	bool told_of_survivors, stop;
};

void hs_session_notice(const struct hs_session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An hs_server_admit; context is the session. */
int hs_session_admit(void *context, pid_t pid, const struct hs_hello *hello);
/* Returns 0 or -1 with errno. */
int hs_session_watch(struct hs_session *session);
/* Records until the target and all its recorded descendants have ended, or the user has had enough. */
void hs_session_loop(struct hs_session *session);
/* Waits for the names. */
void hs_session_name(struct hs_session *session);

#endif
